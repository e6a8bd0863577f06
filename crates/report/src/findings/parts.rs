//! Findings about where the time is, from what parts of the target say of their own.
//!
//! A part's time is inside the service time, and whatever the parts do not account for passed between them and the
//! client: on the way, in a queue before them, in somebody who does not tell. Means are held against each other,
//! since means alone add up.

use record::summary::{Arm, Machine, Operation, Severity, Trial};

use super::design::plain;
use super::under_test::busy;
use super::{Case, Noticed, Row};
use crate::number::{duration, percent};

/// Less than this, in nanoseconds, is made by loopback and schedulers.
const LEAST_NS: f64 = 200_000.0;

/// Most of the time is in no part.
pub const OUTSIDE: Row = Row {
    code: "time-outside-parts",
    severity: Severity::Warning,
    title: "most of the time passes outside of the parts that tell theirs",
    explain: "The largest of the parts that the experiment names in `server_timing` says that it took less than half \
              of the mean service time, and the rest is more than loopback and the instrument make. It passed before \
              the part began its clock or after it stopped it: in a proxy in between, in a queue before it, on the \
              way. Making the parts faster cannot help much. Let what lies between tell its own time, or measure \
              around it.",
    check: |case| {
        let operations = case.trial.operations.iter();
        let candidates = operations.filter_map(|one| Some((one, Told::largest(one)?)));
        let found = candidates.filter(|(_, told)| {
            told.time * 2.0 < told.service && told.outside() > noticeable(case.trial)
        });
        let weight = |(one, told): &(&Operation, Told<'_>)| told.outside() * one.succeeded as f64;
        let (operation, told) = found.max_by(|a, b| weight(a).total_cmp(&weight(b)))?;
        let share = told.outside() / told.service;
        let claim = format!(
            "of the {} that {} takes on average `{}` took {}: {} ({}) passed between the client and it{}{}",
            time(told.service),
            operation.name,
            told.part,
            time(told.time),
            time(told.outside()),
            percent(share),
            tail(operation, told.part),
            busy_ones(case),
        );
        let advice = "look at what lies between, such as a proxy or a queue, or go around it in a second arm";
        let noticed = Noticed::new(claim, advice)
            .about(&operation.name)
            .with("part", told.part)
            .with("part_mean_ns", told.time)
            .with("service_mean_ns", told.service)
            .with("outside_ratio", share);
        Some(noticed)
    },
};

/// Most of the time is in one part.
pub const IN_ONE: Row = Row {
    code: "time-in-one-part",
    severity: Severity::Info,
    title: "one part takes most of the time",
    explain: "One of the parts that the experiment names in `server_timing` says that it took half of the mean service \
              time or more, without what the parts inside it took. That is where the time is.",
    check: |case| {
        let operations = case.trial.operations.iter();
        let own = operations.flat_map(|one| {
            one.parts.iter().filter_map(move |part| Some((one, Told::own(one, &part.name)?)))
        });
        let mut most = own.filter(|(_, told)| {
            told.time * 2.0 >= told.service && told.time > noticeable(case.trial)
        });
        let (operation, told) = most.next()?;
        let inside: Vec<String> = inside(operation, told.part)
            .filter_map(|name| Some(format!("`{name}` {}", time(mean(operation, name)?))))
            .collect();
        let without = match inside.is_empty() {
            true => String::new(),
            false => format!(", without {} inside it", inside.join(", ")),
        };
        let claim = format!(
            "of the {} that {} takes on average `{}` itself took {} ({}){without}{}",
            time(told.service),
            operation.name,
            told.part,
            time(told.time),
            percent(told.time / told.service),
            busy_ones(case),
        );
        let noticed = Noticed::new(claim, "look into that part first")
            .about(&operation.name)
            .with("part", told.part)
            .with("own_mean_ns", told.time)
            .with("service_mean_ns", told.service);
        Some(noticed)
    },
};

/// A level adds time outside of a part.
pub const LEVEL_ADDS: Row = Row {
    code: "level-adds-time-outside",
    severity: Severity::Warning,
    title: "a level adds time outside of the part that does the work",
    explain: "Two arms differ in one level alone and offer the same load. The same part tells its time in both, and \
              with one of the levels more passes outside of it, by a quarter of the service time or more: whatever that \
              level puts in the way adds it. The part itself is told with either level, so that a part which only \
              waits for a processor is seen as well.",
    check: |_| None,
};

/// The pair of arms in which one level adds most outside of the part that both tell.
pub(super) fn level_adds(arms: &[Arm], _: &Machine) -> Option<Noticed> {
    let pairs = arms.iter().flat_map(|slow| arms.iter().map(move |fast| [slow, fast]));
    let added = pairs.filter_map(Added::of);
    let most = added.max_by(|a, b| a.outside().total_cmp(&b.outside()))?;
    let part = most.fast.part;
    let [fast, slow] = most.levels.clone();
    let (itself, with_fast) = (most.slow.time, most.fast.time);
    let claim = if (itself - with_fast).abs() < 0.1 * most.outside() {
        format!(
            "{slow} adds {} outside of `{part}` ({}), which itself took {} as against {} with {fast}{}",
            time(most.outside()),
            most.operation,
            time(itself),
            time(with_fast),
            most.stratum,
        )
    } else {
        format!(
            "{slow} adds {} outside of `{part}` ({}), which itself went from {} with {fast} to {}{}",
            time(most.outside()),
            most.operation,
            time(with_fast),
            time(itself),
            most.stratum,
        )
    };
    let noticed =
        Noticed::new(claim, "look at what that level puts between the client and the part")
            .about(most.operation)
            .with("part", part)
            .with("outside_ns", most.outside())
            .with("part_mean_ns", itself)
            .with("part_mean_of_the_other_ns", with_fast)
            .with("service_mean_ns", most.slow.service);
    Some(noticed)
}

/// Mean time of a part beside the mean service time, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Told<'a> {
    part: &'a str,
    time: f64,
    service: f64,
}

