//! Trials with every driver of the list, compiled here: what operations pass through is optimised as this crate is, and
//! the binary, which calls it, for size.

use engine::process::Launcher;
use engine::trial::{Setup, TrialError, TrialOutput};
use record::TrialFacts;

use crate::AnyDriver;

/// Executes trials at the same time (see [`engine::trial::run_together`]).
///
/// Errors: why one of them could not be executed; failures during the trials are data
pub fn run_together(
    setups: &[Setup<'_, AnyDriver>],
    launcher: &Launcher,
    on: &mut dyn FnMut(usize, TrialOutput),
) -> Result<Vec<TrialFacts>, TrialError> {
    engine::trial::run_together(setups, launcher, on)
}
