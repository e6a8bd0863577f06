//! Sums and shares: A1, A2, A11, A12.

use record::summary::{Operation, TrialSummary, Validity};

use super::context::{Context, operations};

/// A1: every planned operation is in exactly one bucket, and parts add up to the whole.
pub fn identities(trial: &TrialSummary, context: &Context) -> Option<String> {
    let a = &trial.accounting;
    let total = &trial.total;
    let of = |part: fn(&Operation) -> u64| trial.operations.iter().map(part).sum::<u64>();
    let windows = context.windows.map_or(total.succeeded, |sums| sums.response_times);
    let mut equal = vec![
        ("planned is not started + missed", a.planned, a.started + a.missed),
        (
            "started is not succeeded + failed + abandoned",
            a.started,
            a.succeeded + a.failed + a.abandoned,
        ),
        ("planned of the total differs", a.planned, total.planned),
        ("succeeded of the total differs", a.succeeded, total.succeeded),
        ("failed of the total differs", a.failed, total.failed),
        ("abandoned of the total differs", a.abandoned, total.abandoned),
        ("windows do not add up to the succeeded operations", total.succeeded, windows),
    ];
    if !trial.operations.is_empty() {
        equal.push(("planned operations do not add up", total.planned, of(|one| one.planned)));
        equal.push((
            "succeeded operations do not add up",
            total.succeeded,
            of(|one| one.succeeded),
        ));
        equal.push(("failed operations do not add up", total.failed, of(|one| one.failed)));
        equal.push((
            "abandoned operations do not add up",
            total.abandoned,
            of(|one| one.abandoned),
        ));
    }
    let wrong = equal.into_iter().find(|(_, left, right)| left != right);
    let wrong = wrong.map(|(what, left, right)| format!("{what}: {left} and {right}"));
    wrong.or_else(|| operations(trial).find_map(within_operation))
}

/// Of an operation, or of whole journeys.
pub(super) fn within_operation(operation: &Operation) -> Option<String> {
    let failures: u64 = operation.failures.values().sum();
    let equal = [
        ("failures by kind are not its failed ones", failures, operation.failed),
        (
            "response times are not its succeeded ones",
            operation.response_time.count,
            operation.succeeded,
        ),
        (
            "service times are not its succeeded ones",
            operation.service_time.count,
            operation.succeeded,
        ),
        ("outcome times are not its planned ones", operation.outcome_time.count, operation.planned),
    ];
    let wrong = equal.into_iter().find(|(_, left, right)| left != right);
    wrong.map(|(what, left, right)| format!("{}: {what}: {left} and {right}", operation.name))
}

/// A2: shares lie in [0, 1] and have one denominator; status codes do not outnumber answers.
pub fn shares(trial: &TrialSummary, _: &Context) -> Option<String> {
    let tail = &trial.generator.tail_share;
    let sum = tail.dispatch_lag + tail.queue_wait + tail.prepare + tail.service_time;
    if sum != 0.0 && (sum - 1.0).abs() > 1e-6 {
        return Some(format!("the parts of the tail add up to {sum}"));
    }
    let ratios = [trial.generator.steal_ratio, trial.generator.run_queue_ratio];
    if ratios.iter().any(|ratio| !(0.0..=1.01).contains(ratio)) {
        return Some("a ratio of the generator lies outside of 0 to 1".to_owned());
    }
    operations(trial).find_map(|operation| {
        let statuses: u64 = operation.statuses.values().sum();
        let begun = operation.succeeded + operation.failed + operation.abandoned;
        (statuses > begun).then(|| {
            format!(
                "{}: {statuses} answers with a status, {begun} operations begun",
                operation.name
            )
        })
    })
}

/// A11: the headline must report a plan that was not carried out.
pub fn shortfall(trial: &TrialSummary) -> Option<String> {
    let a = &trial.accounting;
    let short = (a.started as f64) < 0.99 * a.planned as f64;
    let hidden = matches!(trial.validity, Validity::Valid) || trial.reasons.is_empty();
    (short && hidden).then(|| {
        format!("{} of {} planned operations were begun, and nothing says so", a.started, a.planned)
    })
}

/// A12: bytes of the operations add up to those of the total.
pub fn sizes(trial: &TrialSummary) -> Option<String> {
    if trial.operations.is_empty() {
        return None;
    }
    let sent: u64 = trial.operations.iter().map(|one| one.bytes_sent).sum();
    let received: u64 = trial.operations.iter().map(|one| one.bytes_received).sum();
    let total = &trial.total;
    let wrong = sent != total.bytes_sent || received != total.bytes_received;
    wrong.then(|| {
        format!(
            "operations sent {sent} and received {received} bytes, the total says {} and {}",
            total.bytes_sent, total.bytes_received
        )
    })
}
