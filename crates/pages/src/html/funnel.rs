//! How far journeys came: a bar for each step, as long as the share of the journeys that came to it.

use record::StepTotals;
use record::summary::Journey;

use super::axis::rounded;
use super::bars::{Bar, Bars, Line};
use crate::tables::Table;
use crate::tables::journeys::with_share;
use plan::number::count;

/// None where no journey was begun.
pub fn bars(journey: &Journey, table: &Table) -> Option<Bars> {
    let begun = journey.whole.started();
    (begun > 0).then(|| Bars {
        title: table.title.clone(),
        lines: journey.steps.iter().map(|step| line(step, begun)).collect(),
        legend: vec![
            ("succeeded", "succeeded"),
            ("skipped", "skipped"),
            ("continued", "failed and went on"),
            ("ended", "ended here"),
            ("abandoned", "abandoned"),
        ],
        note: None,
    })
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
        name: step.name.clone(),
        bars,
        text: format!("{}: {reached} reached; {}", step.name, told.join(", ")),
        figure: reached,
    }
}
