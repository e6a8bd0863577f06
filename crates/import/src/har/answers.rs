//! Where values stand in recorded answers.
//!
//! Only values that a request sends are looked for, so what is kept does not grow with the answers.

use std::collections::{HashMap, HashSet};

use regex_lite::{Regex, escape};
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::entry::Entry;
use super::html;
use crate::draft::Capture;

/// Longer bodies are not searched by `matches`, and not read as JSON. In bytes.
const LONGEST_PAGE: usize = 4 << 20;
const LONGEST_JSON: usize = 16 << 20;
/// Deeper values, and longer paths, are not proposed.
const DEEPEST: usize = 20;
const LONGEST_PATH: usize = 500;
/// Places of a value in one answer that are kept.
const MOST_PLACES: usize = 8;

/// Where a value stands.
pub struct Source {
    /// The place of the entry with the answer.
    pub entry: usize,
    /// Its name there.
    pub key: String,
    /// How to read it.
    pub capture: Capture,
}

/// What answers have.
#[derive(Default)]
pub struct Answers {
    /// Places of each value, in the order of entries.
    pub sources: HashMap<String, Vec<Source>>,
    /// Names of fields in which people type passwords.
    pub passwords: HashSet<String>,
}

/// Looks for these values.
pub fn find(entries: &[Entry<'_>], wanted: &HashSet<String>) -> Answers {
    let mut finder = Finder { entry: 0, wanted, answers: Answers::default() };
    for (place, entry) in entries.iter().enumerate() {
        finder.entry = place;
        if let Some(body) = entry.answer() {
            finder.body(&body, &entry.mime());
        }
        finder.headers(entry);
    }
    finder.answers
}

struct Finder<'a> {
    entry: usize,
    wanted: &'a HashSet<String>,
    answers: Answers,
}

