//! The chart of a replay's burstiness: dispersion against the length of intervals, recorded beside replayed, on
//! logarithmic axes. It is boxes and two paths with positions in per cent, so it needs no script and can be printed.

use std::fmt::Write;

use judge::burstiness::{is_of_the_log, scale};
use plan::number::significant;
use record::summary::{Replay, ReplayScale, TrialSummary};
use serde::Serialize;

use super::axis::{Tick, apart, on_logarithm, rounded};

/// Fewer scales are easier to read in the table.
const LEAST: usize = 3;
/// Less dispersion is drawn as this.
const LOWEST: f64 = 0.01;
/// Labels nearer than this, in per cent, would overlap.
const APART: f64 = 6.0;

/// A chart. Positions in per cent, from the left and from the bottom.
#[derive(Debug, Serialize)]
pub struct Chart {
    points: Vec<Place>,
    /// Values of the paths, in per cent from the left and from the top.
    recorded: String,
    replayed: String,
    /// Where the dispersion of a Poisson process is.
    poisson: f64,
    /// Up to here, the recorded dispersion is a model.
    model: Option<f64>,
    across: Vec<Tick>,
    up: Vec<Tick>,
}

/// The replay at one scale.
#[derive(Debug, Serialize)]
struct Place {
    at: f64,
    value: f64,
    text: String,
}

/// The chart of a trial, if it replays a log at enough scales.
pub fn chart(trial: &TrialSummary) -> Option<Chart> {
    let replay = trial.replay.as_ref().filter(|one| one.scales.len() >= LEAST)?;
    let axes = Axes::of(replay);
    let place = |one: &ReplayScale| Place {
        at: axes.across(one.scale_ns),
        value: axes.up(one.replayed),
        text: format!(
            "{}: recorded {}, replayed {}",
            scale(one.scale_ns),
            significant(one.recorded),
            significant(one.replayed)
        ),
    };
    let path = |value: fn(&ReplayScale) -> f64| {
        let mut path = String::new();
        for one in &replay.scales {
            let _ = write!(path, "{},{} ", axes.across(one.scale_ns), 100.0 - axes.up(value(one)));
        }
        path.trim_end().to_owned()
    };
    let ticks = replay.scales.iter().map(|one| one.scale_ns);
    let ticks = ticks.map(|at| Tick { at: axes.across(at), text: scale(at) });
    let decades = (axes.lowest..=axes.highest).map(|power| 10_f64.powi(power));
    let mut modelled =
        replay.scales.iter().rev().filter(|one| !is_of_the_log(replay, one.scale_ns));
    Some(Chart {
        points: replay.scales.iter().map(place).collect(),
        recorded: path(|one| one.recorded),
        replayed: path(|one| one.replayed),
        poisson: axes.up(1.0),
        model: modelled.next().map(|one| axes.across(one.scale_ns)),
        across: apart(ticks, APART, 0.0),
        up: decades.map(|value| Tick { at: axes.up(value), text: significant(value) }).collect(),
    })
}

/// Scales and dispersions by their logarithms; dispersions between two powers of ten, with 1 between them.
struct Axes {
    from: f64,
    to: f64,
    lowest: i32,
    highest: i32,
}

impl Axes {
    fn of(replay: &Replay) -> Self {
        let scales = &replay.scales;
        let values = || scales.iter().flat_map(|one| [one.recorded, one.replayed]);
        let (least, most) = (values().fold(1.0, f64::min), values().fold(1.0, f64::max));
        Self {
            from: scales[0].scale_ns as f64,
            to: scales[scales.len() - 1].scale_ns as f64,
            lowest: least.max(LOWEST).log10().floor() as i32,
            highest: (most.log10().ceil() as i32).max(1),
        }
    }

    fn across(&self, scale_ns: u64) -> f64 {
        on_logarithm(scale_ns as f64, self.from, self.to)
    }

    fn up(&self, value: f64) -> f64 {
        let (lowest, highest) = (f64::from(self.lowest), f64::from(self.highest));
        let power = value.max(LOWEST).log10();
        rounded((100.0 * (power - lowest) / (highest - lowest)).clamp(0.0, 100.0))
    }
}
