//! Findings about the burstiness of a replay.

use record::summary::{Burstiness, Replay, ReplayScale, Severity};

use super::kind::{Check, FindingKind, Noticed};
use crate::burstiness::{in_words, is_of_the_log, scale, shift, worst};
use crate::case::{Case, gave_up};
use crate::validity;
use plan::number::{count, duration, percent, significant};

/// The target saw a smoother load than the log.
pub const FLATTENED: FindingKind = FindingKind {
    code: "replay-flattened",
    severity: Severity::Warning,
    clearest: None,
    title: "the replay is flatter than the log",
    explain: "Requests were sent at instants that are spread more evenly than those of the log. The index of \
              dispersion (variance over mean of the number of requests in intervals of one length) is lower than \
              planned by more than 10 %, with its whole 95 % interval. Queues grow with burstiness, so the target had \
              it easier than in the recorded traffic. Usual causes: requests waited for a connection, requests were \
              never sent, or the generator was late.",
    check: Check::Trial(|case| noticed(case, Burstiness::Flattened, "flatter")),
};

/// The target saw a burstier load than the log.
pub const BURSTIER: FindingKind = FindingKind {
    code: "replay-burstier",
    severity: Severity::Warning,
    clearest: None,
    title: "the replay is burstier than the log",
    explain: "Requests were sent in bursts that the log does not have. The index of dispersion (variance over mean of \
              the number of requests in intervals of one length) is higher than planned by more than 10 %, with its \
              whole 95 % interval. Queues grow with burstiness, so the target had it harder than in the recorded \
              traffic. Usual causes: the generator stood still and then sent what was overdue, or requests waited for \
              a connection and were sent together.",
    check: Check::Trial(|case| noticed(case, Burstiness::Burstier, "burstier")),
};

fn noticed(case: &Case<'_>, wanted: Burstiness, word: &str) -> Option<Noticed> {
    let replay = case.trial.replay.as_ref().filter(|one| one.burstiness == wanted)?;
    let facts = case.facts;
    if facts.interrupted || facts.died.is_some() || gave_up(facts.early_end.as_ref()) {
        return None;
    }
    let one = worst(&replay.scales)?;
    let claim = format!(
        "the replay is {word} than the log: in intervals of {}, the counts of requests have a dispersion of {} \
         instead of {}{} ({}, 95 % interval {} to {})",
        scale(one.scale_ns),
        significant(one.replayed),
        significant(one.recorded),
        modelled(replay, one),
        shift(one.change),
        shift(one.low),
        shift(one.high),
    );
    let noticed = Noticed::new(claim, advice(case, one))
        .with("scale_ns", one.scale_ns)
        .with("recorded_dispersion", one.recorded)
        .with("replayed_dispersion", one.replayed)
        .with("change", one.change)
        .with("low", one.low)
        .with("high", one.high)
        .with("all_scales", in_words(replay));
    Some(noticed)
}

fn modelled(replay: &Replay, one: &ReplayScale) -> String {
    match replay.resolution_ns.filter(|_| !is_of_the_log(replay, one.scale_ns)) {
        Some(resolution) => format!(", as drawn within stamps of {}", scale(resolution)),
        None => String::new(),
    }
}

/// What to change, by what kept requests from being sent at their instants.
fn advice(case: &Case<'_>, one: &ReplayScale) -> String {
    let missed = validity::never_begun(case.trial);
    if missed > 0 {
        return format!("replay less of the log: {} requests were never sent", count(missed));
    }
    if let Some(share) = case.facts.waited_share(case.trial) {
        return format!("raise `connections`: {} of requests waited for one", percent(share));
    }
    let mut lags = case.trial.generator.dispatch_lag.quantiles.iter();
    let lag = lags.find(|entry| entry.q == 0.99).and_then(|entry| entry.observed_ns).unwrap_or(0);
    if lag.saturating_mul(10) >= one.scale_ns {
        return format!(
            "give the generator a free core: its dispatch lag p99 is {}",
            duration(lag)
        );
    }
    "look at the span `connect` and at failures: requests are sent once a connection is open"
        .to_owned()
}
