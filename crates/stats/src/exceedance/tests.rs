use super::*;

fn windows(above: impl IntoIterator<Item = u32>) -> Vec<WindowCount> {
    above.into_iter().map(|above| WindowCount { total: 100, above }).collect()
}

/// 16,000 operations, none of them beyond the bound, with half of each window, or of each other one, above `median`.
fn judged(body: [u32; 2], median: u64, bound: u64) -> Side {
    let (body, none) = (windows(body.repeat(80)), windows([0; 160]));
    let lower = [Level { value: median, windows: &body }];
    let level = Level { value: bound, windows: &none };
    Exceedances::new((0, 16_000), &lower, level, 0.01, Around::Mean).judge(0.01, 0.95)
}

#[test]
fn nothing_beyond_a_bound_near_a_dispersed_body_may_have_been_missed() {
    // φ = 100·160/159 at the median, so that 16,000 are worth 51 at 1/100, of 299 that are needed.
    assert_eq!(judged([50, 50], 100, 600), Side::Below);
    let Side::Undecided { factor: Some(factor) } = judged([100, 0], 100, 600) else {
        panic!("the body says nothing of how much may have been missed")
    };
    assert!(factor > 1.0 && factor < 6.0, "{factor}");
}

#[test]
fn a_bound_far_above_a_dispersed_body_is_not_missed() {
    // 80 of 159 are above: at most 0.57, whose eighth power is 1/100 and a little more, and ninth less.
    assert!(matches!(judged([100, 0], 100, 800), Side::Undecided { .. }));
    assert_eq!(judged([100, 0], 100, 900), Side::Below);
}

#[test]
fn thresholds_not_below_the_bound_say_nothing() {
    assert_eq!(judged([100, 0], 600, 600), Side::Below);
}

#[test]
fn what_lies_beyond_the_bound_must_be_few_by_itself() {
    let (body, slow) = (windows([100, 0].repeat(80)), windows([2; 160]));
    let lower = [Level { value: 100, windows: &body }];
    let bound = Level { value: 10_000, windows: &slow };
    let made = Exceedances::new((320, 16_000), &lower, bound, 0.01, Around::Mean);
    assert_eq!((made.dispersion().phi, made.judge(0.01, 0.95)), (1.0, Side::Above));
}

/// 1,600 operations in 16 windows, of which the last eight are slow: 8 effective ones of 15 lie above the median.
fn stepped(bound: u64) -> Side {
    let body = windows([[0; 8], [100; 8]].concat());
    let none = windows([0; 16]);
    let lower = [Level { value: 100, windows: &body }];
    let level = Level { value: bound, windows: &none };
    Exceedances::new((0, 1_600), &lower, level, 0.01, Around::Mean).judge(0.01, 0.95)
}

#[test]
fn a_remote_bound_is_not_missed_however_badly_the_body_is_known() {
    // At most 0.73 of them are above, whose 30th power is below 1/10,000, and whose 29th is not.
    assert!(matches!(stepped(1_000), Side::Undecided { .. }));
    assert!(matches!(stepped(2_900), Side::Undecided { .. }));
    assert_eq!(stepped(3_000), Side::Below);
}

/// 60 windows, or as many in each of several trials, of 20 operations whose times grow from 0 to 60, with chance up to 12:
/// those of them above each of these values.
fn growing(trials: usize, value: u64) -> Vec<WindowCount> {
    let time = |window: u64, place: u64| window + (7 * window + 3 * place) % 12;
    let window = |window: u64| WindowCount {
        total: 20,
        above: (0..20).filter(|&place| time(window, place) > value).count() as u32,
    };
    (0..trials).flat_map(|_| (0..60).map(window)).collect()
}

/// The side of `limit` on which they lie beyond the bound, around a drift and around the mean.
fn grown(trials: usize, bound: u64, limit: f64) -> [Option<Side>; 2] {
    let values = [35, 50, 59, 62];
    let series = values.map(|value| growing(trials, value));
    let lower: [Level<'_>; 4] =
        std::array::from_fn(|at| Level { value: values[at], windows: &series[at] });
    let windows = growing(trials, bound);
    let above = windows.iter().map(|window| u64::from(window.above)).sum();
    let (total, lengths) = (1_200 * trials as u64, vec![60; trials]);
    [Around::Drift(&lengths), Around::Mean].map(|around| {
        let bound = Level { value: bound, windows: &windows };
        let side = Exceedances::new((above, total), &lower, bound, limit, around);
        Some(side.judge(limit, 0.95)).filter(|side| !matches!(side, Side::Undecided { .. }))
    })
}

#[test]
fn what_grows_by_design_is_not_missed() {
    // Twenty times as high is remote for both.
    assert_eq!(grown(1, 1_000, 0.01), [Some(Side::Below); 2]);
    assert_eq!(grown(1, 80, 0.01), [Some(Side::Below), None]);
    // None of 1,200 shows a share of 1/1,000 at most in three trials, and not in one.
    assert_eq!(grown(1, 80, 0.001), [None, None]);
    assert_eq!(grown(3, 80, 0.001), [Some(Side::Below), None]);
    // 19 of 60 windows are beyond 40.
    assert_eq!(grown(1, 40, 0.05), [Some(Side::Above); 2]);
    assert_eq!(grown(1, 40, 0.4)[1], None);
}

/// 60 windows of 20 operations, none beyond the bound, whose share above the median grows from none to all of them, in
/// blocks of four windows that lie far above their drift or below it.
fn uneven(bound: u64) -> Side {
    let swing = |window: u32| if window / 4 % 2 == 1 { 12 } else { 0 };
    let above = (0..60).map(|window| (window / 3 + swing(window)).saturating_sub(6).min(20));
    let body: Vec<WindowCount> = above.map(|above| WindowCount { total: 20, above }).collect();
    let none = vec![WindowCount { total: 20, above: 0 }; 60];
    let lower = [Level { value: 100, windows: &body }];
    let level = Level { value: bound, windows: &none };
    Exceedances::new((0, 1_200), &lower, level, 0.01, Around::Drift(&[60])).judge(0.01, 0.95)
}

#[test]
fn a_far_bound_is_not_missed_whatever_the_drift_was() {
    // Of the late ones all are above the median, so that nothing can be said from there at that time.
    assert!(matches!(uneven(2_500), Side::Undecided { .. }));
    assert_eq!(uneven(2_600), Side::Below);
}
