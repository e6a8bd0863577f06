//! The environment of the load: machines, build, dates: R19, R41, R43, R45, R52.

use crate::imports::report::Run;
use plan::number::{bytes, percent};

use super::rule::{Noticed, time};

/// R19: the generator used all of its processor time.
pub fn generator_cpu(run: &Run) -> Option<Noticed> {
    let used = run.generator_cpu?.value;
    (used > 0.8).then(|| {
        Noticed::new(format!(
            "the generator used {} of its processors: it may be what was measured",
            percent(used)
        ))
        .with("generator_cpu_percent", used * 100.0)
        .weak_if(run.capacity.is_none())
    })
}

/// R41: the figures include the warm-up.
pub fn warm_up(run: &Run) -> Option<Noticed> {
    (run.warm_up_left_out == Some(false)).then(|| {
        Noticed::new("the warm-up is in these figures: the slowest request may be the first one")
    })
}

/// One day in seconds: dates have no time of day.
const DAY: f64 = 86_400.0;

/// R43: the order is build, run, report.
pub fn dates(run: &Run) -> Option<Noticed> {
    let began = ("the run began", run.started_at.or(run.ended_at));
    let all = [
        ("the system was built", run.built_at),
        began,
        ("the report was written", run.reported_at),
    ];
    let known: Vec<(&str, f64)> =
        all.into_iter().filter_map(|(what, at)| Some((what, at?))).collect();
    let mut pairs = known.windows(2).map(|pair| (pair[0], pair[1]));
    let ((earlier, before), (later, after)) =
        pairs.find(|((_, before), (_, after))| before - after > DAY)?;
    Some(
        Noticed::new(format!("{later} {:.1} days before {earlier}", (before - after) / DAY))
            .with("days", (before - after) / DAY),
    )
}

/// R45: more was stored than fits into memory.
pub fn memory(run: &Run) -> Option<Noticed> {
    let (stored, memory) = (run.stored_bytes?.value, run.memory_bytes?.value);
    (memory > 0.0 && stored > 0.8 * memory).then(|| {
        Noticed::new(format!(
            "{} were to be kept in {} of memory: something was dropped, swapped, or never arrived",
            bytes(stored as u64),
            bytes(memory as u64)
        ))
        .with("stored_bytes", stored)
        .with("memory_bytes", memory)
    })
}

/// Prefixes of instance types with burstable processors or network: AWS, Azure, Google.
const BURSTABLE: [&str; 11] = [
    "t1.",
    "t2.",
    "t3.",
    "t3a.",
    "t4g.",
    "standard_b",
    "b1s",
    "b1ms",
    "e2-micro",
    "f1-micro",
    "g1-small",
];

/// R45: an instance that slows down when its burst credit is used up.
pub fn burstable(run: &Run) -> Option<Noticed> {
    let name = run.instance.as_ref()?;
    let lower = name.to_lowercase();
    BURSTABLE.iter().any(|start| lower.starts_with(start)).then(|| {
        Noticed::new(format!("{name} runs on credit of processor time and network: what it does for a minute it does not do for long"))
            .with_text("instance", name)
    })
}

/// R52: load generator and system share a machine, and the report does not say how much each used.
pub fn co_located(run: &Run) -> Option<Noticed> {
    let unknown = run.same_machine == Some(true) && run.generator_cpu.is_none();
    let length =
        run.duration.map_or(String::new(), |length| format!(" for {}", time(length.value)));
    unknown.then(|| {
        Noticed::new(format!(
            "load and system shared a machine{length}, and how much of its processors each used is not printed"
        ))
    })
}
