//! Findings about the course of a run: what could not begin, what was executed again, what was gone
//! on with. They are made where trials are joined to a run, and not by looking at one trial.

use plan::plan::{Plan, TrialPlan};
use record::summary::{Finding, Severity};

use super::{NOT_EXECUTED, Noticed, REPEATED, Row};

/// A trial could not begin.
pub const NOT_EXECUTED_ROW: Row = Row {
    code: NOT_EXECUTED,
    severity: Severity::Error,
    clearest: None,
    title: "a trial could not be executed",
    explain: "Something that the trial needs could not be started or reached, so nothing was sent, and \
              the run ended there. The trials before it are judged; what the plan holds beyond them is \
              missing, so the verdict is at best inconclusive. `proofload run --resume` goes on once \
              the cause is gone; a search for capacity is begun again.",
    check: |_| None,
};

/// A block was executed again.
pub const REPEATED_ROW: Row = Row {
    code: REPEATED,
    severity: Severity::Warning,
    clearest: None,
    title: "a block was executed again",
    explain: "A trial ended before its time or could not begin. Arms are compared within a block, so \
              the whole block was executed once more. Its first trials stay in the record as invalid; \
              neither criteria nor comparisons look at them.",
    check: |_| None,
};

/// The run was gone on with.
pub const RESUMED_ROW: Row = Row {
    code: "resumed",
    severity: Severity::Info,
    clearest: None,
    title: "the run was interrupted and gone on with",
    explain: "Some trials were executed before an interruption and the others after it, by the same \
              plan and the same version. Within a block whose trials lie on both sides, the machine may \
              have changed between them.",
    check: |_| None,
};

pub(crate) fn not_executed(plan: &Plan, trial: &TrialPlan, why: &str) -> Finding {
    let claim = format!("trial {} could not begin: {why}", trial.index);
    let advice = "remove the cause, then go on with `proofload run --resume` and the run's folder";
    of_trial(&NOT_EXECUTED_ROW, plan, trial, Noticed::new(claim, advice).with("cause", why))
}

/// A search ended where this trial of it could not be carried out.
pub(crate) fn search_ended(trial: u32, why: &str) -> Finding {
    let claim =
        format!("trial {trial} could not be carried out, and the search ended there: {why}");
    let noticed = Noticed::new(claim, "remove the cause, then search again").with("cause", why);
    Finding { trial: Some(trial), ..of_run(&NOT_EXECUTED_ROW, noticed) }
}

pub(crate) fn repeated(plan: &Plan, trial: &TrialPlan, why: &str) -> Finding {
    let claim = format!(
        "block {} was executed again, because of trial {}: {why}",
        trial.block, trial.index
    );
    let noticed = Noticed::new(claim, "look for the cause, since it may come again");
    of_trial(&REPEATED_ROW, plan, trial, noticed.with("block", trial.block).with("cause", why))
}

pub(crate) fn resumed(kept: usize, executed: usize) -> Finding {
    let claim =
        format!("the run was gone on with: {kept} of {executed} trials are from before that");
    let noticed = Noticed::new(claim, "compare with care across the interruption")
        .with("kept", kept)
        .with("executed", executed);
    of_run(&RESUMED_ROW, noticed)
}

pub(super) fn of_trial(row: &Row, plan: &Plan, trial: &TrialPlan, noticed: Noticed) -> Finding {
    let arm = plan.arms.get(trial.arm).map(|arm| arm.name.clone());
    Finding { arm, trial: Some(trial.index), ..of_run(row, noticed) }
}

pub(super) fn of_run(row: &Row, noticed: Noticed) -> Finding {
    Finding {
        code: row.code.to_owned(),
        severity: row.severity,
        arm: None,
        trial: None,
        operation: noticed.operation,
        claim: noticed.claim,
        evidence: noticed.evidence,
        advice: noticed.advice,
    }
}
