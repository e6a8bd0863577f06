//! Findings about journeys: where they end, which step takes their time, and values that later steps need.

use std::collections::BTreeMap;

use plan::journey::TOGETHER;
use record::summary::{Journey, Operation, Severity, TrialSummary};
use record::{FailureKind, StepTotals};

use super::kind::{Check, FindingKind, Noticed};
use plan::number::{count, duration, percent};

/// A share of the journeys, or of an operation, from which on it is worth a warning.
const NOTED: f64 = 0.01;
/// A step dominates its journey above this share of the time without thinking.
const DOMINATES: f64 = 0.5;
/// A share is an estimate: the operations that are due in the measure phase are not all of journeys that began in it.
const POSSIBLE: f64 = 1.05;

/// Many journeys end at one step.
pub const ENDS_EARLY: FindingKind = FindingKind {
    code: "journey-ends-early",
    severity: Severity::Warning,
    clearest: Some("ended_ratio"),
    title: "journeys end at one step",
    explain: "At least one journey in a hundred ended at the same step, because it failed. Later steps were performed \
              less often than planned, so their load was smaller, and their times are those of the journeys that came \
              so far. The finding names the step at which most journeys end, and its most frequent kind of failure.",
    check: Check::Trial(|case| {
        let steps = case.trial.journeys.iter().flat_map(|journey| {
            journey.steps.iter().map(move |step| (journey, step, ended_ratio(journey, step)))
        });
        let noted: Vec<_> = steps.filter(|(.., ratio)| *ratio >= NOTED).collect();
        let &(journey, step, ratio) = noted.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
        let (name, kind) = (&journey.whole.name, frequent_failure(case.trial, journey, step));
        let claim = format!(
            "{} of journeys {name} end at step {} ({} of {}), most often with {kind}{}",
            percent(ratio),
            step.name,
            count(step.ended),
            count(journey.whole.started()),
            others(noted.len() - 1),
        );
        let advice = format!(
            "remove the cause of `{kind}` in {} before you read the times of later steps",
            step.name
        );
        let noticed = Noticed::new(claim, advice)
            .about(name)
            .with("step", step.name.as_str())
            .with("ended", step.ended)
            .with("ended_ratio", ratio)
            .with("kind", kind);
        Some(noticed)
    }),
};

/// Values that later steps need are not in the answers.
pub const CAPTURE_FAILS: FindingKind = FindingKind {
    code: "capture-fails",
    severity: Severity::Warning,
    clearest: Some("capture_ratio"),
    title: "a value that a later step needs is missing",
    explain: "At least one answer in a hundred of an operation lacked a value that its `capture` names, or the value \
              was too long. Such an operation has failed with `capture`, although the target answered. The finding \
              shows the first such answer.",
    check: Check::Trial(|case| {
        let ratios = case.trial.operations.iter().map(|one| (one, capture_ratio(one)));
        let noted = ratios.filter(|(_, ratio)| *ratio >= NOTED);
        let (operation, ratio) = noted.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let claim = format!(
            "{} of answers to {} lack a value that a later step needs{}",
            percent(ratio),
            operation.name,
            first_seen(case.trial, &operation.name),
        );
        let advice = "compare the `capture` with an answer (`proofload check --try` shows both), or mark the value \
                      `optional`";
        let noticed =
            Noticed::new(claim, advice).about(&operation.name).with("capture_ratio", ratio);
        Some(noticed)
    }),
};

