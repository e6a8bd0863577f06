//! Rates, concurrency, parts of a whole, clock and units: A3, A9, A10, A13, A15, A16, A18.

use record::summary::{Model, TrialSummary, Validity};

use super::context::{Context, TimeInFlight, operations};
use crate::concurrency;

fn measured_seconds(trial: &TrialSummary) -> f64 {
    trial.phases.measure_ns as f64 / 1e9
}

/// A3: rate times duration is the count. Operations that ended in the drain may be missing from the finished ones: at
/// most those in flight, and those due but released late.
pub fn rates(trial: &TrialSummary, _: &Context) -> Option<String> {
    let seconds = measured_seconds(trial);
    let (a, rates) = (&trial.accounting, &trial.rates);
    let unreleased = rates.offered * trial.generator.dispatch_lag.max_ns as f64 / 1e9;
    let late = trial.in_flight.max as f64 + unreleased + 1.0;
    let finished = a.succeeded + a.failed;
    let all = [
        ("offered", rates.offered, a.planned, 0.0),
        ("started", rates.started, a.started, 0.0),
        ("completed", rates.completed, finished, late),
        ("goodput", rates.goodput, a.succeeded, late),
    ];
    all.into_iter().find_map(|(name, rate, count, late)| {
        let (product, count) = (rate * seconds, count as f64);
        let rounding = count * 1e-6 + 0.5;
        (product > count + rounding || product < count - late - rounding)
            .then(|| format!("{name} rate {rate}/s times {seconds} s is {product:.0}, not {count}"))
    })
}

/// Least and greatest concurrency that rate and times imply, with the slack of a window that is cut at both ends.
/// `None` where failures hide some times.
fn implied_concurrency(trial: &TrialSummary) -> Option<(f64, f64)> {
    let total = &trial.total;
    if total.succeeded == 0 || total.planned != total.succeeded {
        return None;
    }
    let rate = total.succeeded as f64 / measured_seconds(trial);
    let service = rate * total.service_time.mean_ns as f64 / 1e9;
    let response = rate * total.response_time.mean_ns as f64 / 1e9;
    Some((service, response))
}

fn slack(trial: &TrialSummary) -> f64 {
    let longest = trial.total.response_time.max_ns as f64 / 1e9;
    2.0 * trial.in_flight.max as f64 * longest / measured_seconds(trial)
}

/// Operations that may be on their way at a time, counted as connections: an open load has a pool for each target, and a
/// journey as many as it performs at a time.
fn connections(trial: &TrialSummary, context: &Context) -> f64 {
    let pools = if trial.load.model == Model::Open { context.targets.max(1) } else { 1 };
    let each = f64::from(pools) * f64::from(context.abreast.max(1));
    let users = trial.load.users.map_or(0.0, |users| f64::from(users) * each);
    (f64::from(concurrency::limit(&trial.load)) * each).max(users)
}

/// A9: Little's law, to the nanosecond over all operations of a trial that was drained; with connections as an upper
/// bound, and against the measured number in flight.
pub fn little(trial: &TrialSummary, context: &Context) -> Option<String> {
    if let Some(TimeInFlight { area_ns, times_ns }) = context.little
        && u128::try_from(area_ns) != Ok(times_ns)
    {
        return Some(format!(
            "operations were in flight for {area_ns} ns in all, but their times add up to {times_ns} ns"
        ));
    }
    let total = &trial.total;
    let busy = trial.rates.goodput * total.service_time.mean_ns as f64 / 1e9;
    let connections = connections(trial, context);
    if connections > 0.0 && busy > connections * 1.01 + slack(trial) {
        return Some(format!("{busy:.1} connections would be busy, of {connections}"));
    }
    let (service, response) = implied_concurrency(trial)?;
    let (mean, slack) = (trial.in_flight.mean, slack(trial));
    // All operations of a closed load may have begun before the phase, and last longer than any that began in it.
    let waiting = if trial.load.model == Model::Open { 0.0 } else { connections };
    let most = (response * 1.05 + slack + 0.05).max(waiting);
    let outside = mean < service * 0.95 - slack - 0.05 || mean > most;
    outside.then(|| {
        format!(
            "{mean:.3} in flight on average, but rate times time is {service:.3} to {response:.3}"
        )
    })
}

