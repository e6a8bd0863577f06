//! Why a process could not be started or did not become ready.

use std::time::Duration;

/// A process that does not start, so the trial cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// The command cannot be run.
    #[error("cannot start {name}: {command}: {reason}")]
    Spawn {
        /// Its name in the experiment.
        name: String,
        /// The program.
        command: String,
        /// The error of the operating system.
        reason: String,
    },
    /// It ended before it was ready.
    #[error("{name} ended before it was ready: {status}{}", quoted(.output))]
    Died {
        /// Its name in the experiment.
        name: String,
        /// Exit status or signal, in words.
        status: String,
        /// The last lines that it printed.
        output: Vec<String>,
    },
    /// It did not become ready in time.
    #[error("{name} is not ready after {within:?}: {waited_for}{}", quoted(.output))]
    NotReady {
        /// Its name in the experiment.
        name: String,
        /// The time limit.
        within: Duration,
        /// The missing sign of readiness.
        waited_for: String,
        /// The last lines that it printed.
        output: Vec<String>,
    },
    /// A placeholder has no value.
    #[error("{name}: {reason}")]
    Placeholder {
        /// The process or target with the placeholder.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A scratch folder or a port for it could not be created.
    #[error("{name}: cannot get {what}: {reason}")]
    Resource {
        /// Its name in the experiment.
        name: String,
        /// The folder or port.
        what: String,
        /// The error of the operating system.
        reason: String,
    },
    /// A fault names a part that cannot be hit.
    #[error("{whom} cannot be hit: {reason}")]
    Part {
        /// The part that the fault names.
        whom: String,
        /// Why.
        reason: String,
    },
    /// The user asked to stop meanwhile.
    #[error("stopped while waiting for {name}")]
    Interrupted {
        /// Its name in the experiment.
        name: String,
    },
}

impl ProcessError {
    /// One thing to do, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Spawn { .. } => Some("check that the program is installed and in PATH"),
            Self::Died { .. } => Some("run the command by hand to see why it ends"),
            Self::NotReady { .. } => {
                Some("check `ready`: \"tcp\", \"line\", or { http = \"/path\" }")
            }
            Self::Placeholder { .. } => Some(
                "{NAME} stands for a service, {system.http} for an address of the ready line; \
                 services start before the system, and the system before observers",
            ),
            Self::Part { .. } => Some(
                "write PROCESS.PART with a name that the ready line lists under `processes`; to hit the started process \
                 with all its parts, write PROCESS alone",
            ),
            Self::Resource { .. } | Self::Interrupted { .. } => None,
        }
    }
}

fn quoted(output: &[String]) -> String {
    output.iter().map(|line| format!("\n  | {line}")).collect()
}
