//! Arrivals of known processes, and the dispersion of instants that are drawn within whole seconds.
//!
//! The tests of the binary replay logs of the same processes, and include this file.

use plan::randomness::{RandomStream, draw, unit};

/// Length of a bin, in nanoseconds.
pub const BIN: u64 = 10_000_000;
/// In nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// A process of about twenty arrivals a second.
#[derive(Debug, Clone, Copy)]
pub enum Process {
    /// At a steady rate.
    Poisson,
    /// At 4 and 40 a second in turn, each for an exponential time with this mean.
    Modulated { mean: f64 },
    /// Fifteen sources that are on and off for times with infinite variance, which is self-similar over long scales.
    SelfSimilar,
}

impl Process {
    /// The instants of its arrivals within so many seconds, ascending, in seconds.
    pub fn sample(self, length: u64) -> Vec<f64> {
        let mut instants = Vec::new();
        let mut draws = Draws { seed: self.seed(), drawn: 0, length: length as f64 };
        match self {
            Self::Poisson => draws.arrivals(20.0, (0.0, draws.length), &mut instants),
            Self::Modulated { mean } => draws.modulated(mean, &mut instants),
            Self::SelfSimilar => draws.self_similar(&mut instants),
        }
        instants
    }

    fn seed(self) -> u64 {
        match self {
            Self::Poisson => 11,
            Self::Modulated { .. } => 12,
            Self::SelfSimilar => 13,
        }
    }
}

/// Draws of one seed, one after the other.
struct Draws {
    seed: u64,
    drawn: u64,
    /// Seconds after which nothing arrives.
    length: f64,
}

impl Draws {
    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        unit(draw(self.seed, RandomStream::Schedule, self.drawn))
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
        while at < to.min(self.length) {
            instants.push(at);
            at += self.exponential(1.0 / rate);
        }
    }

    fn modulated(&mut self, mean: f64, instants: &mut Vec<f64>) {
        let (mut at, mut rates) = (0.0, (4.0, 40.0));
        while at < self.length {
            let to = at + self.exponential(mean);
            self.arrivals(rates.0, (at, to), instants);
            (at, rates) = (to, (rates.1, rates.0));
        }
    }

    fn self_similar(&mut self, instants: &mut Vec<f64>) {
        for _ in 0..15 {
            let mut at = -10.0 * self.unit();
            while at < self.length {
                let to = at + self.pareto();
                self.arrivals(3.0, (at.max(0.0), to), instants);
                at = to + self.pareto();
            }
        }
        instants.sort_by(f64::total_cmp);
    }
}

/// Counts in bins of 10 ms, of whole seconds.
pub fn counts(instants: &[u64], length: u64) -> Vec<u32> {
    let mut counts =
        vec![0; usize::try_from(length.div_ceil(SECOND) * SECOND / BIN).expect("it fits")];
    for at in instants {
        counts[usize::try_from(at / BIN).expect("it fits")] += 1;
    }
    counts
}

/// Mean and standard deviation of the dispersion at a scale below a second, of instants drawn uniformly within seconds
/// with these counts.
///
/// Of n arrivals in K equal intervals, each of the n(n−1)/2 pairs is in one interval with probability 1/K, and pairs
/// are independent of each other two by two. The squares of the counts sum up to n and twice the pairs.
pub fn modelled(instants: &[u64], scale: u64) -> (f64, f64) {
    let per_second = SECOND / BIN;
    let counts = counts(instants, *instants.last().expect("arrivals") + 1);
    let (cells, mut squares, mut variance, mut sum) = ((SECOND / scale) as f64, 0.0, 0.0, 0.0);
    let seconds = counts.chunks(usize::try_from(per_second).expect("it fits"));
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
