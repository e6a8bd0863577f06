//! Values that requests send, and which of them come from earlier answers.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use url::Url;

use super::answers::{self, Answers, Source};
use super::body::{self, Content, RequestBody};
use super::entry::Entry;
use crate::credentials::{is_random, is_secret};

/// Shorter values occur by chance, longer ones cannot be captured. In bytes.
const SHORTEST: usize = 6;
const LONGEST: usize = 64 << 10;
/// Shorter values without a digit are words.
const LONGEST_WORD: usize = 16;
/// Parts of names whose values are made anew for each visit.
const FRESH: [&str; 8] =
    ["csrf", "xsrf", "token", "nonce", "state", "code", "verification", "cursor"];
/// Header fields whose values come from no answer.
const OWN: [&str; 14] = [
    "user-agent",
    "referer",
    "origin",
    "host",
    "content-type",
    "content-length",
    "connection",
    "cookie",
    "range",
    "dnt",
    "pragma",
    "cache-control",
    "priority",
    "x-requested-with",
];
/// When an answer and a request have the same instant, in milliseconds.
const SAME_INSTANT: f64 = 1.0;

/// A value of a request.
pub struct Candidate {
    /// Its name; empty for a part of a path.
    pub key: String,
    /// As it is before it is encoded.
    pub value: String,
    /// Whether it stands in an address that the request was sent from.
    pub is_referer: bool,
}

/// Values of requests and answers.
pub struct Values {
    /// Values of each entry's request that may come from an answer.
    pub candidates: Vec<Vec<Candidate>>,
    /// Credentials that must not be written under any name.
    pub guarded: HashSet<String>,
    answers: Answers,
    /// The first request that sends a value.
    first: HashMap<String, usize>,
    starts: Vec<f64>,
    ends: Vec<f64>,
}

impl Values {
    /// Reads all requests, and looks for their values in all answers.
    pub fn new(entries: &[Entry<'_>]) -> Self {
        let mut guarded = HashSet::new();
        let mut all: Vec<Vec<Candidate>> = entries.iter().map(sent).collect();
        for (entry, candidates) in entries.iter().zip(&all) {
            guarded.extend(credentials(entry, candidates));
        }
        for (entry, candidates) in entries.iter().zip(&mut all) {
            let host = entry.url.host_str().unwrap_or_default();
            candidates.retain(|one| !is_common(&one.key, &one.value, host));
        }
        let wanted = all.iter().flatten().map(|one| one.value.clone()).collect();
        let answers = answers::find(entries, &wanted);
        for candidate in entries.iter().flat_map(sent) {
            if answers.passwords.contains(&candidate.key) && candidate.value.len() >= SHORTEST {
                guarded.insert(candidate.value);
            }
        }
        let mut first = HashMap::new();
        for (place, candidates) in all.iter().enumerate() {
            for one in candidates.iter().filter(|one| !one.is_referer) {
                first.entry(one.value.clone()).or_insert(place);
            }
        }
        let starts = entries.iter().map(|entry| entry.start).collect();
        let ends = entries.iter().map(|entry| entry.end).collect();
        Self { candidates: all, guarded, answers, first, starts, ends }
    }

    /// Places where an earlier answer has the value, the best first. None if a request sent it before any answer had
    /// it: then a person typed it.
    pub fn sources(
        &self,
        candidate: &Candidate,
        entry: usize,
        is_usable: impl Fn(usize) -> bool,
    ) -> Vec<&Source> {
        let all = self.answers.sources.get(&candidate.value).map(Vec::as_slice);
        let all = all.unwrap_or_default();
        let first = self.first.get(&candidate.value).copied().unwrap_or(usize::MAX);
        if all.first().is_none_or(|source| first <= source.entry) {
            return Vec::new();
        }
        let earlier = &all[..all.partition_point(|source| source.entry < entry)];
        let mut found: Vec<&Source> =
            earlier.iter().filter(|source| is_usable(source.entry)).collect();
        found.sort_by_key(|source| std::cmp::Reverse(self.rank(source, candidate, entry)));
        found
    }

    /// The latest answer that was complete before the request, and there the place with the same name.
    fn rank(&self, source: &Source, candidate: &Candidate, entry: usize) -> (bool, usize, bool) {
        let is_complete = self.ends[source.entry] <= self.starts[entry] + SAME_INSTANT;
        let is_named = source.key.eq_ignore_ascii_case(&candidate.key);
        (is_complete, source.entry, is_named)
    }

    /// The best of them.
    pub fn source(
        &self,
        candidate: &Candidate,
        entry: usize,
        is_usable: impl Fn(usize) -> bool,
    ) -> Option<&Source> {
        self.sources(candidate, entry, is_usable).into_iter().next()
    }
}

/// All values that a request sends.
fn sent(entry: &Entry<'_>) -> Vec<Candidate> {
    let mut found = of_address(&entry.url, false);
    let mut add = |key: &str, value: &str| {
        found.push(Candidate { key: key.to_owned(), value: value.to_owned(), is_referer: false });
    };
    for (name, value) in entry.headers() {
        let lower = name.to_ascii_lowercase();
        let is_own = OWN.contains(&lower.as_str())
            || ["accept", "sec-", "if-", ":"].iter().any(|begin| lower.starts_with(begin));
        match value.split_once(' ') {
            _ if is_own => {}
            Some((scheme, credentials)) if lower == "authorization" => {
                if !scheme.eq_ignore_ascii_case("basic") {
                    add(&lower, credentials);
                }
            }
            _ => add(&lower, value),
        }
    }
    match body::read(&entry.post_data()) {
        RequestBody::Form(pairs) => pairs.iter().for_each(|(key, value)| add(key, value)),
        RequestBody::Json(value) => leaves("", &value, &mut add),
        RequestBody::Multipart(fields) => {
            for field in fields {
                if let Content::Text(text) = &field.content {
                    add(&field.name, text);
                }
            }
        }
        RequestBody::Nothing | RequestBody::Text => {}
    }
    if let Some(Ok(url)) = entry.header("referer").map(Url::parse) {
        found.extend(of_address(&url, true));
    }
    found
}

fn of_address(url: &Url, is_referer: bool) -> Vec<Candidate> {
    let query = url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned()));
    let path = url.path().split('/').map(|part| (String::new(), part.to_owned()));
    query.chain(path).map(|(key, value)| Candidate { key, value, is_referer }).collect()
}

