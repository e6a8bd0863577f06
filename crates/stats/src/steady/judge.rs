//! Every test together, so arranged that a steady trial raises an alarm in fewer than one of twenty.

use super::homogeneity::{Spread, spread};
use super::level::{LevelShift, lasting, step_at, steps};
use super::mser::{BATCH, mser5};
use super::point::WindowPoint;
use super::slope::{SlopeChange, change, residuals, theil_sen};
use crate::dispersion::WindowCount;

/// Change of the median and of the 95th percentile from which a drift matters, over the whole phase.
const DRIFT_MARGIN: f64 = 0.05;
/// Change of the median and of the 95th percentile from which a step matters.
const STEP_MARGINS: [f64; 2] = [0.05, 0.10];
/// Level of a slope's interval.
const SLOPE_LEVEL: f64 = 0.001;
/// Chance below which parts differ.
const SPREAD_LEVEL: f64 = 0.0001;
/// Operations by which a backlog must have grown at least.
const BACKLOG_LEAST: f64 = 2.0;
/// Difference in the share of lost operations from which parts differ.
const LOST_MARGIN: f64 = 0.001;
/// Relative width of a bucket of a window's histogram.
const GRAIN: f64 = 1.0 / 128.0;

/// Which series an alarm is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Median response time.
    Median,
    /// 95th percentile of the response time.
    Tail,
    /// Operations that did not succeed.
    Lost,
}

/// Differences that the generator itself may make, which say nothing about the target. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Floor {
    /// In a median.
    pub median_ns: u64,
    /// In a 95th percentile.
    pub tail_ns: u64,
}

/// A departure from a steady state. Ratios are new over old; places count points from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alarm {
    /// More and more was in flight.
    GrowingBacklog {
        /// Mean of the last tenth.
        at_end: f64,
        /// Mean of the phase.
        mean: f64,
        /// Operations by which it grew, with its interval.
        growth: SlopeChange,
    },
    /// The start was slower than the rest.
    WarmUpTooShort {
        /// First point of the rest.
        until: usize,
        /// Which series says so.
        measure: Measure,
        /// Start over rest.
        ratio: f64,
    },
    /// A slow change.
    Drift {
        /// Which series.
        measure: Measure,
        /// End over start.
        ratio: f64,
        /// Ends of its interval.
        interval: (f64, f64),
    },
    /// A step.
    LevelShift {
        /// Which series.
        measure: Measure,
        /// First point of the new level.
        at: usize,
        /// New level over old.
        ratio: f64,
    },
    /// Parts that differ in some other way.
    Uneven {
        /// Which series.
        measure: Measure,
        /// How.
        spread: Spread,
    },
}

/// What the tests say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steadiness {
    /// Points that were looked at.
    pub points: usize,
    /// Departures, the gravest first; none in a steady state.
    pub alarms: Vec<Alarm>,
}

/// Looks for departures from a steady state. The seed is that of the resampling.
///
/// Shape:  [`POINTS_LEAST`](super::POINTS_LEAST) points or more, in order of time
pub fn judge(points: &[WindowPoint], floor: Floor, seed: u64) -> Steadiness {
    let series = [
        Series::of(points, Measure::Median, floor.median_ns),
        Series::of(points, Measure::Tail, floor.tail_ns),
    ];
    // Of two that end together the median's stands.
    let starts = series.iter().rev().filter_map(|one| one.start().map(|step| (one, step)));
    let start = starts.max_by_key(|(_, step)| step.at);
    let from = start.map_or(0, |(_, step)| step.at);
    let mut alarms = Vec::new();
    let backlog = backlog(&points[from..], seed);
    alarms.extend(backlog);
    alarms.extend(start.map(|(one, step)| Alarm::WarmUpTooShort {
        until: step.at,
        measure: one.measure,
        ratio: (-step.change).exp(),
    }));
    let changes = series.iter().filter_map(|one| one.from(from).departure(from, seed));
    // What waits longer because more and more waits is reported once, and so is a start that fades slowly.
    alarms.extend(changes.filter(|alarm| match alarm.ratio() > 1.0 {
        true => backlog.is_none(),
        false => start.is_none(),
    }));
    if alarms.is_empty() {
        alarms.extend(uneven(points, &series));
    }
    Steadiness { points: points.len(), alarms }
}

