//! Logs of known processes, stamped in whole seconds: what of their burstiness the instants keep.

use plan::randomness::{RandomStream, draw, unit};
use stats::burstiness::{ScaleChange, changes};

use super::{converted, line};

const BIN: u64 = 10_000_000;
const SECOND: u64 = 1_000_000_000;
/// Length of each log, in seconds.
const LENGTH: u64 = 600;

/// Draws of one seed, one after the other.
struct Draws(u64, u64);

impl Draws {
    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        self.1 += 1;
        unit(draw(self.0, RandomStream::Schedule, self.1))
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// Above 1, with an infinite variance.
    fn pareto(&mut self) -> f64 {
        self.unit().powf(-1.0 / 1.4)
    }

    /// Adds Poisson arrivals at this rate to `instants`, which are in seconds.
    fn arrivals(&mut self, rate: f64, (from, to): (f64, f64), instants: &mut Vec<f64>) {
        let mut at = from + self.exponential(1.0 / rate);
        while at < to.min(LENGTH as f64) {
            instants.push(at);
            at += self.exponential(1.0 / rate);
        }
    }
}

fn poisson() -> Vec<f64> {
    let mut instants = Vec::new();
    Draws(11, 0).arrivals(20.0, (0.0, LENGTH as f64), &mut instants);
    instants
}

/// A Poisson process whose rate is 4 and 40 a second in turn, each for an exponential time with this mean.
fn modulated(mean: f64) -> Vec<f64> {
    let (mut draws, mut instants) = (Draws(12, 0), Vec::new());
    let (mut at, mut rates) = (0.0, (4.0, 40.0));
    while at < LENGTH as f64 {
        let to = at + draws.exponential(mean);
        draws.arrivals(rates.0, (at, to), &mut instants);
        (at, rates) = (to, (rates.1, rates.0));
    }
    instants
}

/// Fifteen sources that are on and off for times with infinite variance, which is self-similar over long scales.
fn self_similar() -> Vec<f64> {
    let (mut draws, mut instants) = (Draws(13, 0), Vec::new());
    for _ in 0..15 {
        let mut at = -10.0 * draws.unit();
        while at < LENGTH as f64 {
            let to = at + draws.pareto();
            draws.arrivals(3.0, (at.max(0.0), to), &mut instants);
            at = to + draws.pareto();
        }
    }
    instants.sort_by(f64::total_cmp);
    instants
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

/// Counts in bins of 10 ms, of whole seconds.
fn counts(instants: &[u64], length: u64) -> Vec<u32> {
    let mut counts = vec![0; usize::try_from(length.div_ceil(SECOND) * SECOND / BIN).unwrap()];
    for at in instants {
        counts[usize::try_from(at / BIN).unwrap()] += 1;
    }
    counts
}

fn compared(before: &[u64], after: &[u64]) -> Vec<ScaleChange> {
    let length = before.iter().chain(after).max().unwrap() + 1;
    changes(&counts(before, length), &counts(after, length), BIN)
}

/// Mean and standard deviation of the dispersion at a scale below a second, of instants drawn uniformly within seconds
/// with these counts.
///
/// Of n arrivals in K equal intervals, each of the n(n−1)/2 pairs is in one interval with probability 1/K, and pairs
/// are independent of each other two by two. The squares of the counts sum up to n and twice the pairs.
fn modelled(instants: &[u64], scale: u64) -> (f64, f64) {
    let per_second = SECOND / BIN;
    let counts = counts(instants, *instants.last().unwrap() + 1);
    let (cells, mut squares, mut variance, mut sum) = ((SECOND / scale) as f64, 0.0, 0.0, 0.0);
    let seconds = counts.chunks(usize::try_from(per_second).unwrap());
    let intervals = seconds.len() as f64 * cells;
    for second in seconds {
        let n = f64::from(second.iter().sum::<u32>());
        sum += n;
        squares += n + n * (n - 1.0) / cells;
        variance += 2.0 * n * (n - 1.0) / cells * (1.0 - 1.0 / cells);
    }
    let mean = sum / intervals;
    let unit = (intervals - 1.0) * mean;
    ((squares - sum * mean) / unit, variance.sqrt() / unit)
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
