//! Findings about the load and how the trial went.

use record::Role;
use record::summary::{Distribution, Model, Severity, TrialSummary};

use super::codes::{INTERRUPTED, ROLE};
use super::kind::{Check, FindingKind, Noticed};
use crate::case::{Case, Facts};
use crate::concurrency;
use crate::validity;
use plan::number::{count, duration, percent, rate, significant};

/// The target could not keep up.
pub const OVERLOAD: FindingKind = FindingKind {
    code: "overload",
    severity: Severity::Error,
    clearest: None,
    title: "the target could not hold the rate",
    explain: "So many operations were in flight that a full time-out's worth of the planned rate (and \
              a fifth more) was outstanding. Operations beyond that cap were not begun: they are \
              counted as missed, and as slower than all others. From this point on the load is no \
              longer open, and every criterion fails. The same holds for journeys in progress. Lower the rate.",
    check: Check::Trial(|case| {
        if case.facts.interrupted || case.facts.died.is_some() {
            return None;
        }
        missed_operations(case).or_else(|| missed_journeys(case))
    }),
};

fn missed_operations(case: &Case<'_>) -> Option<Noticed> {
    let accounting = &case.trial.accounting;
    let missed = validity::never_begun(case.trial);
    if missed == 0 {
        return None;
    }
    let claim = format!(
        "the target could not hold {}: {} of {} planned operations were never begun, because the \
         in-flight cap was reached",
        rate(case.trial.rates.offered),
        count(missed),
        count(accounting.planned),
    );
    let advice = format!("lower the rate; {} were completed", rate(case.trial.rates.completed));
    let noticed = Noticed::new(claim, advice)
        .with("missed", missed)
        .with("in_flight_max", case.trial.in_flight.max);
    Some(noticed)
}

fn missed_journeys(case: &Case<'_>) -> Option<Noticed> {
    let (missed, planned) = validity::missed_journeys(case.trial);
    let missed = missed.saturating_sub(case.facts.pool.journeys_unconnected);
    let claim = format!(
        "the target could not hold the rate: {} of {} planned journeys were never begun, because too \
         many were in progress",
        count(missed),
        count(planned),
    );
    let noticed = Noticed::new(claim, "lower the rate of journeys").with("missed", missed);
    (missed > 0).then_some(noticed)
}

/// Journeys had no connections left.
pub const JOURNEY_CONNECTIONS: FindingKind = FindingKind {
    code: "journey-connections",
    severity: Severity::Error,
    clearest: None,
    title: "journeys had no connections left",
    explain: "A journey keeps its own connections until it ends, also while it thinks. The journeys in progress had \
              all that `connections` in `[load]` allows, so further ones were not begun: they are counted as missed, \
              and from this point on the load is no longer open. Either journeys took longer than expected, because \
              the target is slow, or they think so long that this rate needs more connections. Raise `connections`, \
              lower the rate, or let journeys share connections (`connections = \"pool\"`).",
    check: Check::Trial(|case| {
        let unconnected = case.facts.pool.journeys_unconnected;
        if unconnected == 0 || case.facts.interrupted || case.facts.died.is_some() {
            return None;
        }
        let (_, planned) = validity::missed_journeys(case.trial);
        let claim = format!(
            "{} of {} planned journeys were never begun, because others had all connections of their own that \
             journeys may have ({})",
            count(unconnected),
            count(planned),
            count(u64::from(case.trial.load.connections)),
        );
        let noticed = Noticed::new(claim, "raise `connections`, or lower the rate of journeys")
            .with("missed", unconnected)
            .with("connections_max", case.facts.pool.connections_max);
        Some(noticed)
    }),
};

/// A process under test ended.
pub const PROCESS_DIED: FindingKind = FindingKind {
    code: super::codes::PROCESS_DIED,
    severity: Severity::Error,
    clearest: None,
    title: "the trial ended before its time",
    explain: "A process or thread that the trial needs ended before the trial did, usually one that was started \
              for it. The finding says how it ended, when that was noticed, and what it wrote last. A process that \
              the plan ends on purpose (`[[fault]]`) does not count. What was measured afterwards does not \
              describe a working target, so the trial is invalid. A search for capacity counts the end of the \
              system itself as a failure at that rate; the end of anything else says nothing about the target.",
    check: Check::Trial(|case| {
        let why = case.facts.died.as_deref()?;
        let Facts { died_as, died_at_ns, last_words, .. } = case.facts;
        let when = died_at_ns.map_or_else(String::new, noticed_at);
        let said = last_said(last_words);
        let claim = format!("the trial ended before its time: {why}{when}{said}");
        let noticed = Noticed::new(claim, "look at the output of the process, then run again")
            .with("cause", why)
            .with(ROLE, died_as.map(Role::name))
            .with("noticed_at_ns", *died_at_ns)
            .with("last_words", last_words.clone());
        Some(noticed)
    }),
};

