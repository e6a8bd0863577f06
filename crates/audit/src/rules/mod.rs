//! Finds what is wrong with a report of another tool: one table, one row for each rule.
//!
//! Pure functions of a [`Report`]. A rule stays silent if the report lacks the numbers that it needs. An `error` means
//! that one number of the report contradicts another; `warning` and `info` mean that a claim is weak. Not here:
//! reading reports (see [`crate::imports`]) and our own summary's arithmetic (see `judge::consistency`).
//!
//! In reading order: `rule` is one rule, `table` holds all; `times` looks at one distribution, `timers` at its tail,
//! `sums` at counts and shares, `rates` at rates, lengths and concurrency, `over_time` at how the run went,
//! `failures` at what failed, `design` at how the runs were laid out, `surroundings` at machines and
//! dates, `claims` at what the text says of it all.

mod claims;
mod design;
mod failures;
mod over_time;
mod rates;
mod rule;
mod sums;
mod surroundings;
mod table;
mod timers;
mod times;

use record::summary::{Finding, Severity};
use serde::Serialize;

use crate::imports::Report;

pub use rule::Rule;
pub use table::rules;

/// Result of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    /// `proofload-audit/1`.
    pub format: &'static str,
    /// The format that was read.
    pub read_as: String,
    /// Who made the report.
    pub tool: String,
    /// Runs, and lines of figures in them.
    pub runs: usize,
    /// Lines of figures.
    pub rows: usize,
    /// Findings with a contradicted number.
    pub contradictions: usize,
    /// All findings, contradictions first.
    pub findings: Vec<Finding>,
}

/// Applies every rule to the report.
pub fn audit(report: &Report) -> Audit {
    let mut findings: Vec<Finding> = rules().flat_map(|rule| rule.apply(report)).collect();
    findings.sort_by_key(|finding| match finding.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Info => 2,
    });
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    Audit {
        format: "proofload-audit/1",
        read_as: report.format.clone(),
        tool: report.tool.clone(),
        runs: report.runs.len(),
        rows: report.runs.iter().map(|run| run.all().count()).sum(),
        contradictions: findings.iter().filter(is_error).count(),
        findings,
    }
}

/// The rule with this name.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id == id)
}

/// Explains the rule with this name, which may be in any case.
pub fn explain(wanted: &str) -> Option<String> {
    let rule = rules().find(|rule| rule.id.eq_ignore_ascii_case(wanted.trim()))?;
    Some(format!("{}: {}.\n\n{}", rule.id, rule.title, rule.explain))
}

#[cfg(test)]
mod both_ways;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod near_cases;
#[cfg(test)]
mod tests;
