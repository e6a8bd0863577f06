//! Level shifts: which of the changes that were found are large, and too large for chance.

use super::change_points::change_points;
use super::point::allowance;
use super::slope::median;
use crate::bootstrap::variance_of_blocks;

/// Standard errors by which two levels must differ. The place was chosen to make them differ, so that the usual two or
/// three would not do.
const CERTAIN: f64 = 5.0;
/// Standard deviations of a normal distribution in its median absolute deviation.
const NORMAL_PER_MAD: f64 = 1.4826;
/// Correlation of neighbours beyond which a series is too short to say how far it reaches.
const DEPENDENCE_MOST: f64 = 0.9;
/// Residuals beyond this many deviations are clipped: a stalled window is an event, and no level.
const CLIP: f64 = 3.0;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// Place of the first value of the new level.
    pub at: usize,
    /// New level less old.
    pub change: f64,
    /// Of it, in standard errors.
    pub certainty: f64,
}

impl LevelShift {
    /// Whether chance alone would hardly make it.
    pub fn is_certain(&self) -> bool {
        self.certainty >= CERTAIN
    }
}

/// Certain steps of at least `margin`, in order of time. Segments are at least a tenth of the series, and five, long.
///
/// Shape:  in order of time; `grain` is what neighbouring values differ by anyway (the width of a bucket)
pub fn steps(values: &[f64], margin: f64, grain: f64) -> Vec<LevelShift> {
    let mut cuts = change_points(values, (values.len() / 10).max(5));
    loop {
        let steps = contrasts(values, &cuts, grain);
        let doubtful = |step: &&LevelShift| step.change.abs() < margin || !step.is_certain();
        let least =
            steps.iter().filter(doubtful).min_by(|a, b| a.certainty.total_cmp(&b.certainty));
        let Some(least) = least else { return steps };
        cuts.retain(|&cut| cut != least.at);
    }
}

/// The steps to levels that last: an excursion of at most a fifth of the series that comes back to where it left is an
/// event, and no state.
pub fn lasting(steps: Vec<LevelShift>, length: usize, margin: f64) -> Vec<LevelShift> {
    let mut kept: Vec<LevelShift> = Vec::new();
    for step in steps {
        let comes_back = |left: &LevelShift| {
            5 * (step.at - left.at) <= length && (left.change + step.change).abs() <= margin
        };
        if kept.last().is_some_and(comes_back) {
            kept.pop();
        } else {
            kept.push(step);
        }
    }
    kept
}

/// The step from what lies before `cut` to what lies after it.
pub fn step_at(values: &[f64], cut: usize, grain: f64) -> Option<LevelShift> {
    contrasts(values, &[cut], grain).pop()
}

/// Each cut with the difference of the levels at its sides.
fn contrasts(values: &[f64], cuts: &[usize], grain: f64) -> Vec<LevelShift> {
    let bounds = [&[0], cuts, &[values.len()]].concat();
    let segments: Vec<&[f64]> = bounds.windows(2).map(|pair| &values[pair[0]..pair[1]]).collect();
    let middles: Vec<f64> =
        segments.iter().map(|segment| median(&mut segment.to_vec()).unwrap_or(0.0)).collect();
    let (means, residuals) = clipped(&segments, &middles);
    let variance = long_run_variance(&residuals).max(grain * grain);
    let step = |(place, &at): (usize, &usize)| {
        let change = means[place + 1] - means[place];
        let lengths = [segments[place].len(), segments[place + 1].len()];
        let error: f64 = lengths.iter().map(|&length| variance / length as f64).sum::<f64>().sqrt();
        LevelShift { at, change, certainty: change.abs() / error }
    };
    cuts.iter().enumerate().map(step).collect()
}

