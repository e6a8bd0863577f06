//! Pages and exports: each is a function of a [`RunRecord`], with one file per format, and one row in a table.
//!
//! Not here: which files a run folder gets, and what is printed on the screen (see the binary).
//!
//! In reading order: [`tables`] is the content of pages, `outline` its order; [`terminal`], [`markdown`] and [`html`]
//! are layouts; [`progress`] is the line of the live display; [`stored`] shows comparisons of stored runs; then come
//! formats of other tools; [`unfinished`] exports a killed run.

mod addresses;
mod csv;
mod github;
mod hgrm;
mod hlog;
pub mod html;
mod json;
mod jtl;
mod junit;
mod k6;
pub mod markdown;
mod outline;
pub mod progress;
mod raw_files;
pub mod stored;
pub mod tables;
pub mod terminal;
mod traces;
pub mod unfinished;
mod vegeta_csv;
mod vegeta_json;
pub mod verdict;
pub mod wall_clock;

use std::io::{self, Write};

use record::folder::Folder;

use judge::run_record::RunRecord;

/// A format in which a run can be written.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name in `--format`.
    pub name: &'static str,
    /// Its description, for the help.
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
    page("junit", "JUnit's XML: a test case for the verdict and each criterion", junit::write),
    page("github", "annotations of GitHub Actions", github::write),
    page(
        "traces",
        "JSON lines of the slowest and the failed operations, of a traced run",
        traces::write,
    ),
    page("k6", "as `k6 run --summary-export`, one object a trial", k6::write),
    page("k6-data", "what `handleSummary` of k6 gets, one object a trial", k6::write_data),
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
    /// Errors: of `out`; `NotFound` if a file that the format copies is missing
    pub fn write(
        &self,
        run: &RunRecord,
        folder: &dyn Folder,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        (self.write)(run, folder, out)
    }
}

#[cfg(test)]
mod tests;
