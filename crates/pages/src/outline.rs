//! The sections of a page, in order. Terminal, Markdown and HTML lay out the same sections.
//!
//! The answer comes first; reference sections come after it, folded where the form can fold. Not here: the verdict at
//! the top of a page, and charts, which belong to a form.

use record::summary::{Arm, Summary, TrialSummary};

use super::tables::{Table, accounting, capacity, comparison, dose, journeys, observed};
use super::tables::{outcome, parts, phases, run, scaling, streams, times, traces, trial, work};

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Stable name, by which a form finds the sections that it extends.
    pub id: &'static str,
    /// Whether it belongs to the answer.
    pub rank: Rank,
    /// Heading over all of its tables; empty where their own headings are enough.
    pub title: String,
    /// One line before the tables; may be empty.
    pub lead: String,
    /// The trial that it is about.
    pub trial: Option<u32>,
    /// In the order in which they are read.
    pub tables: Vec<Table>,
}

/// When a reader needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// At once.
    Answer,
    /// For reference.
    Detail,
}

/// Up to this number of trials, the answer has response times of each.
pub const FEW_TRIALS: usize = 3;
/// Up to this number of trials, the answer has a line for each.
const LISTED: usize = 12;

/// The sections that have content.
pub fn sections(summary: &Summary) -> Vec<Section> {
    let trials: Vec<(&Arm, &TrialSummary)> =
        summary.arms.iter().flat_map(|arm| arm.trials.iter().map(move |one| (arm, one))).collect();
    let listed = if trials.len() > LISTED { Rank::Detail } else { Rank::Answer };
    let mut sections = vec![
        section("comparisons", Rank::Answer, comparison::comparisons(summary)),
        section("doses", Rank::Answer, dose::tables(summary)),
        section("capacity", Rank::Answer, capacity::all(summary)),
        section("scaling", Rank::Answer, scaling::all(summary)),
        section("criteria", Rank::Answer, run::criteria(summary)),
    ];
    if trials.len() <= FEW_TRIALS && summary.capacity.is_none() {
        sections.extend(trials.iter().flat_map(|(arm, one)| in_short(trials.len() > 1, arm, one)));
    }
    if trials.len() > FEW_TRIALS && summary.capacity.is_none() {
        let streams = streams::by_trial(summary);
        sections.push(section("streams", listed, streams));
    }
    sections.extend([
        failures(summary),
        section("findings", Rank::Answer, run::findings(summary)),
        Section {
            title: if listed == Rank::Detail { "Trials".to_owned() } else { String::new() },
            ..section("trials", listed, run::trials(summary))
        },
        Section {
            title: "By arm: where the time went, what it cost, what became of it".to_owned(),
            ..section("by-arm", Rank::Detail, by_arm(summary))
        },
    ]);
    let shown = trials.iter().filter(|(_, one)| capacity::shows(summary, one));
    sections
        .extend(shown.flat_map(|(arm, one)| [in_full(arm, one), one_by_one(summary, arm, one)]));
    sections.push(Section {
        title: "Provenance".to_owned(),
        ..section("provenance", Rank::Detail, [run::provenance(summary)])
    });
    sections.retain(|one| !one.tables.is_empty() || !one.lead.is_empty());
    sections
}

fn section(id: &'static str, rank: Rank, tables: impl IntoIterator<Item = Table>) -> Section {
    let (title, lead) = (String::new(), String::new());
    Section { id, rank, title, lead, trial: None, tables: tables.into_iter().collect() }
}

/// The journeys of a trial and its main times, below its load. The only trial of a run has a section of its journeys,
/// which a form can put before its charts.
fn in_short(named: bool, arm: &Arm, one: &TrialSummary) -> Vec<Section> {
    let (lead, trial) = (trial::load_in_short(one), Some(one.index));
    let journeys = journeys::in_short(one);
    let times = times::in_short(one).into_iter().chain(streams::in_short(one));
    let of = |id, tables| Section { trial, ..section(id, Rank::Answer, tables) };
    if named || journeys.is_empty() {
        let title = if named { name(arm, one) } else { String::new() };
        let tables = journeys.into_iter().chain(times).collect::<Vec<_>>();
        return vec![Section { title, lead, ..of("times", tables) }];
    }
    let times = of("times", times.collect());
    vec![Section { lead, ..of("journeys", journeys) }, times]
}

fn failures(summary: &Summary) -> Section {
    let lead = outcome::none_failed(summary).unwrap_or_default();
    Section { lead, ..section("outcome", Rank::Answer, outcome::failures(summary)) }
}

fn by_arm(summary: &Summary) -> impl Iterator<Item = Table> {
    let tables = [
        parts::by_arm(summary),
        phases::by_arm(summary),
        work::by_arm(summary),
        accounting::by_arm(summary),
        observed::by_arm(summary),
    ];
    tables.into_iter().flatten()
}

/// All tables of a trial.
fn in_full(arm: &Arm, one: &TrialSummary) -> Section {
    let (title, lead, trial) = (name(arm, one), trial::load(one), Some(one.index));
    Section { title, lead, trial, ..section("trial", Rank::Detail, trial::all(one)) }
}

/// Single operations of a trial.
fn one_by_one(summary: &Summary, arm: &Arm, one: &TrialSummary) -> Section {
    let (title, trial) = (format!("{}: single operations", name(arm, one)), Some(one.index));
    let tables = traces::tables(one, &summary.run);
    Section { title, trial, ..section("traces", Rank::Detail, tables) }
}

fn name(arm: &Arm, one: &TrialSummary) -> String {
    format!("Trial {}, arm {}", one.index, arm.name)
}
