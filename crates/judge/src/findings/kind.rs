//! A kind of finding: its code, its meaning, and its check.

use std::collections::BTreeMap;

use plan::plan::{Plan, TrialPlan};
use record::summary::{Arm, Capacity, Comparison, Finding, Scaling, Severity};
use serde_json::Value;

use crate::case::{Case, RunView};

/// End of the name of a ratio of new to old. A decrease is as clear as an increase.
pub(super) const CHANGE: &str = "_ratio";

/// A kind of finding: one row of the table.
#[derive(Debug, Clone, Copy)]
pub struct FindingKind {
    /// Stable name.
    pub code: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// The number in the evidence that says how clearly a trial shows it, by the end of its name; `None` where the
    /// first trial represents all.
    pub(super) clearest: Option<&'static str>,
    /// Its claim in general, in a few words.
    pub title: &'static str,
    /// Its meaning, for `proofload explain`.
    pub explain: &'static str,
    /// The check that looks for it.
    pub(super) check: Check,
}

/// The result of a check that found something.
#[derive(Debug, Clone, PartialEq)]
pub struct Noticed {
    arm: Option<String>,
    trial: Option<u32>,
    operation: Option<String>,
    pub(super) claim: String,
    pub(super) evidence: BTreeMap<String, Value>,
    pub(super) advice: String,
}

/// The input and the function of a check.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    /// Checks a trial, with the facts that its summary leaves out.
    Trial(fn(&Case<'_>) -> Option<Noticed>),
    /// Checks the trials of an arm together.
    Arm(fn(&Arm) -> Option<Noticed>),
    /// Checks all arms together.
    Run(fn(&RunView<'_>) -> Option<Noticed>),
    /// Checks a decided comparison.
    Comparison(fn(&Comparison) -> Option<Noticed>),
    /// Checks closed loads of different sizes.
    Scaling(fn(&Scaling) -> Option<Noticed>),
    /// Checks a search for capacity.
    Search(fn(&Capacity) -> Option<Noticed>),
    /// No check: other code reports it, with [`FindingKind::found`].
    Reported,
}

impl FindingKind {
    pub(super) fn found(&self, noticed: Noticed) -> Finding {
        self.assert_clear(&noticed.evidence);
        Finding {
            code: self.code.to_owned(),
            severity: self.severity,
            arm: noticed.arm,
            trial: noticed.trial,
            operation: noticed.operation,
            claim: noticed.claim,
            evidence: noticed.evidence,
            advice: noticed.advice,
        }
    }

    /// In debug builds, and so in every test: each finding must have the number that says how clear it is.
    fn assert_clear(&self, evidence: &BTreeMap<String, Value>) {
        let is_there = |name| evidence.keys().any(|key| key.ends_with(name));
        debug_assert!(self.clearest.is_none_or(is_there), "{} in {evidence:?}", self.code);
    }
}

impl Noticed {
    pub(super) fn new(claim: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            arm: None,
            trial: None,
            operation: None,
            claim: claim.into(),
            evidence: BTreeMap::new(),
            advice: advice.into(),
        }
    }

    /// It is about one arm.
    pub(super) fn in_arm(mut self, arm: &str) -> Self {
        self.arm = Some(arm.to_owned());
        self
    }

    /// It is about one trial.
    pub(super) fn in_trial(self, arm: &str, trial: u32) -> Self {
        Self { trial: Some(trial), ..self.in_arm(arm) }
    }

    /// It is about this trial of the plan, whether it was carried out or not.
    pub(super) fn planned_as(self, plan: &Plan, trial: &TrialPlan) -> Self {
        let arm = plan.arms.get(trial.arm).map(|arm| arm.name.clone());
        Self { arm, trial: Some(trial.index), ..self }
    }

    /// It is about one operation of the mix.
    pub(super) fn about(mut self, operation: &str) -> Self {
        self.operation = Some(operation.to_owned());
        self
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(name.to_owned(), value.into());
        self
    }
}

/// ` in arm …`; empty where there is only one arm.
pub(crate) fn in_arm(arm: &str) -> String {
    if arm == "all" { String::new() } else { format!(" in arm {arm}") }
}
