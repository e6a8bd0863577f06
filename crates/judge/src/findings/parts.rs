//! Findings about where the time goes, from the times that parts of the target report.
//!
//! A part's time is inside the service time. The rest passed between the parts and the client: on the network, in a
//! queue before them, in a component that reports nothing. Means are compared, since only means add up.

use record::summary::{Operation, Severity, TrialSummary};

use super::kind::{Check, FindingKind, Noticed};
use super::under_test::busy;
use crate::case::Case;
use crate::part_times::PartTimes;
use crate::validity;
use plan::number::{duration, percent};

/// Loopback and the scheduler alone may take this long, in nanoseconds.
const LEAST_NS: f64 = 200_000.0;

/// Most of the time is in no part.
pub const OUTSIDE: FindingKind = FindingKind {
    code: "time-outside-parts",
    severity: Severity::Warning,
    clearest: Some("outside_ns"),
    title: "most of the time passes outside of the reported parts",
    explain: "The largest of the parts that the experiment names in `server_timing` says that it took less than half \
              of the mean service time, and the rest is more than loopback and the instrument make. It passed before \
              the part began its clock or after it stopped it: in the part's own queue for threads or connections, in a \
              proxy if one stands before it, on the way. Making the parts faster cannot help much. Let what lies \
              between report its own time, or measure around it. The finding is left out where the generator was late, which is then the likely cause.",
    check: Check::Trial(|case| {
        if is_late(case) {
            return None;
        }
        let operations = case.trial.operations.iter();
        let candidates = operations.filter_map(|one| Some((one, PartMean::largest(one)?)));
        let found = candidates.filter(|(_, mean)| {
            mean.time * 2.0 < mean.service && mean.outside() > noticeable(case.trial)
        });
        let weight =
            |(one, mean): &(&Operation, PartMean<'_>)| mean.outside() * one.succeeded as f64;
        let (operation, mean) = found.max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
        let share = mean.outside() / mean.service;
        let claim = format!(
            "of the {} that {} takes on average `{}` took {}: {} ({}) passed between the client and it{}{}",
            time(mean.service),
            operation.name,
            mean.part,
            time(mean.time),
            time(mean.outside()),
            percent(share),
            tail(operation, mean.part),
            busy_ones(case),
        );
        let advice = "look at what comes before the part's clock and after it: its own queue for threads and connections, \
                      the network path, and anything in between";
        let noticed = Noticed::new(claim, advice)
            .about(&operation.name)
            .with("part", mean.part)
            .with("part_mean_ns", mean.time)
            .with("service_mean_ns", mean.service)
            .with("outside_ns", mean.outside())
            .with("outside_ratio", share);
        Some(noticed)
    }),
};

/// Whether lateness of the generator explains the time outside of the parts: a late generator also reads answers
/// late.
fn is_late(case: &Case<'_>) -> bool {
    case.trial.generator.tail_share.dispatch_lag > 0.1
        || validity::lateness(case.trial, case.facts).is_some()
}

/// Most of the time is in one part.
pub const IN_ONE: FindingKind = FindingKind {
    code: "time-in-one-part",
    severity: Severity::Info,
    clearest: Some("own_mean_ns"),
    title: "one part takes most of the time",
    explain: "One of the parts that the experiment names in `server_timing` says that it took half of the mean service \
              time or more, without what the parts inside it took. That is where the time is.",
    check: Check::Trial(|case| {
        let operations = case.trial.operations.iter();
        let own = operations.flat_map(|one| {
            one.parts.iter().filter_map(move |part| Some((one, PartMean::own(one, &part.name)?)))
        });
        let mut most = own.filter(|(_, mean)| {
            // The part measures this with its own clock, so the generator adds nothing to it.
            mean.time * 2.0 >= mean.service && mean.time > LEAST_NS
        });
        let (operation, mean) = most.next()?;
        let inside: Vec<String> = inside(operation, mean.part)
            .filter_map(|name| {
                Some(format!("`{name}` {}", duration(PartTimes::of(operation).mean(name)?)))
            })
            .collect();
        let without = match inside.is_empty() {
            true => String::new(),
            false => format!(", without {} inside it", inside.join(", ")),
        };
        let claim = format!(
            "of the {} that {} takes on average `{}` itself took {} ({}){without}{}",
            time(mean.service),
            operation.name,
            mean.part,
            time(mean.time),
            percent(mean.time / mean.service),
            busy_ones(case),
        );
        let noticed = Noticed::new(claim, "look into that part first")
            .about(&operation.name)
            .with("part", mean.part)
            .with("own_mean_ns", mean.time)
            .with("service_mean_ns", mean.service);
        Some(noticed)
    }),
};

/// Mean time of a part, with the mean service time, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartMean<'a> {
    pub part: &'a str,
    pub time: f64,
    pub service: f64,
}

