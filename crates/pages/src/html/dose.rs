//! The charts of doses: the effect of each amount of a factor, one panel per metric. They are boxes and one path with
//! positions in per cent, so they need no script and can be printed.
//!
//! Not here: which factors are doses, and their table (see `tables::dose`).

use std::fmt::Write;

use record::summary::{Comparison, Summary};
use serde::Serialize;

use super::axis::{Tick, apart, rounded, step};
use crate::tables::dose::{self, DoseLevel, DoseMetric, Doses};
use judge::findings::plain;

/// Amounts whose ratio is greater than this get a logarithmic axis, if no level is 0.
const DECADES: f64 = 100.0;
/// Ratios that are farther apart get one, too.
const FAR: f64 = 10.0;
/// Space above and below, as a share of the range.
const ROOM: f64 = 0.06;
/// An interval that is this many times longer than everything else is cut at the edge.
const BEYOND: f64 = 2.0;
/// Labels nearer than this, in per cent of the height, would overlap.
const APART: f64 = 8.0;
/// Width of a letter, in per cent of a panel on a narrow screen.
const LETTER: f64 = 2.3;

/// The panels of a factor.
#[derive(Debug, Serialize)]
pub struct Chart {
    title: String,
    factor: String,
    panels: Vec<Panel>,
}

/// A metric. Positions in per cent, from the left and from the bottom.
#[derive(Debug, Serialize)]
struct Panel {
    metric: String,
    /// Position of no difference.
    none: f64,
    /// Within the margin.
    margin: (f64, f64),
    points: Vec<Point>,
    /// Values of the path, in per cent from the left and from the top.
    line: String,
    across: Vec<Tick>,
    up: Vec<Tick>,
}

/// A level.
#[derive(Debug, Serialize)]
struct Point {
    at: f64,
    value: f64,
    low: f64,
    high: f64,
    word: &'static str,
    text: String,
}

/// The charts of a run.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    dose::all(summary).iter().map(chart).collect()
}

fn chart(doses: &Doses<'_>) -> Chart {
    Chart {
        title: format!("Dose and response: {}", doses.title),
        factor: doses.factor.to_owned(),
        panels: doses.metrics.iter().filter_map(|metric| panel(&doses.levels, metric)).collect(),
    }
}

/// `None` if no level has a difference.
fn panel(levels: &[DoseLevel<'_>], metric: &DoseMetric<'_>) -> Option<Panel> {
    let seen: Vec<LevelResult<'_>> =
        levels.iter().filter_map(|level| LevelResult::of(level, metric)).collect();
    let scale = Scale::of(&seen)?;
    let across = Across::of(levels);
    let points = seen.iter().map(|one| one.point(&across, &scale)).collect::<Vec<_>>();
    let mut line = String::new();
    for point in &points {
        let _ = write!(line, "{},{} ", point.at, rounded(100.0 - point.value));
    }
    let ticks =
        levels.iter().map(|level| Tick { at: across.place(level), text: plain(level.label) });
    let (least, greatest) = scale.margin;
    Some(Panel {
        metric: metric.name.clone(),
        none: scale.place(0.0),
        margin: (scale.place(least), scale.place(greatest)),
        points,
        line: line.trim_end().to_owned(),
        across: apart(ticks, 0.0, LETTER),
        up: scale.ticks(),
    })
}

/// The result of a level: its difference from the baseline in the panel's unit, 0.1 for 10 %.
struct LevelResult<'a> {
    level: DoseLevel<'a>,
    difference: f64,
    interval: Option<(f64, f64)>,
    comparison: Option<&'a Comparison>,
}

impl<'a> LevelResult<'a> {
    fn of(level: &DoseLevel<'a>, metric: &DoseMetric<'a>) -> Option<Self> {
        if level.is_baseline {
            let (level, difference) = (*level, 0.0);
            return Some(Self { level, difference, interval: None, comparison: None });
        }
        let one = metric.of(level)?;
        let (difference, interval) = match &one.difference {
            Some(shares) => (shares.observed, shares.low.zip(shares.high)),
            None => {
                let ends = one.low.zip(one.high);
                (one.ratio? - 1.0, ends.map(|(low, high)| (low - 1.0, high - 1.0)))
            }
        };
        Some(Self { level: *level, difference, interval, comparison: Some(one) })
    }

    fn point(&self, across: &Across, scale: &Scale) -> Point {
        let (low, high) = self.interval.unwrap_or((self.difference, self.difference));
        let level = plain(self.level.label);
        Point {
            at: across.place(&self.level),
            value: scale.place(self.difference),
            low: scale.place(low),
            high: scale.place(high),
            word: self.comparison.map_or("baseline", dose::word),
            text: match self.comparison {
                Some(one) => format!("{level}: {}, {}", dose::difference(one), dose::word(one)),
                None => format!("{level}: baseline"),
            },
        }
    }
}

