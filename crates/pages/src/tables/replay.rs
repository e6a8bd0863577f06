//! The burstiness of a replay beside that of the log.

use judge::burstiness::{in_words, is_of_the_log, scale, shift};
use plan::number::{count, significant};
use record::summary::{Burstiness, Replay, TrialSummary};

use super::Table;

/// Name of the table.
pub const BURSTINESS: &str = "burstiness";

/// Dispersion of the counts at each scale; none for a trial that replays nothing, or that was too short.
pub fn burstiness(trial: &TrialSummary) -> Option<Table> {
    let replay = trial.replay.as_ref()?;
    let columns = [
        "interval",
        "#intervals",
        "#recorded",
        "#replayed",
        "#change",
        "#95 % interval",
        "burstiness",
        "recorded from",
    ];
    let title = "Burstiness: variance over mean of the requests in intervals";
    let mut table = Table::new(BURSTINESS, title, &columns).note(note(replay));
    for one in &replay.scales {
        let of_the_log = is_of_the_log(replay, one.scale_ns);
        table.row([
            scale(one.scale_ns),
            count(one.intervals),
            significant(one.recorded),
            significant(one.replayed),
            shift(one.change),
            format!("{} to {}", shift(one.low), shift(one.high)),
            word(one.burstiness).to_owned(),
            if of_the_log { "log" } else { "model" }.to_owned(),
        ]);
    }
    table.unless_empty()
}

fn word(burstiness: Burstiness) -> &'static str {
    match burstiness {
        Burstiness::Kept => "kept",
        Burstiness::Flattened => "flatter",
        Burstiness::Burstier => "burstier",
        Burstiness::Undecided => "undecided",
    }
}

fn note(replay: &Replay) -> String {
    let resolution = replay.resolution_ns.map(|within| {
        let within = scale(within);
        format!(
            " The log has stamps of {within}: from {within} on, its dispersion is a fact; below, it is that of \
             instants drawn at random within each stamp."
        )
    });
    /// What bins have without need.
    const FINEST: u64 = 10_000_000;
    let coarse = (replay.bin_ns > FINEST).then(|| {
        format!(" So long a trial is counted in bins of {}, not of 10ms.", scale(replay.bin_ns))
    });
    let parts = [resolution, coarse].into_iter().flatten().collect::<String>();
    format!("{}{parts} A Poisson process has 1, an even load 0.", in_words(replay))
}