/// The last lines of a process that a sentence quotes; all known ones are in the evidence.
const SAID: usize = 3;

fn noticed_at(at_ns: i64) -> String {
    match u64::try_from(at_ns) {
        Ok(at) => format!(", as was seen {} into the measure phase", duration(at)),
        Err(_) => ", before the measure phase".to_owned(),
    }
}

fn last_said(lines: &[String]) -> String {
    let said: Vec<&str> =
        lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    match &said[said.len().saturating_sub(SAID)..] {
        [] => String::new(),
        last => format!("; the last that it wrote: {}", last.join(" | ")),
    }
}

/// The user stopped it.
pub const INTERRUPTED_ROW: FindingKind = FindingKind {
    code: INTERRUPTED,
    severity: Severity::Warning,
    clearest: None,
    title: "the run was stopped",
    explain: "The user stopped the run. Operations in flight were waited for, and everything measured \
              until then is in the record, but the plan was not carried out: the verdict is at best \
              inconclusive.",
    check: Check::Trial(|case| {
        if !case.facts.interrupted {
            return None;
        }
        let accounting = &case.trial.accounting;
        let claim = format!(
            "the run was stopped: the measure phase ended after {}, with {} operations begun",
            duration(case.trial.phases.measure_ns),
            count(accounting.started)
        );
        Some(Noticed::new(claim, "run it again to its end").with("started", accounting.started))
    }),
};

/// The users' think time limits the throughput.
pub const THINK_TIME_CEILING: FindingKind = FindingKind {
    code: "think-time-ceiling",
    severity: Severity::Warning,
    clearest: None,
    title: "the throughput is the users' think time",
    explain: "N users who think for Z and wait R for each answer make N/(Z+R) operations a second, \
              whatever the target could do. Where Z is nine tenths of the cycle or more, the \
              throughput says how patient the users are and next to nothing about the target (rule \
              R13). For users who perform journeys, R is the time of a journey without thinking, and Z \
              holds the think times within it. To learn how much load the target sustains, offer a \
              rate, or use more users.",
    check: Check::Trial(think_time_ceiling),
};

/// Waiting for connections.
pub const POOL_LIMITED: FindingKind = FindingKind {
    code: "pool-limited",
    severity: Severity::Warning,
    clearest: None,
    title: "operations waited for a connection",
    explain: "Every allowed connection was busy, so operations of an open load waited for a free one \
              (queue wait, part of response time). More than one in a thousand waited: while the pool \
              is exhausted the target sees a closed loop. Allow more connections, or read the result \
              as that of a client with this pool.",
    check: Check::Trial(|case| {
        let pool = &case.facts.pool;
        let share = case.facts.waited_share(case.trial)?;
        let first = pool
            .saturated_first_ns
            .map_or(String::new(), |at| format!(", first at {}", duration(at)));
        let places = case.trial.load.streams.map_or("connections", |_| "streams");
        let claim = format!(
            "{} of operations waited for one of {} {places}, which were all busy for {}{first}",
            percent(share),
            count(u64::from(concurrency::limit(&case.trial.load))),
            duration(pool.saturated_ns),
        );
        let noticed =
            Noticed::new(claim, "raise `connections`, unless the limit is part of the question")
                .with("waited", pool.waited)
                .with("saturated_ns", pool.saturated_ns);
        Some(noticed)
    }),
};

/// Almost nothing is in flight.
pub const IDLE: FindingKind = FindingKind {
    code: "idle-system",
    severity: Severity::Info,
    clearest: None,
    title: "the target was idle most of the time",
    explain: "On average less than half an operation was in flight, so the target was idle most of \
              the time and requests hardly met each other (rule R15). The response times are those of \
              an idle system; they say nothing about behaviour under load.",
    check: Check::Trial(|case| {
        let mean = case.trial.in_flight.mean;
        if case.trial.accounting.started == 0 || mean >= 0.5 {
            return None;
        }
        let claim = format!(
            "on average {} operations were in flight: these are times of a mostly idle target",
            significant(mean)
        );
        let advice = match case.trial.load.arrivals.as_deref() {
            Some("replay") => "set `scale` above 1 in `[load]` to see it under more than the log",
            _ => "raise the rate to see it under load",
        };
        Some(Noticed::new(claim, advice).with("in_flight_mean", mean))
    }),
};