impl<'a> Told<'a> {
    /// The part that took longest.
    fn largest(operation: &'a Operation) -> Option<Self> {
        let told = operation.parts.iter().filter_map(|part| Self::of(operation, &part.name));
        told.max_by(|a, b| a.time.total_cmp(&b.time))
    }

    fn of(operation: &Operation, part: &'a str) -> Option<Self> {
        let service = operation.service_time.mean_ns as f64;
        Some(Self { part, time: mean(operation, part)?, service })
    }

    /// The part without those inside it.
    fn own(operation: &Operation, part: &'a str) -> Option<Self> {
        let whole = Self::of(operation, part)?;
        let inside = inside(operation, part).map(|name| mean(operation, name));
        let inside: f64 = inside.sum::<Option<f64>>()?;
        Some(Self { time: (whole.time - inside).max(0.0), ..whole })
    }

    fn outside(&self) -> f64 {
        self.service - self.time
    }
}

/// Names of the parts directly inside of one.
fn inside<'o>(operation: &'o Operation, part: &str) -> impl Iterator<Item = &'o str> {
    let within = move |one: &&record::summary::Part| one.within.as_deref() == Some(part);
    operation.parts.iter().filter(within).map(|one| one.name.as_str())
}

/// Mean time of a part, where nearly every answer carried it.
fn mean(operation: &Operation, part: &str) -> Option<f64> {
    let (span, all) = (operation.spans.get(part)?, operation.service_time.count);
    (span.count * 10 >= all * 9 && all * 10 >= span.count * 9).then_some(span.mean_ns as f64)
}

