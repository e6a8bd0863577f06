//! What the page is told: the state of the run as texts, and seconds as figures for its charts.

use std::collections::BTreeMap;

use pages::tables::Table;
use plan::number;
use plan::printable::printable;
use record::WindowSpan;
use serde::Serialize;

use crate::second::Known;
use crate::view::{PartShown, RunView, SecondShown};

/// Everything but the seconds.
#[derive(Debug, Serialize)]
pub struct State<'a> {
    title: &'a str,
    /// `open`, `lost` or `none`, and in words.
    verdict: (&'static str, &'static str),
    phase: String,
    /// The part of the phase that is over, where its length is known.
    over: Option<f64>,
    place: String,
    /// How late the generator is, and whether that matters.
    generator: (String, bool),
    /// The last second that is over: name and figure.
    last: Vec<(&'static str, String)>,
    /// Which time is shown.
    what: &'static str,
    /// Bounds of criteria on it, in milliseconds.
    limits: Vec<(&'a str, f64)>,
    operations: Vec<Part<'a>>,
    journeys: Vec<Part<'a>>,
    criteria: Vec<(&'a str, String, bool)>,
    notes: Vec<&'a str>,
    tables: Vec<EarlierTable<'a>>,
}

#[derive(Debug, Serialize)]
struct Part<'a> {
    name: &'a str,
    done: String,
    p50: String,
    p99: String,
    failed: String,
    kinds: String,
}

#[derive(Debug, Serialize)]
struct EarlierTable<'a> {
    title: &'a str,
    columns: Vec<(&'a str, bool)>,
    rows: &'a [Vec<String>],
}

/// One point of the charts: a second, or the slowest of several. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Its first second.
    pub t: u64,
    /// How many seconds it is of.
    #[serde(skip)]
    pub seconds: u32,
    /// Due in its seconds.
    pub planned: f64,
    /// Of those, ended well.
    pub succeeded: f64,
    /// Of those, ended badly or not begun, by kind.
    pub failures: BTreeMap<&'static str, f64>,
    /// The greatest median of its seconds.
    pub p50: Option<f64>,
    /// The greatest 99th percentile of its seconds.
    pub p99: Option<f64>,
    /// Whether answers are missing, so that times are lower bounds.
    pub open: bool,
}

impl Point {
    /// Of one second.
    pub fn of(second: &SecondShown) -> Self {
        let ms = |known: Known| known.drawn().map(|ns| ns as f64 / 1e6);
        let mut failures: BTreeMap<&'static str, f64> =
            second.failures.iter().map(|(kind, count)| (kind.name(), *count as f64)).collect();
        if second.missed > 0 {
            failures.insert("missed or abandoned", second.missed as f64);
        }
        Self {
            t: second.at,
            seconds: 1,
            planned: second.planned as f64,
            succeeded: second.succeeded as f64,
            failures,
            p50: ms(second.quantiles[0]),
            p99: ms(second.quantiles[2]),
            open: second.unanswered > 0,
        }
    }

    /// With counts a second.
    pub fn a_second(mut self) -> Self {
        let seconds = f64::from(self.seconds.max(1));
        self.planned /= seconds;
        self.succeeded /= seconds;
        self.failures.values_mut().for_each(|count| *count /= seconds);
        self
    }
}

impl<'a> State<'a> {
    /// Of the view, as it was refreshed last.
    pub fn of(view: &'a RunView) -> Self {
        let journeys = view.head.as_ref().map_or(0, |head| head.journeys.len());
        let (operations, journeys) = view.shown.split_at(view.shown.len().saturating_sub(journeys));
        Self {
            title: &view.title,
            verdict: verdict(view),
            phase: view.phase_text(),
            over: view.phase_share(),
            place: view.place_text(),
            generator: (view.generator_text(), view.is_late()),
            last: last(view),
            what: match view.span() {
                WindowSpan::ResponseTime => "response time",
                _ => "service time",
            },
            limits: view.limits().map(|(criterion, ns)| (criterion, ns / 1e6)).collect(),
            operations: operations.iter().map(part).collect(),
            journeys: journeys.iter().map(part).collect(),
            criteria: view.criteria.iter().map(criterion).collect(),
            notes: view.notes.iter().map(String::as_str).collect(),
            tables: view.tables.iter().map(earlier).collect(),
        }
    }
}

fn verdict(view: &RunView) -> (&'static str, &'static str) {
    match (view.criteria.is_empty(), view.is_lost()) {
        (true, _) => ("none", "no criterion"),
        (false, true) => ("lost", "can no longer pass"),
        (false, false) => ("open", "open"),
    }
}

fn last(view: &RunView) -> Vec<(&'static str, String)> {
    let Some(second) = view.last_second() else { return Vec::new() };
    let [p50, p95, p99, max] = second.quantiles.map(Known::shown);
    let done = view.progress.finished_rate.map_or_else(|| "–".to_owned(), number::rate);
    vec![
        ("planned", format!("{}/s", number::count(second.planned))),
        ("done", done),
        ("in flight", view.in_flight_text()),
        ("p50", p50),
        ("p95", p95),
        ("p99", p99),
        ("max", max),
    ]
}

fn part(part: &PartShown) -> Part<'_> {
    let [p50, p99] = part.quantiles.map(Known::shown);
    Part {
        name: &part.name,
        done: number::count(part.succeeded),
        p50,
        p99,
        failed: match part.failed() {
            0 => "0".to_owned(),
            failed => format!(
                "{} ({})",
                number::count(failed),
                number::percent(failed as f64 / part.planned.max(1) as f64)
            ),
        },
        kinds: part.kinds(),
    }
}

fn criterion(shown: &crate::view::CriterionShown) -> (&str, String, bool) {
    match &shown.lost {
        Some(why) => (&shown.criterion, format!("cannot be met any more: {why}"), true),
        None => (&shown.criterion, shown.seen.clone(), false),
    }
}

fn earlier(table: &Table) -> EarlierTable<'_> {
    EarlierTable {
        title: &table.title,
        columns: table
            .columns
            .iter()
            .map(|column| (column.title.as_str(), column.figures))
            .collect(),
        rows: &table.rows,
    }
}

/// JSON of a value, with texts that no terminal or page is steered by.
pub fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    printable(&text).into_owned()
}
