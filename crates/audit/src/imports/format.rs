//! A format, and what reading any of them takes: bounds, and what several share.

use super::report::{self, Report};

/// A format that can be read.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// As in `--from`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Texts that each report of this format contains; together they tell it from all others.
    pub(super) marks: &'static [&'static str],
    /// Bytes of the longest text: what is made of it takes many times its room.
    pub(super) longest: usize,
    pub(super) read: fn(&str) -> Result<Report, String>,
}

/// Bytes of the longest summary, a hundred times what tools print.
pub(super) const SUMMARY: usize = 8 << 20;
/// Bytes of the longest text that is typed in.
pub(super) const TYPED: usize = 1 << 20;
/// Bytes of the longest text with a line a request.
pub(super) const REQUESTS: usize = 256 << 20;

/// Bytes of the longest text of any format.
pub const LONGEST: usize = REQUESTS;
/// The most runs of a report: each is held against each.
pub(super) const MOST_RUNS: usize = 1_000;
/// The most lines of figures.
pub(super) const MOST_ROWS: usize = 10_000;
/// The most claims of a text, limits, and figures that it refers to.
pub(super) const MOST_CLAIMS: usize = 100;
pub(super) fn at_most(most: usize, seen: usize, what: &str) -> Result<(), String> {
    if seen > most { Err(format!("an end after {most} {what}")) } else { Ok(()) }
}

/// Two reports in one text would be read as one that contradicts itself.
pub(super) fn once(text: &str, mark: &str) -> Result<(), String> {
    match text.matches(mark).count() {
        0 | 1 => Ok(()),
        n => Err(format!("a single report (`{mark}` is there {n} times)")),
    }
}

/// A JSON text, or what is wrong with it. Some tools print their progress before it.
pub(super) fn json(text: &str) -> Result<serde_json::Value, String> {
    let begin = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[begin..]).map_err(|error| format!("the rest of the JSON ({error})"))
}

/// Whether this address is on the machine that made the load, if it tells.
pub(super) fn is_here(address: &str) -> Option<bool> {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let here = ["localhost", "127.", "[::1]", "0.0.0.0"];
    here.iter().any(|name| host.starts_with(name)).then_some(true)
}

/// A report of one run.
pub(super) fn single(tool: &str, run: report::Run) -> Report {
    Report { tool: tool.to_owned(), runs: vec![run], ..Report::default() }
}