fn leaves(key: &str, value: &Value, add: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => add(key, text),
        Value::Number(number) => add(key, &number.to_string()),
        Value::Array(values) => values.iter().for_each(|one| leaves(key, one, add)),
        Value::Object(values) => values.iter().for_each(|(key, one)| leaves(key, one, add)),
        _ => {}
    }
}

/// Values of a request that are credentials wherever they stand.
fn credentials(entry: &Entry<'_>, candidates: &[Candidate]) -> Vec<String> {
    let cookies = entry.sent_cookies().into_iter().chain(entry.set_cookies());
    let cookies = cookies.filter(|(name, value)| is_secret(name) || is_random(value));
    let cookies = cookies.flat_map(|(_, value)| {
        [Some(value.to_owned()), answers::percent_decoded(value)].into_iter().flatten()
    });
    let named = candidates.iter().filter(|one| is_secret(&one.key)).map(|one| one.value.clone());
    cookies.chain(named).filter(|value| value.len() >= SHORTEST).collect()
}

/// Whether a value occurs in an answer by chance, or says the same in every visit.
fn is_common(key: &str, value: &str, host: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is_fresh = is_secret(&key) || FRESH.iter().any(|part| key.contains(part));
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    !(SHORTEST..=LONGEST).contains(&value.len())
        || value.chars().any(|c| c.is_whitespace() || c.is_control())
        || (!is_fresh && !has_digit && value.len() < LONGEST_WORD)
        || (is_number && value.ends_with("000"))
        || value.eq_ignore_ascii_case(host)
        || value.starts_with("http://")
        || value.starts_with("https://")
        || matches!(value, "undefined" | "[object Object]")
        || is_date(value)
}

/// Whether it begins with a date such as `2026-11-26` or `26.11.2026`.
fn is_date(value: &str) -> bool {
    let shape = value.bytes().take(10).map(|byte| match byte {
        b'0'..=b'9' => '0',
        b'.' | b'/' | b'-' => '-',
        _ => 'x',
    });
    matches!(shape.collect::<String>().as_str(), "0000-00-00" | "00-00-0000")
}
