//! A report format, with the size limits and helpers that formats share.

use super::report::{self, Report};

/// A format that can be read.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The value of `--from`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Texts that every report of this format contains. Together they distinguish it from all other
    /// formats.
    pub(super) marks: &'static [&'static str],
    /// Largest report in bytes: the parsed form takes many times that memory.
    pub(super) longest: usize,
    pub(super) read: fn(&str) -> Result<Report, String>,
}

/// Largest summary in bytes, a hundred times what tools print.
pub(super) const SUMMARY: usize = 8 << 20;
/// Largest report typed in by hand, in bytes.
pub(super) const TYPED: usize = 1 << 20;
/// Largest report with a line for each request, in bytes.
pub(super) const REQUESTS: usize = 256 << 20;

/// Largest report of any format, in bytes.
pub const LONGEST: usize = REQUESTS;
/// Most runs in a report: rules compare each with each.
pub(super) const MOST_RUNS: usize = 1_000;
/// Most rows of figures.
pub(super) const MOST_ROWS: usize = 10_000;
/// Most claims, limits, and figures that a text refers to.
pub(super) const MOST_CLAIMS: usize = 100;
pub(super) fn at_most(most: usize, seen: usize, what: &str) -> Result<(), String> {
    if seen > most { Err(format!("an end after {most} {what}")) } else { Ok(()) }
}

/// Refuses a text with two reports: read as one, it would contradict itself.
pub(super) fn once(text: &str, mark: &str) -> Result<(), String> {
    match text.matches(mark).count() {
        0 | 1 => Ok(()),
        n => Err(format!("a single report (`{mark}` is there {n} times)")),
    }
}

/// Parses JSON; skips progress output that some tools print before it.
pub(super) fn json(text: &str) -> Result<serde_json::Value, String> {
    let begin = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[begin..]).map_err(|error| format!("the rest of the JSON ({error})"))
}

/// `Some(true)` if the address is on the machine that made the load; otherwise unknown.
pub(super) fn is_here(address: &str) -> Option<bool> {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let here = ["localhost", "127.", "[::1]", "0.0.0.0"];
    here.iter().any(|name| host.starts_with(name)).then_some(true)
}

/// A report of one run.
pub(super) fn single(tool: &str, run: report::Run) -> Report {
    Report { tool: tool.to_owned(), runs: vec![run], ..Report::default() }
}
