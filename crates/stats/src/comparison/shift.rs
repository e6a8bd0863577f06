//! The shift function: how each quantile differs, with a band. It shows a better median with a worse
//! tail, which one number hides.

use crate::chance::Chance;
use crate::moments::moments;
use crate::special::{normal_cdf, student_quantile};

use super::correction::hochberg;
use super::paired::INTERVAL_FROM;
use super::sign_flip::sign_flip;
use crate::interval::Interval;

/// The quantiles at which it is shown.
pub const POINTS: [f64; 11] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/// Times that blocks are drawn anew.
const DRAWS: usize = 2_000;
const CONFIDENCE: f64 = 0.95;

/// One quantile of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Mean difference over the blocks.
    pub estimate: f64,
    /// 95 % band at this quantile; `None` with fewer than five blocks.
    pub band: Option<Interval>,
    /// p-value of the sign-flip test, corrected by Hochberg's rule for all quantiles shown.
    pub p: f64,
}

/// The shift function from one row of differences for each block, with one column for each quantile.
///
/// Blocks are drawn whole, so that quantiles of one block stay together. The ends are percentiles of the
/// drawn means, farther out than 2.5 and 97.5 %: drawn means of few blocks vary too little.
///
/// Shape:  rows of equal length; empty without blocks
/// Source: Wilcox 1995 for the function; Hesterberg 2015 for the expanded percentiles
pub fn shift_function(blocks: &[Vec<f64>], seed: u64) -> Vec<Shift> {
    let points = blocks.first().map_or(0, Vec::len);
    let columns: Vec<Vec<f64>> =
        (0..points).map(|point| blocks.iter().map(|block| block[point]).collect()).collect();
    let p: Vec<f64> = columns.iter().map(|column| sign_flip(column, seed)).collect();
    let bands = bands(blocks, points, seed);
    let shift = |((column, p), band): ((&Vec<f64>, f64), Option<Interval>)| {
        Some(Shift { estimate: moments(column)?.0, band, p })
    };
    columns.iter().zip(hochberg(&p)).zip(bands).filter_map(shift).collect()
}

fn bands(blocks: &[Vec<f64>], points: usize, seed: u64) -> Vec<Option<Interval>> {
    let count = blocks.len();
    if count < INTERVAL_FROM {
        return vec![None; points];
    }
    let mut chance = Chance::new(seed);
    let mut means = vec![Vec::with_capacity(DRAWS); points];
    for _ in 0..DRAWS {
        let drawn: Vec<&Vec<f64>> = (0..count).map(|_| &blocks[chance.below(count)]).collect();
        for (point, means) in means.iter_mut().enumerate() {
            means.push(drawn.iter().map(|block| block[point]).sum::<f64>() / count as f64);
        }
    }
    let tail = expanded_tail(count);
    means.into_iter().map(|means| Some(percentiles(means, tail))).collect()
}

/// Share beyond each end so that the interval of normal data is as wide as Student's.
fn expanded_tail(count: usize) -> f64 {
    let (count, level) = (count as f64, 1.0 - (1.0 - CONFIDENCE) / 2.0);
    normal_cdf(-(count / (count - 1.0)).sqrt() * student_quantile(count - 1.0, level))
}

fn percentiles(mut means: Vec<f64>, tail: f64) -> Interval {
    means.sort_by(f64::total_cmp);
    let outside = (tail * means.len() as f64).floor() as usize;
    Interval { low: means[outside], high: means[means.len() - 1 - outside] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks around `centres`, with a wave of this size that all quantiles share.
    fn blocks(count: usize, centres: &[f64], size: f64) -> Vec<Vec<f64>> {
        let wave = |block: usize| size * ((block * 7 % count) as f64 / (count - 1) as f64 - 0.5);
        (0..count)
            .map(|block| centres.iter().map(|centre| centre + wave(block)).collect())
            .collect()
    }

    #[test]
    fn a_better_median_with_a_worse_tail_is_seen() {
        let seen = shift_function(&blocks(10, &[-0.2, 0.0, 0.3], 0.1), 1);
        let below = |shift: &Shift| shift.band.unwrap().high < 0.0;
        let above = |shift: &Shift| shift.band.unwrap().low > 0.0;
        assert!(below(&seen[0]) && seen[0].p < 0.05, "{seen:?}");
        assert!(!below(&seen[1]) && !above(&seen[1]) && seen[1].p > 0.05, "{seen:?}");
        assert!(above(&seen[2]) && seen[2].p < 0.05, "{seen:?}");
        assert!((seen[2].estimate - 0.3).abs() < 1e-12);
    }

    #[test]
    fn the_band_of_an_even_spread_is_nearly_students() {
        let rows = blocks(10, &[0.0], 1.0);
        let values: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        let spread = moments(&values).unwrap().1.unwrap();
        let student = 2.0 * student_quantile(9.0, 0.975) * spread / 10.0_f64.sqrt();
        let width = shift_function(&rows, 3)[0].band.unwrap().width();
        assert!((width / student - 1.0).abs() < 0.08, "{width} {student}");
    }

    #[test]
    fn the_same_seed_gives_the_same_band() {
        let rows = blocks(8, &[0.1, 0.2], 0.3);
        assert_eq!(shift_function(&rows, 5), shift_function(&rows, 5));
        assert_ne!(shift_function(&rows, 5), shift_function(&rows, 6));
    }

    #[test]
    fn few_blocks_have_no_band() {
        assert_eq!(shift_function(&[], 1), []);
        assert_eq!(shift_function(&blocks(4, &[0.1], 0.1), 1)[0].band, None);
    }
}
