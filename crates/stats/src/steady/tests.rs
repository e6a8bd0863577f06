//! Simulated trials: how often the tests cry for nothing, and how often they see what is there.

use super::*;
use crate::chance::Chance;
use crate::{COARSE, FINE, Histogram};

const SECOND: f64 = 1e9;
/// Mean service time of 1 ms at all times, in seconds.
const SERVICE: Service = |_| 1e-3;
/// The same of a slow target.
const SLOW_SERVICE: Service = |_| 3.5e-2;

/// A queue of one server, first come first served: Lindley's recursion.
struct Queue {
    seconds: usize,
    rate: f64,
    /// Mean service time by time, both in seconds.
    service: Service,
}

/// Mean service time by time.
type Service = fn(f64) -> f64;

impl Queue {
    /// Mean service time 1 ms at all times.
    fn steady(rho: f64, seconds: usize) -> Self {
        Self { seconds, rate: 1_000.0 * rho, service: SERVICE }
    }

    /// The points that a trial of it leaves, after 5 s of warm-up.
    fn points(&self, seed: u64) -> Vec<WindowPoint> {
        const WARM_UP: f64 = 5.0;
        let mut chance = Chance::new(seed);
        let mut exponential = |mean: f64| -mean * chance.unit().ln();
        let mut trial = Trial::new(self.seconds);
        let (mut at, mut free) = (-WARM_UP, -WARM_UP);
        loop {
            at += exponential(1.0 / self.rate);
            if at >= self.seconds as f64 {
                return trial.points();
            }
            free = at.max(free) + exponential((self.service)(at.max(0.0)));
            if at >= 0.0 {
                trial.add(at, free);
            }
        }
    }

    fn judged(&self, seed: u64) -> Steadiness {
        judge(&self.points(seed), Floor::default(), seed)
    }

    /// Share of seeds for which this holds.
    fn share(&self, seeds: u64, holds: impl Fn(&Steadiness) -> bool) -> f64 {
        (1..=seeds).filter(|&seed| holds(&self.judged(seed))).count() as f64 / seeds as f64
    }
}

/// Windows of a second that are being filled.
struct Trial {
    windows: Vec<Histogram>,
    due: Vec<i64>,
    ended: Vec<i64>,
    all: Histogram,
}

impl Trial {
    fn new(seconds: usize) -> Self {
        Self {
            windows: (0..seconds).map(|_| Histogram::new(COARSE)).collect(),
            due: vec![0; seconds],
            ended: vec![0; seconds],
            all: Histogram::new(FINE),
        }
    }

    fn add(&mut self, due: f64, ended: f64) {
        let time = ((ended - due) * SECOND) as u64;
        self.windows[due as usize].record(time);
        self.all.record(time);
        self.due[due as usize] += 1;
        if let Some(window) = self.ended.get_mut(ended as usize) {
            *window += 1;
        }
    }

    fn points(&self) -> Vec<WindowPoint> {
        let thresholds = [0.5, 0.95].map(|q| self.all.quantile(q).unwrap());
        let mut in_flight = 0;
        let point = |(place, times): (usize, &Histogram)| {
            in_flight += self.due[place] - self.ended[place];
            WindowPoint {
                succeeded: times.count(),
                median_ns: times.quantile(0.5).unwrap_or(0),
                tail_ns: times.quantile(0.95).unwrap_or(0),
                above_median: times.count_above(thresholds[0]),
                above_tail: times.count_above(thresholds[1]),
                lost: 0,
                in_flight: in_flight as f64,
            }
        };
        self.windows.iter().enumerate().map(point).collect()
    }
}

/// Seeds: a few in `make test`, all of them with `PROOFLOAD_PROOF=1`, where the bound is the promise itself.
fn seeds(few: u64, all: u64) -> u64 {
    if std::env::var_os("PROOFLOAD_PROOF").is_some() { all } else { few }
}

/// How often it is reported, in the long form.
fn alarms_of(name: &str, queue: &Queue, seeds: u64) -> f64 {
    let alarms = queue.share(seeds, |seen| !seen.alarms.is_empty());
    println!("{name}: {:.2} % of {seeds} raise an alarm", 100.0 * alarms);
    alarms
}

fn is_backlog(seen: &Steadiness) -> bool {
    matches!(seen.alarms[..], [Alarm::GrowingBacklog { .. }])
}

fn is_slower(seen: &Steadiness) -> bool {
    seen.alarms.iter().any(|alarm| match alarm {
        Alarm::Drift { ratio, .. } | Alarm::LevelShift { ratio, .. } => *ratio > 1.0,
        _ => false,
    })
}

#[test]
fn a_queue_at_rest_raises_an_alarm_in_fewer_than_one_of_twenty() {
    // Of 200 seeds at most 10 may: that shows no more than that the truth is below 9 %. 1,000 tell 3 % from 5 %.
    let alarms = Queue::steady(0.7, 60).share(seeds(200, 1_000), |seen| !seen.alarms.is_empty());
    assert!(alarms <= 0.05, "{alarms}");
}

