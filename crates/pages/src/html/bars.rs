//! A picture beside a table: a line for each of its rows, with bars on one axis. It is boxes with positions in per
//! cent, so it needs no script and can be printed.

use record::summary::TrialSummary;
use serde::Serialize;

use super::{funnel, lateness};
use crate::tables::{Table, agents, journeys};

/// The picture.
#[derive(Debug, Serialize)]
pub struct Bars {
    pub title: String,
    pub lines: Vec<Line>,
    /// Class and meaning of each kind of bar.
    pub legend: Vec<(&'static str, &'static str)>,
    /// About the axis.
    pub note: Option<String>,
}

/// A row.
#[derive(Debug, Serialize)]
pub struct Line {
    pub name: String,
    pub bars: Vec<Bar>,
    /// Its figure.
    pub figure: String,
    /// What the bars show, in words.
    pub text: String,
}

/// A bar. Positions in per cent.
#[derive(Debug, Serialize)]
pub struct Bar {
    pub what: &'static str,
    pub from: f64,
    pub width: f64,
}

/// For each of a trial's tables its picture, if it has one.
pub fn pictures(
    trial: Option<&TrialSummary>,
    tables: &[Table],
    with_journeys: bool,
) -> Vec<Option<Bars>> {
    let mut journeys = trial.map_or(&[][..], |trial| &trial.journeys).iter();
    let picture = |table: &Table| match table.id {
        journeys::FUNNEL if with_journeys => {
            journeys.next().and_then(|journey| funnel::bars(journey, table))
        }
        agents::MACHINES => trial.and_then(lateness::bars),
        _ => None,
    };
    tables.iter().map(picture).collect()
}
