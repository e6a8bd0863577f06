//! Findings about how the run went: a trial that could not begin, a repeated block, a resumed run. They are reported
//! where the trials of a run are combined.

use plan::plan::{Plan, TrialPlan};
use record::summary::{Finding, Severity};

use super::codes::{NOT_EXECUTED, REPEATED};
use super::kind::{Check, FindingKind, Noticed};
use super::load::INTERRUPTED_ROW;

/// A trial could not begin.
pub const NOT_EXECUTED_ROW: FindingKind = FindingKind {
    code: NOT_EXECUTED,
    severity: Severity::Error,
    clearest: None,
    title: "a trial could not be executed",
    explain: "Something that the trial needs could not be started or reached, so nothing was sent, and the run \
              ended there. The trials before it are judged. Later trials are missing, so the verdict is at best \
              inconclusive. Remove the cause, then continue with `proofload run --resume`; a search for capacity \
              starts again.",
    check: Check::Reported,
};

/// A block was executed again.
pub const REPEATED_ROW: FindingKind = FindingKind {
    code: REPEATED,
    severity: Severity::Warning,
    clearest: None,
    title: "a block was executed again",
    explain: "A trial ended before its time or could not begin. Arms are compared within a block, so \
              the whole block was executed once more. Its first trials stay in the record as invalid; \
              neither criteria nor comparisons look at them.",
    check: Check::Reported,
};

/// The run was resumed.
pub const RESUMED_ROW: FindingKind = FindingKind {
    code: "resumed",
    severity: Severity::Info,
    clearest: None,
    title: "the run was interrupted and resumed",
    explain: "Some trials were executed before an interruption and the others after it, by the same \
              plan and the same version. Within a block whose trials lie on both sides, the machine may \
              have changed between them.",
    check: Check::Reported,
};

pub(crate) fn not_executed(plan: &Plan, trial: &TrialPlan, why: &str) -> Finding {
    let claim = format!("trial {} could not begin: {why}", trial.index);
    let advice = "remove the cause, then resume with `proofload run --resume` and the run's folder";
    NOT_EXECUTED_ROW.found(Noticed::new(claim, advice).with("cause", why).planned_as(plan, trial))
}

/// The finding that a search ended because this trial could not be carried out.
pub(crate) fn search_ended(trial: u32, why: &str) -> Finding {
    let claim =
        format!("trial {trial} could not be carried out, and the search ended there: {why}");
    let noticed = Noticed::new(claim, "remove the cause, then search again").with("cause", why);
    Finding { trial: Some(trial), ..NOT_EXECUTED_ROW.found(noticed) }
}

pub(crate) fn repeated(plan: &Plan, trial: &TrialPlan, why: &str) -> Finding {
    let claim = format!(
        "block {} was executed again, because of trial {}: {why}",
        trial.block, trial.index
    );
    let noticed = Noticed::new(claim, "look for the cause, since it may come again");
    let noticed = noticed.with("block", trial.block).with("cause", why);
    REPEATED_ROW.found(noticed.planned_as(plan, trial))
}

pub(crate) fn resumed(kept: usize, executed: usize) -> Finding {
    let claim = format!("the run was resumed: {kept} of {executed} trials are from before that");
    let noticed = Noticed::new(claim, "compare with care across the interruption")
        .with("kept", kept)
        .with("executed", executed);
    RESUMED_ROW.found(noticed)
}

/// The finding that the run ended before its last trial, which only the user can cause.
pub(crate) fn not_carried_out(executed: usize, planned: usize, shared: bool) -> Option<Finding> {
    let advice = match shared {
        true => "perform all shares again: they begin together, so none of them can be resumed",
        false => "resume with `proofload run --resume` and the run's folder",
    };
    let claim =
        format!("the run was stopped: {executed} of {planned} planned trials were executed");
    let noticed = Noticed::new(claim, advice).with("executed", executed).with("planned", planned);
    (executed < planned).then(|| INTERRUPTED_ROW.found(noticed))
}
