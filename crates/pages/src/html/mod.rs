//! One self-contained page: verdict, key figures, charts, tables. It needs no network, and its tables need no
//! scripts.
//!
//! The layout is in `page.html`, `style.css` and `charts.js`, the data of the charts in `data`.

mod axis;
mod bars;
mod burstiness;
mod data;
mod dose;
mod forest;
mod funnel;
mod key_figures;
mod lateness;
mod percentiles;
mod scaling;

use std::io::{self, Write};

use minijinja::value::{Serde, Value};
use minijinja::{Environment, HtmlEscape};
use record::folder::Folder;
use record::summary::{Summary, TrialSummary};
use serde::Serialize;

use super::outline::{self, Rank, Section};
use super::tables::{self, Table};
use judge::run_record::RunRecord;

const PAGE: &str = include_str!("page.html");
/// The style of the page, and of the page of a run that goes on.
pub const STYLE: &str = include_str!("style.css");
/// The charts of both.
pub const CHARTS: &str = include_str!("charts.js");
/// What draws them.
pub const UPLOT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
/// Its style.
pub const UPLOT_STYLE: &str = include_str!("../../vendor/uplot/uPlot.min.css");

/// Format `html`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(run).map_err(io::Error::other)?.as_bytes())
}

/// The variables of the template.
#[derive(Serialize)]
struct Page<'a> {
    summary: &'a Summary,
    word: &'static str,
    class: &'static str,
    key: Vec<key_figures::KeyFigure>,
    forest: Option<forest::Forest>,
    doses: Vec<dose::Chart>,
    percentiles: Vec<Table>,
    scalings: Vec<scaling::Chart>,
    links: Vec<Option<u32>>,
    sections: Vec<PageSection>,
    /// The trial whose charts are shown at the top of the page.
    picture: Option<u32>,
    data: String,
    style: &'static str,
    uplot_style: &'static str,
    uplot: &'static str,
    charts: &'static str,
}

/// A section of the outline.
#[derive(Serialize)]
struct PageSection {
    id: &'static str,
    folded: bool,
    title: String,
    lead: String,
    trial: Option<u32>,
    tables: Vec<Table>,
    /// The chart of a replay, before its table.
    burstiness: Option<burstiness::Chart>,
    /// The picture beside each of the tables.
    pictures: Vec<Option<bars::Bars>>,
    /// Whether the page has charts of the trial.
    charts: bool,
}

/// The page.
///
/// Errors: if the template cannot be rendered, which is a bug
pub fn render(run: &RunRecord) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    // The name ends in `.html`, which makes every value escaped.
    environment.add_template("page.html", PAGE)?;
    environment.add_filter("code", code);
    let summary = &run.summary;
    let picture = picture(run);
    let page = Page {
        summary,
        word: crate::verdict::verdict_word(summary),
        class: tables::run::judgement(crate::verdict::result(summary)),
        key: key_figures::figures(summary),
        forest: forest::plot(summary),
        doses: dose::charts(summary),
        percentiles: tables::percentiles::by_arm(run),
        scalings: scaling::charts(summary),
        links: links(summary),
        sections: parts(run, picture),
        picture,
        data: data::script(run),
        style: STYLE,
        uplot_style: UPLOT_STYLE,
        uplot: UPLOT,
        charts: CHARTS,
    };
    environment.get_template("page.html")?.render(Serde(&page))
}

/// Escapes a text, and marks text between backquotes as code.
fn code(text: &str) -> Value {
    let mut html = String::new();
    for (place, part) in text.split('`').enumerate() {
        if place > 0 {
            html.push_str(if place % 2 == 1 { "<code>" } else { "</code>" });
        }
        html.push_str(&HtmlEscape(part).to_string());
    }
    if text.matches('`').count() % 2 == 1 {
        html.push_str("</code>");
    }
    Value::from_safe_string(html)
}

/// The trial that each finding links to, if the page shows it.
fn links(summary: &Summary) -> Vec<Option<u32>> {
    let trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    let shown = trials.filter(|trial| tables::capacity::shows(summary, trial));
    let shown: Vec<u32> = shown.map(|trial| trial.index).collect();
    let places = tables::run::noticed(summary).into_iter().map(|(finding, _)| finding.trial);
    places.map(|place| place.filter(|trial| shown.contains(trial))).collect()
}

/// The only trial of the run, if its windows are there.
fn picture(run: &RunRecord) -> Option<u32> {
    match &run.trials[..] {
        [one] if run.summary.capacity.is_none() => Some(one.index),
        _ => None,
    }
}

fn parts(run: &RunRecord, picture: Option<u32>) -> Vec<PageSection> {
    let has_windows = |trial| run.trials.iter().any(|record| record.index == trial);
    let trials: Vec<&TrialSummary> = run.summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    // Where the answer has a section for each trial, the picture is there, and not again among the details.
    let drawn: &[&str] =
        if trials.len() <= outline::FEW_TRIALS { &["journeys", "times"] } else { &["trial"] };
    let pictures = |section: &Section| {
        let trial = trials.iter().find(|one| Some(one.index) == section.trial).copied();
        bars::pictures(trial, &section.tables, drawn.contains(&section.id))
    };
    let replayed = |section: &Section| {
        let trial = trials.iter().find(|one| Some(one.index) == section.trial);
        trial.filter(|_| section.id == "trial").and_then(|one| burstiness::chart(one))
    };
    let part = |section: Section| PageSection {
        burstiness: replayed(&section),
        pictures: pictures(&section),
        id: section.id,
        folded: section.rank == Rank::Detail,
        charts: section.id == "trial"
            && section.trial != picture
            && section.trial.is_some_and(has_windows),
        title: section.title,
        lead: section.lead,
        trial: section.trial,
        tables: section.tables,
    };
    outline::sections(&run.summary).into_iter().map(part).collect()
}

#[cfg(test)]
mod tests;
