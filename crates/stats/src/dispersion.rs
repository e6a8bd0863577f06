//! How far a sample is from independent draws, seen from its windows.
//!
//! Successive operations share a queue: a stall makes many of them slow at once. φ is the factor by which
//! the counts of slow operations per window vary more than independent draws would.

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
    /// Blocks from which a length of blocks is used.
    const BLOCKS_NEEDED: usize = 16;

    /// Independent draws over this many windows.
    pub fn independent(windows: usize) -> Self {
        Self { phi: 1.0, windows, blocks: windows }
    }

    /// φ = max(1, max φ_L) over blocks of L = 1, 2, 4, 8 … windows while there are 16 blocks.
    ///
    /// φ_L = 1/(K−1) · Σ (N_i − m_i·π)² / (m_i·π·(1−π)), with π = ΣN/Σm over K blocks. Blocks of single windows
    /// are used from two on: a short run must not claim more than a long one.
    ///
    /// Shape:  windows in order of time, those without operations included
    /// Source: ours, after the index of dispersion of counts
    pub fn of(windows: &[WindowCount]) -> Self {
        let sum = Sum::of(windows);
        let share = sum.above as f64 / sum.total as f64;
        let filled = windows.iter().filter(|window| window.total > 0).count();
        let mut widest = Self::independent(filled);
        if sum.above == 0 || sum.above == sum.total {
            return widest;
        }
        let mut length = 1;
        while length == 1 || windows.len() / length >= Self::BLOCKS_NEEDED {
            let (phi, blocks) = phi_of_blocks(windows.chunks_exact(length), share);
            if phi > widest.phi && (length == 1 || blocks >= Self::BLOCKS_NEEDED) {
                widest = Self { phi, blocks, ..widest };
            }
            length *= 2;
        }
        widest
    }
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
}

impl WindowCount {
    /// Adds to both counts; what 32 bits cannot hold stays at their end.
    pub fn add(&mut self, total: u64, above: u64) {
        let clipped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        self.total = self.total.saturating_add(clipped(total));
        self.above = self.above.saturating_add(clipped(above));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(above: impl IntoIterator<Item = u32>) -> Vec<WindowCount> {
        above.into_iter().map(|above| WindowCount { total: 100, above }).collect()
    }

    fn check(windows: &[WindowCount], phi: f64, blocks: usize) {
        let seen = Dispersion::of(windows);
        assert!((seen.phi - phi).abs() < 1e-9, "{seen:?} is not {phi}");
        assert_eq!(seen.blocks, blocks);
    }

    #[test]
    fn even_windows_count_as_independent() {
        check(&windows([5; 40]), 1.0, 40);
    }

    #[test]
    fn nothing_or_everything_above_says_nothing() {
        check(&windows([0; 40]), 1.0, 40);
        check(&windows([100; 40]), 1.0, 40);
        check(&[], 1.0, 0);
    }

    #[test]
    fn alternating_windows_are_dispersed_at_length_one() {
        // π = 0.05: (10 − 5)²/(100·0.05·0.95) in each of 16 windows.
        check(&windows([10, 0].repeat(8)), 16.0 / 15.0 * 25.0 / 4.75, 16);
    }

    #[test]
    fn runs_of_two_are_more_dispersed_at_length_two() {
        check(&windows([10, 10, 0, 0].repeat(8)), 16.0 / 15.0 * 100.0 / 9.5, 16);
    }

    #[test]
    fn longer_blocks_need_sixteen_of_them() {
        check(&windows([10, 10, 0, 0].repeat(7)), 28.0 / 27.0 * 25.0 / 4.75, 28);
    }

    #[test]
    fn a_short_run_is_not_taken_for_independent() {
        check(&windows([20, 0, 0, 0]), 1.0 / 3.0 * (225.0 + 75.0) / 4.75, 4);
    }

    #[test]
    fn windows_without_operations_count_for_nothing() {
        let mut sparse = windows([10, 0].repeat(8));
        sparse.push(WindowCount::default());
        let seen = Dispersion::of(&sparse);
        assert_eq!((seen.windows, seen.blocks), (16, 16));
    }

    #[test]
    fn one_stall_in_a_hundred_windows_has_the_dispersion_of_its_length() {
        // 1,000/s for 10 s in windows of 100 ms; the slowest 5 % all fall into 5 windows.
        let mut stalled = windows([0; 100]);
        stalled[40..45].fill(WindowCount { total: 100, above: 100 });
        let phi = Dispersion::of(&stalled).phi;
        assert!((200.0..400.0).contains(&phi), "{phi}");
    }
}