/// Logarithms of one quantile over time.
struct Series {
    measure: Measure,
    values: Vec<f64>,
    /// Least change that matters, of a drift and of a step.
    drift: f64,
    step: f64,
}

impl Series {
    fn of(points: &[WindowPoint], measure: Measure, floor_ns: u64) -> Self {
        let mut last = 0.0;
        let quantile = |point: &WindowPoint| {
            let time = if measure == Measure::Median { point.median_ns } else { point.tail_ns };
            if point.succeeded > 0 {
                last = (time.max(1) as f64).ln();
            }
            last
        };
        // Before the first answer there is no time: the first one stands for it.
        let mut values: Vec<f64> = points.iter().map(quantile).collect();
        let first = values.iter().copied().find(|value| *value > 0.0).unwrap_or(0.0);
        values.iter_mut().take_while(|value| **value <= 0.0).for_each(|value| *value = first);
        let level = super::slope::median(&mut values.clone()).unwrap_or(0.0).exp();
        let floor = (floor_ns as f64 / level).ln_1p();
        let margin = STEP_MARGINS[usize::from(measure != Measure::Median)];
        Self {
            measure,
            values,
            drift: DRIFT_MARGIN.ln_1p().max(floor),
            step: margin.ln_1p().max(floor),
        }
    }

    fn from(&self, place: usize) -> Self {
        Self { values: self.values[place..].to_vec(), ..*self }
    }

    /// Steps that matter, to levels that last.
    fn steps(&self) -> Vec<LevelShift> {
        let mut steps =
            lasting(steps(&self.values, self.step, GRAIN), self.values.len(), self.step);
        if steps.first().is_some_and(|first| !self.begins_apart(first.at)) {
            steps.remove(0);
        }
        steps
    }

    /// Whether the series begins at another level than that from `at` on. What begins there, leaves it and comes back
    /// before `at` is an event.
    fn begins_apart(&self, at: usize) -> bool {
        let rest = &self.values[at..];
        (level(&self.values[..at.div_ceil(3)]) - level(rest)).abs() > self.step
    }

    /// The step down to the rest, if the first third or less was certainly slower.
    fn start(&self) -> Option<LevelShift> {
        let third = self.values.len() / 3;
        let early = self.steps().into_iter().map(|step| step.at);
        let early = early.take_while(|&at| at <= third).last();
        let cut = mser5(&self.values).filter(|cut| cut.converged).map(|cut| BATCH * cut.batches);
        let at = early.max(cut.filter(|cut| (1..=third).contains(cut)))?;
        let step = step_at(&self.values, at, GRAIN)?;
        (self.begins_apart(at) && step.change < -self.step && step.is_certain()).then_some(step)
    }

    /// Whether the level at these places differs from that at all of them by a step that matters.
    fn differs_in(&self, places: &[usize], all: &[usize]) -> bool {
        let level =
            |places: &[usize]| level(&places.iter().map(|&at| self.values[at]).collect::<Vec<_>>());
        (level(places) - level(all)).abs() > self.step
    }

    /// A drift or a step, whichever fits better; places are given from `from` on.
    fn departure(&self, from: usize, seed: u64) -> Option<Alarm> {
        let slope = theil_sen(&self.values);
        let large = (slope * self.values.len() as f64).abs() > self.drift;
        let drift = large.then(|| change(&self.values, SLOPE_LEVEL, seed));
        let drift = drift.filter(SlopeChange::is_certain);
        let steps = self.steps();
        let largest = steps.iter().max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()));
        match (drift, largest) {
            (Some(drift), Some(_)) if self.is_line(slope, &steps) => Some(self.drifts(&drift)),
            (_, Some(step)) => Some(Alarm::LevelShift {
                measure: self.measure,
                at: from + step.at,
                ratio: step.change.exp(),
            }),
            (Some(drift), None) => Some(self.drifts(&drift)),
            (None, None) => None,
        }
    }

    fn drifts(&self, change: &SlopeChange) -> Alarm {
        Alarm::Drift {
            measure: self.measure,
            ratio: change.estimate.exp(),
            interval: (change.low.exp(), change.high.exp()),
        }
    }

    /// Whether a line leaves less unexplained than levels with these steps, one of them at a time.
    fn is_line(&self, slope: f64, steps: &[LevelShift]) -> bool {
        let unexplained = |left: &[f64]| left.iter().map(|value| value.abs()).sum::<f64>();
        let line = unexplained(&residuals(&self.values, slope));
        let one_step = steps.iter().map(|step| {
            let (before, after) = self.values.split_at(step.at);
            unexplained(&residuals(before, 0.0)) + unexplained(&residuals(after, 0.0))
        });
        one_step.fold(f64::INFINITY, f64::min) > line
    }
}

