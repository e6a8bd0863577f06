//! Findings about when operations were slow or failed.

use record::summary::Severity;
use stats::signature;

use super::kind::{Check, FindingKind, Noticed};
use crate::case::Burst;
use crate::case::Case;
use plan::number::{count, duration, percent};

/// Stalls at regular intervals.
pub const PERIODIC: FindingKind = FindingKind {
    code: "periodic-stalls",
    severity: Severity::Warning,
    clearest: None,
    title: "the target stalls at regular distances",
    explain: "Windows in which markedly more operations were slow than usual follow each other at regular \
              distances, so regular that fewer than one in a thousand series of chance would do as well. \
              Something stops the target on a timetable: a checkpoint, a flush, a collection of garbage, a \
              cron job, a health check. Tails of such a run depend on how many of its periods it holds.",
    check: Check::Trial(|case| {
        let stalls = case.facts.over_time.stalls()?;
        // Another finding reports stalls of the generator itself.
        if case.trial.generator.tail_share.dispatch_lag > 0.5 {
            return None;
        }
        let window = case.trial.window_ns;
        let period = (stalls.period.windows * window as f64) as u64;
        let claim = format!(
            "the target stalls about every {} ({} times, first at {}); the longest answer of a stall takes {}",
            duration(period),
            count(stalls.period.kept as u64),
            duration(stalls.first * window),
            duration(stalls.length_ns)
        );
        let advice = "look for what the target does at that distance: flushes, collections, timers";
        let noticed = Noticed::new(claim, advice)
            .with("period_ns", period)
            .with("length_ns", stalls.length_ns)
            .with("stalls", stalls.period.kept)
            .with("first_at_ns", stalls.first * window)
            .with("chance", stalls.period.chance);
        Some(noticed)
    }),
};

/// Failures close together.
pub const BURST: FindingKind = FindingKind {
    code: "failures-in-a-burst",
    severity: Severity::Warning,
    clearest: None,
    title: "failures came close together",
    explain: "Four fifths of the operations that did not succeed were due within a fifth of the load or less, so \
              close together that chance puts them so in fewer than one run of a hundred. They have one cause \
              at one time, so that their share of the run says little: a longer run would \
              show a smaller one. The place in time is what to look up in the target's log.",
    check: Check::Trial(|case| {
        let burst = concentrated(case)?;
        if burst.at_end {
            return None;
        }
        let (from, to) = (burst.from * case.trial.window_ns, burst.to * case.trial.window_ns);
        let claim = format!(
            "{} of {} operations that did not succeed were due between {} and {}",
            count(burst.bad),
            count(burst.bad_total),
            duration(from),
            duration(to)
        );
        let noticed = Noticed::new(claim, "see what happened to the target then")
            .with("from_ns", from)
            .with("to_ns", to)
            .with("bad", burst.bad)
            .with("due_share", burst.due_share);
        Some(noticed)
    }),
};

/// Failures at the end.
pub const AT_THE_END: FindingKind = FindingKind {
    code: "failures-at-the-end",
    severity: Severity::Warning,
    clearest: None,
    title: "failures were due at the end",
    explain: "Most operations that did not succeed were due in the last part of the measure phase (rule R32). If \
              they were abandoned, the end of the run cut them off: all they show about the target is that it had \
              not finished. If they failed, the target broke down at the end, and a longer run would show more \
              failures.",
    check: Check::Trial(|case| {
        let burst = concentrated(case)?;
        if !burst.at_end {
            return None;
        }
        let abandoned = case.trial.accounting.abandoned;
        let from = burst.from * case.trial.window_ns;
        let cause = match abandoned * 2 >= burst.bad_total {
            true => "most were cut off by the end of the run",
            false => "few were cut off by the end of the run, so the target broke down",
        };
        let claim = format!(
            "{} of {} operations that did not succeed were due after {}, in the last {} of the load; {cause}",
            count(burst.bad),
            count(burst.bad_total),
            duration(from),
            percent(burst.due_share)
        );
        let noticed = Noticed::new(claim, "run longer, and let the last operations end")
            .with("from_ns", from)
            .with("bad", burst.bad)
            .with("abandoned", abandoned)
            .with("in_flight_mean", case.trial.in_flight.mean);
        Some(noticed)
    }),
};

/// Four fifths of the operations that did not succeed, within a fifth of the load, and closer together than chance
/// puts them in one run of a hundred: three within 5.7 % of the load, ten within a fifth.
fn concentrated(case: &Case<'_>) -> Option<Burst> {
    const NARROW: f64 = 0.2;
    const CHANCE: f64 = 0.01;
    let is_crowd = |burst: &Burst| {
        let chance = signature::chance_of_crowd(burst.bad_total, burst.bad, burst.due_share);
        burst.due_share <= NARROW && chance <= CHANCE
    };
    case.facts.over_time.burst().filter(is_crowd)
}
