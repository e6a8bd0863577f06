//! Whether a trial may be used: effects decide, resources do not.

use plan::load::SteadyState;
use record::summary::{Model, Observer, TrialSummary, Validity};

use crate::case::{Facts, SteadyStateTest, departure, gave_up};
use plan::number::{count, duration, percent};

/// A generator is late if dispatch lag is more than this share of the time of the slowest hundredth.
const TAIL_SHARE_LIMIT: f64 = 0.1;
/// Lag below this changes no result, whatever its share, in nanoseconds.
pub const LAG_LIMIT_NS: u64 = 1_000_000;
/// Share of late operations, or of the response time that waiting takes, above which a result changes.
const LATE_LIMIT: f64 = 0.01;
/// A share of waiting that changes a result: it is the margin within which rates count as equal. Of the measure phase
/// for a closed loop, of the time in which it has work for a system.
pub const CROWDED_FROM: f64 = 0.05;
/// A p99 of lag above this, in nanoseconds, is worth a note: a good pacer keeps 40 to 150 µs.
pub const LAG_NOTED_NS: u64 = 250_000;

/// The validity of a trial and its reasons. The most serious reason decides; every note is kept.
pub fn judge(
    trial: &TrialSummary,
    facts: &Facts,
    steady_state: SteadyState,
) -> (Validity, Vec<String>) {
    let invalid = facts.died.iter().map(|why| format!("it ended before its time: {why}"));
    let invalid =
        invalid.chain(lateness(trial, facts)).chain(late_shares(trial)).chain(lost_shares(trial));
    let mut reasons: Vec<String> = invalid.collect();
    let overload = overload(trial, facts);
    let crowding = system_crowding(trial, facts);
    // Other programs may be the reason that the target could not sustain the rate.
    let invalid = !reasons.is_empty() || (overload.is_some() && crowding.is_some());
    let overloaded = overload.is_some();
    reasons.extend(crowding.into_iter().chain(overload));
    let departures = departures(trial, facts);
    let required = steady_state == SteadyState::Required;
    let unsteady = required && !departures.is_empty();
    reasons.extend(departures);
    reasons.extend(notes(trial, facts));
    if let SteadyStateTest::Untested(why) = &facts.steady
        && required
    {
        reasons.push(why.clone());
    }
    let validity = match () {
        () if invalid => Validity::Invalid,
        () if overloaded => Validity::Overload,
        () if unsteady => Validity::NoSteadyState,
        () if reasons.is_empty() => Validity::Valid,
        () => Validity::Noted,
    };
    (validity, reasons)
}

/// Why the generator was too late for the trial to be used, if it was.
pub fn lateness(trial: &TrialSummary, facts: &Facts) -> Option<String> {
    let generator = &trial.generator;
    let share = generator.tail_share.dispatch_lag;
    let p99 = lag_p99(trial);
    if share > TAIL_SHARE_LIMIT && p99 > LAG_LIMIT_NS {
        return Some(format!(
            "the generator was late: {} of the time of the slowest hundredth was dispatch lag, \
             whose p99 was {}",
            percent(share),
            duration(p99)
        ));
    }
    (facts.late_ratio > LATE_LIMIT).then(|| {
        format!(
            "the generator was late: {} of operations were released later than the median response \
             time (at least 1 ms), at most by {}",
            percent(facts.late_ratio),
            duration(generator.dispatch_lag.max_ns)
        )
    })
}

/// Why single generators spoil the trial: one late generator moves the tail of all.
pub fn late_shares(trial: &TrialSummary) -> impl Iterator<Item = String> {
    trial
        .agents
        .iter()
        .flat_map(|agent| agent.spoiled.iter().map(|why| format!("{}: {why}", agent.facts.name())))
}

/// The agents that were lost: load was missing from then on.
pub fn lost_shares(trial: &TrialSummary) -> impl Iterator<Item = String> {
    trial.agents.iter().filter_map(|agent| {
        let windows = agent.facts.lost_after_windows?;
        let after = duration(windows.saturating_mul(trial.window_ns));
        let rest = match agent.facts.rest_is_unknown {
            true => "how many operations it would have begun is not known".to_owned(),
            false => {
                format!("{} of its operations count as missed", count(agent.accounting.missed))
            }
        };
        let name = agent.facts.name();
        Some(format!("{name} was lost after {after} of the measure phase; {rest}"))
    })
}

