//! What limits a rate that the target no longer sustains.

use record::Role;
use record::summary::{Judgement, System, TailShare, TrialSummary, Validity};

use super::search_trial::{SearchTrial, only_trial};
use super::step::system_died;
use plan::number::{count, percent};

/// A process that uses at least this many processors is named as busy.
const BUSY: f64 = 0.9;

/// The system, if it ended early; otherwise the first criterion that is not met, failed ones before undecided ones.
pub(super) fn by(tried: &SearchTrial) -> Option<String> {
    if system_died(&tried.summary).is_some() {
        return Some(Role::System.name().to_owned());
    }
    let criteria = &tried.summary.criteria;
    let first = |result| criteria.iter().find(move |one| one.result == result);
    let found = first(Judgement::Fail).or_else(|| first(Judgement::Inconclusive));
    found.map(|one| one.text.clone())
}

/// One sentence: the effect on operations or on the accept queue, and the process that was busy.
pub(super) fn symptom(tried: &SearchTrial) -> String {
    let Some(trial) = only_trial(&tried.summary) else { return "nothing was measured".to_owned() };
    if let Some(why) = system_died(&tried.summary) {
        return format!("the system ended before the trial did: {why}");
    }
    let mut parts = vec![effect(trial)];
    parts.extend(busy(trial));
    parts.join("; ")
}

/// Why the generator was the limit.
pub(super) fn of_generator(tried: &SearchTrial) -> Option<String> {
    only_trial(&tried.summary)?.reasons.first().cloned()
}

fn effect(trial: &TrialSummary) -> String {
    let accounting = &trial.accounting;
    if trial.validity == Validity::Overload {
        return format!(
            "the target could not keep up: {} operations in flight at most, {} never begun",
            count(trial.in_flight.max),
            count(accounting.missed)
        );
    }
    let refused = ["ListenOverflows", "ListenDrops"];
    let dropped = refused.iter().filter_map(|name| trial.kernel.get(*name)).max();
    if let Some(dropped) = dropped.filter(|dropped| **dropped > 0) {
        return format!("the accept queue overflowed {} times", count(dropped.unsigned_abs()));
    }
    let lost = accounting.failed + accounting.abandoned;
    let kinds = trial.total.failures.iter().max_by_key(|(_, count)| **count);
    if lost as f64 > 0.01 * accounting.planned as f64 {
        let kind = kinds.map_or("abandoned", |(kind, _)| kind.as_str());
        let share = percent(lost as f64 / accounting.planned as f64);
        return format!("{share} of operations failed, mostly as {kind}");
    }
    share(&trial.generator.tail_share)
}

/// Where the slowest hundredth spent its time.
fn share(tail: &TailShare) -> String {
    let parts = [
        (tail.service_time, "with the target (service time)"),
        (tail.queue_wait, "waiting for a connection (queue wait)"),
        (tail.prepare, "connecting"),
        (tail.dispatch_lag, "in the generator (dispatch lag)"),
    ];
    let largest = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, place) = largest.unwrap_or((0.0, ""));
    if share <= 0.0 {
        return "no operation was answered".to_owned();
    }
    format!("the slowest hundredth spent {} of its time {place}", percent(share))
}

/// The busiest process under test, if it used at least [`BUSY`] processors.
fn busy(trial: &TrialSummary) -> Option<String> {
    let measured = trial.phases.measure_ns.max(1) as f64;
    let processes = trial.systems.iter().flat_map(|system: &System| &system.processes);
    let load = |cpu_ns: u64| cpu_ns as f64 / measured;
    let busiest = processes.max_by_key(|process| process.cpu_ns)?;
    let used = load(busiest.cpu_ns);
    (used >= BUSY).then(|| format!("{} used {used:.2} processors", busiest.name))
}