/// A10: an open load that behaved as a closed loop at its limit, and does not report it.
pub fn hidden_closed_loop(trial: &TrialSummary, context: &Context) -> Option<String> {
    let busy = trial.rates.goodput * trial.total.service_time.mean_ns as f64 / 1e9;
    let connections = connections(trial, context);
    let at_limit = connections > 0.0 && busy >= 0.95 * connections;
    let short = trial.rates.completed < 0.99 * trial.rates.offered;
    let silent = trial.validity == Validity::Valid && trial.load.model == Model::Open;
    (at_limit && short && silent).then(|| {
        format!(
            "an open load with {busy:.1} of {connections} connections busy that missed its rate"
        )
    })
}

/// A13: response time is at least the sum of the known parts. Means only, since quantiles do not add up.
pub fn parts(trial: &TrialSummary) -> Option<String> {
    operations(trial).filter(|one| one.succeeded > 0).find_map(|operation| {
        let mut known = operation.service_time.mean_ns;
        if operation.succeeded == operation.planned {
            known += operation.queue_wait.mean_ns;
        }
        let response = operation.response_time.mean_ns;
        (known > response + 2).then(|| {
            format!("{}: parts of {known} ns in a response time of {response} ns", operation.name)
        })
    })
}

/// A15: nothing succeeded after its time-out, and outcome time includes operations that never succeeded.
pub fn timeouts(trial: &TrialSummary, context: &Context) -> Option<String> {
    operations(trial).find_map(|operation| {
        let longest = operation.service_time.max_ns;
        let limit = context.timeout_ns.unwrap_or(u64::MAX);
        if longest > limit.saturating_add(limit / 20).saturating_add(TIMER_SLACK_NS) {
            return Some(format!(
                "{}: succeeded after {longest} ns, time-out {limit} ns",
                operation.name
            ));
        }
        let planned = operation.planned as f64;
        let survivors = operation.outcome_time.quantiles.iter().find(|entry| {
            let rank = (entry.q.next_down() * planned).ceil();
            entry.observed_ns.is_some() && rank > operation.succeeded as f64
        })?;
        Some(format!(
            "{}: quantile {} of outcome time leaves failures out",
            operation.name, survivors.q
        ))
    })
}

/// A busy worker may notice a time-out this much late; that says nothing about the target.
const TIMER_SLACK_NS: u64 = 100_000_000;

/// A16: durations are positive, and phases have a length.
pub fn clock(trial: &TrialSummary) -> Option<String> {
    if trial.phases.measure_ns == 0 && trial.accounting.started > 0 {
        return Some("operations were begun in a measure phase of length 0".to_owned());
    }
    if trial.window_ns == 0 {
        return Some("windows of length 0".to_owned());
    }
    let instant =
        operations(trial).find(|one| one.succeeded > 0 && one.service_time.min_ns == 0)?;
    Some(format!("{}: an answer that took no time at all", instant.name))
}

/// A18: rate times time differs from the number in flight by a factor of a thousand or a million.
pub fn units(trial: &TrialSummary) -> Option<String> {
    let (_, response) = implied_concurrency(trial)?;
    let mean = trial.in_flight.mean;
    if mean <= 0.0 || response <= 0.0 {
        return None;
    }
    let factor = (mean / response).log10().abs();
    let mixed = [3.0, 6.0, 9.0].iter().any(|power| (factor - power).abs() < 0.1);
    mixed.then(|| "times are off by a power of a thousand: units are mixed up".to_owned())
}
