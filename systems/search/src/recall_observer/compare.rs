//! One sampled answer beside the exact one.

use std::collections::HashMap;

use crate::gateway::samples::Sample;
use crate::index::Near;

/// Scores that differ by no more count as equal.
const TIE: f32 = 1e-6;
/// A score that is further from the exact one was computed wrongly: rounding of 32-bit sums is far below.
const MISSCORED: f32 = 1e-4;

/// What a sample came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SampleResult {
    /// Share of the nearest rows that the answer had; none where there is nothing left to be found.
    pub recall: Option<f64>,
    /// Rows of the answer that are not there any more, or were replaced since: they count neither way.
    pub gone: u64,
    /// Rows with a wrong score.
    pub misscored: u64,
}

/// Compares a sample with the exact answer among the rows of its time that are still there.
pub(super) fn compare(sample: &Sample, exact: &[Near]) -> SampleResult {
    let own: HashMap<&str, f32> = exact.iter().map(|near| (&*near.id, near.score)).collect();
    // A nearer row than the last of a full answer should have been in it.
    let is_full = exact.len() >= sample.k;
    let last = exact.last().map_or(f32::NEG_INFINITY, |near| near.score);
    let is_gone =
        |near: &&Near| !own.contains_key(&*near.id) && (!is_full || near.score > last + TIE);
    let gone = sample.nearest.iter().filter(is_gone).count();
    let misscored = sample
        .nearest
        .iter()
        .filter(|near| own.get(&*near.id).is_some_and(|own| (own - near.score).abs() > MISSCORED));
    let wanted = sample.k.saturating_sub(gone).min(exact.len());
    let recall = exact.get(wanted.wrapping_sub(1)).map(|furthest| {
        let near_enough = |near: &&Near| {
            let score = own.get(&*near.id).copied().unwrap_or(near.score);
            !is_gone(near) && score >= furthest.score - TIE
        };
        let had = sample.nearest.iter().filter(near_enough).count().min(wanted);
        had as f64 / wanted as f64
    });
    SampleResult { recall, gone: gone as u64, misscored: misscored.count() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(&str, f32)]) -> Vec<Near> {
        rows.iter().map(|(id, score)| Near { id: (*id).into(), score: *score, born: 0 }).collect()
    }

    fn judged(k: usize, answer: &[(&str, f32)], exact: &[(&str, f32)]) -> (Option<f64>, u64, u64) {
        let nearest = rows(answer);
        let (vector, query, filter) = (vec![1.0], None, None);
        let sample = Sample { query, vector, k, filter, sequence: 1, exact: false, nearest };
        let SampleResult { recall, gone, misscored } = compare(&sample, &rows(exact));
        (recall, gone, misscored)
    }

    #[test]
    fn recall_is_the_share_of_the_nearest_that_were_told() {
        let exact = [("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.6)];
        assert_eq!(judged(4, &exact, &exact), (Some(1.0), 0, 0));
        let missed = [("a", 0.9), ("c", 0.7), ("d", 0.6), ("e", 0.5)];
        assert_eq!(judged(4, &missed, &exact), (Some(0.75), 0, 0));
        assert_eq!(judged(4, &missed[..2], &exact), (Some(0.5), 0, 0), "too few");
        assert_eq!(judged(4, &[], &exact), (Some(0.0), 0, 0));
        assert_eq!(judged(10, &exact, &exact), (Some(1.0), 0, 0), "all there are");
        assert_eq!(judged(10, &[], &[]), (None, 0, 0));
    }

    #[test]
    fn rows_equally_near_stand_for_each_other() {
        let exact = [("a", 0.9), ("b", 0.7)];
        assert_eq!(judged(2, &[("a", 0.9), ("z", 0.7)], &exact), (Some(1.0), 0, 0));
        assert_eq!(judged(2, &[("a", 0.9), ("z", 0.699_999_5)], &exact), (Some(1.0), 0, 0));
        assert_eq!(judged(2, &[("a", 0.9), ("z", 0.699_9)], &exact), (Some(0.5), 0, 0));
    }

    #[test]
    fn rows_that_are_gone_count_neither_way() {
        let exact = [("a", 0.9), ("c", 0.7), ("d", 0.6)];
        assert_eq!(judged(3, &[("a", 0.9), ("b", 0.8), ("c", 0.7)], &exact), (Some(1.0), 1, 0));
        assert_eq!(judged(3, &[("a", 0.9), ("b", 0.8), ("d", 0.6)], &exact), (Some(0.5), 1, 0));
        assert_eq!(judged(3, &[("x", 0.9), ("y", 0.8), ("z", 0.7)], &[]), (None, 3, 0));
    }

    #[test]
    fn a_wrong_score_is_seen() {
        let exact = [("a", 0.9), ("b", 0.8), ("c", 0.7)];
        assert_eq!(judged(3, &[("a", 0.9), ("b", 0.2), ("c", 0.7)], &exact), (Some(1.0), 0, 1));
    }
}
