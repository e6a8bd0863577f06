//! Names of the files of a run folder; part of the contract with other programs.

use crate::WindowSpan;

/// The judged numbers of the run.
pub const SUMMARY: &str = "summary.json";
/// The plan as it was executed.
pub const PLAN: &str = "plan.json";
/// The run as requested, so that it can be resumed.
pub const ORIGIN: &str = "origin.json";
/// The agents of a run and what they were last asked to do, so that another coordinator can take over.
pub const FLEET: &str = "fleet.json";
/// The report for a pull request.
pub const REPORT_MARKDOWN: &str = "report.md";
/// The report for a browser.
pub const REPORT_HTML: &str = "report.html";
/// Name of all operations together.
pub const ALL: &str = "all";

/// Folder of a trial; `trial` counts from 1.
pub fn trial(trial: u32) -> String {
    format!("trials/{trial:03}")
}

/// Its interval log.
pub fn windows(trial_index: u32) -> String {
    format!("{}/windows.hlog", trial(trial_index))
}

/// Its events, one JSON object a line.
pub fn events(trial_index: u32) -> String {
    format!("{}/events.jsonl", trial(trial_index))
}

/// Its facts, once it has ended.
pub fn facts(trial_index: u32) -> String {
    format!("{}/trial.json", trial(trial_index))
}

/// The facts of one of the shares that it was merged from.
pub fn agent(trial_index: u32, share: u32) -> String {
    format!("{}/agents/{share:04}.json", trial(trial_index))
}

/// Its raw samples, if they were asked for.
pub fn samples(trial_index: u32) -> String {
    format!("{}/samples.csv", trial(trial_index))
}

/// Percentile spectrum of an operation's response time; [`ALL`] for the total.
pub fn spectrum(trial_index: u32, operation: &str) -> String {
    format!("{}/{operation}.hgrm", trial(trial_index))
}

/// Response time by power of two of a declared item.
pub fn item(trial_index: u32, operation: &str, item: &str) -> String {
    format!("{}/{operation}.{item}.hlog", trial(trial_index))
}

/// Tag of an operation and span in the interval log.
pub fn tag(operation: &str, span: WindowSpan) -> String {
    format!("{operation}.{}", span.name())
}

/// Operation and span of such a tag; operations may have dots in their names.
pub fn parse_tag(tag: &str) -> Option<(&str, WindowSpan)> {
    let (operation, name) = tag.rsplit_once('.')?;
    let span = WindowSpan::ALL.into_iter().find(|span| span.name() == name)?;
    Some((operation, span))
}

/// Tag of the items in [2^(k−1), 2^k), or below 1 for k = 0, in the log of an item.
pub fn item_tag(power: u32) -> String {
    format!("below_2^{power}")
}

/// The power of such a tag.
pub fn parse_item_tag(tag: &str) -> Option<u32> {
    tag.strip_prefix("below_2^")?.parse().ok()
}