/// What loopback and the instrument may have made of a mean service time, doubled. A worker reads the answers of all
/// that is under way one after the other, and may have to wait for its processor.
fn noticeable(trial: &Trial) -> f64 {
    let finished = (trial.total.succeeded + trial.total.failed).max(1) as f64;
    let waited = trial.generator.run_queue_ratio * trial.phases.measure_ns as f64;
    let each = (trial.generator.cpu_ns as f64 + waited) / finished;
    let under_way = trial.in_flight.mean / f64::from(trial.load.workers.max(1));
    let floor = trial.generator.floor.as_ref().map_or(0.0, |floor| floor.mean_ns as f64);
    2.0 * (each * under_way.max(1.0)).max(floor) + LEAST_NS
}

/// Even the greatest time of the part is less than half of the 99th percentile: what the rest is at least, whichever
/// operations the part took longest in.
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

/// Processes that had no processor time left meanwhile.
fn busy_ones(case: &Case<'_>) -> String {
    busy(case).map_or(String::new(), |(process, _)| {
        format!("; {} had no processor time left meanwhile", process.name)
    })
}

/// Two arms of one difference, with the part that both tell.
struct Added<'a> {
    operation: &'a str,
    fast: Told<'a>,
    slow: Told<'a>,
    /// The faster level and the slower one, as `path = direct`.
    levels: [String; 2],
    stratum: String,
}

impl<'a> Added<'a> {
    /// The operation to which the first of these arms adds most, if to any.
    fn of([slow, fast]: [&'a Arm; 2]) -> Option<Self> {
        let mut differing = slow
            .factors
            .iter()
            .filter(|(name, level)| fast.factors.get(*name).is_some_and(|other| other != *level));
        let (factor, level) = differing.next()?;
        let alike = differing.next().is_none() && slow.factors.len() == fast.factors.len();
        let [one, other] = [slow, fast].map(|arm| arm.counted().find(|trial| trial.is_usable()));
        let (one, other) = (one?, other?);
        let load = |trial: &Trial| {
            (trial.load.connections, trial.load.users, trial.load.offered_rate.map(f64::to_bits))
        };
        if !alike || load(one) != load(other) {
            return None;
        }
        let others = slow.factors.iter().filter(|(name, _)| *name != factor);
        let others: Vec<String> =
            others.map(|(name, level)| format!("{name} = {}", plain(level))).collect();
        let stratum = others.join(", ");
        let shown = |level| format!("{factor} = {}", plain(level));
        let levels = [shown(&fast.factors[factor]), shown(level)];
        let stratum = if stratum.is_empty() { stratum } else { format!(" (at {stratum})") };
        let least = noticeable(one).max(noticeable(other));
        let of_operation = |operation: &'a Operation| {
            let part =
                Told::largest(other.operations.iter().find(|one| one.name == operation.name)?)?;
            let [fast, slow] = [fast, slow].map(|arm| over_trials(arm, &operation.name, part.part));
            let added = Self {
                operation: &operation.name,
                fast: fast?,
                slow: slow?,
                levels: levels.clone(),
                stratum: stratum.clone(),
            };
            (added.outside() > least && added.outside() * 4.0 > added.slow.service).then_some(added)
        };
        let added = one.operations.iter().filter_map(of_operation);
        added.max_by(|a, b| a.outside().total_cmp(&b.outside()))
    }

    fn outside(&self) -> f64 {
        self.slow.outside() - self.fast.outside()
    }
}

/// Means of an arm's usable trials.
fn over_trials<'a>(arm: &Arm, operation: &str, part: &'a str) -> Option<Told<'a>> {
    let trials = arm.counted().filter(|trial| trial.is_usable());
    let told: Vec<Told<'a>> = trials
        .map(|trial| {
            let one = trial.operations.iter().find(|one| one.name == operation)?;
            Told::of(one, part)
        })
        .collect::<Option<_>>()?;
    let mean =
        |value: fn(&Told<'_>) -> f64| told.iter().map(value).sum::<f64>() / told.len() as f64;
    let all = Told { part, time: mean(|one| one.time), service: mean(|one| one.service) };
    (!told.is_empty()).then_some(all)
}

fn time(nanoseconds: f64) -> String {
    duration(nanoseconds.max(0.0).round() as u64)
}