#[test]
fn a_busy_queue_raises_hardly_more() {
    for (rho, seconds) in [(0.5, 60), (0.9, 180)] {
        let queue = Queue::steady(rho, seconds);
        let alarms = queue.share(seeds(30, 500), |seen| !seen.alarms.is_empty());
        assert!(alarms <= 0.10, "{rho}: {alarms}");
    }
}

#[test]
fn a_queue_of_half_a_minute_raises_no_more_than_one_of_a_minute() {
    // A minute has 0.9, 0.7 and 1.4 %, and 4.2 % where the points of a slow target at 0.8 have 23 operations
    // (docs/journal). At most 4 of 100 seeds show no more than that the truth is below 9 %; 1,000 tell 0.5 % from 1.4 %.
    let cases = [(0.5, SERVICE, 0.009), (0.7, SERVICE, 0.007), (0.8, SERVICE, 0.014)];
    for (rho, service, most) in cases.into_iter().chain([(0.8, SLOW_SERVICE, 0.042)]) {
        for seconds in [30, 45] {
            let queue = Queue { seconds, rate: rho / service(0.0), service };
            let alarms = alarms_of(&format!("{rho} for {seconds} s"), &queue, seeds(100, 1_000));
            let most = if seeds(0, 1) == 0 { 0.04 } else { most };
            assert!(alarms <= most, "{rho} for {seconds} s: {alarms}");
        }
    }
}

#[test]
fn half_a_minute_shows_a_drift_a_step_a_slow_start_and_a_backlog() {
    let cases: [(&str, f64, Service, f64); 5] = [
        ("a drift of 20 %, no waiting", 2_000.0, |time| 1e-4 * (1.0 + 0.2 * time / 30.0), 0.99),
        ("a drift of 30 %, 0.7", 700.0, |time| 1e-3 * (1.0 + 0.3 * time / 30.0), 0.95),
        ("a step of 30 %, 0.5", 500.0, |time| if time < 18.0 { 1e-3 } else { 1.3e-3 }, 0.99),
        ("a start of 4 s at twice the time", 300.0, |t| if t < 4.0 { 2e-3 } else { 1e-3 }, 0.95),
        ("a rate above capacity", 1_050.0, |_| 1e-3, 0.99),
    ];
    for (name, rate, service, least) in cases {
        let seen = alarms_of(name, &Queue { seconds: 30, rate, service }, seeds(40, 1_000));
        // Forty tell four fifths from nearly all.
        let least = if seeds(0, 1) == 0 { 0.8 } else { least };
        assert!(seen > least, "{name}: {seen}");
    }
}

#[test]
fn a_rate_above_capacity_is_a_growing_backlog() {
    let seen = Queue::steady(1.05, 60).share(seeds(50, 1_000), is_backlog);
    assert!(seen > 0.99, "{seen}");
}

#[test]
fn a_leak_of_a_tenth_is_a_drift() {
    let light = |time: f64| 1e-4 * (1.0 + 0.1 * time / 60.0);
    let light = Queue { seconds: 60, rate: 2_000.0, service: light };
    let seen = light.share(seeds(40, 1_000), is_slower);
    assert!(seen > 0.95, "without waiting: {seen}");
    let queue = |time: f64| 1e-3 * (1.0 + 0.1 * time / 180.0);
    let queue = Queue { seconds: 180, rate: 700.0, service: queue };
    let seen = queue.share(seeds(20, 1_000), is_slower);
    assert!(seen > 0.95, "with waiting: {seen}");
}

#[test]
fn a_step_is_a_level_shift_where_it_is() {
    let service = |time: f64| if time < 36.0 { 1e-3 } else { 1.3e-3 };
    let queue = Queue { seconds: 60, rate: 500.0, service };
    let seen = queue.share(seeds(20, 200), |seen| {
        seen.alarms.iter().any(|alarm| match alarm {
            Alarm::LevelShift { at, ratio, .. } => (34..=38).contains(at) && *ratio > 1.2,
            _ => false,
        })
    });
    assert!(seen > 0.95, "{seen}");
}

#[test]
fn a_slow_start_is_a_warm_up_that_was_too_short() {
    let service = |time: f64| if time < 8.0 { 2e-3 } else { 1e-3 };
    let queue = Queue { seconds: 60, rate: 300.0, service };
    let seen = queue.share(seeds(20, 200), |seen| {
        matches!(seen.alarms.first(), Some(Alarm::WarmUpTooShort { until: 7..=20, ratio, .. }) if *ratio > 1.5)
    });
    assert!(seen > 0.9, "{seen}");
}

#[test]
fn an_exponential_start_is_cut_where_it_has_faded() {
    // x_t = 0.5·x_{t−1} + ε, with a bias of 5 standard deviations that falls as e^{−t/20}.
    let truncation = |seed: u64| {
        let mut chance = Chance::new(seed);
        let mut noise = || crate::special::normal_quantile(chance.unit());
        let sigma = 1.0 / (1.0 - 0.25_f64).sqrt();
        let mut value = sigma * noise();
        let mut next = |time: f64| {
            value = 0.5 * value + noise();
            value + 5.0 * sigma * (-time / 20.0).exp()
        };
        let series: Vec<f64> = (0..600).map(|time| next(f64::from(time))).collect();
        5 * mser5(&series).unwrap().batches
    };
    let mut cuts: Vec<usize> = (1..=200).map(truncation).collect();
    cuts.sort_unstable();
    assert!((40..=120).contains(&cuts[100]), "{}", cuts[100]);
}

