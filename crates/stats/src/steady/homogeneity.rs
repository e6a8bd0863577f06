//! Whether operations beyond a threshold are spread evenly over ten parts of the phase.

use std::ops::Range;

use crate::bootstrap::block_length;
use crate::dispersion::WindowCount;
use crate::special::fisher_survival;

/// Parts that are compared.
const SEGMENTS: usize = 10;
/// Expected operations beyond the threshold in a part, below which nothing is said.
const EXPECTED_LEAST: f64 = 5.0;

/// How unevenly operations beyond a threshold are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Chance of parts that differ so much, were they alike.
    pub p_value: f64,
    /// The part that differs most, from 0.
    pub segment: usize,
    /// Share beyond the threshold in it, and over the whole.
    pub shares: (f64, f64),
}

impl Spread {
    /// Places of the part that differs most, of so many windows.
    pub fn places(&self, windows: usize) -> Range<usize> {
        bound(self.segment, windows)..bound(self.segment + 1, windows)
    }
}

/// Compares ten parts by χ² = Σ (N_s − m_s·π)²/(m_s·π·(1−π)), divided by the dispersion *within* parts.
///
/// A dispersion over the whole would contain the very differences that are looked for. It is estimated from the same
/// windows, so that χ²/9 follows Fisher's F and not χ². `None` where fewer than five are expected in a part, or
/// a part has fewer than two blocks.
pub fn spread(windows: &[WindowCount]) -> Option<Spread> {
    let whole = Sum::of(windows);
    let share = whole.above / whole.total;
    let expected = whole.above.min(whole.total - whole.above) / SEGMENTS as f64;
    if windows.len() < 4 * SEGMENTS || expected.is_nan() || expected < EXPECTED_LEAST {
        return None;
    }
    let bound = |segment| bound(segment, windows.len());
    let segments: Vec<&[WindowCount]> =
        (0..SEGMENTS).map(|segment| &windows[bound(segment)..bound(segment + 1)]).collect();
    let unit = |total: f64| total * share * (1.0 - share);
    let terms: Vec<f64> = segments
        .iter()
        .map(|segment| Sum::of(segment))
        .map(|sum| {
            if sum.total > 0.0 {
                (sum.above - sum.total * share).powi(2) / unit(sum.total)
            } else {
                0.0
            }
        })
        .collect();
    let (phi, freedom) = within(&segments, block(&segments), unit)?;
    let between = terms.iter().sum::<f64>() / (SEGMENTS - 1) as f64;
    let (segment, _) = terms.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    Some(Spread {
        p_value: fisher_survival(between / phi, (SEGMENTS - 1) as f64, freedom),
        segment,
        shares: (Sum::of(segments[segment]).share(), share),
    })
}

/// First window of a part.
fn bound(segment: usize, windows: usize) -> usize {
    segment * windows / SEGMENTS
}

/// Length of blocks within parts that keeps the dependence of windows, at most half a part.
fn block(segments: &[&[WindowCount]]) -> usize {
    let residuals = segments.iter().flat_map(|segment| {
        let share = Sum::of(segment).share();
        segment.iter().map(move |window| Sum::of(std::slice::from_ref(window)).share() - share)
    });
    let residuals: Vec<f64> =
        residuals.map(|left| if left.is_nan() { 0.0 } else { left }).collect();
    let shortest = segments.iter().map(|segment| segment.len()).min().unwrap_or(1);
    block_length(&residuals).min(shortest / 2).max(1)
}

/// Dispersion of blocks about the share of their part, at least 1, and its degrees of freedom.
fn within(
    segments: &[&[WindowCount]],
    block: usize,
    unit: impl Fn(f64) -> f64,
) -> Option<(f64, f64)> {
    let (mut sum, mut freedom) = (0.0, 0.0);
    for segment in segments {
        let blocks: Vec<Sum> = segment.chunks_exact(block).map(Sum::of).collect();
        let blocks: Vec<&Sum> = blocks.iter().filter(|block| block.total > 0.0).collect();
        let total: f64 = blocks.iter().map(|block| block.total).sum();
        let share = blocks.iter().map(|block| block.above).sum::<f64>() / total;
        for block in &blocks {
            sum += (block.above - block.total * share).powi(2) / unit(block.total);
        }
        freedom += (blocks.len() as f64 - 1.0).max(0.0);
    }
    (freedom > 0.0).then(|| ((sum / freedom).max(1.0), freedom))
}

/// Windows added up.
struct Sum {
    total: f64,
    above: f64,
}

impl Sum {
    fn of(windows: &[WindowCount]) -> Self {
        Self {
            total: windows.iter().map(|window| f64::from(window.total)).sum(),
            above: windows.iter().map(|window| f64::from(window.above)).sum(),
        }
    }

    fn share(&self) -> f64 {
        self.above / self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(above: impl IntoIterator<Item = u32>) -> Vec<WindowCount> {
        above.into_iter().map(|above| WindowCount { total: 100, above }).collect()
    }

    #[test]
    fn even_windows_are_alike() {
        let seen = spread(&windows([5, 6, 4, 5, 7, 3].repeat(10))).unwrap();
        assert!(seen.p_value > 0.5, "{seen:?}");
    }

    #[test]
    fn a_tenth_with_four_times_as_many_is_named() {
        let mut uneven = windows([5, 6, 4, 5, 7, 3].repeat(10));
        uneven[36..42].iter_mut().for_each(|window| window.above *= 4);
        let seen = spread(&uneven).unwrap();
        assert!(seen.p_value < 1e-4, "{seen:?}");
        assert_eq!(seen.segment, 6);
        assert!((seen.shares.0 - 0.2).abs() < 1e-9 && (seen.shares.1 - 0.065).abs() < 1e-9);
    }

    #[test]
    fn one_stalled_window_is_dispersion_and_no_difference() {
        let mut stalled = windows([5, 6, 4, 5, 7, 3].repeat(10));
        stalled[20].above = 100;
        assert!(spread(&stalled).unwrap().p_value > 0.05);
    }

    #[test]
    fn too_few_say_nothing() {
        assert_eq!(spread(&windows([1; 30])), None);
        assert_eq!(spread(&windows([0; 60])), None);
        assert_eq!(spread(&[]), None);
    }
}
