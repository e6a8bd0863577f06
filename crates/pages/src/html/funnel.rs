//! The picture of how far journeys came: a bar for each step, as long as the share of the journeys that came to it.
//! It is boxes with positions in per cent, so it needs no script and can be printed.

use record::StepTotals;
use record::summary::{Journey, TrialSummary};
use serde::Serialize;

use super::axis::rounded;
use crate::tables::Table;
use crate::tables::journeys::{FUNNEL, with_share};
use plan::number::count;

/// The picture of one journey.
#[derive(Debug, Serialize)]
pub struct Funnel {
    lines: Vec<Line>,
}

/// A step.
#[derive(Debug, Serialize)]
struct Line {
    step: String,
    bars: Vec<Bar>,
    reached: String,
    /// What the bar shows, in words.
    text: String,
}

/// A part of a bar. Positions in per cent of all journeys that were begun.
#[derive(Debug, Serialize)]
struct Bar {
    what: &'static str,
    from: f64,
    width: f64,
}

/// For each of a trial's tables its picture, if it has one.
pub fn pictures(trial: Option<&TrialSummary>, tables: &[Table]) -> Vec<Option<Funnel>> {
    let mut journeys = trial.map_or(&[][..], |trial| &trial.journeys).iter();
    let picture = |table: &Table| match table.id {
        FUNNEL => journeys.next().and_then(funnel),
        _ => None,
    };
    tables.iter().map(picture).collect()
}

/// None where no journey was begun.
fn funnel(journey: &Journey) -> Option<Funnel> {
    let begun = journey.whole.started();
    let lines = journey.steps.iter().map(|step| line(step, begun)).collect();
    (begun > 0).then_some(Funnel { lines })
}

fn line(step: &StepTotals, begun: u64) -> Line {
    let parts = [
        ("succeeded", step.succeeded),
        ("skipped", step.skipped),
        ("continued", step.failed.saturating_sub(step.ended)),
        ("ended", step.ended),
        ("abandoned", step.abandoned),
    ];
    let place = |journeys: u64| rounded(100.0 * journeys as f64 / begun as f64);
    let mut from = 0;
    let mut bars = Vec::new();
    for (what, journeys) in parts.into_iter().filter(|(_, journeys)| *journeys > 0) {
        bars.push(Bar { what, from: place(from), width: place(journeys) });
        from += journeys;
    }
    let told = [
        ("succeeded", step.succeeded),
        ("skipped", step.skipped),
        ("failed", step.failed),
        ("ended here", step.ended),
        ("abandoned", step.abandoned),
    ];
    let told = told.into_iter().filter(|(_, journeys)| *journeys > 0);
    let told: Vec<String> =
        told.map(|(what, journeys)| format!("{} {what}", count(journeys))).collect();
    let reached = with_share(step.reached, begun);
    Line {
        step: step.name.clone(),
        bars,
        text: format!("{}: {reached} reached; {}", step.name, told.join(", ")),
        reached,
    }
}
