//! The input of a summary.

use record::{RecordError, Window};

/// Passes on the windows of a trial, in any order; a number may come several times, each time with a different part.
/// [`RunReader::visit_windows`](record::folder::RunReader::visit_windows) does this.
pub type Windows<'a> = dyn Fn(&mut dyn FnMut(&Window)) -> Result<(), RecordError> + 'a;

/// An executed trial.
#[derive(Clone, Copy)]
pub struct TrialInput<'a> {
    /// Its facts.
    pub trial: &'a record::TrialFacts,
    /// Names of its spans, as in the layout of its totals.
    pub spans: &'a [String],
    /// Its windows.
    pub windows: &'a Windows<'a>,
}