/// One operation takes most of a journey's time.
pub const STEP_DOMINATES: FindingKind = FindingKind {
    code: "step-dominates",
    severity: Severity::Info,
    clearest: Some("step_ratio"),
    title: "one step takes most of a journey's time",
    explain: "The response times of one operation make more than half of the mean time of a journey without thinking. \
              They are taken as often as a journey performs the operation. Making another step faster helps little.",
    check: Check::Trial(|case| {
        let several = case.trial.journeys.iter().filter(|journey| journey.steps.len() > 1);
        let shares = several.flat_map(|journey| {
            let operations = case.trial.operations.iter();
            operations
                .filter_map(move |one| Some((journey, one, time_in(case.trial, journey, one)?)))
        });
        let ratio =
            |journey: &Journey, time: f64| time / journey.whole.service_time.mean_ns.max(1) as f64;
        let most = shares.map(|(journey, one, time)| (journey, one, time, ratio(journey, time)));
        let found = most.filter(|(.., ratio)| (DOMINATES..=POSSIBLE).contains(ratio));
        let (journey, one, time, ratio) = found.max_by(|a, b| a.3.total_cmp(&b.3))?;
        let mean = journey.whole.service_time.mean_ns;
        let (time, ratio) = (time.min(mean as f64), ratio.min(1.0));
        let claim = format!(
            "{} takes {} of the time of journeys {} without thinking: {} of {} on average",
            one.name,
            percent(ratio),
            journey.whole.name,
            duration(time.round() as u64),
            duration(journey.whole.service_time.mean_ns),
        );
        let advice =
            format!("look into {} first; making another step faster helps little", one.name);
        let noticed = Noticed::new(claim, advice)
            .about(&one.name)
            .with("journey", journey.whole.name.as_str())
            .with("step_ratio", ratio);
        Some(noticed)
    }),
};

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn ended_ratio(journey: &Journey, step: &StepTotals) -> f64 {
    ratio(step.ended, journey.whole.started())
}

fn capture_ratio(operation: &Operation) -> f64 {
    let missing = operation.failures.get(FailureKind::Capture.name()).copied().unwrap_or(0);
    ratio(missing, operation.started())
}

fn others(steps: usize) -> String {
    match steps {
        0 => String::new(),
        1 => "; so do 1 % or more at another step".to_owned(),
        more => format!("; so do 1 % or more at each of {more} other steps"),
    }
}

/// Whether a step performs this operation: a step is named by its operations.
fn performs(step: &StepTotals, operation: &Operation) -> bool {
    step.name.split(TOGETHER).any(|name| name == operation.name)
}

/// The most frequent kind among the failures of the step's operations. Where none of them failed, as when `until` was
/// never met, that of the whole journeys.
fn frequent_failure(trial: &TrialSummary, journey: &Journey, step: &StepTotals) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let own = trial.operations.iter().filter(|operation| performs(step, operation));
    for (kind, failed) in own.flat_map(|operation| &operation.failures) {
        *kinds.entry(kind).or_default() += failed;
    }
    if kinds.values().all(|failed| *failed == 0) {
        kinds = journey.whole.failures.iter().map(|(kind, failed)| (&**kind, *failed)).collect();
    }
    let most = kinds.into_iter().max_by_key(|(_, failed)| *failed);
    most.map_or_else(|| "a failure".to_owned(), |(kind, _)| kind.to_owned())
}

fn first_seen(trial: &TrialSummary, operation: &str) -> String {
    let mut all = trial.first_failures.iter();
    let kind = FailureKind::Capture.name();
    let first = all.find(|one| one.operation == operation && one.kind == kind);
    match first.map(|one| one.seen.as_str()) {
        None | Some("") => String::new(),
        Some(seen) => format!("; the first: {seen}"),
    }
}

/// Mean time that a journey spends in an operation, in nanoseconds. An operation that several steps perform is taken
/// to be performed equally often by each. `None` where no such step succeeded.
fn time_in(trial: &TrialSummary, journey: &Journey, operation: &Operation) -> Option<f64> {
    let of = |journey: &Journey, part: fn(&StepTotals) -> u64| {
        let steps = journey.steps.iter().filter(|step| performs(step, operation));
        steps.map(part).sum::<u64>()
    };
    let everywhere: u64 = trial.journeys.iter().map(|one| of(one, |step| step.succeeded)).sum();
    let here = of(journey, |step| step.succeeded);
    if here == 0 || journey.whole.succeeded == 0 {
        return None;
    }
    let performed = operation.succeeded as f64 / everywhere as f64;
    let taken = journey.steps.iter().filter(|step| performs(step, operation));
    let times: f64 = taken.map(|step| ratio(step.reached, step.reached + step.skipped)).sum();
    Some(operation.response_time.mean_ns as f64 * performed * times)
}
