//! A kind of finding: what it is called, what it means, and how it is looked for.

use std::collections::BTreeMap;

use plan::plan::{Plan, TrialPlan};
use record::summary::{Arm, Capacity, Comparison, Finding, Scaling, Severity};
use serde_json::Value;

use crate::case::{Case, RunView};

/// End of the name of a ratio of new over old: it is as clear up as down.
pub(super) const CHANGE: &str = "_ratio";

/// A kind of finding: one row of the table.
#[derive(Debug, Clone, Copy)]
pub struct FindingKind {
    /// Stable name.
    pub code: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// Which number of its evidence says how clearly a trial shows it, by the end of its name; `None` where the first
    /// trial stands for all.
    pub(super) clearest: Option<&'static str>,
    /// What it says, in a few words.
    pub title: &'static str,
    /// What it means, for `proofload explain`.
    pub explain: &'static str,
    /// Looks for it.
    pub(super) check: Check,
}

/// What a row noticed.
#[derive(Debug, Clone, PartialEq)]
pub struct Noticed {
    arm: Option<String>,
    trial: Option<u32>,
    operation: Option<String>,
    pub(super) claim: String,
    pub(super) evidence: BTreeMap<String, Value>,
    advice: String,
}

/// What a kind of finding looks at, and how.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    /// A trial, with the facts that its summary leaves out.
    Trial(fn(&Case<'_>) -> Option<Noticed>),
    /// The trials of an arm together.
    Arm(fn(&Arm) -> Option<Noticed>),
    /// All arms together.
    Run(fn(&RunView<'_>) -> Option<Noticed>),
    /// A comparison as it was decided.
    Comparison(fn(&Comparison) -> Option<Noticed>),
    /// Closed loads of different sizes.
    Scaling(fn(&Scaling) -> Option<Noticed>),
    /// A search for capacity.
    Search(fn(&Capacity) -> Option<Noticed>),
    /// Nothing: it is reported where it is known, by [`FindingKind::found`].
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

    /// In debug builds, and so in every test: whatever is found has the number that says how clear it is.
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

    /// It is about this trial of the plan, carried out or not.
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

/// Where something was judged; nothing where there is but one arm.
pub(crate) fn in_arm(arm: &str) -> String {
    if arm == "all" { String::new() } else { format!(" in arm {arm}") }
}