/// Too short to show rare events.
pub const SHORT: FindingKind = FindingKind {
    code: "short-run",
    severity: Severity::Info,
    clearest: None,
    title: "the measure phase is short",
    explain: "The measure phase is shorter than 30 s, or than a hundred times the slowest answer (rule \
              R41). Rare or periodic events, such as garbage collection, checkpoints and cron jobs, \
              are seen by luck or not at all.",
    check: Check::Trial(|case| {
        let measured = case.trial.phases.measure_ns;
        let slowest = case.trial.total.response_time.max_ns;
        let wanted = slowest.saturating_mul(100).max(30_000_000_000);
        let given_up = crate::case::gave_up(case.facts.early_end.as_ref());
        if measured >= wanted || case.facts.interrupted || given_up {
            return None;
        }
        let claim = format!(
            "the measure phase of {} is short: it may miss rare events",
            duration(measured)
        );
        let advice = format!("measure for {} or longer", duration(wanted));
        Some(Noticed::new(claim, advice).with("measure_ns", measured).with("wanted_ns", wanted))
    }),
};

fn think_time_ceiling(case: &Case<'_>) -> Option<Noticed> {
    let trial = case.trial;
    let pause = case.facts.think_mean_ns.filter(|_| trial.load.model == Model::Users)?;
    let users = f64::from(trial.load.users?);
    let cycle = if trial.journeys.is_empty() {
        Cycle::of_operations(trial, pause)
    } else {
        Cycle::of_journeys(trial, pause, &case.facts.steps)
    };
    let ceiling = users / (cycle.thinking + cycle.waiting);
    let near = (cycle.rate - ceiling).abs() < 0.03 * cycle.rate;
    if !near || cycle.thinking / (cycle.thinking + cycle.waiting) < 0.9 {
        return None;
    }
    let claim = format!(
        "the throughput is the users' think time: {} users / ({} s thinking + {} waiting) = {}, and {} \
         were {}",
        count(users as u64),
        significant(cycle.thinking),
        duration((cycle.waiting * 1e9).round() as u64),
        rate(ceiling),
        rate(cycle.rate),
        cycle.counted,
    );
    let noticed = Noticed::new(
        claim,
        "offer a rate instead of users to learn how much load the target sustains",
    )
    .with("ceiling_rate", ceiling)
    .with("completed_rate", cycle.rate)
    .with("think_mean_ns", (cycle.thinking * 1e9).round() as u64);
    Some(noticed)
}

/// What a user does again and again. Times in seconds.
struct Cycle {
    thinking: f64,
    waiting: f64,
    /// How many were seen in a second.
    rate: f64,
    counted: &'static str,
}

impl Cycle {
    fn of_operations(trial: &TrialSummary, pause: u64) -> Self {
        Self {
            thinking: pause as f64 / 1e9,
            waiting: trial.total.response_time.mean_ns as f64 / 1e9,
            rate: trial.rates.completed,
            counted: "completed",
        }
    }

    /// Of journeys, and of operations that are no step of one. `steps`: operations that are.
    fn of_journeys(trial: &TrialSummary, pause: u64, steps: &[String]) -> Self {
        let alone = trial.operations.iter().filter(|one| !steps.contains(&one.name));
        let journeys = trial.journeys.iter().map(|journey| &journey.whole);
        let (mut ended, mut whole, mut without, mut planned) = (0.0, 0.0, 0.0, 0.0);
        for (one, thinks) in journeys.map(|one| (one, true)).chain(alone.map(|one| (one, false))) {
            let times = |times: &Distribution| times.mean_ns as f64 / 1e9 * one.succeeded as f64;
            let response = times(&one.response_time);
            ended += one.succeeded as f64;
            whole += response;
            without += if thinks { times(&one.service_time) } else { response };
            planned += one.planned as f64;
        }
        let mean = |sum: f64| if ended > 0.0 { sum / ended } else { 0.0 };
        let seconds = trial.phases.measure_ns.max(1) as f64 / 1e9;
        Self {
            thinking: pause as f64 / 1e9 + mean(whole - without),
            waiting: mean(without),
            rate: planned / seconds,
            counted: "begun",
        }
    }
}
