//! One rule: its name, its meaning, and how to apply it to a report.

use std::collections::BTreeMap;

use record::summary::{Finding, Severity};
use serde_json::Value;

use crate::imports::Report;
use crate::imports::report::{Row, Run};

/// One rule of the table.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name, as in `explain`.
    pub id: &'static str,
    /// The greatest severity of its findings.
    pub severity: Severity,
    /// Its meaning in a few words.
    pub title: &'static str,
    /// What it tests and why that matters.
    pub explain: &'static str,
    /// One thing to do.
    pub advice: &'static str,
    pub(super) check: Check,
}

/// The part of a report that a rule checks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    Row(fn(&Run, &Row) -> Option<Noticed>),
    Run(fn(&Run) -> Option<Noticed>),
    Report(fn(&Report) -> Option<Noticed>),
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Noticed {
    pub(super) claim: String,
    evidence: BTreeMap<String, Value>,
    weak: bool,
}

impl Noticed {
    pub(super) fn new(claim: impl Into<String>) -> Self {
        Self { claim: claim.into(), evidence: BTreeMap::new(), weak: false }
    }

    /// Adds a number as evidence, with its unit in the name.
    pub(super) fn with(mut self, name: &str, value: f64) -> Self {
        let digits = if value == 0.0 { 6 } else { 6 - value.abs().log10().floor() as i32 };
        let scale = 10f64.powi(digits.clamp(0, 15));
        self.evidence.insert(name.to_owned(), ((value * scale).round() / scale).into());
        self
    }

    pub(super) fn with_text(mut self, name: &str, text: impl Into<String>) -> Self {
        self.evidence.insert(name.to_owned(), Value::String(text.into()));
        self
    }

    /// Marks a finding that contradicts no number of this report, although the rule can.
    pub(super) fn weak_if(mut self, weak: bool) -> Self {
        self.weak = weak;
        self
    }
}

impl Rule {
    /// A row of the table: title, explanation and advice last.
    pub(super) const fn new(
        id: &'static str,
        severity: Severity,
        check: Check,
        [title, explain, advice]: [&'static str; 3],
    ) -> Self {
        Self { id, severity, title, explain, advice, check }
    }

    pub(super) fn apply(&self, report: &Report) -> Vec<Finding> {
        let runs = report.runs.iter();
        match self.check {
            Check::Report(check) => {
                check(report).map(|noticed| self.found(noticed, None, None)).into_iter().collect()
            }
            Check::Run(check) => {
                let found: Vec<_> =
                    runs.filter_map(|run| check(run).map(|noticed| (run, noticed))).collect();
                // A finding that is the same for every run is reported once.
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

/// A time in readable form.
pub(super) fn time(seconds: f64) -> String {
    plan::number::duration((seconds.max(0.0) * 1e9).round() as u64)
}