/// Whether lateness of the generator is the only defect of the trial. Failed or missed operations and unmet
/// expectations of an observer are other defects: lateness does not excuse a wrong answer.
pub fn is_late_alone(trial: &TrialSummary, facts: &Facts) -> bool {
    let held = |observer: &Observer| observer.expect.as_ref().is_none_or(|expect| expect.holds);
    lateness(trial, facts).is_some()
        && facts.died.is_none()
        && facts.contradictions.is_empty()
        && !gave_up(facts.early_end.as_ref())
        && trial.accounting.planned == trial.accounting.succeeded
        && trial.observers.iter().all(held)
}

/// Why a closed loop was held up outside its target, if it was. Nothing in a closed loop is late, so the waiting
/// itself is the only sign. Users with think time can absorb the waiting.
pub fn crowding(trial: &TrialSummary, facts: &Facts) -> Option<String> {
    let thinks = facts.think_mean_ns.is_some_and(|think| think > 0);
    if trial.load.model == Model::Open || thinks {
        return None;
    }
    let [waited, stolen] = [trial.generator.run_queue_ratio, trial.generator.steal_ratio];
    if waited.max(stolen) <= CROWDED_FROM {
        return None;
    }
    let taken = match stolen > CROWDED_FROM {
        true => format!(", and the hypervisor took {} of processor time away", percent(stolen)),
        false => String::new(),
    };
    Some(format!(
        "the generator waited for its processor: a worker of this closed load was ready and did not run during {} of \
         the measure phase{taken}",
        percent(waited)
    ))
}

/// Why the system under test was held up, if it was: it waited while other programs used its machine, or the
/// hypervisor took processor time away. Its times are then longer than its own, and its rates lower. Threads that
/// wait for each other's processor are part of the system's own behaviour.
pub fn system_crowding(trial: &TrialSummary, facts: &Facts) -> Option<String> {
    let waiting = Waiting::of(trial)?;
    let stolen = trial.generator.steal_ratio;
    let by_others = waiting.moves_a_result(trial, facts).then(|| {
        format!(
            "while other programs used {} of a processor, its processes were ready and did not run during {} of the time in \
             which they had work",
            percent(waiting.others_cores),
            percent(waiting.ratio())
        )
    });
    let by_host = (stolen > CROWDED_FROM)
        .then(|| format!("the hypervisor took {} of processor time away", percent(stolen)));
    let causes: Vec<String> = by_others.into_iter().chain(by_host).collect();
    (!causes.is_empty())
        .then(|| format!("the system waited for its processors: {}", causes.join(", and ")))
}

/// How long processes of the trial waited for a processor because of programs outside the run.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Processors that those programs used.
    pub others_cores: f64,
    /// The share of all the waiting that those programs caused: their share of the processor time that was used.
    waited_ns: f64,
    ran_ns: f64,
}

impl Waiting {
    /// None where the run started no process.
    pub fn of(trial: &TrialSummary) -> Option<Self> {
        let processes = || trial.systems.iter().flat_map(|system| &system.processes);
        processes().next()?;
        let others_cores = trial.generator.others_cores.unwrap_or(0.0);
        let ran_ns = processes().map(|process| process.cpu_ns).sum::<u64>() as f64;
        let waited_ns = processes().map(|process| process.run_queue_ns).sum::<u64>() as f64;
        let others_ns = others_cores * trial.phases.measure_ns as f64;
        let used_ns = (others_ns + ran_ns + trial.generator.cpu_ns as f64).max(1.0);
        Some(Self { others_cores, waited_ns: waited_ns * others_ns / used_ns, ran_ns })
    }

    /// As a share of the time in which the processes had work.
    pub fn ratio(&self) -> f64 {
        self.waited_ns / (self.waited_ns + self.ran_ns).max(1.0)
    }

