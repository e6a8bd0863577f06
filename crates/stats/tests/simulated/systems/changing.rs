//! Systems that change through a run: by design from its beginning to its end, by plan, or at random.

use std::fmt;

use super::{Draw, Randomness, poisson};

/// Times are in seconds of work.
#[derive(Clone, Copy)]
pub enum Changing {
    /// One server with exponential work, whose mean grows; arrivals share its queue.
    Queue { from: f64, to: f64 },
    /// Work that grows, and at each operation exponential noise of this mean, without a queue.
    Growth { from: f64, to: f64, noise: f64 },
    /// The same, and the server stands still for 100 ms at a time, once in five seconds on average.
    Pauses { from: f64, to: f64, noise: f64 },
    /// Exponential work of 1 ms, and three times as much in bursts of ten seconds, after so many still seconds on average.
    Bursts { still: f64 },
    /// One server with exponential work of this mean. In turns, for so many seconds each, a third of the arrivals come,
    /// and all of them.
    Planned { work: f64, turn: u32 },
    /// Work of 1 ms with a tenth of it as noise, and three times as much for this last share of the run.
    Late { share: f64 },
    /// The same from an instant on that is as likely to be in the last sixth of the run as just after it.
    Breakdown,
    /// Work of 1 ms that swings by 2 % in seven seconds, with noise of 2 µs.
    Swing,
}

impl Changing {
    pub(super) fn run(self, randomness: &mut Randomness, rate: f64, seconds: u32) -> Vec<Draw> {
        let mut draws = match self {
            Self::Queue { from, to } => {
                queue(randomness, rate, seconds, |at| from + (to - from) * at)
            }
            Self::Planned { work, turn } => planned(randomness, rate, seconds, (work, turn)),
            Self::Pauses { from, to, noise } => {
                let mut pauses = Spells::new(4.9, 0.1);
                poisson(randomness, rate, seconds, |at, chance| {
                    let grown = from + (to - from) * at / f64::from(seconds);
                    pauses.left(at, chance) + grown + chance.exponential(1.0 / noise)
                })
            }
            Self::Bursts { still } => {
                let mut bursts = Spells::new(still, 10.0);
                poisson(randomness, rate, seconds, |at, chance| {
                    let factor = if bursts.left(at, chance) > 0.0 { 3.0 } else { 1.0 };
                    factor * chance.exponential(1_000.0)
                })
            }
            Self::Breakdown => {
                let share = (randomness.uniform() - 0.5).max(0.0) / 3.0;
                return Self::Late { share }.run(randomness, rate, seconds);
            }
            Self::Growth { .. } | Self::Late { .. } | Self::Swing => {
                poisson(randomness, rate, seconds, |at, chance| {
                    let (mean, noise) = self.work(at, at / f64::from(seconds));
                    mean + chance.exponential(1.0 / noise)
                })
            }
        };
        draws.retain(|draw| draw.second < seconds as usize);
        draws
    }

    /// Work at a time in seconds and as a part of the run, and the mean of its noise.
    fn work(self, seconds: f64, part: f64) -> (f64, f64) {
        match self {
            Self::Growth { from, to, noise } => (from + (to - from) * part, noise),
            Self::Late { share } if part >= 1.0 - share => (0.003, 0.000_3),
            Self::Swing => {
                let swing = (std::f64::consts::TAU * seconds / 7.0).sin();
                (0.001 * (1.0 + 0.02 * swing), 0.000_002)
            }
            _ => (0.001, 0.000_1),
        }
    }
}

/// Spells of a fixed length, with exponential times between them.
struct Spells {
    between: f64,
    length: f64,
    end: Option<f64>,
}

impl Spells {
    fn new(between: f64, length: f64) -> Self {
        Self { between, length, end: None }
    }

    /// How much of a spell is left at this time, which never goes back.
    fn left(&mut self, at: f64, randomness: &mut Randomness) -> f64 {
        let mut end = self.end.unwrap_or_else(|| {
            let is_under_way = randomness.uniform() < self.length / (self.between + self.length);
            if is_under_way { randomness.uniform() * self.length } else { f64::MIN }
        });
        while end <= at {
            // Until one has begun, the last one has long ended.
            let from = f64::max(end, 0.0) + randomness.exponential(1.0 / self.between);
            end = from + self.length;
        }
        self.end = Some(end);
        if end - at <= self.length { end - at } else { 0.0 }
    }
}

fn queue(
    randomness: &mut Randomness,
    rate: f64,
    seconds: u32,
    mean: impl Fn(f64) -> f64,
) -> Vec<Draw> {
    let mut free = 0.0;
    poisson(randomness, rate, seconds, |at, chance| {
        free = f64::max(free, at) + chance.exponential(1.0 / mean(at / f64::from(seconds)));
        free - at
    })
}

/// Begins with few arrivals, after one turn of all of them that nobody sees.
fn planned(
    randomness: &mut Randomness,
    rate: f64,
    seconds: u32,
    (work, turn): (f64, u32),
) -> Vec<Draw> {
    let mut free = 0.0;
    let mut draws = poisson(randomness, rate, seconds + turn, |at, chance| {
        let is_few = (at / f64::from(turn)) as u64 % 2 == 1;
        if is_few && chance.uniform() > 1.0 / 3.0 {
            return -1.0;
        }
        free = f64::max(free, at) + chance.exponential(1.0 / work);
        free - at
    });
    draws.retain(|draw| draw.second >= turn as usize && draw.time > 0);
    draws.iter_mut().for_each(|draw| draw.second -= turn as usize);
    draws
}

/// Bisects P(R > x) where R is work that grows evenly and exponential noise.
pub(super) fn grown_quantile(q: f64, from: f64, to: f64, noise: f64) -> f64 {
    let above = |x: f64| {
        // All of the work that is above x, and below it as much as its noise.
        let grown = ((to - x) / (to - from)).clamp(0.0, 1.0);
        let highest = f64::min(to, x);
        let tail = |work: f64| noise * (-(x - work) / noise).exp();
        let noisy = if highest > from { (tail(highest) - tail(from)) / (to - from) } else { 0.0 };
        grown + noisy
    };
    let (mut low, mut high) = (from, to + 100.0 * noise);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if above(middle) > 1.0 - q { low = middle } else { high = middle }
    }
    low
}

impl fmt::Display for Changing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: f64| (1e6 * time).round() / 1e3;
        match *self {
            Self::Queue { from, to } => {
                write!(out, "queue, work {} to {} ms", ms(from), ms(to))
            }
            Self::Growth { from, to, noise } => {
                write!(out, "{} to {} ms, noise {} ms", ms(from), ms(to), ms(noise))
            }
            Self::Pauses { from, to, .. } => {
                write!(out, "{} to {} ms, pauses of 100 ms", ms(from), ms(to))
            }
            Self::Bursts { still } => write!(out, "bursts of 10 s, {still} s apart"),
            Self::Planned { turn, .. } => write!(out, "a third and all of the rate, {turn} s each"),
            Self::Late { share } => {
                write!(out, "three times as slow for the last {} %", 100.0 * share)
            }
            Self::Breakdown => write!(out, "three times as slow from late in half of the runs"),
            Self::Swing => write!(out, "1 ms that swings by 2 % in 7 s"),
        }
    }
}
