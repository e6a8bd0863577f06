//! What rows of the table look at, and the one place where they are asked.

use record::summary::{Arm, Capacity, Comparison, Finding, Scaling};

use super::{Case, Noticed, Row, TABLE, Whole};

/// What a row looks at, and how.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    /// A trial, with the facts that its summary leaves out.
    Trial(fn(&Case<'_>) -> Option<Noticed>),
    /// The trials of an arm together.
    Arm(fn(&Arm) -> Option<Noticed>),
    /// All arms together.
    Run(fn(&Whole<'_>) -> Option<Noticed>),
    /// A comparison as it was decided.
    Comparison(fn(&Comparison) -> Option<Noticed>),
    /// Closed loads of different sizes.
    Scaling(fn(&Scaling) -> Option<Noticed>),
    /// A search for capacity.
    Search(fn(&Capacity) -> Option<Noticed>),
    /// Nothing: it is reported where it is known, by [`Row::found`].
    Reported,
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// A trial.
    Trial(&'a Case<'a>),
    /// An arm.
    Arm(&'a Arm),
    /// A run.
    Run(&'a Whole<'a>),
    /// A comparison.
    Comparison(&'a Comparison),
    /// Closed loads of different sizes.
    Scaling(&'a Scaling),
    /// A search for capacity.
    Search(&'a Capacity),
}

/// Everything that the table notices, in its order.
pub(crate) fn findings(subject: Subject<'_>) -> Vec<Finding> {
    TABLE.iter().filter_map(|row| Some(row.found(noticed(row, subject)?))).collect()
}

fn noticed(row: &Row, subject: Subject<'_>) -> Option<Noticed> {
    match (row.check, subject) {
        (Check::Trial(look), Subject::Trial(case)) => {
            look(case).map(|noticed| noticed.in_trial(case.arm, case.trial.index))
        }
        (Check::Arm(look), Subject::Arm(arm)) => look(arm).map(|noticed| noticed.in_arm(&arm.name)),
        (Check::Run(look), Subject::Run(whole)) => look(whole),
        (Check::Comparison(look), Subject::Comparison(one)) => look(one),
        (Check::Scaling(look), Subject::Scaling(scaling)) => look(scaling),
        (Check::Search(look), Subject::Search(capacity)) => look(capacity),
        _ => None,
    }
}