    /// Whether the others used enough, and the waiting is long enough compared with the work and the response times.
    fn moves_a_result(&self, trial: &TrialSummary, facts: &Facts) -> bool {
        let operations = (trial.total.succeeded + trial.total.failed).max(1) as f64;
        let response_ns = trial.total.response_time.mean_ns as f64;
        // Whatever holds a process up delays all operations that are in flight then.
        let in_flight = operations * response_ns / (trial.phases.measure_ns as f64).max(1.0);
        let delay_ns = self.waited_ns / operations * in_flight.max(1.0);
        self.others_cores > CROWDED_FROM * facts.system_cores as f64
            && self.ratio() > CROWDED_FROM
            && delay_ns > LATE_LIMIT * response_ns
    }
}

/// The p99 of dispatch lag; the greatest possible value where it is beyond the histogram's range.
fn lag_p99(trial: &TrialSummary) -> u64 {
    let lag = &trial.generator.dispatch_lag;
    let entry = lag.quantiles.iter().find(|entry| entry.q == 0.99);
    entry.map_or(0, |entry| entry.observed_ns.unwrap_or(u64::MAX))
}

fn overload(trial: &TrialSummary, facts: &Facts) -> Option<String> {
    if facts.interrupted || facts.died.is_some() {
        return None;
    }
    let (missed, planned) = missed_journeys(trial);
    let never_begun = never_begun(trial);
    if never_begun > 0 {
        return Some(format!(
            "the target could not hold the rate: {} of {} planned operations were never begun, because \
             too many were in flight",
            count(never_begun),
            count(trial.accounting.planned)
        ));
    }
    let (effect, cause) = match facts.pool.journeys_unconnected {
        0 => ("the target could not hold the rate", "too many were in progress"),
        _ => ("journeys had no connections left", "others had all that they may have of their own"),
    };
    (missed > 0).then(|| {
        format!(
            "{effect}: {} of {} planned journeys were never begun, because {cause}",
            count(missed),
            count(planned)
        )
    })
}

/// Operations that were missed because too many were in flight: without those of agents that were lost.
pub(crate) fn never_begun(trial: &TrialSummary) -> u64 {
    let lost = trial.agents.iter().filter(|agent| agent.facts.lost_after_windows.is_some());
    let lost: u64 = lost.map(|agent| agent.accounting.missed).sum();
    trial.accounting.missed.saturating_sub(lost)
}

/// How many journeys were never begun, and how many were planned. Where an agent was lost, its journeys are not told
/// from others.
pub(crate) fn missed_journeys(trial: &TrialSummary) -> (u64, u64) {
    if trial.agents.iter().any(|agent| agent.facts.lost_after_windows.is_some()) {
        return (0, 0);
    }
    let whole = trial.journeys.iter().map(|journey| &journey.whole);
    whole.fold((0, 0), |(missed, planned), one| (missed + one.missed(), planned + one.planned))
}

/// The departures from a steady state.
fn departures(trial: &TrialSummary, facts: &Facts) -> Vec<String> {
    let alarms = facts.steady.alarms().iter();
    alarms
        .map(|alarm| {
            format!("no steady state: {}", departure(alarm, trial, facts.steady.point_ns()))
        })
        .collect()
}

fn notes(trial: &TrialSummary, facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.interrupted {
        notes.push(format!(
            "it was interrupted: the measure phase ended after {}",
            duration(trial.phases.measure_ns)
        ));
    }
    if facts.samples_dropped > 0 {
        notes.push(format!(
            "the disk could not keep up: {} raw samples are missing in samples.csv, and nowhere else",
            count(facts.samples_dropped)
        ));
    }
    let p99 = lag_p99(trial);
    if p99 > LAG_NOTED_NS && trial.load.model == Model::Open && trial.accounting.started > 0 {
        notes.push(format!("dispatch lag had a p99 of {}", duration(p99)));
    }
    notes.extend(crowding(trial, facts));
    if facts.waited_share(trial).is_some() {
        notes
            .push("operations waited for a connection: the pool was the limit at times".to_owned());
    }
    notes
}
