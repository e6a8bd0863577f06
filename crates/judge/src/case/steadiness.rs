//! Whether a trial was in a steady state: combines its windows into points, and tests those.

use record::summary::{Model, TrialSummary};
use record::{OperationTotals, Window, WindowSpan};
use stats::steady::{Alarm, Floor, Measure, POINTS_LEAST, WindowPoint, group_length, judge};
use stats::{COARSE, Histogram};

use plan::number::{count, duration, percent, significant};

/// Arrivals whose planned rate does not change.
const LEVEL_ARRIVALS: [&str; 2] = ["constant", "poisson"];

/// Minimum measured nanoseconds for a test, however many points there are.
const LENGTH_LEAST: u64 = 6_000_000_000;

/// The result of the test for a steady state.
#[derive(Debug, Clone, PartialEq)]
pub enum SteadyStateTest {
    /// It was not tested; the text says why.
    Untested(String),
    /// It was tested.
    Tested {
        /// Length of a point, in nanoseconds.
        point_ns: u64,
        /// Departures from a steady state; empty if there are none.
        alarms: Vec<Alarm>,
    },
}

impl Default for SteadyStateTest {
    fn default() -> Self {
        Self::untested("nothing was measured")
    }
}

impl SteadyStateTest {
    /// Not tested, for this reason.
    pub fn untested(why: &str) -> Self {
        Self::Untested(format!("whether there was a steady state was not tested: {why}"))
    }

    /// Departures that were found.
    pub fn alarms(&self) -> &[Alarm] {
        match self {
            Self::Untested(_) => &[],
            Self::Tested { alarms, .. } => alarms,
        }
    }

    /// Length of a point in nanoseconds; 0 where it was not tested.
    pub(crate) fn point_ns(&self) -> u64 {
        match self {
            Self::Tested { point_ns, .. } => *point_ns,
            Self::Untested(_) => 0,
        }
    }
}

/// The windows of a trial as points. Only the histograms of one point are in memory.
pub struct Points {
    window_ns: u64,
    /// Windows per point; or why there are no points.
    group: Result<u64, SteadyStateTest>,
    thresholds: [u64; 2],
    points: Vec<Point>,
    /// The point that is being filled.
    current: usize,
    times: Histogram,
}

#[derive(Clone, Default)]
struct Point {
    seen: WindowPoint,
    /// Operations behind its quantiles.
    behind: u64,
    /// Operations that were due in it and succeeded at any time, and those that ended in it.
    due: u64,
    ended: u64,
}

impl Points {
    /// Empty points for a trial with these totals.
    pub fn new(trial: &record::TrialFacts, total: &OperationTotals) -> Self {
        let windows = trial.phases.measure_ns / trial.window_ns.max(1);
        let group = group(trial, windows, total.succeeded);
        let count = group.as_ref().map_or(0, |group| windows / group) as usize;
        let quantile = |q| total.response_time.quantile(q).unwrap_or(u64::MAX);
        Self {
            window_ns: trial.window_ns,
            group,
            thresholds: [quantile(0.5), quantile(0.95)],
            points: vec![Point::default(); count],
            current: 0,
            times: Histogram::new(COARSE),
        }
    }

    /// Adds a window; call it in the order of windows. A later part of an earlier window is counted, but its times
    /// change no quantile unless it is the larger part.
    pub fn add(&mut self, window: &Window) {
        let Ok(group) = self.group else { return };
        let place = (window.number / group) as usize;
        if place >= self.points.len() {
            return;
        }
        if place != self.current {
            self.close();
            self.current = place;
        }
        let point = &mut self.points[place];
        for part in &window.operations {
            point.seen.lost += part.without_time();
            point.due += part.planned.saturating_sub(part.without_time());
            point.ended += part.histogram(WindowSpan::ServiceTime).map_or(0, Histogram::count);
            if let Some(times) = part.histogram(WindowSpan::ResponseTime) {
                point.seen.succeeded += times.count();
                point.seen.above_median += times.count_above(self.thresholds[0]);
                point.seen.above_tail += times.count_above(self.thresholds[1]);
                self.times.merge(times);
            }
        }
    }

    /// Tests the points. Differences that the generator's own lateness can cause are left out.
    pub fn judge(mut self, dispatch_lag: &Histogram, seed: u64) -> SteadyStateTest {
        self.close();
        let group = match self.group {
            Ok(group) => group,
            Err(untested) => return untested,
        };
        // Lateness comes in bursts: a lag that is frequent in a few windows has a higher quantile over the whole
        // trial.
        let lag = |q| dispatch_lag.quantile(q).unwrap_or(0);
        let floor = Floor { median_ns: lag(0.9), tail_ns: lag(0.99) };
        let mut in_flight = 0.0;
        let points = self.points.into_iter().map(|point| {
            // Due but not ended. Only succeeded operations count, since a window counts the end of no others.
            in_flight += point.due as f64 - point.ended as f64;
            WindowPoint { in_flight, ..point.seen }
        });
        let seen = judge(&points.collect::<Vec<_>>(), floor, seed);
        SteadyStateTest::Tested { point_ns: group * self.window_ns, alarms: seen.alarms }
    }

