//! ED-PELT: where the distribution of a series changes, without a word on its shape.

/// Places at which a new segment begins, in order; segments are at least `least` long.
///
/// The cost of a segment is that of its empirical distribution at K = min(n, ⌈4·log n⌉) quantiles, denser in the tails;
/// the penalty of a change is 3·log n.
///
/// Cost:   O(n²·K) at worst, O(n·K) typically
/// Source: Haynes, Fearnhead & Eckley 2017, with the constants of perfolizer
pub fn change_points(values: &[f64], least: usize) -> Vec<usize> {
    let (count, least) = (values.len(), least.max(1));
    if count < 2 * least {
        return Vec::new();
    }
    let cost = Cost::of(values);
    let penalty = 3.0 * (count as f64).ln();
    // best[t]: cost of the best segmentation of the first t values; begin[t]: where its last segment begins.
    let mut best = vec![f64::INFINITY; count + 1];
    let mut begin = vec![0; count + 1];
    best[0] = -penalty;
    let mut candidates = vec![0];
    for end in least..=count {
        if end >= 2 * least {
            candidates.push(end - least);
        }
        let with = |&from: &usize| best[from] + cost.of_segment(from, end);
        let least_cost = candidates
            .iter()
            .map(|from| (with(from), *from))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((f64::INFINITY, 0));
        // What is dearer without a penalty can never be best again.
        candidates.retain(|from| with(from) <= least_cost.0 + penalty);
        (best[end], begin[end]) = (least_cost.0 + penalty, least_cost.1);
    }
    let mut found = Vec::new();
    let mut end = begin[count];
    while end > 0 {
        found.push(end);
        end = begin[end];
    }
    found.reverse();
    found
}

/// Counts below each quantile, summed up over time.
struct Cost {
    /// By quantile, then by place: twice the values below it, a tie counting one.
    below: Vec<Vec<u32>>,
    scale: f64,
}

impl Cost {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let quantiles = count.min((4.0 * count.ln()).ceil()).max(1.0);
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let spread = -(2.0 * count - 1.0).ln();
        let threshold = |place: usize| {
            let z = -1.0 + (2.0 * place as f64 + 1.0) / quantiles;
            let p = 1.0 / (1.0 + (z * spread).exp());
            sorted[((count - 1.0) * p) as usize]
        };
        let below = (0..quantiles as usize).map(|place| sums(values, threshold(place))).collect();
        Self { below, scale: 2.0 * spread / quantiles }
    }

    fn of_segment(&self, from: usize, to: usize) -> f64 {
        let length = (to - from) as f64;
        let terms = self.below.iter().map(|sums| {
            let share = f64::from(sums[to] - sums[from]) / (2.0 * length);
            if share <= 0.0 || share >= 1.0 {
                return 0.0;
            }
            length * (share * share.ln() + (1.0 - share) * (1.0 - share).ln())
        });
        self.scale * terms.sum::<f64>()
    }
}

fn sums(values: &[f64], threshold: f64) -> Vec<u32> {
    let halves = |value: f64| match value.total_cmp(&threshold) {
        std::cmp::Ordering::Less => 2,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 0,
    };
    let mut sum = 0;
    let after = values.iter().map(|&value| {
        sum += halves(value);
        sum
    });
    std::iter::once(0).chain(after.collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(levels: &[(f64, usize)]) -> Vec<f64> {
        // A small ripple, so that a segment has more than one value.
        let ripple = [0.0, 0.3, -0.2, 0.1, -0.3, 0.2, 0.05];
        let levels = levels.iter().flat_map(|&(level, length)| vec![level; length]);
        levels.enumerate().map(|(place, level)| level + ripple[place % 7]).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        assert_eq!(change_points(&[0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0], 1), [5]);
        assert_eq!(change_points(&series(&[(0.0, 30), (5.0, 40), (1.0, 30)]), 5), [30, 70]);
        assert_eq!(change_points(&series(&[(0.0, 60), (0.6, 40)]), 5), [60]);
    }

    #[test]
    fn a_level_series_has_no_change() {
        assert!(change_points(&series(&[(3.0, 120)]), 5).is_empty());
        assert!(change_points(&[1.0; 50], 5).is_empty());
        assert!(change_points(&[1.0, 9.0], 2).is_empty());
    }

    #[test]
    fn segments_keep_their_least_length() {
        let spike = series(&[(0.0, 40), (50.0, 2), (0.0, 40)]);
        let found = change_points(&spike, 5);
        let ends = [&found[..], &[82]].concat();
        assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= 5), "{found:?}");
    }
}
