//! Dispersion around a drift: what is left of the variation of windows when a share grows or falls by design.
//!
//! The drift is a logistic curve over the time of a trial, with two parameters: enough for any share that goes from few
//! to many or back, slowly or at once, and too stiff for a burst, which stays dispersion. Trials of the same
//! course share one curve, so that what differs between them stays dispersion, too.

use super::{Dispersion, Sum, WindowCount, by_chance};
use crate::special::{normal_quantile, student_quantile};

/// What windows vary around.
#[derive(Debug, Clone, Copy)]
pub enum Around<'a> {
    /// One share from the beginning to the end.
    Mean,
    /// A share that grows or falls through each trial. How many windows each of them has: they stand one after the other.
    Drift(&'a [usize]),
}

/// Steps of Newton's method, which needs five or ten, unless the curve is a step: then each makes it steeper.
const STEPS: usize = 40;
/// A step that changes the logarithm of the likelihood by less is the last one.
const SETTLED: f64 = 1e-9;
/// A threshold at which fewer effective blocks than these have operations on both sides was passed at once: it tells of
/// the drift, and of nothing that would be so at another time.
pub(super) const PASSED_AT_ONCE: usize = Dispersion::BLOCKS_NEEDED / 2 + 1;
/// Parameters of a curve.
const PARAMETERS: f64 = 2.0;

/// A logistic curve: share at τ = 1/(1 + exp(−level − slope·τ)).
#[derive(Debug, Clone, Copy)]
struct Curve {
    level: f64,
    slope: f64,
}

/// A window at its place in the trial, τ from 0 to 1.
struct Placed {
    at: f64,
    total: f64,
    above: f64,
}

/// The share of each window by the curve that is likeliest.
///
/// Shape:  some operations above and some not
/// Source: logistic regression; McCullagh & Nelder 1989, section 4.4
pub(crate) fn shares(windows: &[WindowCount], trials: &[usize]) -> Vec<f64> {
    let longest = trials.iter().copied().max().unwrap_or(1).max(1) as f64;
    let places = trials.iter().flat_map(|&length| 0..length).map(|place| place as f64 / longest);
    let placed = places.zip(windows).map(|(at, window)| Placed {
        at,
        total: f64::from(window.total),
        above: f64::from(window.above),
    });
    let placed: Vec<Placed> = placed.collect();
    let curve = Curve::of(&placed);
    placed.iter().map(|window| curve.share(window.at)).collect()
}

impl Curve {
    fn of(windows: &[Placed]) -> Self {
        let sum = |part: fn(&Placed) -> f64| windows.iter().map(part).sum::<f64>();
        let (above, total) = (sum(|window| window.above), sum(|window| window.total));
        let mut curve = Self { level: (above / (total - above)).ln(), slope: 0.0 };
        let mut likely = curve.log_likelihood(windows);
        for _ in 0..STEPS {
            let Some(step) = curve.step(windows) else { break };
            // Newton's step may go too far; half of it, often enough, does not.
            let tried = (0..STEPS as i32).map(|halvings| curve.moved(step, 0.5_f64.powi(halvings)));
            let better = tried.map(|next| (next, next.log_likelihood(windows)));
            let Some((next, more)) = { better }.find(|(_, more)| *more > likely) else { break };
            let gain = more - likely;
            (curve, likely) = (next, more);
            if gain < SETTLED {
                break;
            }
        }
        curve
    }

    fn logit(&self, at: f64) -> f64 {
        self.level + self.slope * at
    }

    fn share(&self, at: f64) -> f64 {
        1.0 / (1.0 + (-self.logit(at)).exp())
    }

    fn moved(&self, (level, slope): (f64, f64), part: f64) -> Self {
        Self { level: self.level + part * level, slope: self.slope + part * slope }
    }

    fn log_likelihood(&self, windows: &[Placed]) -> f64 {
        let of = |window: &Placed| {
            let logit = self.logit(window.at);
            window.above * logit - window.total * (logit.max(0.0) + (-logit.abs()).exp().ln_1p())
        };
        windows.iter().map(of).sum()
    }