/// Points of a target that answers in exactly this time, so many of each window lost.
fn made(median_ns: impl Fn(usize) -> u64, lost: impl Fn(usize) -> u64) -> Vec<WindowPoint> {
    let point = |place: usize| WindowPoint {
        succeeded: 1_000 - lost(place),
        // A ripple, so that neighbours differ by something.
        median_ns: median_ns(place) * (997 + place as u64 * 7 % 6) / 1_000,
        tail_ns: 3 * median_ns(place) * (997 + place as u64 * 5 % 7) / 1_000,
        above_median: 500 + place as u64 * 7 % 9,
        above_tail: 50 + place as u64 * 5 % 4,
        lost: lost(place),
        in_flight: 3.0,
    };
    (0..60).map(point).collect()
}

fn alarms(points: &[WindowPoint], floor: Floor) -> Vec<Alarm> {
    judge(points, floor, 1).alarms
}

#[test]
fn a_target_that_never_changes_is_steady() {
    let steady = made(|_| 1_000_000, |_| 0);
    assert_eq!(judge(&steady, Floor::default(), 1), Steadiness { points: 60, alarms: vec![] });
}

#[test]
fn a_trend_is_told_with_its_size_and_as_no_step() {
    let rising = made(|place| 1_000_000 + place as u64 * 10_000, |_| 0);
    let seen = alarms(&rising, Floor::default());
    let [Alarm::Drift { measure: Measure::Median, ratio, interval }, Alarm::Drift { .. }] =
        seen[..]
    else {
        panic!("{seen:?}");
    };
    assert!((ratio - 1.6).abs() < 0.05 && interval.0 < ratio && ratio < interval.1, "{seen:?}");
}

#[test]
fn what_the_chance_may_add_is_not_the_targets() {
    let rising = made(|place| 60_000 + place as u64 * 200, |_| 0);
    assert_eq!(alarms(&rising, Floor::default()).len(), 2);
    assert_eq!(alarms(&rising, Floor { median_ns: 15_000, tail_ns: 45_000 }), []);
}

#[test]
fn failures_that_come_together_are_uneven() {
    let failing = made(|_| 1_000_000, |place| if place < 54 { 2 } else { 30 });
    let seen = alarms(&failing, Floor::default());
    let [Alarm::Uneven { measure: Measure::Lost, spread }] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(spread.segment, 9);
    assert_eq!(alarms(&made(|_| 1_000_000, |place| place as u64 % 3), Floor::default()), []);
}

#[test]
fn a_certain_difference_that_does_not_matter_is_none() {
    // In the last part nearly all are above the median of the whole, by less than 2 % or by a fifth.
    assert_eq!(raised(15_000, 54..60), []);
    assert_ne!(raised(200_000, 54..60), []);
}

#[test]
fn what_happened_once_and_was_over_is_an_event() {
    for rise in [200_000, 900_000_000] {
        for first in [4, 12, 30, 48] {
            assert_eq!(raised(rise, first..first + 6), [], "{rise} at {first}");
        }
    }
    assert_ne!(raised(200_000, 0..6), [], "a start");
    assert_ne!(raised(200_000, 54..60), [], "at the end nobody knows");
}

#[test]
fn an_event_lends_no_weight_to_what_does_not_matter_beside_it() {
    // From some second on more are above the median than before, certainly, and by less than 1 % of its time.
    let with_event = |from: usize, later_ns: u64| {
        let later = move |place: usize| if place >= from { later_ns } else { 0 };
        let stalled = |place: usize| (18..24).contains(&place);
        let time = |place| if stalled(place) { 500_000_000 } else { 1_000_000 + later(place) };
        let mut points = made(time, |_| 0);
        points[from..].iter_mut().for_each(|point| point.above_median = 700);
        points[18..24].iter_mut().for_each(|point| point.above_median = 1_000);
        alarms(&points, Floor::default())
    };
    for from in 34..48 {
        assert_eq!(with_event(from, 8_000), [], "from {from} s on");
        assert_ne!(with_event(from, 200_000), [], "what matters is told beside it");
    }
}

/// A minute that is slower by so much in these windows.
fn raised(rise: u64, places: std::ops::Range<usize>) -> Vec<Alarm> {
    let rises = |place: usize| if places.contains(&place) { rise } else { 0 };
    let mut points = made(|place| 1_000_000 + rises(place), |_| 0);
    points[places.clone()].iter_mut().for_each(|point| point.above_median = 950);
    alarms(&points, Floor::default())
}

#[test]
fn windows_without_an_answer_are_passed_over() {
    let mut points = made(|_| 1_000_000, |_| 0);
    for place in [0, 1, 30] {
        points[place] = WindowPoint { in_flight: 3.0, ..WindowPoint::default() };
    }
    assert_eq!(alarms(&points, Floor::default()), []);
}
