//! The verdict in one word.

use record::summary::{Judgement, Summary};

use crate::tables;

/// The word at the top of a page.
///
/// A search for capacity either found an interval or did not; it does not pass.
pub fn verdict_word(summary: &Summary) -> &'static str {
    match summary.verdict.result {
        Judgement::Pass if summary.capacity.is_some() => "bracketed",
        _ if summary.capacity.is_some() => "not bracketed",
        _ => tables::run::judgement(result(summary)),
    }
}

/// The result to show: older summaries say `pass` for a run without criteria.
pub(crate) fn result(summary: &Summary) -> Judgement {
    match summary.verdict.result {
        Judgement::Pass if summary.criteria.is_empty() => Judgement::Measured,
        result => result,
    }
}
