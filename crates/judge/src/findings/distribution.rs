//! Findings about the shape of a distribution, and about operations that it leaves out.

use record::summary::{Distribution, Model, Severity};

use super::kind::{Check, FindingKind, Noticed};
use crate::case::Case;
use crate::concurrency;
use plan::number::{count, duration, percent, percentile, rate, significant};

/// Two modes that are nearer may come from other work on the machine.
const NEAREST_NS: u64 = 1_000_000;
/// The same while others use the processors: a few time slices of the scheduler.
const CROWDED_NS: u64 = 20_000_000;

/// Two modes.
pub const BIMODAL: FindingKind = FindingKind {
    code: "bimodal",
    severity: Severity::Warning,
    clearest: Some("clearness"),
    title: "operations are served in one of two ways",
    explain: "The service times have two modes with a clear valley between them, and both are met all through \
              the run. Two things are measured as one: hits and misses of \
              a cache, two replicas, two code paths. A median or mean of both describes neither; split the \
              operation, or compare shares as well as times.",
    check: Check::Trial(bimodal),
};

fn bimodal(case: &Case<'_>) -> Option<Noticed> {
    if case.facts.shape.comb.is_some() || is_spoiled(case) {
        return None;
    }
    let operations = case.facts.shape.operations.iter().enumerate();
    let mut found = operations.filter_map(|(place, one)| Some((place, one, one.modes?)));
    let nearest = noticeable(case);
    let (_, operation, modes) = found.find(|(place, _, modes)| {
        modes.high_ns - modes.low_ns >= nearest && case.facts.over_time.is_spread(*place)
    })?;
    let claim = format!(
        "{} is served in one of two ways: {} in about {}, {} in about {}",
        operation.name,
        percent(1.0 - modes.high_share),
        duration(modes.low_ns),
        percent(modes.high_share),
        duration(modes.high_ns)
    );
    let noticed =
        Noticed::new(claim, "find what tells the two apart, and measure them as two operations")
            .about(&operation.name)
            .with("low_ns", modes.low_ns)
            .with("high_ns", modes.high_ns)
            .with("valley_ns", modes.valley_ns)
            .with("high_share", modes.high_share)
            .with("clearness", modes.clearness());
    Some(noticed)
}

/// The mean is far from the median.
pub const MEAN: FindingKind = FindingKind {
    code: "mean-far-from-median",
    severity: Severity::Warning,
    clearest: Some("mean_ns"),
    title: "few operations make the mean",
    explain: "The mean is more than three times the median (rule R16), and by more than a millisecond: a few \
              very slow operations make it, or there are several modes. Neither the median nor the mean \
              describes such a distribution alone; read its upper percentiles and where in time they come \
              from.",
    check: Check::Trial(|case| {
        let (times, name) = main_times(case);
        let median = at(times, 0.5)?;
        let far =
            times.mean_ns > median.saturating_mul(3) && times.mean_ns - median > noticeable(case);
        if !far || is_spoiled(case) || bimodal(case).is_some() {
            return None;
        }
        let claim = format!(
            "the mean {name} ({}) is {} times its median ({})",
            duration(times.mean_ns),
            significant(times.mean_ns as f64 / median.max(1) as f64),
            duration(median)
        );
        let noticed = Noticed::new(claim, "read the upper percentiles, and when they happened")
            .with("mean_ns", times.mean_ns)
            .with("median_ns", median);
        Some(noticed)
    }),
};

/// A tail without queueing.
pub const ALONE: FindingKind = FindingKind {
    code: "tail-without-company",
    severity: Severity::Info,
    clearest: None,
    title: "operations are slow though none waits for another",
    explain: "One operation at a time was under way, and a hundredth of them took ten times the median or more, and \
              milliseconds longer. They cannot have waited for each other: whatever makes them slow is in what each \
              one goes through by itself (pauses, timers, background work, caches), and explaining the tail at more \
              connections by queueing alone would contradict this.",
    check: Check::Trial(|case| {
        let trial = case.trial;
        let alone = match trial.load.model {
            Model::Closed => concurrency::limit(&trial.load) == 1,
            Model::Users => trial.load.users == Some(1),
            Model::Open => false,
        };
        let times = &trial.total.service_time;
        let (median, p99) = (at(times, 0.5)?, at(times, 0.99)?);
        let far = p99 > median.saturating_mul(10) && p99 - median > noticeable(case);
        if !alone || !far || is_spoiled(case) {
            return None;
        }
        let claim = format!(
            "with one operation under way at a time the p99 of the service time ({}) is {} times its median ({}): \
             none of them waited for another",
            duration(p99),
            significant(p99 as f64 / median.max(1) as f64),
            duration(median)
        );
        let advice = "look for pauses and background work in the target; queueing is not the cause";
        Some(Noticed::new(claim, advice).with("p99_ns", p99).with("median_ns", median))
    }),
};

