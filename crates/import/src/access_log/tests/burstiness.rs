//! Logs of known processes, stamped in whole seconds: what of their burstiness the instants keep.

use stats::burstiness::{ScaleChange, changes};

use super::processes::{BIN, Process, SECOND, counts, modelled};
use super::{converted, line};

/// Length of each log, in seconds.
const LENGTH: u64 = 600;

fn poisson() -> Vec<f64> {
    Process::Poisson.sample(LENGTH)
}

fn modulated(mean: f64) -> Vec<f64> {
    Process::Modulated { mean }.sample(LENGTH)
}

fn self_similar() -> Vec<f64> {
    Process::SelfSimilar.sample(LENGTH)
}

/// Instants of the truth and of the replay of its log, in nanoseconds from the first stamp.
fn replayed(truth: &[f64]) -> (Vec<u64>, Vec<u64>) {
    let nanos = |at: &f64| (at * 1e9) as u64;
    let began = nanos(&truth[0]) / SECOND * SECOND;
    let truth: Vec<u64> = truth.iter().map(|at| nanos(at) - began).collect();
    let log: String = truth.iter().map(|at| line(at / SECOND, "GET /")).collect();
    let (summary, _, offsets) = converted(&log, &[]);
    assert_eq!((summary.within, offsets.len()), (SECOND, truth.len()));
    (truth, offsets)
}

fn compared(before: &[u64], after: &[u64]) -> Vec<ScaleChange> {
    let length = before.iter().chain(after).max().unwrap() + 1;
    changes(&counts(before, length), &counts(after, length), BIN)
}

#[test]
fn at_a_second_and_above_the_replay_has_the_dispersion_of_the_truth() {
    for truth in [poisson(), modulated(3.0), self_similar()] {
        let (truth, replay) = replayed(&truth);
        let seen = compared(&truth, &replay);
        let above: Vec<&ScaleChange> = seen.iter().filter(|one| one.scale_ns >= SECOND).collect();
        assert_eq!(above.len(), 5, "1, 2, 5, 10 and 20 s");
        for one in above {
            assert_eq!((one.before, one.interval.low, one.interval.high), (one.after, 0.0, 0.0));
        }
    }
}

#[test]
fn below_a_second_it_has_the_dispersion_of_uniform_instants() {
    for truth in [poisson(), modulated(3.0), self_similar()] {
        let (truth, replay) = replayed(&truth);
        for one in compared(&truth, &replay).iter().filter(|one| one.scale_ns < SECOND) {
            let (mean, deviation) = modelled(&truth, one.scale_ns);
            let away = (one.after - mean) / deviation;
            assert!(away.abs() < 4.0, "{away} deviations from {mean}: {one:?}");
        }
    }
}

#[test]
fn the_processes_are_what_they_are_called() {
    let at = |seen: &[ScaleChange], seconds: u64| {
        seen.iter().find(|one| one.scale_ns == seconds * SECOND).unwrap().before
    };
    let of = |truth: &[f64]| {
        let (truth, replay) = replayed(truth);
        let seen = compared(&truth, &replay);
        (at(&seen, 1), at(&seen, 20))
    };
    // 1 within 4 deviations, √(2/(k−1)), of 600 and of 30 counts.
    let (second, twenty) = of(&poisson());
    assert!((second - 1.0).abs() < 0.24 && (twenty - 1.0).abs() < 1.1, "{second} {twenty}");
    let (second, twenty) = of(&modulated(3.0));
    assert!(second > 8.0 && twenty > 2.0 * second, "{second} {twenty}");
    let (second, twenty) = of(&self_similar());
    assert!(second > 1.5 && twenty - 1.0 > 3.0 * (second - 1.0), "{second} {twenty}");
}

/// What a stamp does not say is lost: the report calls the recorded dispersion below it a model.
#[test]
fn bursts_within_a_second_are_not_in_the_log() {
    let (truth, replay) = replayed(&modulated(0.1));
    let seen = compared(&truth, &replay);
    let tenth = seen.iter().find(|one| one.scale_ns == SECOND / 10).unwrap();
    assert!(tenth.interval.is_beyond(0.1) && tenth.change < 0.0, "{tenth:?}");
}

#[test]
fn a_flattened_replay_is_called_out_at_every_scale_at_which_its_log_is_bursty() {
    for truth in [poisson(), modulated(3.0), self_similar()] {
        let (_, replay) = replayed(&truth);
        let (count, last) = (replay.len() as u64, replay[replay.len() - 1]);
        let even: Vec<u64> = (0..count).map(|place| place * last / count).collect();
        let seen = compared(&replay, &even);
        assert_eq!(seen.len(), 11);
        for one in seen.iter().filter(|one| one.scale_ns >= SECOND / 10) {
            assert!(one.interval.is_beyond(0.1) && one.change < 0.0, "{one:?}");
        }
    }
}