fn level(values: &[f64]) -> f64 {
    super::slope::median(&mut values.to_vec()).unwrap_or(0.0)
}

/// Growth by more than the mean: a queue that only grows ends at twice its mean, one at rest grows by nothing.
fn backlog(points: &[WindowPoint], seed: u64) -> Option<Alarm> {
    let in_flight: Vec<f64> = points.iter().map(|point| point.in_flight).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (least, length) = (mean(&in_flight).max(BACKLOG_LEAST), in_flight.len());
    if theil_sen(&in_flight) * length as f64 <= least {
        return None;
    }
    let growth = change(&in_flight, SLOPE_LEVEL, seed);
    growth.is_certain().then(|| Alarm::GrowingBacklog {
        at_end: mean(&in_flight[length - length.div_ceil(10)..]),
        mean: mean(&in_flight),
        growth,
    })
}

/// The measure whose parts differ most, if they differ certainly and by enough to matter.
fn uneven(points: &[WindowPoint], series: &[Series; 2]) -> Option<Alarm> {
    let counted = [
        (Measure::Median, counts(points, |point| (point.succeeded, point.above_median))),
        (Measure::Tail, counts(points, |point| (point.succeeded, point.above_tail))),
        (Measure::Lost, counts(points, |point| (point.succeeded + point.lost, point.lost))),
    ];
    counted
        .into_iter()
        .filter_map(|(measure, counts)| {
            let times = series.iter().find(|one| one.measure == measure);
            Some((measure, lasting_spread(&counts, times)?))
        })
        .min_by(|a, b| a.1.p_value.total_cmp(&b.1.p_value))
        .map(|(measure, spread)| Alarm::Uneven { measure, spread })
}

/// Parts that certainly differ by enough to matter, and still do without the one that differs most and its neighbours:
/// what happened once and was over is an event, and no state. Of the last part nobody knows whether it was over.
fn lasting_spread(counts: &[WindowCount], times: Option<&Series>) -> Option<Spread> {
    let differing = |places: &[usize]| {
        let counts: Vec<WindowCount> = places.iter().map(|&place| counts[place]).collect();
        let certain = spread(&counts).filter(|spread| spread.p_value < SPREAD_LEVEL)?;
        let part = &places[certain.places(places.len())];
        let matters = times.map_or_else(
            || (certain.shares.0 - certain.shares.1).abs() > LOST_MARGIN,
            |times| times.differs_in(part, places),
        );
        matters.then_some(certain)
    };
    let all: Vec<usize> = (0..counts.len()).collect();
    let found = differing(&all)?;
    let event = found.places(counts.len());
    if event.end == counts.len() {
        return Some(found);
    }
    let apart =
        |place: usize| place + event.len() < event.start || place >= event.end + event.len();
    let rest: Vec<usize> = all.into_iter().filter(|&place| apart(place)).collect();
    differing(&rest).map(|_| found)
}

fn counts(points: &[WindowPoint], of: fn(&WindowPoint) -> (u64, u64)) -> Vec<WindowCount> {
    let count = |point| {
        let (total, above) = of(point);
        let mut count = WindowCount::default();
        count.add(total, above);
        count
    };
    points.iter().map(count).collect()
}

impl Alarm {
    /// New level over old, where the alarm has levels.
    fn ratio(&self) -> f64 {
        match *self {
            Self::Drift { ratio, .. } | Self::LevelShift { ratio, .. } => ratio,
            Self::WarmUpTooShort { ratio, .. } => 1.0 / ratio,
            Self::GrowingBacklog { .. } | Self::Uneven { .. } => 1.0,
        }
    }
}
