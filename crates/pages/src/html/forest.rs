//! The forest plot: every comparison is a line on one axis of ratios, with its interval, its margin and its blocks.
//! It is boxes with positions in per cent, so it needs no script and can be printed.

use plan::criterion::TOTAL;
use record::summary::{Change, Comparison, Summary};
use serde::Serialize;
use serde_json::Value;

use crate::tables::comparison;

/// Ratios that the axis may label.
const TICKS: [f64; 17] =
    [0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];
/// Labels nearer than this, in per cent, would overlap.
const APART: f64 = 11.0;
/// The axis extends at least this far on both sides of no difference.
const LEAST: f64 = 1.1;
/// Values beyond this are drawn at the end of the axis.
const MOST: f64 = 20.0;

/// The plot.
#[derive(Debug, Serialize)]
pub struct Forest {
    ticks: Vec<Tick>,
    /// Position of no difference.
    one: f64,
    groups: Vec<Group>,
}

/// A label on the axis.
#[derive(Debug, Serialize)]
struct Tick {
    at: f64,
    text: String,
}

/// Comparisons of the same two levels.
#[derive(Debug, Serialize)]
struct Group {
    title: String,
    lines: Vec<ForestRow>,
}

/// One comparison.
#[derive(Debug, Serialize)]
struct ForestRow {
    metric: String,
    word: &'static str,
    text: String,
    /// From the baseline to the candidate.
    sides: String,
    /// None for a difference of shares, which is not a ratio.
    marks: Option<Marks>,
}

/// The drawing of a ratio. Positions in per cent of the axis.
#[derive(Debug, Serialize)]
struct Marks {
    ratio: f64,
    low: f64,
    high: f64,
    margin: (f64, f64),
    points: Vec<f64>,
}

/// An axis of ratios, logarithmic and symmetric around no difference.
struct Axis {
    end: f64,
}

/// The forest plot of a run's comparisons; none without an observed ratio.
pub fn plot(summary: &Summary) -> Option<Forest> {
    let seen = summary.comparisons.iter();
    let seen = seen.filter(|one| one.ratio.is_some() || one.difference.is_some());
    let drawn: Vec<&Comparison> = seen.clone().filter(|one| one.ratio.is_some()).collect();
    if drawn.is_empty() {
        return None;
    }
    let axis = Axis::of(&drawn);
    let mut groups: Vec<Group> = Vec::new();
    for one in seen {
        let title = title(one);
        let line = axis.line(one);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.lines.push(line),
            None => groups.push(Group { title, lines: vec![line] }),
        }
    }
    Some(Forest { ticks: axis.ticks(), one: axis.place(1.0), groups })
}

impl Axis {
    fn of(drawn: &[&Comparison]) -> Self {
        let ends = drawn.iter().flat_map(|one| {
            let blocks = one.points.iter().map(|point| point.ratio);
            [one.ratio, one.low, one.high, Some(1.0 + one.margin)]
                .into_iter()
                .chain(blocks)
                .flatten()
        });
        let far = ends.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.max(1.0 / ratio));
        Self { end: far.fold(LEAST, f64::max).min(MOST) * 1.02 }
    }

    /// Position of a ratio in per cent.
    fn place(&self, ratio: f64) -> f64 {
        let place = 50.0 + 50.0 * ratio.max(f64::MIN_POSITIVE).ln() / self.end.ln();
        (place.clamp(0.0, 100.0) * 100.0).round() / 100.0
    }

    fn ticks(&self) -> Vec<Tick> {
        let inside = TICKS.into_iter().filter(|tick| tick.max(1.0 / tick) <= self.end);
        let mut kept: Vec<f64> = vec![1.0];
        // From the ends inwards, so that both ends of the axis are labelled.
        let mut by_distance: Vec<f64> = inside.collect();
        by_distance.sort_by(|a, b| b.ln().abs().total_cmp(&a.ln().abs()));
        for tick in by_distance {
            if kept.iter().all(|other| (self.place(*other) - self.place(tick)).abs() >= APART) {
                kept.push(tick);
            }
        }
        kept.sort_by(f64::total_cmp);
        kept.into_iter().map(|tick| Tick { at: self.place(tick), text: times(tick) }).collect()
    }

    fn line(&self, one: &Comparison) -> ForestRow {
        let [baseline, candidate] = comparison::sides(one);
        ForestRow {
            metric: one.metric.clone(),
            word: word(one.result),
            text: text(one),
            sides: format!("{baseline} → {candidate}"),
            marks: one.ratio.map(|ratio| self.marks(one, ratio)),
        }
    }

    fn marks(&self, one: &Comparison, ratio: f64) -> Marks {
        let [low, high] = [one.low, one.high].map(|end| self.place(end.unwrap_or(ratio)));
        let blocks = one.points.iter().filter_map(|point| point.ratio);
        Marks {
            ratio: self.place(ratio),
            low,
            high,
            margin: (self.place(1.0 / (1.0 + one.margin)), self.place(1.0 + one.margin)),
            points: blocks.map(|ratio| self.place(ratio)).collect(),
        }
    }
}

/// The observed value, with its interval.
fn text(one: &Comparison) -> String {
    match (one.ratio, one.low, one.high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!("{} ({low:.2} – {high:.2})", times(ratio))
        }
        (Some(ratio), ..) => times(ratio),
        (None, ..) => format!("{} ({})", comparison::seen(one), comparison::interval(one)),
    }
}

/// The two levels, the stratum and the metric.
pub(super) fn title(one: &Comparison) -> String {
    let stratum = one.stratum.iter().map(|(factor, level)| format!("{factor} = {}", plain(level)));
    let operation = (one.operation != TOTAL).then(|| one.operation.clone());
    let rest: Vec<String> = stratum.chain(operation).collect();
    let levels =
        format!("{}: {} against {}", one.factor, plain(&one.candidate), plain(&one.baseline));
    if rest.is_empty() { levels } else { format!("{levels} ({})", rest.join(", ")) }
}

/// A level as text.
fn plain(level: &Value) -> String {
    level.as_str().map_or_else(|| level.to_string(), str::to_owned)
}

fn word(result: Change) -> &'static str {
    match result {
        Change::Changed => "changed",
        Change::Equivalent => "equivalent",
        Change::Undecided => "undecided",
    }
}

/// A ratio as a factor: `×1.05`.
fn times(ratio: f64) -> String {
    let digits = if ratio < 10.0 { 2 } else { 0 };
    format!("×{ratio:.digits$}")
}
