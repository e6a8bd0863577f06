//! The charts of the whole trial so far, for viewers who come late, in bounded memory.

use std::collections::BTreeMap;

use super::frame::Point;

/// Points that are kept: with twice as many, each two become one.
const MOST: usize = 1_800;
/// Seconds of this age do not change any more: their answers have come, or their operations have ended otherwise.
const SETTLED: u64 = 900;

/// The points of a trial.
#[derive(Debug)]
pub struct History {
    points: BTreeMap<u64, Place>,
    /// Seconds in a point.
    pub step: u64,
    /// The version since which points have these places.
    pub since: u64,
}

/// The seconds of one point.
#[derive(Debug, Default)]
struct Place {
    /// The version of the history in which it changed last.
    changed: u64,
    /// Apart as long as they may change.
    seconds: Vec<Point>,
}

impl History {
    /// Empty, as of this version.
    pub fn new(version: u64) -> Self {
        Self { points: BTreeMap::new(), step: 1, since: version }
    }

    /// A second is known, or known better.
    pub fn add(&mut self, second: Point, version: u64) {
        let settled = second.t.saturating_sub(SETTLED) / self.step;
        let place = self.points.entry(second.t / self.step).or_default();
        place.changed = version;
        match place.seconds.iter_mut().find(|known| known.t == second.t) {
            Some(known) => *known = second,
            None => place.seconds.push(second),
        }
        self.points.range_mut(..settled).rev().take(2).for_each(|(_, place)| place.settle());
        if self.points.len() > 2 * MOST {
            self.double(version);
        }
    }

    /// Points that have changed after this version.
    pub fn after(&self, version: u64) -> impl Iterator<Item = Point> {
        let changed = self.points.values().filter(move |place| place.changed > version);
        changed.filter_map(|place| Some(joined(&place.seconds)?.a_second()))
    }

    fn double(&mut self, version: u64) {
        self.step *= 2;
        self.since = version;
        for (number, mut place) in std::mem::take(&mut self.points) {
            let double = self.points.entry(number / 2).or_default();
            double.changed = version;
            double.seconds.append(&mut place.seconds);
        }
        let newest = self.points.keys().next_back().map_or(0, |last| last * self.step);
        let settled = newest.saturating_sub(SETTLED) / self.step;
        self.points.range_mut(..settled).for_each(|(_, place)| place.settle());
    }
}

impl Place {
    fn settle(&mut self) {
        if self.seconds.len() > 1
            && let Some(all) = joined(&self.seconds)
        {
            self.seconds = vec![all];
        }
    }
}

/// Counts are added; of times the greatest is taken: an average of percentiles means nothing.
fn joined(seconds: &[Point]) -> Option<Point> {
    let mut seconds = seconds.iter();
    let mut all = seconds.next()?.clone();
    for one in seconds {
        all.t = all.t.min(one.t);
        all.seconds += one.seconds;
        all.planned += one.planned;
        all.succeeded += one.succeeded;
        for (kind, failures) in &one.failures {
            *all.failures.entry(kind).or_default() += failures;
        }
        all.p50 = greatest(all.p50, one.p50);
        all.p99 = greatest(all.p99, one.p99);
        all.open |= one.open;
    }
    Some(all)
}

fn greatest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(t: u64) -> Point {
        Point {
            t,
            seconds: 1,
            planned: 100.0,
            succeeded: 100.0,
            failures: BTreeMap::new(),
            p50: Some(2.0),
            p99: Some(if t == 4_321 { 500.0 } else { 3.0 }),
            open: false,
        }
    }

    #[test]
    fn a_day_has_as_many_points_as_an_hour_and_forgets_no_stall() {
        let mut history = History::new(0);
        for t in 0..86_400 {
            // Each second is known twice: while its answers come, and after that.
            history.add(Point { succeeded: 10.0, open: true, ..second(t) }, 2 * t + 1);
            history.add(second(t), 2 * t + 2);
        }
        let points: Vec<Point> = history.after(0).collect();
        assert!(points.len() <= 2 * MOST && points.len() >= MOST / 2, "{}", points.len());
        assert!(points.windows(2).all(|two| two[1].t - two[0].t == history.step));
        assert!(points.iter().all(|point| point.planned == 100.0 && point.succeeded == 100.0));
        let stalls: Vec<&Point> = points.iter().filter(|point| point.p99 > Some(3.0)).collect();
        assert_eq!(stalls.len(), 1);
        assert!(stalls[0].t <= 4_321 && 4_321 < stalls[0].t + history.step);
    }

    #[test]
    fn a_viewer_gets_what_is_new_to_it() {
        let mut history = History::new(0);
        (0..10).for_each(|t| history.add(second(t), t + 1));
        history.add(Point { p99: Some(9.0), ..second(3) }, 11);
        let times = |version: u64| history.after(version).map(|point| point.t).collect::<Vec<_>>();
        assert_eq!(times(9), [3, 9]);
        assert_eq!(times(11), [0; 0]);
        assert_eq!(times(0).len(), 10);
    }
}
