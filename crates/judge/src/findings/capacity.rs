//! Findings about a search for capacity; made where its trials are combined.

use plan::units::format_rate as offered;
use record::summary::{Capacity, CapacityEnding, Finding, Severity, Stairs};

use super::kind::{Check, FindingKind, Noticed};
use super::load::INTERRUPTED_ROW;
use plan::number::{duration, duration_or};

/// The target never recovered.
pub const METASTABLE: FindingKind = FindingKind {
    code: "metastable",
    severity: Severity::Error,
    clearest: None,
    title: "the target did not recover from an overload",
    explain: "After a step above its capacity the load went down in steps again, and response times never came \
              back to what they were at the same rates on the way up. Something keeps the overload alive without \
              the load that caused it: retries, an emptied cache, queued work whose clients have given up. \
              Restarting, or shedding load, is then the only way out. (Bronson et al., Metastable failures in \
              distributed systems, 2021.)",
    check: Check::Search(|capacity| metastable(capacity.stairs.as_ref()?)),
};

/// The way down differs from the way up.
pub const HYSTERESIS: FindingKind = FindingKind {
    code: "hysteresis",
    severity: Severity::Warning,
    clearest: None,
    title: "the same load is slower after an overload",
    explain: "At two or more rates well below the capacity, the 99th percentile of response time on the way down \
              differed from that on the way up, by at least a quarter and by more than windows vary. The capacity \
              that a search from below finds does not hold after an overload.",
    check: Check::Search(|capacity| hysteresis(capacity.stairs.as_ref()?)),
};

/// The generator cannot reach the rate.
pub const GENERATOR_LIMITED: FindingKind = FindingKind {
    code: "generator-limited-capacity",
    severity: Severity::Warning,
    clearest: None,
    title: "the generator is the limit, not the target",
    explain: "Three trials in a row were spoiled by the generator at the same rate, so that nothing can be said of \
              the target there. Its capacity is the low end or more. Give the generator more cores, or cores of \
              its own.",
    check: Check::Search(generator_limited),
};

/// A higher rate passed where a lower one did not.
pub const DISORDER: FindingKind = FindingKind {
    code: "rates-in-disorder",
    severity: Severity::Info,
    clearest: None,
    title: "a higher rate passed where a lower one did not",
    explain: "A rate above one that was not shown to hold passed. Near the capacity that is chance; farther away it \
              is noise of the machine, or a target that is slow at certain rates only. The smallest rate that does \
              not pass ends the interval, so that the answer is on the safe side.",
    check: Check::Search(disorder),
};

fn metastable(stairs: &Stairs) -> Option<Noticed> {
    let highest = stairs.steps.last()?.rate;
    let claim = format!(
        "after {} the target did not come back to the response times of the way up, {} long",
        offered(highest),
        duration(stairs.step_ns * (stairs.steps.len() as u64 - 1))
    );
    let advice = "look for retries, emptied caches and queued work whose clients have given up";
    (!stairs.recovered)
        .then(|| Noticed::new(claim, advice).with("rate", highest).with("trial", stairs.trial))
}

fn hysteresis(stairs: &Stairs) -> Option<Noticed> {
    let worst = crate::capacity::hysteresis::well_below(stairs).rfind(|step| step.differs)?;
    let claim = format!(
        "{} after an overload has a p99 of {}, and had {} before it",
        offered(worst.rate),
        duration_or(worst.down_p99_ns, "more than was answered"),
        duration_or(worst.up_p99_ns, "more than was answered"),
    );
    crate::capacity::hysteresis::shows_hysteresis(stairs).then(|| {
        Noticed::new(claim, "do not count on this capacity after an overload: plan for less")
            .with("rate", worst.rate)
            .with("up_p99_ns", worst.up_p99_ns)
            .with("down_p99_ns", worst.down_p99_ns)
    })
}

fn generator_limited(capacity: &Capacity) -> Option<Noticed> {
    let last = capacity.steps.last()?;
    let why = capacity.symptom.as_deref().unwrap_or("see the trial's reasons");
    let claim = format!("the generator could not make {}: {why}", offered(last.rate));
    (capacity.ending == CapacityEnding::GeneratorLimited).then(|| {
        Noticed::new(claim, "give the generator cores of its own, or more workers")
            .with("rate", last.rate)
    })
}

fn disorder(capacity: &Capacity) -> Option<Noticed> {
    let not_shown = capacity.not_shown?;
    let claim = format!("a rate above {} passed, which itself did not", offered(not_shown));
    capacity.in_disorder.then(|| {
        Noticed::new(claim, "use longer trials (`--longest`), or a quieter machine")
            .with("not_shown", not_shown)
    })
}

/// The finding that the user stopped the search.
pub(crate) fn stopped(capacity: &Capacity) -> Option<Finding> {
    let made = capacity.steps.len();
    let claim = match made {
        0 => "the search was stopped before anything was measured".to_owned(),
        _ => format!("the search was stopped in or after trial {made}"),
    };
    let again = capacity.low.map_or_else(
        || "search again".to_owned(),
        |low| format!("search again, from the rate that held: `--from {}`", offered(low)),
    );
    (capacity.ending == CapacityEnding::Stopped)
        .then(|| INTERRUPTED_ROW.found(Noticed::new(claim, again).with("trials", made)))
}
