use super::*;

fn windows(above: impl IntoIterator<Item = u32>) -> Vec<WindowCount> {
    above.into_iter().map(|above| WindowCount { total: 100, above }).collect()
}

/// The side of a limit of 1 in 100, with no operation beyond the bound and these above the median and above a level
/// between the two.
fn judged(
    median: (u64, &[u32]),
    level: (u64, &[u32]),
    bound: u64,
    around: Around<'_>,
) -> LimitSide {
    let none = windows(vec![0; median.1.len()]);
    let [median, level] = [median, level]
        .map(|(threshold, above)| (vec![threshold; above.len()], windows(above.iter().copied())));
    let levels =
        [&median, &level].map(|(thresholds, windows)| ThresholdLevel { thresholds, windows });
    let bound = Bound { value: bound, windows: &none };
    let total = 100 * none.len() as u64;
    Exceedances::new((0, total), &levels, bound, 0.01, around).judge(0.01, 0.95)
}

/// Each other window is above, in 160 of them.
fn swinging() -> Vec<u32> {
    [100, 0].repeat(80)
}

#[test]
fn nothing_beyond_a_bound_near_a_dispersed_body_may_have_been_missed() {
    // φ = 100·160/159 at the level, so that 16,000 are worth 51 at 1/100, of 299 that are needed.
    let even = [50; 160];
    assert_eq!(judged((100, &even), (200, &even), 600, Around::Mean), LimitSide::Below);
    let LimitSide::Undecided { factor: Some(factor) } =
        judged((100, &even), (200, &swinging()), 600, Around::Mean)
    else {
        panic!("the level says nothing of how much may have been missed")
    };
    assert!(factor > 1.0 && factor < 6.0, "{factor}");
}

#[test]
fn what_varies_only_around_the_median_has_missed_nothing() {
    let (swinging, none) = (swinging(), [0; 160]);
    assert_eq!(judged((100, &swinging), (150, &none), 500, Around::Mean), LimitSide::Below);
}

#[test]
fn a_bound_far_above_a_dispersed_body_is_not_missed() {
    // 80 of 159 are above the level: at most 0.57, whose power of 1 + 0.8·(9.5 − 1) is above 1/100, and that of
    // 1 + 0.8·(10 − 1) below.
    let all = [100; 160];
    let judged = |bound| judged((50, &all), (100, &swinging()), bound, Around::Mean);
    assert!(matches!(judged(950), LimitSide::Undecided { .. }));
    assert_eq!(judged(1_000), LimitSide::Below);
}

#[test]
fn what_lies_beyond_the_bound_must_be_few_by_itself() {
    let (body, slow) = (windows(swinging()), windows([2; 160]));
    let thresholds = [100; 160];
    let level = ThresholdLevel { thresholds: &thresholds, windows: &body };
    let bound = Bound { value: 10_000, windows: &slow };
    let made = Exceedances::new((320, 16_000), &[level; 2], bound, 0.01, Around::Mean);
    assert_eq!((made.dispersion().phi, made.judge(0.01, 0.95)), (1.0, LimitSide::Above));
}

#[test]
fn a_remote_bound_is_not_missed_however_badly_the_body_is_known() {
    // 1,600 operations in 16 windows, of which the last eight are slow: 8 effective ones of 15 are above, at most 0.73 of
    // all. Its power of 1 + 0.8·(36 − 1) is below 1/10,000, and that of 1 + 0.8·(35 − 1) is not.
    let stepped = [[0; 8], [100; 8]].concat();
    let judged = |bound| judged((100, &stepped), (100, &stepped), bound, Around::Mean);
    assert!(matches!(judged(3_500), LimitSide::Undecided { .. }));
    assert_eq!(judged(3_700), LimitSide::Below);
}

/// 60 windows, or as many in each of several trials, of 20 operations whose times grow from 0 to 60, with chance up to 12:
/// those of them above each of these values.
fn growing(trials: usize, value: impl Fn(u64) -> u64) -> Vec<WindowCount> {
    let time = |window: u64, place: u64| window + (7 * window + 3 * place) % 12;
    let window = |window: u64| WindowCount {
        total: 20,
        above: (0..20).filter(|&place| time(window, place) > value(window)).count() as u32,
    };
    (0..trials).flat_map(|_| (0..60).map(window)).collect()
}

/// The side of `limit` on which they lie beyond the bound, at levels that follow their growth.
fn grown(trials: usize, bound: u64, limit: f64) -> Option<LimitSide> {
    let threshold = |window: u64, eighths: u64| {
        let median = window + 5;
        median + bound.saturating_sub(median) * eighths / 8
    };
    let levels = [0, 1, 2, 4].map(|eighths| {
        let thresholds: Vec<u64> = (0..60).map(|window| threshold(window, eighths)).collect();
        (thresholds.repeat(trials), growing(trials, |window| threshold(window, eighths)))
    });
    let levels =
        levels.each_ref().map(|(thresholds, windows)| ThresholdLevel { thresholds, windows });
    let windows = growing(trials, |_| bound);
    let above = windows.iter().map(|window| u64::from(window.above)).sum();
    let (total, lengths) = (1_200 * trials as u64, vec![60; trials]);
    let bound = Bound { value: bound, windows: &windows };
    let side = Exceedances::new((above, total), &levels, bound, limit, Around::Drift(&lengths));
    Some(side.judge(limit, 0.95)).filter(|side| !matches!(side, LimitSide::Undecided { .. }))
}

#[test]
fn what_grows_by_design_is_not_missed() {
    assert_eq!(grown(1, 1_000, 0.01), Some(LimitSide::Below));
    assert_eq!(grown(1, 80, 0.01), Some(LimitSide::Below));
    // None of 1,200 shows a share of 1/1,000 at most in three trials, and not in one.
    assert_eq!(grown(1, 160, 0.001), None);
    assert_eq!(grown(3, 160, 0.001), Some(LimitSide::Below));
    // 19 of 60 windows are beyond 40.
    assert_eq!(grown(1, 40, 0.05), Some(LimitSide::Above));
}

#[test]
fn a_tail_falls_from_where_it_is_at_each_time() {
    // A third of the operations are above the level in each window. Where it lies at a tenth of the bound, the tail falls to
    // 0.35 to the power of 8.2; where it lies at half of it for the last quarter of the time, to that of 1.8.
    let third = windows([33; 160]);
    let anchor = |late: u64| {
        let thresholds: Vec<u64> = (0..160).map(|at| if at < 120 { 100 } else { late }).collect();
        let level = ThresholdLevel { thresholds: &thresholds, windows: &third };
        let anchor = Anchor::of(level, 1_000, Around::Mean).expect("enough are above");
        anchor.beyond(1.0, 0.95)
    };
    let most = upper_bound(5_280.0, 16_000.0, 0.95);
    let known = |late: f64| 0.75 * most.powf(8.2) + 0.25 * most.powf(late);
    assert!((anchor(100) - known(8.2)).abs() < 1e-12);
    assert!((anchor(500) - known(1.8)).abs() < 1e-12);
}