/// Mean of each segment, and what values differ from it by, after clipping.
fn clipped(segments: &[&[f64]], middles: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let raw = segments
        .iter()
        .zip(middles)
        .flat_map(|(segment, middle)| segment.iter().map(move |value| value - middle));
    let raw: Vec<f64> = raw.collect();
    let mut sizes: Vec<f64> = raw.iter().map(|left| left.abs()).collect();
    let limit = CLIP * NORMAL_PER_MAD * median(&mut sizes).unwrap_or(0.0);
    let (mut means, mut residuals) = (Vec::new(), Vec::new());
    let mut left = raw.iter().map(|left| left.clamp(-limit, limit));
    for (segment, middle) in segments.iter().zip(middles) {
        let kept: Vec<f64> = left.by_ref().take(segment.len()).collect();
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        residuals.extend(kept.iter().map(|value| value - mean));
        means.push(middle + mean);
    }
    (means, residuals)
}

/// Variance that one value would have if the means of these came from independent values: the greatest that blocks of
/// 1, 2, 4 … up to an eighth of the series imply, or the dependence of neighbours carried on; of a short series more.
fn long_run_variance(residuals: &[f64]) -> f64 {
    let lengths = (0..).map(|power| 1 << power).take_while(|length| 8 * length <= residuals.len());
    let blocks = lengths.map(|length| variance_of_blocks(residuals, length)).fold(0.0, f64::max);
    let squares: f64 = residuals.iter().map(|left| left * left).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // A short series hides some of its dependence: (1 + 3r)/n of it.
    let count = residuals.len() as f64;
    let seen = products / squares.max(f64::MIN_POSITIVE);
    let neighbours = (seen + (1.0 + 3.0 * seen) / count).clamp(0.0, DEPENDENCE_MOST);
    let carried = squares / count * (1.0 + neighbours) / (1.0 - neighbours);
    blocks.max(carried) * allowance(residuals.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(levels: &[(f64, usize)]) -> Vec<f64> {
        let noise = [0.02, -0.03, 0.01, 0.0, -0.01, 0.03, -0.02];
        let levels = levels.iter().flat_map(|&(level, length)| vec![level; length]);
        levels.enumerate().map(|(place, level)| level + noise[place % 7]).collect()
    }

    #[test]
    fn a_large_step_is_found_with_its_size() {
        let found = steps(&noisy(&[(1.0, 40), (1.2, 40)]), 0.05, 0.004);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, 40);
        assert!((found[0].change - 0.2).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn a_small_step_is_below_the_margin() {
        assert!(steps(&noisy(&[(1.0, 40), (1.03, 40)]), 0.05, 0.004).is_empty());
    }

    #[test]
    fn a_stall_of_a_few_windows_is_no_level() {
        assert!(steps(&noisy(&[(1.0, 40), (6.0, 2), (1.0, 38)]), 0.05, 0.004).is_empty());
    }

    #[test]
    fn an_excursion_that_comes_back_soon_is_an_event() {
        let lasting_of = |levels: &[(f64, usize)]| {
            let values = noisy(levels);
            lasting(steps(&values, 0.05, 0.004), values.len(), 0.05)
        };
        let stalled = [(1.0, 40), (6.0, 10), (1.0, 50)];
        assert_eq!(steps(&noisy(&stalled), 0.05, 0.004).len(), 2, "it is seen");
        assert_eq!(lasting_of(&stalled), []);
        assert_eq!(lasting_of(&[(1.0, 40), (6.0, 30), (1.0, 30)]).len(), 2, "too long");
        assert_eq!(
            lasting_of(&[(1.0, 40), (6.0, 10), (2.0, 50)]).len(),
            2,
            "it does not come back"
        );
        assert_eq!(lasting_of(&[(1.0, 90), (6.0, 10)]).len(), 1, "nobody knows");
    }

    #[test]
    fn identical_windows_have_no_steps() {
        assert!(steps(&[2.0; 60], 0.05, 0.004).is_empty());
        assert!(step_at(&[2.0; 60], 20, 0.004).is_some_and(|step| step.certainty == 0.0));
    }
}