/// The horizontal axis, from one amount to another.
struct Across {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Across {
    fn of(levels: &[DoseLevel<'_>]) -> Self {
        let (from, to) = (levels[0].amount, levels[levels.len() - 1].amount);
        Self { from, to, is_log: from > 0.0 && to / from > DECADES }
    }

    fn place(&self, level: &DoseLevel<'_>) -> f64 {
        let share = match self.is_log {
            true => (level.amount / self.from).ln() / (self.to / self.from).ln(),
            false => (level.amount - self.from) / (self.to - self.from),
        };
        rounded(3.0 + 94.0 * share)
    }
}

/// The vertical axis: differences of one metric, from bottom to top.
struct Scale {
    from: f64,
    to: f64,
    /// For ratios: whether the axis shows their logarithm.
    is_log: bool,
    /// Differences that are within it.
    margin: (f64, f64),
    unit: &'static str,
}

impl Scale {
    fn of(seen: &[LevelResult<'_>]) -> Option<Self> {
        let one = seen.iter().find_map(|one| one.comparison)?;
        let is_share = one.difference.is_some();
        let margin = match is_share {
            true => (-one.margin, one.margin),
            false => (1.0 / (1.0 + one.margin) - 1.0, one.margin),
        };
        let shown = seen.iter().map(|one| one.difference).chain([margin.0, margin.1]);
        let (least, greatest) = ends(shown);
        let is_log = !is_share && least > -1.0 && (1.0 + greatest) / (1.0 + least) > FAR;
        let unit = if is_share { "pp" } else { "%" };
        let mut scale = Self { from: 0.0, to: 0.0, is_log, margin, unit };
        let (least, greatest) = (scale.on(least), scale.on(greatest));
        let beyond = BEYOND * (greatest - least);
        let within = |end: f64| scale.on(end).clamp(least - beyond, greatest + beyond);
        let intervals = seen.iter().filter_map(|one| one.interval);
        let intervals = intervals.flat_map(|(low, high)| [within(low), within(high)]);
        let (from, to) = ends(intervals.chain([least, greatest]));
        let room = ROOM * (to - from);
        (scale.from, scale.to) = (from - room, to + room);
        Some(scale)
    }

    /// A difference on the scale of the axis.
    fn on(&self, difference: f64) -> f64 {
        if self.is_log { (1.0 + difference).max(f64::MIN_POSITIVE).ln() } else { difference }
    }

    fn place(&self, difference: f64) -> f64 {
        let share = (self.on(difference) - self.from) / (self.to - self.from);
        rounded(100.0 * share.clamp(0.0, 1.0))
    }

    fn ticks(&self) -> Vec<Tick> {
        let tick = |(difference, text)| Tick { at: self.place(difference), text };
        let ticks = if self.is_log { self.ratios() } else { self.steps() };
        apart(ticks.into_iter().map(tick), APART, 0.0)
    }

    /// Whole steps, in the unit of the panel.
    fn steps(&self) -> Vec<(f64, String)> {
        let step = step((self.to - self.from) * 100.0, 6.0);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let (first, last) = ((self.from * 100.0 / step).ceil(), (self.to * 100.0 / step).floor());
        let text = |value: f64| match value.total_cmp(&0.0) {
            std::cmp::Ordering::Less => format!("−{:.digits$} {}", -value, self.unit),
            std::cmp::Ordering::Equal => format!("0 {}", self.unit),
            std::cmp::Ordering::Greater => format!("+{value:.digits$} {}", self.unit),
        };
        let counted = (0..=(last - first).max(0.0) as u32).map(|nth| first + f64::from(nth));
        // Turns a negative zero into a zero.
        counted.map(|nth| nth * step + 0.0).map(|value| (value / 100.0, text(value))).collect()
    }

    /// Steps for ratios that are far apart.
    fn ratios(&self) -> Vec<(f64, String)> {
        let is_shown = |ratio: &f64| (self.from..=self.to).contains(&ratio.ln());
        let of = |steps: &[f64]| {
            let powers = (-9..=9).map(|power| 10_f64.powi(power));
            let ratios = powers.flat_map(|power| steps.iter().map(move |step| step * power));
            ratios.filter(is_shown).collect::<Vec<f64>>()
        };
        let fine = of(&[1.0, 2.0, 5.0]);
        let ratios = if fine.len() > 8 { of(&[1.0]) } else { fine };
        let text = |ratio: f64| format!("×{}", (ratio * 1e9).round() / 1e9);
        ratios.into_iter().map(|ratio| (ratio - 1.0, text(ratio))).collect()
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), value| {
        (least.min(value), greatest.max(value))
    })
}

#[cfg(test)]
mod tests;
