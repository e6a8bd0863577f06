//! What is wrong with a report of another tool: one table, one row a rule.
//!
//! Pure functions of a [`Foreign`]. A rule whose numbers the report does not give is silent. An
//! `error` means that one number of the report contradicts another; `warning` and `info` mean that a
//! claim is weak, and contradict nothing. Not here: reading reports (see [`crate::imports`]) and our
//! own summary's arithmetic (see `judge::consistency`).
//!
//! In reading order: `table` holds the rules; `times` looks at one distribution, `timers` at its tail,
//! `sums` at counts and shares, `rates` at rates, lengths and concurrency, `course` at how the run went,
//! `failures` at what failed, `design` at how the runs were laid out, `surroundings` at machines and
//! dates, `said` at what the text makes of it all.

mod course;
mod design;
mod failures;
mod rates;
mod said;
mod sums;
mod surroundings;
mod table;
mod timers;
mod times;

use std::collections::BTreeMap;

use record::summary::{Finding, Severity};
use serde::Serialize;
use serde_json::Value;

use crate::imports::Foreign;
use crate::imports::foreign::{Row, Run};

pub use table::rules;

/// One rule of the table.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name; `explain` knows it.
    pub id: &'static str,
    /// How serious it is at most.
    pub severity: Severity,
    /// What it says, in a few words.
    pub title: &'static str,
    /// What it tests and why that matters.
    pub explain: &'static str,
    /// One thing to do.
    pub advice: &'static str,
    check: Check,
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
enum Check {
    Row(fn(&Run, &Row) -> Option<Noticed>),
    Run(fn(&Run) -> Option<Noticed>),
    Report(fn(&Foreign) -> Option<Noticed>),
}

/// What a rule noticed.
#[derive(Debug, Clone, PartialEq)]
struct Noticed {
    claim: String,
    evidence: BTreeMap<String, Value>,
    weak: bool,
}

impl Noticed {
    fn new(claim: impl Into<String>) -> Self {
        Self { claim: claim.into(), evidence: BTreeMap::new(), weak: false }
    }

    /// A number of the evidence, with its unit in the name.
    fn with(mut self, name: &str, value: f64) -> Self {
        let digits = if value == 0.0 { 6 } else { 6 - value.abs().log10().floor() as i32 };
        let scale = 10f64.powi(digits.clamp(0, 15));
        self.evidence.insert(name.to_owned(), ((value * scale).round() / scale).into());
        self
    }

    fn with_text(mut self, name: &str, text: impl Into<String>) -> Self {
        self.evidence.insert(name.to_owned(), Value::String(text.into()));
        self
    }

    /// Contradicts no number of this report, though the rule can.
    fn weak_if(mut self, weak: bool) -> Self {
        self.weak = weak;
        self
    }
}

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
    /// Findings that say that a number is contradicted.
    pub contradictions: usize,
    /// Everything that was noticed, contradictions first.
    pub findings: Vec<Finding>,
}

/// Applies every rule to the report.
pub fn audit(report: &Foreign) -> Audit {
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

/// What the rule with this name means; case does not matter.
pub fn explain(wanted: &str) -> Option<String> {
    let rule = rules().find(|rule| rule.id.eq_ignore_ascii_case(wanted.trim()))?;
    Some(format!("{}: {}.\n\n{}", rule.id, rule.title, rule.explain))
}

impl Rule {
    fn apply(&self, report: &Foreign) -> Vec<Finding> {
        let runs = report.runs.iter();
        match self.check {
            Check::Report(check) => {
                check(report).map(|noticed| self.found(noticed, None, None)).into_iter().collect()
            }
            Check::Run(check) => {
                let found: Vec<_> =
                    runs.filter_map(|run| check(run).map(|noticed| (run, noticed))).collect();
                // What is true of every run in the same words is said once.
                if let [(_, first), rest @ ..] = &found[..]
                    && found.len() == report.runs.len()
                    && rest.iter().all(|(_, other)| other == first)
                {
                    let run = Some(found[0].0).filter(|_| rest.is_empty());
                    return vec![self.found(first.clone(), run, None)];
                }
                let place = |(run, noticed)| self.found(noticed, Some(run), None);
                found.into_iter().map(place).collect()
            }
            Check::Row(check) => runs
                .flat_map(|run| {
                    run.all().filter_map(move |row| {
                        check(run, row).map(|noticed| self.found(noticed, Some(run), Some(row)))
                    })
                })
                .collect(),
        }
    }

    fn found(&self, noticed: Noticed, run: Option<&Run>, row: Option<&Row>) -> Finding {
        let named = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        let weak = noticed.weak && self.severity == Severity::Error;
        Finding {
            code: self.id.to_owned(),
            severity: if weak { Severity::Warning } else { self.severity },
            arm: run.and_then(|run| named(&run.name)),
            trial: None,
            operation: row.and_then(|row| named(&row.name)).filter(|name| name != "all"),
            claim: noticed.claim,
            evidence: noticed.evidence,
            advice: self.advice.to_owned(),
        }
    }
}

/// A time for people.
fn time(seconds: f64) -> String {
    plan::number::duration((seconds.max(0.0) * 1e9).round() as u64)
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod near;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod tests;
