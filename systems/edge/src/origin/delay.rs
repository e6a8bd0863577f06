//! How long an answer waits: a time, or how it is spread.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::draws::Draws;

/// Longest time that is waited, an hour; longer draws are cut to it.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

const MS: u64 = 1_000_000;

/// How long answers wait.
#[derive(Debug, Clone, PartialEq)]
pub enum Delay {
    /// The same for all, in nanoseconds.
    Fixed(u64),
    /// A whole number of milliseconds, each from low to high as likely.
    WholeMs(u64, u64),
    /// Any time from low to high, in nanoseconds, each as likely.
    Uniform(u64, u64),
    /// Normal; what would be below zero does not wait.
    Normal(Shape),
    /// Log-normal.
    LogNormal(Shape),
    /// One of these, in nanoseconds, each as likely; not empty.
    Empirical(Arc<[u64]>),
}

/// Mean and standard deviation of the times themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// In nanoseconds.
    pub mean_ns: f64,
    /// In nanoseconds.
    pub sd_ns: f64,
}

impl Delay {
    /// Draws a time in nanoseconds, at most [`LONGEST_NS`]. A fixed one draws nothing.
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        let drawn = match self {
            Self::Fixed(ns) => *ns,
            Self::WholeMs(low, high) => draws.between(*low, *high).saturating_mul(MS),
            Self::Uniform(low, high) => draws.between(*low, *high),
            // Conversions to whole numbers stop at both ends.
            Self::Normal(shape) => (shape.mean_ns + shape.sd_ns * draws.normal()).round() as u64,
            Self::LogNormal(shape) => {
                let (mu, sigma) = shape.of_logarithms();
                (mu + sigma * draws.normal()).exp().round() as u64
            }
            Self::Empirical(values) => values[draws.between(0, values.len() as u64 - 1) as usize],
        };
        drawn.min(LONGEST_NS)
    }

    /// The ends between which it lies, if it is one that [`Delay::towards`] another can go.
    pub fn ends(&self) -> Option<(u64, u64)> {
        match self {
            Self::Fixed(ns) => Some((*ns, *ns)),
            Self::WholeMs(low, high) => Some((low.saturating_mul(MS), high.saturating_mul(MS))),
            Self::Uniform(low, high) => Some((*low, *high)),
            Self::Normal(_) | Self::LogNormal(_) | Self::Empirical(_) => None,
        }
    }

    /// What holds this part of the way to another, from 0 to 1: both ends move in straight lines.
    /// Where one of the two has no ends it stays as it is.
    pub fn towards(&self, other: &Self, part: f64) -> Cow<'_, Self> {
        let (Some((low, high)), Some((to_low, to_high))) = (self.ends(), other.ends()) else {
            return Cow::Borrowed(self);
        };
        let between =
            |from: u64, to: u64| (from as f64 + (to as f64 - from as f64) * part).round() as u64;
        let (low, high) = (between(low, to_low), between(high, to_high));
        Cow::Owned(if low == high { Self::Fixed(low) } else { Self::Uniform(low, high) })
    }
}

impl Shape {
    /// μ and σ of the logarithm.
    fn of_logarithms(self) -> (f64, f64) {
        let variance = (self.sd_ns / self.mean_ns).powi(2).ln_1p();
        (self.mean_ns.ln() - variance / 2.0, variance.sqrt())
    }
}

/// In milliseconds and without a space: `100`, `100..200`, `normal(100,10)`.
impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |ns: u64| ns as f64 / 1e6;
        match self {
            Self::Fixed(ns) => write!(f, "{}", ms(*ns)),
            Self::WholeMs(low, high) => write!(f, "{low}..{high}"),
            Self::Uniform(low, high) => write!(f, "uniform({},{})", ms(*low), ms(*high)),
            Self::Normal(Shape { mean_ns, sd_ns }) => {
                write!(f, "normal({},{})", mean_ns / 1e6, sd_ns / 1e6)
            }
            Self::LogNormal(Shape { mean_ns, sd_ns }) => {
                write!(f, "log_normal({},{})", mean_ns / 1e6, sd_ns / 1e6)
            }
            Self::Empirical(values) => write!(f, "empirical({})", values.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of many draws, in milliseconds.
    fn drawn(delay: &Delay) -> (f64, f64) {
        let mut draws = Draws::of(1, &["delay"]);
        let all: Vec<f64> = (0..20_000).map(|_| delay.draw(&mut draws) as f64 / 1e6).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn draws_have_the_mean_and_deviation_that_was_asked_for() {
        let shape = Shape { mean_ns: 100e6, sd_ns: 10e6 };
        let uniform = Delay::Uniform(90 * MS, 110 * MS);
        let empirical = Delay::Empirical([90 * MS, 110 * MS].into());
        for (delay, sd) in [
            (Delay::Fixed(100 * MS), 0.0),
            (Delay::WholeMs(90, 110), 6.055),
            (uniform, 5.774),
            (Delay::Normal(shape), 10.0),
            (Delay::LogNormal(shape), 10.0),
            (empirical, 10.0),
        ] {
            let (mean, deviation) = drawn(&delay);
            // Four standard errors of the widest: 10/√20,000, and of its deviation.
            assert!((mean - 100.0).abs() < 0.29, "{delay}: mean {mean}");
            assert!((deviation - sd).abs() < 0.25, "{delay}: deviation {deviation}");
        }
    }

    #[test]
    fn a_range_draws_whole_milliseconds_and_both_of_its_ends() {
        let mut draws = Draws::of(1, &["range"]);
        let all: Vec<u64> = (0..200).map(|_| Delay::WholeMs(3, 5).draw(&mut draws)).collect();
        for ms in 3..=5 {
            assert!(all.contains(&(ms * MS)), "{ms}");
        }
        assert!(all.iter().all(|ns| ns % MS == 0 && (3 * MS..=5 * MS).contains(ns)));
    }

    #[test]
    fn nothing_waits_below_zero_or_longer_than_an_hour() {
        let mut draws = Draws::of(1, &["ends"]);
        let wide = Delay::Normal(Shape { mean_ns: 1.0, sd_ns: 1e13 });
        let all: Vec<u64> = (0..100).map(|_| wide.draw(&mut draws)).collect();
        assert!(all.contains(&0) && all.contains(&LONGEST_NS));
    }

    #[test]
    fn half_way_is_half_of_both_ends() {
        let (from, to) = (Delay::Fixed(100 * MS), Delay::WholeMs(200, 400));
        assert_eq!(*from.towards(&to, 0.5), Delay::Uniform(150 * MS, 250 * MS));
        assert_eq!(*from.towards(&Delay::Fixed(0), 0.25), Delay::Fixed(75 * MS));
        let shape = Delay::Normal(Shape { mean_ns: 1.0, sd_ns: 1.0 });
        assert_eq!(*from.towards(&shape, 0.5), from);
    }

    #[test]
    fn one_word_tells_each() {
        let shape = Shape { mean_ns: 100e6, sd_ns: 10e6 };
        for (delay, word) in [
            (Delay::Fixed(100 * MS), "100"),
            (Delay::Fixed(1_500_000), "1.5"),
            (Delay::WholeMs(100, 200), "100..200"),
            (Delay::Uniform(0, MS), "uniform(0,1)"),
            (Delay::Normal(shape), "normal(100,10)"),
            (Delay::LogNormal(shape), "log_normal(100,10)"),
            (Delay::Empirical([1, 2].into()), "empirical(2)"),
        ] {
            assert_eq!(delay.to_string(), word);
        }
    }
}
