//! Findings about how a trial went: departures from a steady state.

use record::summary::{Severity, TrialSummary};
use stats::steady::{Alarm, Measure};

use super::kind::{CHANGE, Check, FindingKind, Noticed};
use crate::case::Case;
use crate::case::departure;
use plan::number::{duration, percent};

/// More operations came in than were completed.
pub const GROWING_BACKLOG: FindingKind = FindingKind {
    code: "growing-backlog",
    severity: Severity::Warning,
    clearest: Some("in_flight_end"),
    title: "more and more was in flight",
    explain: "The number of operations in flight grew during the measure phase by more than its mean; the 99.9 % \
              interval of the slope excludes a constant number. More was offered than the target finished: the \
              rate is above its capacity, or the target becomes slower and slower. Response times then depend on \
              the length of the run and are not a property of the target.",
    check: Check::Trial(|case| {
        noticed(case, |alarm| matches!(alarm, Alarm::GrowingBacklog { .. }))
    }),
};

/// The warm-up was too short.
pub const WARM_UP_TOO_SHORT: FindingKind = FindingKind {
    code: "warm-up-too-short",
    severity: Severity::Warning,
    clearest: None,
    title: "the start was slower than the rest",
    explain: "The first part of the measure phase, a third of it at most, was slower than the rest (MSER-5 and change \
              points, confirmed by a difference of 5 standard errors): caches, connections or a compiler were \
              still warming up, and their times are among those reported. Totals cannot be cut after the run, so \
              repeat it with a longer warm-up. `--warm-up auto` is 5 s, with this test to say if that was too little.",
    check: Check::Trial(|case| {
        noticed(case, |alarm| matches!(alarm, Alarm::WarmUpTooShort { .. }))
    }),
};

/// A slow change.
pub const DRIFT: FindingKind = FindingKind {
    code: "drift",
    severity: Severity::Warning,
    clearest: Some(CHANGE),
    title: "response times changed slowly",
    explain: "The median or the 95th percentile of the windows followed a slope (Theil–Sen) of more than 5 % over the \
              measure phase, with an interval (block bootstrap, 99.9 %) that leaves 0 out. A leak, a growing store, \
              throttling or a machine that slows down: the numbers depend on how long the run was.",
    check: Check::Trial(|case| noticed(case, |alarm| matches!(alarm, Alarm::Drift { .. }))),
};

/// A step.
pub const LEVEL_SHIFT: FindingKind = FindingKind {
    code: "level-shift",
    severity: Severity::Warning,
    clearest: Some(CHANGE),
    title: "response times stepped to another level",
    explain: "The windows fall into stretches with different levels (ED-PELT change points): more than 5 % in the median \
              or 10 % in the 95th percentile, by 5 standard errors. Something changed during the run, so that its \
              numbers mix two states of the target or of the machine. Look at what happened at that instant.",
    check: Check::Trial(|case| noticed(case, |alarm| matches!(alarm, Alarm::LevelShift { .. }))),
};

/// Parts of the trial that differ in another way.
pub const UNEVEN: FindingKind = FindingKind {
    code: "uneven-phase",
    severity: Severity::Warning,
    clearest: None,
    title: "parts of the measure phase differ",
    explain: "Ten equal parts of the measure phase differ in how many operations were slower than the median, slower \
              than the 95th percentile, or lost, by more than windows within a part do (p < 0.0001) and by enough to \
              matter (5 % in the median, 10 % in the 95th percentile, 0.1 % of operations lost), without a drift \
              or a step to explain it. The numbers describe a mixture of states.",
    check: Check::Trial(|case| noticed(case, |alarm| matches!(alarm, Alarm::Uneven { .. }))),
};

/// The departures of this kind as one finding: the first one is the claim, all of them are the evidence.
fn noticed(case: &Case<'_>, is: fn(&Alarm) -> bool) -> Option<Noticed> {
    let mut alarms = case.facts.steady.alarms().iter().filter(|alarm| is(alarm)).peekable();
    let first = alarms.peek()?;
    let claim = departure(first, case.trial, case.facts.steady.point_ns());
    let advice = match first {
        // Excess load waits wherever it can, so waiting for a processor is no sign of other work.
        Alarm::GrowingBacklog { .. } => advice(first, case),
        _ => format!("{}{}", crowd(case.trial), advice(first, case)),
    };
    let noticed = Noticed::new(claim, advice);
    Some(alarms.fold(noticed, |noticed, alarm| with_evidence(noticed, alarm, case)))
}

/// Share of the time without a processor from which other work is named as a cause: chosen, not measured.
const CROWDED: f64 = 0.01;

/// Advice to check other work on the machine first, where the kernel shows that it used the processors: that may have
/// changed instead of the target.
fn crowd(trial: &TrialSummary) -> String {
    let (waited, taken) = (trial.generator.run_queue_ratio, trial.generator.steal_ratio);
    let share = match (waited > CROWDED, taken > CROWDED) {
        (false, false) => return String::new(),
        (true, _) => format!("a worker waited for its processor during {}", percent(waited)),
        (false, true) => format!("the hypervisor took away {}", percent(taken)),
    };
    format!("check first what else ran on this machine, since {share} of the time; then ")
}

fn with_evidence(noticed: Noticed, alarm: &Alarm, case: &Case<'_>) -> Noticed {
    let at = |place: usize| place as u64 * case.facts.steady.point_ns();
    match *alarm {
        Alarm::GrowingBacklog { at_end, mean, growth } => noticed
            .with("in_flight_end", at_end)
            .with("in_flight_mean", mean)
            .with("growth", growth.estimate)
            .with("growth_low", growth.low)
            .with("growth_high", growth.high),
        Alarm::WarmUpTooShort { until, ratio, .. } => {
            noticed.with("transient_ns", at(until)).with("ratio", ratio)
        }
        Alarm::Drift { measure, ratio, interval } => noticed
            .with(&key(measure, "ratio"), ratio)
            .with(&key(measure, "low"), interval.0)
            .with(&key(measure, "high"), interval.1),
        Alarm::LevelShift { measure, at: place, ratio } => {
            noticed.with(&key(measure, "ratio"), ratio).with(&key(measure, "at_ns"), at(place))
        }
        Alarm::Uneven { measure, spread } => noticed
            .with(&key(measure, "share_part"), spread.shares.0)
            .with(&key(measure, "share_whole"), spread.shares.1)
            .with("part", spread.segment + 1)
            .with("p_value", spread.p_value),
    }
}

fn advice(alarm: &Alarm, case: &Case<'_>) -> String {
    match *alarm {
        Alarm::GrowingBacklog { .. } => {
            "lower the rate; if it still grows, look for what the target gathers over time"
                .to_owned()
        }
        Alarm::WarmUpTooShort { until, .. } => {
            let warm_up =
                case.trial.phases.warm_up_ns + until as u64 * case.facts.steady.point_ns();
            format!("warm up for at least {}", duration(warm_up))
        }
        Alarm::Drift { .. } => {
            "look for what grows with time, or measure longer to see where it ends".to_owned()
        }
        Alarm::LevelShift { .. } => {
            "look at what happened on target and machine at that instant, and run it again"
                .to_owned()
        }
        Alarm::Uneven { .. } => "look at the course over time, and run it again".to_owned(),
    }
}

fn key(measure: Measure, what: &str) -> String {
    let measure = match measure {
        Measure::Median => "median",
        Measure::Tail => "p95",
        Measure::Lost => "lost",
    };
    format!("{measure}_{what}")
}

#[cfg(test)]
mod tests;
