use super::*;

fn thresholds(median: &RunningMedian, level: usize, bound: u64) -> Vec<u64> {
    (0..8).map(|window| median.threshold(level, window, bound)).collect()
}

#[test]
fn levels_of_a_steady_trial_lie_between_its_median_and_the_bound() {
    let median = RunningMedian::steady(200);
    let levels = [0, 1, 2, 3].map(|level| median.threshold(level, 7, 1_000));
    assert_eq!(levels, [200, 300, 400, 600]);
}

#[test]
fn a_line_is_followed_to_both_ends() {
    // Eight windows: medians at 1, 3, 5 and 7, of times that are a hundred for each window.
    let median = RunningMedian::drifting([100, 300, 500, 700].map(Some), 8);
    assert_eq!(thresholds(&median, 0, 10_000), [50, 150, 250, 350, 450, 550, 650, 750]);
    // Halfway to 1,050.
    assert_eq!(thresholds(&median, 3, 1_050), [550, 600, 650, 700, 750, 800, 850, 900]);
}

#[test]
fn what_is_above_the_bound_by_design_has_the_bound_for_a_threshold() {
    let median = RunningMedian::drifting([100, 300, 500, 700].map(Some), 8);
    for level in 0..LEVELS.len() {
        assert_eq!(thresholds(&median, level, 500)[5..], [500, 500, 500]);
    }
}

#[test]
fn no_median_is_below_nought() {
    let median = RunningMedian::drifting([0, 900, 1_800, 2_700].map(Some), 8);
    assert_eq!(thresholds(&median, 0, 10_000)[..2], [0, 225]);
}

#[test]
fn segments_without_operations_are_passed_over() {
    let median = RunningMedian::drifting([None, Some(300), None, Some(700)], 8);
    assert_eq!(thresholds(&median, 0, 10_000), [50, 150, 250, 350, 450, 550, 650, 750]);
    let lone = RunningMedian::drifting([None, None, Some(300), None], 8);
    assert_eq!(thresholds(&lone, 0, 10_000), [300; 8]);
    assert_eq!(thresholds(&RunningMedian::drifting([None; 4], 8), 0, 10_000), [10_000; 8]);
}

#[test]
fn windows_are_dealt_evenly_to_segments() {
    let segments: Vec<usize> = (0..10).map(|window| RunningMedian::segment(window, 8)).collect();
    assert_eq!(segments, [0, 0, 1, 1, 2, 2, 3, 3, 3, 3]);
}
