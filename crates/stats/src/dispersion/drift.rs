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

/// Blocks of one length around what is expected of them.
#[derive(Default)]
struct Blocks {
    count: f64,
    /// Σ d², where d = N − Σm·π is what is left of a block.
    squares: f64,
    /// Σ d⁴
    fourths: f64,
    /// Σ v, where v = Σ m·π·(1 − π) is the variance of independent draws in a block.
    variance: f64,
    /// Σ v²
    spread: f64,
    /// Σ π·m·π·(1 − π)
    shares: f64,
}

impl Blocks {
    fn of(windows: &[WindowCount], shares: &[f64], length: usize) -> Self {
        let mut blocks = Self::default();
        let parts = windows.chunks_exact(length).zip(shares.chunks(length));
        parts.for_each(|(windows, shares)| blocks.add(windows, shares));
        blocks
    }

    fn add(&mut self, windows: &[WindowCount], shares: &[f64]) {
        let (mut left, mut variance) = (0.0, 0.0);
        for (window, share) in windows.iter().zip(shares) {
            let total = f64::from(window.total);
            let free = total * share * (1.0 - share);
            left += f64::from(window.above) - total * share;
            variance += free;
            self.shares += share * free;
        }
        if variance > 0.0 {
            self.count += 1.0;
            self.squares += left * left;
            self.fourths += left.powi(4);
            self.variance += variance;
            self.spread += variance * variance;
        }
    }

    /// Degrees of freedom where draws are independent: most of the variance may lie in a few blocks.
    fn freedom(&self, parameters: f64) -> f64 {
        self.variance * self.variance / self.spread * (1.0 - parameters / self.count)
    }

    /// Degrees of freedom of Σ d² as it came: a few bursts may have made most of it.
    ///
    /// Source: the variance of d² is 2/3 of E d⁴ where d is normal
    fn known(&self) -> f64 {
        3.0 * self.squares * self.squares / self.fourths
    }

    fn phi(&self, parameters: f64) -> f64 {
        self.squares / self.variance / (1.0 - parameters / self.count)
    }
}

/// φ at a threshold, and the share above it where operations can be on either side.
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub(super) dispersion: Dispersion,
    pub(super) share: f64,
}

/// φ = max(1, max φ_L) around one share, and around the curve of a drift where that is less.
///
/// φ_L = 1/(1 − p/K) · Σ d² / Σ v over K blocks of L windows, with the number of operations above less those that are
/// expected (d), their variance (v) and p parameters: a mean of φ weighted by where operations can be on either
/// side. It is taken for as much greater as a few bursts tell it badly. Fewer than 16 windows tell no curve.
///
/// Source: ours; residual dispersion of logistic regression, McCullagh & Nelder 1989, section 4.5
pub(super) fn dispersion(windows: &[WindowCount], around: Around<'_>) -> Left {
    let sum = Sum::of(windows);
    let filled = windows.iter().filter(|window| window.total > 0).count();
    let none = Left { dispersion: Dispersion::independent(filled), share: sum.share() };
    if sum.above == 0 || sum.above == sum.total {
        return none;
    }
    let mean = Left {
        share: sum.share(),
        ..widest(windows, &vec![sum.share(); windows.len()], none, 1.0)
    };
    match around {
        Around::Drift(trials)
            if mean.dispersion.phi > 1.0 && windows.len() >= Dispersion::BLOCKS_NEEDED =>
        {
            let curve = widest(windows, &shares(windows, trials), none, PARAMETERS);
            if curve.dispersion.phi < mean.dispersion.phi { curve } else { mean }
        }
        _ => mean,
    }
}

/// The greatest φ of all lengths of blocks.
fn widest(windows: &[WindowCount], shares: &[f64], none: Left, parameters: f64) -> Left {
    let total = windows.iter().map(|window| f64::from(window.total)).sum::<f64>();
    let (mut widest, mut length) = (none, 1);
    while length == 1 || windows.len() / length >= Dispersion::BLOCKS_NEEDED {
        let blocks = Blocks::of(windows, shares, length);
        if blocks.count <= parameters {
            break;
        }
        let (phi, freedom) = (blocks.phi(parameters), blocks.freedom(parameters));
        let many = blocks.count >= Dispersion::BLOCKS_NEEDED as f64;
        let counts = phi > 1.0 && if many { phi > by_chance(freedom) } else { length == 1 };
        // No blocks vary more than those of which each is all above or all below.
        let most = total / (blocks.count - 1.0);
        let sure = blocks.known().min(freedom);
        let unsure = if counts { (phi * unsure(sure)).min(most) } else { 1.0 };
        if unsure > widest.dispersion.phi || length == 1 {
            let dispersion =
                Dispersion { phi: unsure, blocks: freedom as usize + 1, ..none.dispersion };
            widest = Left { dispersion, share: blocks.shares / blocks.variance };
        }
        length *= 2;
    }
    widest
}

/// By how much a variance of so many degrees of freedom is taken for greater, so that it may stand for a known one: Student's
/// t over the normal quantile, squared.
fn unsure(freedom: f64) -> f64 {
    let p = Dispersion::CHANCE;
    (student_quantile(freedom.max(1.0), p) / normal_quantile(p)).powi(2)
}

#[cfg(test)]
mod tests;
