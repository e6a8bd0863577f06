//! One self-contained page: verdict, key figures, charts, tables. It needs no network, and its tables
//! need no scripts.
//!
//! The look is in `page.html`, `style.css` and `charts.js`, the data of the charts in `data`.

mod axis;
mod data;
mod dose;
mod forest;
mod key;
mod percentiles;
mod scaling;

use std::io::{self, Write};

use minijinja::value::{Serde, Value};
use minijinja::{Environment, HtmlEscape};
use record::folder::Folder;
use record::summary::Summary;
use serde::Serialize;

use super::tables::{self, Table};
use judge::run_record::RunRecord;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const CHARTS: &str = include_str!("charts.js");
const UPLOT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../vendor/uplot/uPlot.min.css");

/// Format `html`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(render(run).map_err(io::Error::other)?.as_bytes())
}

/// What the template names.
#[derive(Serialize)]
struct Page<'a> {
    summary: &'a Summary,
    word: &'static str,
    class: &'static str,
    key: Vec<key::Figure>,
    forest: Option<forest::Forest>,
    doses: Vec<dose::Chart>,
    dose_tables: Vec<Table>,
    percentiles: Vec<Table>,
    comparisons: Vec<Table>,
    capacity: Vec<Table>,
    scalings: Vec<scaling::Chart>,
    scaling_tables: Vec<Table>,
    criteria: Option<Table>,
    accounting: Option<Table>,
    observed: Option<Table>,
    parts: Option<Table>,
    phases: Option<Table>,
    work: Option<Table>,
    findings: Option<Table>,
    links: Vec<Option<u32>>,
    trials: Option<Table>,
    sections: Vec<Section>,
    provenance: Table,
    data: String,
    style: &'static str,
    uplot_style: &'static str,
    uplot: &'static str,
    charts: &'static str,
}

/// A trial on the page.
#[derive(Serialize)]
struct Section {
    index: u32,
    arm: String,
    load: String,
    tables: Vec<Table>,
    details: Vec<Table>,
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
    let page = Page {
        summary,
        word: super::verdict_word(summary),
        class: tables::run::judgement(super::result(summary)),
        key: key::figures(summary),
        forest: forest::plot(summary),
        doses: dose::charts(summary),
        dose_tables: tables::dose::tables(summary),
        percentiles: tables::percentiles::by_arm(run),
        comparisons: tables::comparison::comparisons(summary),
        capacity: tables::capacity::all(summary),
        scalings: scaling::charts(summary),
        scaling_tables: tables::scaling::all(summary),
        criteria: tables::run::criteria(summary),
        accounting: tables::accounting::by_arm(summary),
        observed: tables::observed::by_arm(summary),
        parts: tables::parts::by_arm(summary),
        phases: tables::phases::by_arm(summary),
        work: tables::work::by_arm(summary),
        findings: tables::run::findings(summary),
        links: links(summary),
        trials: tables::run::trials(summary),
        sections: sections(run),
        provenance: tables::run::provenance(summary),
        data: data::script(run),
        style: STYLE,
        uplot_style: UPLOT_STYLE,
        uplot: UPLOT,
        charts: CHARTS,
    };
    environment.get_template("page.html")?.render(Serde(&page))
}

/// Escapes a text, and sets what stands between backquotes as code.
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

/// Where each finding leads: to its trial, if the page shows that.
fn links(summary: &Summary) -> Vec<Option<u32>> {
    let trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    let shown = trials.filter(|trial| tables::capacity::shows(summary, trial));
    let shown: Vec<u32> = shown.map(|trial| trial.index).collect();
    let places = tables::run::noticed(summary).into_iter().map(|(finding, _)| finding.trial);
    places.map(|place| place.filter(|trial| shown.contains(trial))).collect()
}

fn sections(run: &RunRecord) -> Vec<Section> {
    /// What is looked up rather than read.
    const DETAILS: [&str; 4] = ["statuses", "spans", "kernel", "systems"];
    let trials =
        run.summary.arms.iter().flat_map(|arm| arm.trials.iter().map(move |one| (arm, one)));
    let section = |(arm, trial): (&record::summary::Arm, &record::summary::Trial)| {
        let (details, tables) =
            tables::trial::all(trial).into_iter().partition(|table| DETAILS.contains(&table.id));
        Section {
            index: trial.index,
            arm: arm.name.clone(),
            load: tables::trial::load(trial),
            tables,
            details,
            charts: run.trials.iter().any(|record| record.index == trial.index),
        }
    };
    let shown = trials.filter(|(_, trial)| tables::capacity::shows(&run.summary, trial));
    shown.map(section).collect()
}

#[cfg(test)]
mod tests;
