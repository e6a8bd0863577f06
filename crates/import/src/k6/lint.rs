//! What a script says that k6 ignores, or that does not measure what it seems to.
//!
//! Not here: how one thing is found; see the files of this folder.

mod load;
mod options;
mod thresholds;

use plan::diagnostic::{Diagnostic, Span};

use super::constant::Constant;
use super::scenario::{Scenario, scenarios};
use super::script::Script;
use super::tree::{self, At, Expr, Kind, Stmt, StmtKind};

/// Everything that is found, in the order of the script.
pub(super) fn all(script: &Script<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(options) = &script.options {
        let scenarios = scenarios(options);
        options::ignored(options, &mut found);
        options::without_end(options, &scenarios, &mut found);
        thresholds::without_samples(script, options, &scenarios, &mut found);
        for scenario in &scenarios {
            load::sleeps_by_the_clock(script, scenario, &mut found);
            load::closed_as_rate(script, options, scenario, &mut found);
        }
    }
    thresholds::checks_without(script, &mut found);
    found.sort_by_key(|one| one.span.start);
    found.dedup();
    found
}

fn span(at: &At) -> Span {
    Span::new(at.start, at.end)
}
