//! The chart of closed loads of different sizes: the range of each size is a bar, its mean a point, and the law a
//! line. It is boxes and one path with positions in per cent, so it needs no script and can be printed.

use std::fmt::Write;

use record::summary::{Scaling, Summary};
use serde::Serialize;
use stats::capacity::scalability::UslModel;

use super::axis::{Tick, apart, on_logarithm, rounded, step};
use crate::tables;
use plan::number::rate;

/// Number of segments in the line of the law.
const STEPS: u32 = 60;
/// Labels nearer than this, in per cent, would overlap.
const APART: f64 = 6.0;
/// The axis ends at this many times the greatest value.
const ABOVE: f64 = 1.08;

/// A chart.
#[derive(Debug, Serialize)]
pub struct Chart {
    title: String,
    actors: String,
    points: Vec<Place>,
    /// Values of the path, in per cent from the left and from the top.
    line: Option<String>,
    across: Vec<Tick>,
    up: Vec<Tick>,
}

/// One size. Positions in per cent, from the left and from the bottom.
#[derive(Debug, Serialize)]
struct Place {
    at: f64,
    value: f64,
    least: f64,
    greatest: f64,
    text: String,
}

/// The charts of a run.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    tables::scaling::shown(summary).map(chart).collect()
}

/// Sizes by their logarithm, throughput from 0.
struct Axes {
    from: f64,
    to: f64,
    most: f64,
}

impl Axes {
    fn across(&self, concurrency: f64) -> f64 {
        on_logarithm(concurrency, self.from, self.to)
    }

    fn up(&self, throughput: f64) -> f64 {
        rounded((100.0 * throughput / self.most).clamp(0.0, 100.0))
    }
}

fn chart(scaling: &Scaling) -> Chart {
    let sizes: Vec<f64> =
        scaling.points.iter().map(|point| f64::from(point.concurrency.max(1))).collect();
    let most = scaling.points.iter().map(|point| point.greatest).fold(f64::MIN_POSITIVE, f64::max);
    let axes = Axes { from: sizes[0], to: sizes[sizes.len() - 1], most: most * ABOVE };
    let place = |point: &record::summary::ScalingPoint| Place {
        at: axes.across(f64::from(point.concurrency.max(1))),
        value: axes.up(point.goodput),
        least: axes.up(point.least),
        greatest: axes.up(point.greatest),
        text: format!("{} {}: {}", point.concurrency, scaling.actors, rate(point.goodput)),
    };
    let ticks = sizes.iter().map(|size| Tick { at: axes.across(*size), text: size.to_string() });
    Chart {
        title: tables::scaling::title(scaling),
        actors: scaling.actors.clone(),
        points: scaling.points.iter().map(place).collect(),
        line: scaling.law.map(|law| {
            let model = UslModel { sigma: law.sigma, kappa: law.kappa, lambda: law.lambda };
            line(&axes, &model)
        }),
        across: apart(ticks, APART, 0.0),
        up: apart(
            steps(most).map(|value| Tick { at: axes.up(value), text: rate(value) }),
            APART,
            0.0,
        ),
    }
}

fn line(axes: &Axes, model: &UslModel) -> String {
    let mut path = String::new();
    for step in 0..=STEPS {
        let share = f64::from(step) / f64::from(STEPS);
        let concurrency = axes.from * (axes.to / axes.from).powf(share);
        let (x, y) = (axes.across(concurrency), 100.0 - axes.up(model.throughput(concurrency)));
        let _ = write!(path, "{x},{y} ");
    }
    path.trim_end().to_owned()
}

/// Steps from 0, four or five of them.
fn steps(most: f64) -> impl Iterator<Item = f64> {
    let step = step(most, 5.0);
    (0..=5).map(move |times| f64::from(times) * step).filter(move |value| *value <= most)
}
