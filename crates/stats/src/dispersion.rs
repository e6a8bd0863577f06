//! How far a sample is from independent draws, seen from its windows.
//!
//! Successive operations share a queue: a stall makes many of them slow at once. φ is the factor by which
//! the counts of slow operations per window vary more than independent draws would.

mod drift;
#[cfg(test)]
mod tests;

pub use drift::Around;
pub(crate) use drift::shares;

use crate::special::chi_squared_quantile;

/// What one window says of a threshold. Small, because a long run has many: 32 bits hold any window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowCount {
    /// Operations due in it (m).
    pub total: u32,
    /// Of those, above the threshold (N).
    pub above: u32,
}

/// Dispersion of a sample at a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dispersion {
    /// φ ≥ 1: variance over that of independent draws.
    pub phi: f64,
    /// Windows with operations.
    pub windows: usize,
    /// Blocks of windows behind φ: its degrees of freedom are one fewer.
    pub blocks: usize,
}

impl Dispersion {
    /// Blocks from which a length of blocks is used, and from which its φ must be more than chance.
    const BLOCKS_NEEDED: usize = 16;
    /// Probability that the φ of independent draws stays below what counts as more than chance.
    const CHANCE: f64 = 0.95;
    /// Effective events beyond a threshold from which they tell their φ alone.
    const EVENTS_ENOUGH: f64 = 30.0;

    /// Independent draws over this many windows.
    pub fn independent(windows: usize) -> Self {
        Self { phi: 1.0, windows, blocks: windows }
    }

    /// φ = max(1, max φ_L) over blocks of L = 1, 2, 4, 8 … windows while there are 16 blocks.
    ///
    /// φ_L = 1/(K−1) · Σ (N_i − m_i·π)² / (m_i·π·(1−π)), with π = ΣN/Σm over K blocks. A φ_L that independent
    /// draws exceed in one run of twenty does not count, or the maximum would widen their intervals for nothing.
    /// Fewer than 16 blocks of single windows are used all the same, as they are: a short run must not claim
    /// more than a long one.
    ///
    /// Shape:  windows in order of time, those without operations included
    /// Source: ours, after the index of dispersion of counts
    pub fn of(windows: &[WindowCount]) -> Self {
        let sum = Sum::of(windows);
        let share = sum.share();
        let filled = windows.iter().filter(|window| window.total > 0).count();
        let mut widest = Self::independent(filled);
        if sum.above == 0 || sum.above == sum.total {
            return widest;
        }
        let mut length = 1;
        while length == 1 || windows.len() / length >= Self::BLOCKS_NEEDED {
            let (phi, blocks) = phi_of_blocks(windows.chunks_exact(length), share);
            let many = blocks >= Self::BLOCKS_NEEDED;
            let counts = if many { phi > by_chance((blocks - 1) as f64) } else { length == 1 };
            if counts && phi > widest.phi {
                widest = Self { phi, blocks, ..widest };
            }
            length *= 2;
        }
        widest
    }

    /// The dispersion that is left around one share, or around that of a drift, with what a few bursts leave uncertain.
    ///
    /// It is no less than [`Self::of`] around one share, and no greater around a drift than around one share.
    pub fn around(windows: &[WindowCount], around: Around<'_>) -> Self {
        drift::dispersion(windows, around).dispersion
    }

    fn least(self, other: Self) -> Self {
        if other.phi < self.phi { other } else { self }
    }

    fn widest(self, other: Self) -> Self {
        if other.phi > self.phi { other } else { self }
    }

    /// Whether so many operations above a threshold tell their φ alone.
    fn is_known(&self, windows: &[WindowCount]) -> bool {
        Sum::of(windows).above as f64 / self.phi >= Self::EVENTS_ENOUGH
    }

    /// Dispersion at the last of several thresholds: while fewer than 30 effective events lie beyond it, φ is not
    /// taken for less than what the lower ones show.
    ///
    /// Few events tell their φ badly, and a run that missed the rare long bursts tells too little, so that its
    /// quantile would pass for supported *because* it is too low. What lies beyond a lower threshold is
    /// better known, and a queue ties the two together (see [`Self::carried`]).
    ///
    /// Shape:  the same windows for each threshold, thresholds ascending; none is one without operations
    /// Source: ours; docs/journal, 2026-11-21, dispersion carried into the tail
    pub fn of_tail(thresholds: &[Vec<WindowCount>]) -> Self {
        let Some((last, lower)) = thresholds.split_last() else { return Self::independent(0) };
        let (own, share) = (Self::of(last), Sum::of(last).share());
        if own.is_known(last) {
            return own;
        }
        let carried = lower.iter().map(|one| Self::of(one).carried(Sum::of(one).share(), share));
        carried.fold(own, Self::widest)
    }

