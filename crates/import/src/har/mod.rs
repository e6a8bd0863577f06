//! Recordings of browsers: HAR 1.2, as Chrome, Firefox and Safari save them from their network tabs.
//!
//! A recording becomes one journey. Values that an answer hands to a later request, such as tokens of forms, become
//! captures; pauses become think times.
//!
//! Source: HTTP Archive 1.2 (w3c.github.io/web-performance/specs/HAR/Overview.html)

mod answers;
mod body;
mod build;
mod entry;
mod html;
mod redirect;
mod select;
#[cfg(test)]
mod tests;
mod timeline;
mod values;
mod visit;

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use self::entry::Entry;
use self::values::Values;
use crate::draft::Draft;
use crate::format::{Options, Unreadable};

/// How far into a text its keys are looked for; in bytes.
const HEAD: usize = 64 << 10;
/// Cookies that are named.
const COOKIES_NAMED: usize = 10;

/// Whether a file of this name and text seems to be a recording.
pub fn seems(name: &str, text: &str) -> bool {
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    if name.to_ascii_lowercase().ends_with(".har") {
        return true;
    }
    // Long recordings are not read twice.
    let end = (0..=HEAD.min(begin.len())).rev().find(|end| begin.is_char_boundary(*end));
    let head = &begin[..end.unwrap_or_default()];
    let inner = head.strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with("\"log\""))
        && (head.contains("\"entries\"") || head.contains("\"creator\""))
}

/// Reads a recording.
///
/// Errors: it is no JSON, or has no list of entries
pub fn read(text: &str, options: &Options) -> Result<Draft, Unreadable> {
    let text = text.trim_start_matches('\u{feff}');
    let value: Value = serde_json::from_str(text).map_err(|error| Unreadable {
        line: Some(error.line()),
        what: format!("the recording is no whole JSON: {error}"),
        hint: Some("save it again from the network tab".to_owned()),
    })?;
    if !value["log"]["entries"].is_array() {
        let hint = "save it from the network tab as HAR".to_owned();
        let what = "the recording has no list log.entries".to_owned();
        return Err(Unreadable { line: None, what, hint: Some(hint) });
    }
    let mut draft = Draft::default();
    let all = entry::all(&value["log"], &mut draft);
    let set = first_set(&all);
    let entries = select::wanted(all, options, &mut draft);
    note_what_is_missing(&entries, &set, &mut draft);
    let values = Values::new(&entries);
    let chains = redirect::divide(redirect::chains(&entries), &values);
    visit::add(&entries, &chains, &values, &mut draft);
    Ok(draft)
}

/// When each cookie was first set by an answer.
fn first_set(entries: &[Entry<'_>]) -> HashMap<String, f64> {
    let mut first = HashMap::new();
    for entry in entries {
        for (name, _) in entry.set_cookies() {
            first.entry(name.to_owned()).or_insert(entry.start);
        }
    }
    first
}

/// Notes what a visit of the recording would lack.
fn note_what_is_missing(entries: &[Entry<'_>], set: &HashMap<String, f64>, draft: &mut Draft) {
    let mut unknown = BTreeSet::new();
    for entry in entries {
        let sent = entry.sent_cookies().into_iter().map(|(name, _)| name);
        let is_unknown = |name: &&str| set.get(*name).is_none_or(|time| *time > entry.start);
        unknown.extend(sent.filter(is_unknown));
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().copied().take(COOKIES_NAMED).collect();
        let more = match unknown.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!("no recorded answer sets these cookies: {}{more}", names.join(", "));
        draft.note(None, format!("{what}; if the site needs them, record from the login on"));
    }
    if !entries.is_empty() && entries.iter().all(|entry| entry.answer().is_none()) {
        let what = "the recording has no bodies of answers, so nothing is captured from them";
        draft.note(None, what);
    }
    let is_changing = |entry: &Entry<'_>| !matches!(entry.method.as_str(), "GET" | "HEAD");
    let has_credential = |entry: &Entry<'_>| {
        entry.header("authorization").is_some() || !entry.sent_cookies().is_empty()
    };
    if set.is_empty() && entries.iter().any(is_changing) && !entries.iter().any(has_credential) {
        // Chrome does so unless its settings say otherwise.
        let what = "the recording has no cookies and no field authorization; if the site needs them, save it with";
        draft.note(None, format!("{what} sensitive data"));
    }
}
