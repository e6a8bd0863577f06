//! Why a trial could not be executed at all.

use std::io;

use plan::diagnostic::Diagnostic;

use super::preparation::FailedStep;
use crate::process::ProcessError;
use crate::transport::TransportError;

/// Why a trial could not be executed. Failures during a trial are data, not errors.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A driver refuses an operation.
    #[error("an operation cannot be compiled")]
    Compile(Vec<Diagnostic>),
    /// A process that the arm needs did not start.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A target cannot be used.
    #[error(transparent)]
    Target(#[from] TransportError),
    /// What had to be performed before the load failed.
    #[error("{0}")]
    Setup(FailedStep),
    /// Everything was ready only after the instant at which the load was to begin.
    #[error("it was ready {} too late to begin at the appointed time", plan::number::duration(*late_ns))]
    TooLate {
        /// By how much.
        late_ns: u64,
    },
    /// Whoever was to appoint the start called the trial off.
    #[error("the trial was called off before it began")]
    CalledOff,
    /// The operating system refuses a resource that the generator itself needs.
    #[error("cannot start the generator: {0}")]
    Generator(#[from] io::Error),
}

impl From<FailedStep> for TrialError {
    fn from(failed: FailedStep) -> Self {
        Self::Setup(failed)
    }
}