impl Finder<'_> {
    fn add(&mut self, value: &str, key: &str, capture: impl FnOnce() -> Option<Capture>) {
        if !self.wanted.contains(value) {
            return;
        }
        let sources = self.answers.sources.entry(value.to_owned()).or_default();
        let same = sources.iter().rev().take_while(|source| source.entry == self.entry).count();
        if let Some(capture) = (same < MOST_PLACES).then(capture).flatten() {
            sources.push(Source { entry: self.entry, key: key.to_owned(), capture });
        }
    }

    fn body(&mut self, body: &str, mime: &str) {
        let begin = body.trim_start();
        if mime.contains("json") || begin.starts_with(['{', '[']) {
            if body.len() <= LONGEST_JSON
                && let Ok(value) = serde_json::from_str::<Value>(body)
            {
                self.json(&value, "value", &mut vec!["$".to_owned()]);
            }
        } else if body.len() <= LONGEST_PAGE
            && (mime.contains("html") || (mime.is_empty() && begin.starts_with('<')))
        {
            self.page(body);
        }
    }

    fn json(&mut self, value: &Value, key: &str, path: &mut Vec<String>) {
        if path.len() > DEEPEST {
            return;
        }
        let capture = |path: &[String]| {
            let path = path.concat();
            (path.len() <= LONGEST_PATH).then_some(Capture::Json(path))
        };
        match value {
            Value::String(text) => self.add(text, key, || capture(path)),
            Value::Number(number) => self.add(&number.to_string(), key, || capture(path)),
            Value::Array(values) => {
                for (at, one) in values.iter().enumerate() {
                    path.push(format!("[{at}]"));
                    self.json(one, key, path);
                    path.pop();
                }
            }
            Value::Object(values) => {
                for (key, one) in values {
                    path.push(step(key));
                    self.json(one, key, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    fn page(&mut self, page: &str) {
        for field in html::fields(page) {
            if field.is_password {
                self.answers.passwords.insert(field.name.to_owned());
            }
            let Some(pattern) = field.pattern else { continue };
            let is_decoded = matches!(field.value, std::borrow::Cow::Owned(_));
            self.add(&field.value, field.name, || {
                let capture = Capture::Matches(pattern);
                Some(match is_decoded {
                    true => Capture::Decoded(Box::new(capture), "html"),
                    false => capture,
                })
            });
        }
    }

    fn headers(&mut self, entry: &Entry<'_>) {
        for (name, value) in entry.answer_headers() {
            let lower = name.to_ascii_lowercase();
            if lower == "location" {
                continue;
            }
            if lower == "authorization"
                && let Some((scheme, credentials)) = value.split_once(' ')
            {
                let pattern = format!("{} (.+)", escape(scheme));
                let capture = || Some(Capture::Header(lower.clone(), Some(pattern)));
                self.add(credentials, "token", capture);
            } else if lower != "set-cookie" {
                self.add(value, &lower, || Some(Capture::Header(lower.clone(), None)));
            }
        }
        for (name, value) in entry.set_cookies() {
            let capture = Capture::Cookie(name.to_owned());
            self.add(value, name, || Some(capture.clone()));
            // Frameworks of pages read the cookie, and send it decoded.
            if let Some(plain) = percent_decoded(value) {
                self.add(&plain, name, || Some(Capture::Decoded(Box::new(capture), "url")));
            }
        }
        if let (Some(text), Some(url)) = (entry.answer_header("location"), entry.redirect()) {
            self.location(text, &url);
        }
    }

    /// Parameters and parts of the path of a redirect.
    fn location(&mut self, text: &str, url: &Url) {
        for pair in url.query().unwrap_or_default().split('&') {
            let Some((name, raw)) = pair.split_once('=') else { continue };
            // `+` would stay.
            let plain = percent_decoded(raw).filter(|_| !raw.contains('+'));
            let pattern = format!("[?&]{}=([^&#]+)", escape(name));
            let capture = Capture::Header("location".to_owned(), Some(pattern));
            match plain {
                Some(plain) => {
                    self.add(&plain, name, || Some(Capture::Decoded(Box::new(capture), "url")))
                }
                None => self.add(raw, name, || Some(capture)),
            }
        }
        let parts: Vec<&str> = url.path().split('/').collect();
        for pair in parts.windows(2) {
            let before = format!("/{}/", pair[0]);
            if pair[0].is_empty() || !text.contains(&before) {
                continue;
            }
            let pattern = format!("{}([^/?#]+)", escape(&before));
            let capture = Capture::Header("location".to_owned(), Some(pattern));
            self.add(pair[1], "id", || Some(capture));
        }
    }
}

/// A key of a JSONPath.
fn step(key: &str) -> String {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_plain =
        key.starts_with(is_first) && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_plain {
        true => format!(".{key}"),
        false => format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

/// The text without percent-encoding; `None` if it has none, or is no UTF-8.
pub fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    // These would mean something else in a form.
    let plain = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let decoded = form_urlencoded::parse(plain.as_bytes()).next()?.0.into_owned();
    (!decoded.contains('\u{fffd}')).then_some(decoded)
}

/// Whether the capture finds the value in the recorded answer.
pub fn holds(source: &Source, value: &str, entry: &Entry<'_>) -> bool {
    let (capture, decode) = match &source.capture {
        Capture::Decoded(inner, decode) => (inner.as_ref(), *decode),
        capture => (capture, ""),
    };
    let (text, pattern) = match capture {
        Capture::Matches(pattern) => (entry.answer().unwrap_or_default(), pattern),
        Capture::Header(name, Some(pattern)) => {
            (entry.answer_header(name).unwrap_or_default().into(), pattern)
        }
        _ => return true,
    };
    let Ok(pattern) = Regex::new(pattern) else { return false };
    let Some(found) = pattern.captures(&text) else { return false };
    let found = found.get(1).map(|found| found.as_str()).unwrap_or_default();
    match decode {
        "html" => html::decoded(found) == value,
        "url" => percent_decoded(found).as_deref() == Some(value),
        _ => found == value,
    }
}
