//! Pages and exports: each is a function of a [`RunRecord`], one file a format, one row in a table.
//!
//! Not here: which files a run folder gets and what goes to the screen (see the binary).
//!
//! In reading order: [`tables`] what pages say, `outline` in which order; [`terminal`], [`markdown`], [`html`] how they look;
//! [`progress`] the line of the live display; [`stored`] runs held against each other; then the formats of other tools;
//! [`unfinished`] what a killed run still yields.

mod csv;
mod hgrm;
mod hlog;
pub mod html;
mod json;
mod jtl;
pub mod markdown;
mod outline;
pub mod progress;
pub mod stored;
pub mod tables;
pub mod terminal;
pub mod unfinished;
mod vegeta_csv;
mod vegeta_json;
pub mod wall_clock;

use std::io::{self, Write};

use record::RawSample;
use record::folder::{Folder, RunReader, Samples};
use record::summary::{Judgement, Summary, TrialSummary};

use judge::run_record::RunRecord;

/// A format in which a run can be written.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// As in `--format`.
    pub name: &'static str,
    /// What it is, for the help.
    pub about: &'static str,
    /// Whether the run must have been made with `--samples`.
    pub needs_samples: bool,
    write: Writer,
}

type Writer = fn(&RunRecord, &dyn Folder, &mut dyn Write) -> io::Result<()>;

/// Every format.
pub const FORMATS: &[Format] = &[
    page("text", "the block that `run` prints", terminal::write),
    page("markdown", "ready for a pull request", markdown::write),
    page("html", "one self-contained page with charts", html::write),
    page("json", "summary.json", json::write),
    page("hgrm", "percentile spectrum that HdrHistogram tools plot", hgrm::write),
    page("hlog", "HdrHistogram interval log, one tag an operation and span", hlog::write),
    page("csv", "one line a window and operation", csv::write),
    raw("jtl", "JMeter's results, one line an operation", jtl::write),
    page("vegeta-json", "as `vegeta report -type=json`, one object a trial", vegeta_json::write),
    raw("vegeta-csv", "as `vegeta encode -to csv`, one line an operation", vegeta_csv::write),
];

const fn page(name: &'static str, about: &'static str, write: Writer) -> Format {
    Format { name, about, needs_samples: false, write }
}

const fn raw(name: &'static str, about: &'static str, write: Writer) -> Format {
    Format { name, about, needs_samples: true, write }
}

impl Format {
    /// The format with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Writes the run in this format.
    ///
    /// Errors: of `out`; `NotFound` where a file is missing that the format passes through
    pub fn write(
        &self,
        run: &RunRecord,
        folder: &dyn Folder,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        (self.write)(run, folder, out)
    }
}

/// The word at the top of a page.
///
/// A search for capacity has found an interval or not; it passes nothing.
///
pub fn verdict_word(summary: &Summary) -> &'static str {
    match summary.verdict.result {
        Judgement::Pass if summary.capacity.is_some() => "bracketed",
        _ if summary.capacity.is_some() => "not bracketed",
        _ => tables::run::judgement(result(summary)),
    }
}

/// The result as it is shown: summaries of before say `pass` of a run without criteria.
fn result(summary: &Summary) -> Judgement {
    match summary.verdict.result {
        Judgement::Pass if summary.criteria.is_empty() => Judgement::Measured,
        result => result,
    }
}

/// Passes a file of the folder through.
///
/// Errors: of `out`; `NotFound` where there is no file, and `Other` where it cannot be read
fn copied(folder: &dyn Folder, path: &str, out: &mut dyn Write) -> io::Result<()> {
    let of_the_folder = |error: io::Error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let kind = if missing { error.kind() } else { io::ErrorKind::Other };
        io::Error::new(kind, format!("{path}: {error}"))
    };
    let mut content = Vec::new();
    let read = folder.open(path).and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(of_the_folder)?;
    out.write_all(&content)
}

/// The raw samples of a trial.
fn samples(folder: &dyn Folder, trial: &TrialSummary) -> io::Result<Samples> {
    let operations: Vec<String> = trial.operations.iter().map(|one| one.name.clone()).collect();
    let samples = RunReader::new(folder).samples(trial.index, &operations);
    samples.map_err(io::Error::other)?.ok_or_else(|| {
        let problem = format!("trial {} has no raw samples: run it with `--samples`", trial.index);
        io::Error::new(io::ErrorKind::NotFound, problem)
    })
}

/// How a raw sample failed, in one word; empty when it succeeded.
fn failure(sample: &RawSample) -> &'static str {
    match sample.failure {
        Some(kind) => kind.name(),
        None if sample.abandoned => "abandoned",
        None => "",
    }
}

#[cfg(test)]
mod tests;