    /// Newton's step; `None` where the windows tell nothing more.
    fn step(&self, windows: &[Placed]) -> Option<(f64, f64)> {
        let (mut first, mut second) = ([0.0; 2], [0.0; 3]);
        for window in windows {
            let share = self.share(window.at);
            let left = window.above - window.total * share;
            let weight = window.total * share * (1.0 - share);
            first = [first[0] + left, first[1] + left * window.at];
            let moments = [1.0, window.at, window.at * window.at];
            second.iter_mut().zip(moments).for_each(|(sum, moment)| *sum += weight * moment);
        }
        let [one, at, square] = second;
        let determinant = one * square - at * at;
        let level = (square * first[0] - at * first[1]) / determinant;
        let slope = (one * first[1] - at * first[0]) / determinant;
        (level.is_finite() && slope.is_finite()).then_some((level, slope))
    }
}

/// Blocks of one length around their curve.
#[derive(Default)]
struct Blocks {
    count: f64,
    /// Σ (N − Σm·π)²
    squares: f64,
    /// Σ v, where v = Σ m·π·(1 − π) is the variance of independent draws in a block.
    variance: f64,
    /// Σ v²
    spread: f64,
    /// Σ π·m·π·(1 − π)
    shares: f64,
}

impl Blocks {
    fn add(&mut self, windows: &[WindowCount], shares: &[f64]) {
        let (mut left, mut variance) = (0.0, 0.0);
        for (window, share) in windows.iter().zip(shares) {
            let total = f64::from(window.total);
            let free = total * share * (1.0 - share);
            left += f64::from(window.above) - total * share;
            variance += free;
            self.shares += share * free;
        }
        self.count += 1.0;
        self.squares += left * left;
        self.variance += variance;
        self.spread += variance * variance;
    }

    /// What the curve took from the degrees of freedom.
    fn left(&self) -> f64 {
        1.0 - PARAMETERS / self.count
    }

    fn phi(&self) -> f64 {
        self.squares / self.variance / self.left()
    }

    /// Degrees of freedom: most of the variance may lie in a few blocks.
    fn freedom(&self) -> f64 {
        self.variance * self.variance / self.spread * self.left()
    }

    /// The share above where operations can be on either side.
    fn share(&self) -> f64 {
        self.shares / self.variance
    }
}

/// φ = max(1, max φ_L) around the curve, as [`Dispersion::of`] has it around the mean, and never more than that; and the
/// share above the threshold where it was seen.
///
/// φ_L = 1/(1 − 2/K) · Σ (N_i − e_i)² / Σ v_i, with the number e_i above that the curve expects in a block and its
/// variance v_i: a mean of φ weighted by where operations can be on either side. Fewer than 16 windows tell no curve.
///
/// Source: ours; residual dispersion of logistic regression, McCullagh & Nelder 1989, section 4.5
pub(super) fn dispersion(windows: &[WindowCount], trials: &[usize]) -> (Dispersion, f64) {
    let around_mean = (Dispersion::of(windows), Sum::of(windows).share());
    if around_mean.0.phi <= 1.0 || windows.len() < Dispersion::BLOCKS_NEEDED {
        return around_mean;
    }
    let shares = shares(windows, trials);
    let mut widest = (Dispersion::independent(around_mean.0.windows), f64::NAN);
    let mut length = 1;
    while windows.len() / length >= Dispersion::BLOCKS_NEEDED {
        let mut blocks = Blocks::default();
        let parts = windows.chunks_exact(length).zip(shares.chunks(length));
        parts.for_each(|(windows, shares)| blocks.add(windows, shares));
        let (phi, freedom) = (blocks.phi(), blocks.freedom());
        let counts = phi > by_chance(freedom) && phi * unsure(freedom) > widest.0.phi;
        if counts || length == 1 {
            let phi = if counts { phi * unsure(freedom) } else { 1.0 };
            let found = Dispersion { phi, blocks: freedom as usize + 1, ..widest.0 };
            widest = (found, blocks.share());
        }
        length *= 2;
    }
    if widest.0.phi < around_mean.0.phi { widest } else { around_mean }
}

/// By how much a variance of so many degrees of freedom is taken for greater, so that it may stand for a known one: Student's
/// t over the normal quantile, squared.
fn unsure(freedom: f64) -> f64 {
    let p = Dispersion::CHANCE;
    (student_quantile(freedom.max(1.0), p) / normal_quantile(p)).powi(2)
}

#[cfg(test)]
mod tests;