impl<'a> PartMean<'a> {
    /// The part with the greatest mean time.
    pub(super) fn largest(operation: &'a Operation) -> Option<Self> {
        let parts = operation.parts.iter().filter_map(|part| Self::of(operation, &part.name));
        parts.max_by(|a, b| a.time.total_cmp(&b.time))
    }

    pub(super) fn of(operation: &Operation, part: &'a str) -> Option<Self> {
        let spent = PartTimes::of(operation);
        Some(Self::new(part, spent.mean(part)?, &spent))
    }

    /// The part without the parts inside it. All of those must be known: otherwise the time may not be the part's
    /// own.
    pub(super) fn own(operation: &Operation, part: &'a str) -> Option<Self> {
        let spent = PartTimes::of(operation);
        let is_known = inside(operation, part).all(|name| spent.mean(name).is_some());
        Some(Self::new(part, spent.own(part).filter(|_| is_known)?, &spent))
    }

    fn new(part: &'a str, time: u64, spent: &PartTimes<'_>) -> Self {
        Self { part, time: time as f64, service: spent.service.mean() as f64 }
    }

    pub(super) fn outside(&self) -> f64 {
        self.service - self.time
    }
}

/// Names of the parts directly inside this one.
fn inside<'o>(operation: &'o Operation, part: &str) -> impl Iterator<Item = &'o str> {
    let within = move |one: &&record::summary::Part| one.within.as_deref() == Some(part);
    operation.parts.iter().filter(within).map(|one| one.name.as_str())
}

/// The least mean time that loopback and the instrument cannot explain: twice what the instrument may have added,
/// plus [`LEAST_NS`].
pub(super) fn noticeable(trial: &TrialSummary) -> f64 {
    let floor = trial.generator.floor.as_ref().map_or(0.0, |floor| floor.mean_ns as f64);
    2.0 * own(trial).max(floor) + LEAST_NS
}

/// The part of a mean service time that the generator may have added: a worker reads the answers of all operations in
/// flight one after the other, and may have to wait for its processor. The share of operations in flight that wait
/// for a worker is at most the share of the time in which it is busy.
pub(super) fn own(trial: &TrialSummary) -> f64 {
    let (workers, wall) = (f64::from(trial.load.workers.max(1)), trial.phases.measure_ns as f64);
    let waited = trial.generator.run_queue_ratio * wall;
    let used = trial.generator.cpu_ns as f64 + waited;
    let each = used / (trial.total.succeeded + trial.total.failed).max(1) as f64;
    let busy = (used / (wall * workers).max(1.0)).min(1.0);
    each * (busy * trial.in_flight.mean / workers).max(1.0)
}

/// A note on the tail where even the greatest time of the part is less than half of the 99th percentile: the least
/// time that these operations spend elsewhere, whichever ones the part is slowest in.
fn tail(operation: &Operation, part: &str) -> String {
    let p99 = operation.service_time.quantiles.iter().find(|entry| entry.q == 0.99);
    let at = p99.and_then(|entry| entry.observed_ns);
    let most = operation.spans.get(part).map(|span| span.max_ns);
    match (at, most) {
        (Some(at), Some(most)) if most * 2 < at => format!(
            "; of the slowest hundredth, {} and more, at least {} each, since `{part}` never took longer than {}",
            duration(at),
            duration(at - most),
            duration(most)
        ),
        _ => String::new(),
    }
}

/// A note on a process that had no processor time left.
fn busy_ones(case: &Case<'_>) -> String {
    busy(case).map_or(String::new(), |(process, _)| {
        format!("; {} had no processor time left meanwhile", process.name)
    })
}

pub(super) fn time(nanoseconds: f64) -> String {
    duration(nanoseconds.max(0.0).round() as u64)
}
