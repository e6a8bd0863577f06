//! Whether a replay was as bursty as the log that it replays.
//!
//! Not here: the statistics (see `stats::burstiness`), and what a reader is told to do (see `findings`).

use plan::number::change;
use plan::units::format_duration;
use record::summary::{Burstiness, Replay, ReplayScale};
use record::{ReplayCounts, TrialFacts};
use stats::burstiness::{ScaleChange, changes};

/// A change of the dispersion up to this is none: it is a change of the counts' standard deviation by a twentieth.
pub const TOLERANCE: f64 = 0.1;

/// The burstiness of a trial; `None` where nothing was replayed, and in records of older versions.
pub fn of(facts: &TrialFacts) -> Option<Replay> {
    let counts = facts.totals.replay.as_ref()?;
    let whole = facts.phases.measure_ns.checked_div(counts.bin_ns)?;
    let scales: Vec<ReplayScale> = within(counts, whole).into_iter().map(judged).collect();
    let burstiness = match worst(&scales) {
        Some(one) => one.burstiness,
        None if scales.iter().all(|one| one.burstiness == Burstiness::Kept)
            && !scales.is_empty() =>
        {
            Burstiness::Kept
        }
        None => Burstiness::Undecided,
    };
    let ReplayCounts { bin_ns, resolution_ns, .. } = *counts;
    Some(Replay { resolution_ns, bin_ns, burstiness, scales })
}

/// Changes over the first `whole` bins, which lie in the measure phase as it was.
fn within(counts: &ReplayCounts, whole: u64) -> Vec<ScaleChange> {
    let known = counts.due.len().min(counts.sent.len());
    let bins = usize::try_from(whole).unwrap_or(usize::MAX).min(known);
    changes(&counts.due[..bins], &counts.sent[..bins], counts.bin_ns)
}

fn judged(one: ScaleChange) -> ReplayScale {
    let burstiness = match one.interval {
        interval if interval.is_within(TOLERANCE) => Burstiness::Kept,
        interval if interval.high < -TOLERANCE => Burstiness::Flattened,
        interval if interval.low > TOLERANCE => Burstiness::Burstier,
        _ => Burstiness::Undecided,
    };
    ReplayScale {
        scale_ns: one.scale_ns,
        intervals: one.intervals as u64,
        recorded: one.before,
        replayed: one.after,
        change: one.change,
        low: one.interval.low,
        high: one.interval.high,
        burstiness,
    }
}

/// The scale at which the replay differs most from the log, of those at which it does differ.
pub fn worst(scales: &[ReplayScale]) -> Option<&ReplayScale> {
    let differs =
        |one: &&ReplayScale| matches!(one.burstiness, Burstiness::Flattened | Burstiness::Burstier);
    scales.iter().filter(differs).max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()))
}

/// Whether the recorded dispersion at this scale is a fact of the log, and not of instants drawn within its stamps.
pub fn is_of_the_log(replay: &Replay, scale_ns: u64) -> bool {
    replay.resolution_ns.is_none_or(|resolution| scale_ns >= resolution)
}

/// What became of the burstiness, in words: a sentence for each answer.
pub fn in_words(replay: &Replay) -> String {
    let answers = [
        (Burstiness::Flattened, "The replay is flatter than the log at"),
        (Burstiness::Burstier, "The replay is burstier than the log at"),
        (Burstiness::Kept, "The replay is as bursty as the log, within 10 %, at"),
        (Burstiness::Undecided, "The trial is too short to decide at"),
    ];
    let sentence = |(answer, words): (Burstiness, &str)| {
        let at = replay.scales.iter().filter(|one| one.burstiness == answer);
        let at: Vec<String> = at.map(|one| scale(one.scale_ns)).collect();
        (!at.is_empty()).then(|| format!("{words} {}.", at.join(", ")))
    };
    let said: Vec<String> = answers.into_iter().filter_map(sentence).collect();
    match said.is_empty() {
        true => "The trial is too short to compare its burstiness with that of the log.".to_owned(),
        false => said.join(" "),
    }
}

/// A scale as it is written in a file: `10ms`, `2s`.
pub fn scale(scale_ns: u64) -> String {
    format_duration(std::time::Duration::from_nanos(scale_ns))
}

/// A change of the dispersion: `−12.3 %`.
pub fn shift(by: f64) -> String {
    change(1.0 + by)
}

#[cfg(test)]
mod tests;
