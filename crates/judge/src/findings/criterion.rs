//! Findings about criteria; made where criteria are judged, since they look at all trials of an arm.

use std::time::Duration;

use plan::plan::{Plan, TrialPlan};
use plan::schedule::nanos;
use record::EndReason;
use record::summary::{Finding, Judgement, Severity};

use super::kind::in_arm;
use super::kind::{Check, FindingKind, Noticed};
use plan::number::{count, duration};

/// A criterion that the data cannot decide.
pub const UNDECIDED: FindingKind = FindingKind {
    code: super::codes::UNDECIDED_CRITERION,
    severity: Severity::Warning,
    clearest: None,
    title: "a criterion could not be decided",
    explain: "A criterion is undecided for one of these reasons. The share of operations beyond the bound is too \
              near to the share that the quantile allows, for a run of this length and with windows that vary this \
              much. A trial had no steady state, although one is required. The criterion asks for times or rates, \
              and the closed load waited for its processor, or the criterion failed while the system waited for \
              its own. The run was not carried out to its end. Or nothing was measured that the criterion asks \
              for. An undecided criterion is not a pass.",
    check: Check::Reported,
};

/// Windows that do not meet a criterion.
pub const MISSED_WINDOWS: FindingKind = FindingKind {
    code: "missed-windows",
    severity: Severity::Warning,
    clearest: None,
    title: "a criterion was missed in some windows",
    explain: "The criterion asks something of every window of a length (`over 10s windows`), and some do not \
              meet it. This is a fact about the sample: no window is long enough for an interval of its own, \
              and the more windows a run has the likelier one of them is beyond the bound. Look in the \
              chart over time at what happened there.",
    check: Check::Reported,
};

/// Trials that fail alone.
pub const FAILED_ALONE: FindingKind = FindingKind {
    code: "failed-alone",
    severity: Severity::Info,
    clearest: None,
    title: "some trials miss a criterion by themselves",
    explain: "A criterion is judged on all usable trials of an arm together. Some of them, judged by \
              themselves, miss it while others do not: trials differ by more than chance within one, \
              or one of them met something that the others did not.",
    check: Check::Reported,
};

/// A run that gave up.
pub const FAIL_FAST: FindingKind = FindingKind {
    code: "fail-fast",
    severity: Severity::Warning,
    clearest: None,
    title: "the run was given up",
    explain: "With `--fail-fast`, a run ends as soon as a criterion can no longer be met: a count is already too \
              high, or so many operations are beyond a bound that the quantile of the whole plan would miss it, \
              however the rest went. That criterion fails, unless it asks for times or rates of a closed load that \
              waited for its processor. The other criteria are known from a shorter run than planned, and later \
              trials were not executed.",
    check: Check::Trial(|case| {
        let early = case.facts.early_end.as_ref();
        let early = early.filter(|early| early.reason == EndReason::FailFast)?;
        let measured = case.trial.phases.measure_ns;
        let claim = format!("the run was given up after {}: {}", duration(measured), early.why);
        Some(
            Noticed::new(claim, "look at the criterion that failed; without `--fail-fast` the whole plan is executed")
                .with("measure_ns", measured)
                .with("criteria", early.criteria.clone()),
        )
    }),
};

/// The finding that the run gave up after a trial whose measure phase was not cut short.
pub(crate) fn gave_up_after(plan: &Plan, trial: &TrialPlan, why: &str) -> Finding {
    let claim = format!("the run was given up after trial {}: {why}", trial.index);
    let advice =
        "look at the criterion that failed; without `--fail-fast` the whole plan is executed";
    FAIL_FAST.found(Noticed::new(claim, advice).planned_as(plan, trial))
}

/// A measure phase whose length was decided during the run.
pub const ADAPTIVE: FindingKind = FindingKind {
    code: "adaptive-length",
    severity: Severity::Info,
    clearest: None,
    title: "the length of the measure phase was decided on the way",
    explain: "With `--adaptive`, a measure phase is looked at several times and ends once its intervals are \
              narrow enough. Looking six times is six chances to err, so each interval is one of 99.17 %: \
              together they hold with the 95 % that the page states.",
    check: Check::Trial(|case| {
        let early = case.facts.early_end.as_ref();
        let measured = case.trial.phases.measure_ns;
        let adaptive = case.facts.confidence > stats::quantile::CONFIDENCE;
        let precise = early.filter(|early| early.reason == EndReason::Precise);
        let (claim, advice) = match precise {
            Some(early) => (
                format!("the measure phase ended after {}: {}", duration(measured), early.why),
                "nothing to do: the intervals are as narrow as requested",
            ),
            None if adaptive && early.is_none() && !case.facts.interrupted => (
                format!(
                    "the measure phase went on to its longest look, {}, without intervals as narrow as \
                     asked for",
                    duration(measured)
                ),
                "use the intervals as they are, or measure longer with a fixed duration",
            ),
            None => return None,
        };
        Some(Noticed::new(claim, advice).with("measure_ns", measured))
    }),
};

/// Which criterion a finding is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) arm: &'a str,
    pub(crate) operation: &'a str,
    pub(crate) text: &'a str,
}

impl About<'_> {
    /// The criterion, with the arm where there are several.
    fn named(&self) -> String {
        format!("`{}`{}", self.text, in_arm(self.arm))
    }

    fn found(&self, row: &FindingKind, noticed: Noticed) -> Finding {
        row.found(noticed.in_arm(self.arm).about(self.operation))
    }
}

/// The finding that a criterion is undecided.
pub(crate) fn undecided(about: &About<'_>, advice: String) -> Finding {
    let claim = format!("{} cannot be decided by this run", about.named());
    about.found(&UNDECIDED, Noticed::new(claim, advice))
}

/// Windows that do not meet a criterion.
pub(crate) struct MissedWindows<'a> {
    /// The first and the worst one, as text.
    pub places: &'a str,
    pub missed: usize,
    pub of: usize,
    /// Start of the first.
    pub first: Duration,
    /// Start of the worst.
    pub worst: Duration,
}

/// The finding that windows do not meet a criterion.
pub(crate) fn missed_windows(about: &About<'_>, windows: &MissedWindows<'_>) -> Finding {
    let MissedWindows { places, missed, of, first, worst } = *windows;
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let claim = format!(
        "{} is not met in {} of {} windows: {places}",
        about.named(),
        count(number(missed)),
        count(number(of))
    );
    let noticed = Noticed::new(claim, "look at the chart over time to see what happened there")
        .with("windows", of)
        .with("missed", missed)
        .with("first_ns", nanos(first))
        .with("worst_ns", nanos(worst));
    about.found(&MISSED_WINDOWS, noticed)
}

/// The finding that these trials fail alone, while others do not.
pub(crate) fn failed_alone(about: &About<'_>, trials: &[u32], together: Judgement) -> Finding {
    let named: Vec<String> = trials.iter().map(ToString::to_string).collect();
    let (subject, verb) = match trials.len() {
        1 => ("trial", "misses"),
        _ => ("trials", "miss"),
    };
    let together = match together {
        Judgement::Pass => "meet it",
        Judgement::Fail => "do not meet it",
        Judgement::Measured | Judgement::Inconclusive | Judgement::Invalid => "do not decide it",
    };
    let claim = format!(
        "{subject} {} {verb} {} by {}; all trials of the arm together {together}",
        named.join(", "),
        about.named(),
        if trials.len() == 1 { "itself" } else { "themselves" },
    );
    let noticed = Noticed::new(claim, "compare these trials with the others, also in their order")
        .with("trials", trials.to_vec());
    about.found(&FAILED_ALONE, noticed)
}