    fn close(&mut self) {
        let count = self.times.count();
        if let Some(point) = self.points.get_mut(self.current).filter(|point| count > point.behind)
        {
            point.behind = count;
            point.seen.median_ns = self.times.quantile(0.5).unwrap_or(u64::MAX);
            point.seen.tail_ns = self.times.quantile(0.95).unwrap_or(u64::MAX);
        }
        if count > 0 {
            self.times.clear();
        }
    }
}

fn group(trial: &record::TrialFacts, windows: u64, succeeded: u64) -> Result<u64, SteadyStateTest> {
    let level = |arrivals: &String| LEVEL_ARRIVALS.contains(&arrivals.as_str());
    if let Some(arrivals) = trial.load.arrivals.as_ref().filter(|arrivals| !level(arrivals)) {
        return Err(SteadyStateTest::untested(&format!("the planned rate changes ({arrivals})")));
    }
    if trial.interrupted || trial.died.is_some() {
        return Err(SteadyStateTest::untested("the trial ended before its time"));
    }
    if windows < POINTS_LEAST || trial.phases.measure_ns < LENGTH_LEAST {
        let [measured, least] = [trial.phases.measure_ns, LENGTH_LEAST].map(duration);
        return Err(SteadyStateTest::Untested(format!(
            "too short to test for a steady state: {measured} in {windows} windows, {least} in \
             {POINTS_LEAST} are needed"
        )));
    }
    group_length(windows, succeeded).ok_or_else(|| {
        SteadyStateTest::Untested(format!(
            "too few operations to test for a steady state: {succeeded} in {windows} windows"
        ))
    })
}

/// A departure from a steady state, as a sentence without a full stop.
pub fn departure(alarm: &Alarm, trial: &TrialSummary, point_ns: u64) -> String {
    let at = |place: usize| duration(place as u64 * point_ns);
    match *alarm {
        Alarm::GrowingBacklog { at_end, growth, .. } => format!(
            "the backlog grew by {} operations ({} to {}) to {} in flight: more was offered than the target \
             finished",
            count(growth.estimate as u64),
            count(growth.low as u64),
            count(growth.high as u64),
            significant(at_end)
        ),
        Alarm::WarmUpTooShort { until, measure, ratio } => format!(
            "the first {} were slower than the rest, with a {} {} times as long",
            at(until),
            time(measure, trial),
            significant(ratio)
        ),
        Alarm::Drift { measure, ratio, interval } => format!(
            "the {} {} over the measure phase ({} to {})",
            time(measure, trial),
            moved(ratio),
            signed(interval.0),
            signed(interval.1)
        ),
        Alarm::LevelShift { measure, at: place, ratio } => {
            format!(
                "the {} {} at once, {} into the measure phase",
                time(measure, trial),
                moved(ratio),
                at(place)
            )
        }
        Alarm::Uneven { measure, spread } => {
            let what = match measure {
                Measure::Median => "above the median",
                Measure::Tail => "above the 95th percentile",
                Measure::Lost => "lost",
            };
            let part = trial.phases.measure_ns / 10;
            let from = spread.segment as u64 * part;
            format!(
                "parts of the measure phase differ: from {} to {} {} of operations were {what}, {} over the whole",
                duration(from),
                duration(from + part),
                percent(spread.shares.0),
                percent(spread.shares.1)
            )
        }
    }
}

fn time(measure: Measure, trial: &TrialSummary) -> String {
    // A closed load has no schedule, and so no response time from an intended start.
    let time = if trial.load.model == Model::Open { "response time" } else { "service time" };
    match measure {
        Measure::Median => format!("median {time}"),
        Measure::Tail | Measure::Lost => format!("95th percentile of {time}"),
    }
}

fn moved(ratio: f64) -> String {
    if ratio >= 1.0 {
        format!("rose by {}", percent(ratio - 1.0))
    } else {
        format!("fell by {}", percent(1.0 - ratio))
    }
}

fn signed(ratio: f64) -> String {
    if ratio >= 1.0 {
        format!("+{}", percent(ratio - 1.0))
    } else {
        format!("−{}", percent(1.0 - ratio))
    }
}