/// Percentiles of successful operations only.
pub const SURVIVORS: FindingKind = FindingKind {
    code: "failures-have-no-time",
    severity: Severity::Warning,
    clearest: None,
    title: "a percentile leaves failures out",
    explain: "Operations that failed, were abandoned or never begun have no response time, and they are so many \
              that a percentile would be another if they counted as slower than all others (rule R21): the \
              response time is that of the survivors. Read `outcome_time`, on which criteria are judged.",
    check: Check::Trial(|case| {
        let total = &case.trial.total;
        let without = total.planned.saturating_sub(total.succeeded);
        let moved = total
            .outcome_time
            .quantiles
            .iter()
            .find(|one| (0.5..=0.99).contains(&one.q) && one.observed_ns.is_none())?;
        let survivors = at(&total.response_time, moved.q)?;
        if without == 0 {
            return None;
        }
        let claim = format!(
            "the {} of {} is that of operations that succeeded; with the {} that did not, it is never",
            percentile(moved.q),
            duration(survivors),
            count(without)
        );
        let noticed = Noticed::new(claim, "read the outcome time beside the response time")
            .with("q", moved.q)
            .with("survivors_ns", survivors)
            .with("without_time", without);
        Some(noticed)
    }),
};

/// Failures counted as work.
pub const GOODPUT: FindingKind = FindingKind {
    code: "failures-in-the-throughput",
    severity: Severity::Warning,
    clearest: None,
    title: "failures count in the throughput",
    explain: "In a closed load a failure ends an operation like an answer does, and mostly sooner, so that \
              failing makes the load go faster (rules R22 and R23). More than one in a hundred completed \
              operations failed: compare goodput, never the completed rate.",
    check: Check::Trial(|case| {
        let rates = &case.trial.rates;
        let bad = rates.completed - rates.goodput;
        if case.trial.load.model == Model::Open || bad <= 0.01 * rates.completed {
            return None;
        }
        let claim = format!(
            "{} were completed, of which {} failed: the goodput is {}",
            rate(rates.completed),
            percent(bad / rates.completed),
            rate(rates.goodput)
        );
        let noticed = Noticed::new(claim, "compare goodput, not completed operations")
            .with("completed_rate", rates.completed)
            .with("goodput_rate", rates.goodput);
        Some(noticed)
    }),
};

/// A few slow operations hold up a closed loop.
pub const STRAGGLERS: FindingKind = FindingKind {
    code: "stragglers",
    severity: Severity::Warning,
    clearest: Some("slowest_ns"),
    title: "a few slow operations set the throughput",
    explain: "N connections or users whose operations take the median time, connecting and thinking included, would do \
              N over that time. Much less was done, and the slowest operation took a tenth of the run or more (rule \
              R14): a few were waiting for stragglers, which set the duration of the run, and the throughput says \
              more about those than about the rest.",
    check: Check::Trial(|case| {
        let trial = case.trial;
        let (actors, think) = match trial.load.model {
            Model::Closed => (concurrency::limit(&trial.load), 0),
            Model::Users => (trial.load.users?, case.facts.think_mean_ns?),
            Model::Open => return None,
        };
        if trial.phases.measure_ns == 0 {
            return None;
        }
        // From one answer to the next, including the time to connect.
        let times = &trial.total.response_time;
        let ceiling = f64::from(actors) * 1e9 / (at(times, 0.5)? + think).max(1) as f64;
        let seen = trial.rates.completed;
        let slowest = times.max_ns as f64 / trial.phases.measure_ns as f64;
        if seen > 0.5 * ceiling || slowest < 0.1 || case.trial.generator.cpu_ratio > 0.9 {
            return None;
        }
        let claim = format!(
            "stalls set the duration: {} {} at the median of {} would do {}, and {} were completed; the slowest \
             operation took {} of the run",
            count(u64::from(actors)),
            if think == 0 { "connections" } else { "users" },
            duration(at(times, 0.5)?),
            rate(ceiling),
            rate(seen),
            percent(slowest)
        );
        let noticed =
            Noticed::new(claim, "run longer, and find what the slowest operations waited for")
                .with("ceiling_rate", ceiling)
                .with("completed_rate", seen)
                .with("slowest_ns", times.max_ns);
        Some(noticed)
    }),
};

/// The main time of the load, and its name.
fn main_times<'c>(case: &Case<'c>) -> (&'c Distribution, &'static str) {
    match case.trial.load.model {
        Model::Open => (&case.trial.total.response_time, "response time"),
        Model::Closed | Model::Users => (&case.trial.total.service_time, "service time"),
    }
}

fn at(times: &Distribution, q: f64) -> Option<u64> {
    times.quantiles.iter().find(|one| one.q == q)?.observed_ns
}

/// Whether the generator was so short of time that it shaped the distribution: a tenth of the tail is its lag, or a
/// worker waited for its processor for a twentieth of the time.
fn is_spoiled(case: &Case<'_>) -> bool {
    let generator = &case.trial.generator;
    generator.tail_share.dispatch_lag > 0.1 || generator.run_queue_ratio > 0.05
}

/// Modes that are nearer than this may come from other work, as far as the kernel shows that others use the
/// processors.
fn noticeable(case: &Case<'_>) -> u64 {
    let generator = &case.trial.generator;
    let crowded = generator.run_queue_ratio > 0.01 || generator.steal_ratio > 0.01;
    if crowded { CROWDED_NS } else { NEAREST_NS }
}