    /// The same for a criterion, with what is left [around](Self::around) one share or a drift, and carried to the share
    /// beyond the bound that is asked about. Thresholds with more than half of the operations above them carry nothing.
    ///
    /// Around a drift, operations beyond a high threshold may all come at its end: then they must be seen in 16 effective
    /// blocks to tell their φ alone, and lower thresholds that were passed at once carry nothing.
    ///
    /// Shape:  `share` in [0, 1]
    pub fn of_tail_at(
        lower: &[&[WindowCount]],
        last: &[WindowCount],
        share: f64,
        around: Around<'_>,
    ) -> Self {
        let own = Self::around(last, around);
        let enough = matches!(around, Around::Mean) || own.blocks >= Self::BLOCKS_NEEDED;
        if enough && own.is_known(last) {
            return own;
        }
        let few = lower.iter().filter(|windows| Sum::of(windows).share() <= 0.5);
        let carried = few.map(|windows| {
            let mean = drift::dispersion(windows, Around::Mean);
            let around_mean = mean.dispersion.carried(mean.share, share);
            match around {
                Around::Mean => around_mean,
                Around::Drift(_) => {
                    let left = drift::dispersion(windows, around);
                    let passed = left.dispersion.blocks < drift::PASSED_AT_ONCE;
                    let around_drift = left.dispersion.carried(left.share, share);
                    if passed { own } else { around_mean.least(around_drift) }
                }
            }
        });
        carried.fold(own, Self::widest)
    }

    /// No φ of [`Self::of_tail_at`] is greater for so many operations, for any content of their windows. `filled`: windows
    /// that have operations, at least; `None` with fewer than two.
    ///
    /// Blocks vary most when all of each are above or none is: then Σ (N_i − m_i·π)²/(m_i·π·(1−π)) = Σ m_i, so that
    /// φ ≤ n/(K − 1). A threshold with half of the operations above it carries most.
    pub fn greatest(operations: u64, filled: usize, share: f64) -> Option<f64> {
        let freedom = filled.min(Self::BLOCKS_NEEDED).checked_sub(1).filter(|&left| left > 0)?;
        let own = (operations as f64 / freedom as f64).max(1.0);
        Some(1.0 + (own - 1.0) * (shape(share) / shape(0.5)).max(1.0))
    }

    /// What φ − 1 at one threshold makes of φ − 1 at a higher one, with shares π beyond them: proportional to
    /// their [`shape`].
    ///
    /// Source: integrated autocovariance of the time that reflected Brownian motion spends above a level, the
    /// limit of every single-server queue under heavy load
    fn carried(self, from: f64, share: f64) -> Self {
        if self.phi <= 1.0 {
            return self;
        }
        Self { phi: 1.0 + (self.phi - 1.0) * shape(share) / shape(from), ..self }
    }
}

/// What φ − 1 at a threshold is proportional to, by the share π above it: 1 + π·ln π/(1 − π), from 1 at none to 0 at all.
fn shape(share: f64) -> f64 {
    if share > 0.0 { 1.0 + share * share.ln() / (1.0 - share) } else { 1.0 }
}

/// The greatest φ with so many degrees of freedom that independent draws show by chance: a quantile of χ²/freedom.
fn by_chance(freedom: f64) -> f64 {
    chi_squared_quantile(freedom, Dispersion::CHANCE) / freedom
}

/// How far the shares above a threshold are apart on two sides, in standard errors that their dispersion widens.
///
/// One more operation on either side of the threshold keeps a share of nought or one from being certain.
///
/// Shape:  windows in order of time on each side, at the same threshold
pub fn errors_apart(one: &[WindowCount], other: &[WindowCount]) -> f64 {
    let share = |windows: &[WindowCount]| {
        let (sum, phi) = (Sum::of(windows), Dispersion::of(windows).phi);
        let (above, total) = (sum.above as f64, sum.total as f64);
        let shrunk = (above + 1.0) / (total + 2.0);
        (above / total.max(1.0), phi * shrunk * (1.0 - shrunk) / total.max(1.0))
    };
    let ((one, variance), (other, spread)) = (share(one), share(other));
    (one - other).abs() / (variance + spread).sqrt()
}

fn phi_of_blocks<'a>(blocks: impl Iterator<Item = &'a [WindowCount]>, share: f64) -> (f64, usize) {
    let (mut sum, mut count) = (0.0, 0);
    for block in blocks {
        let block = Sum::of(block);
        if block.total > 0 {
            let expected = block.total as f64 * share;
            sum += (block.above as f64 - expected).powi(2) / (expected * (1.0 - share));
            count += 1;
        }
    }
    (if count > 1 { sum / (count - 1) as f64 } else { 1.0 }, count)
}

/// Windows added up.
#[derive(Clone, Copy, Default)]
struct Sum {
    total: u64,
    above: u64,
}

impl Sum {
    fn of(windows: &[WindowCount]) -> Self {
        windows.iter().fold(Self::default(), |sum, window| Self {
            total: sum.total + u64::from(window.total),
            above: sum.above + u64::from(window.above),
        })
    }

    fn share(self) -> f64 {
        self.above as f64 / self.total as f64
    }
}

impl WindowCount {
    /// Adds to both counts; what 32 bits cannot hold stays at their end.
    pub fn add(&mut self, total: u64, above: u64) {
        let clipped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        self.total = self.total.saturating_add(clipped(total));
        self.above = self.above.saturating_add(clipped(above));
    }
}
