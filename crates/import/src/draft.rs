//! What every format is read into: the parts of an experiment file that an import can know.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::credentials::Credentials;
use crate::request::is_field_name;
use crate::text::Text;

/// An experiment that is not written yet.
#[derive(Debug, Default)]
pub struct Draft {
    /// Its title, without line ends.
    pub title: String,
    /// When each request begins, if the source says it.
    pub load: Option<Replay>,
    /// Keys of `[load]`, as TOML values, if the source says how much load it is.
    pub pace: Vec<(&'static str, String)>,
    /// What must hold, if the source says it.
    pub criteria: Vec<String>,
    /// Keys of `[target]` beside `url`, such as `insecure`, as TOML values.
    pub target: Vec<(&'static str, String)>,
    /// In the order of the source.
    pub operations: Vec<DraftOperation>,
    /// In the order of the source.
    pub journeys: Vec<DraftJourney>,
    /// The credentials that were found, each with the variable that stands for it.
    pub credentials: Credentials,
    /// What could not be taken over, in the order of the source.
    pub notes: Vec<Note>,
    /// Every name that is taken, with the number that the next one like it gets.
    pub(crate) names: HashMap<String, u32>,
}

/// What could not be taken over, or what a person must decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The line of the source, from 1; `None` if it has no lines that people read.
    pub line: Option<usize>,
    /// One sentence without its full stop.
    pub what: String,
}

/// Requests and their instants, in files beside the experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The file of the instants.
    pub offsets: String,
    /// How many requests there are.
    pub requests: u64,
    /// How many sessions begin at the instants, if not requests do.
    pub sessions: Option<u64>,
    /// From the first stamp to the last request.
    pub length: Duration,
    /// Length of the stamps that the instants were drawn within, where it is worth a remark.
    pub resolution: Option<Duration>,
}

/// A file of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// Its name.
    pub file: String,
    /// In which order its rows are taken.
    pub order: &'static str,
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftOperation {
    /// What it is called in the source; the written name is made from it and unique.
    pub name: String,
    /// `true` speaks HTTP/2.
    pub is_http2: bool,
    /// Scheme, host and port.
    pub origin: String,
    /// The method; empty for what the body suggests.
    pub method: String,
    /// A file of whole requests, in place of one.
    pub targets: Option<String>,
    /// The path, as it stands in a request, without a query.
    pub path: Text,
    /// Names and values of the query, decoded.
    pub query: Vec<(String, Text)>,
    /// Header fields.
    pub headers: Vec<(String, Text)>,
    /// Credentials.
    pub auth: Option<Auth>,
    /// The body.
    pub body: Body,
    /// Most redirects to follow.
    pub follow: u32,
    /// What a good answer is.
    pub expect: Expect,
    /// Values that later operations use, by name.
    pub captures: Vec<(String, Capture)>,
    /// How often it starts beside others; `None` is once.
    pub weight: Option<f64>,
    /// Data for its placeholders.
    pub rows: Option<Rows>,
    /// Lines above it in the file, without `#`.
    pub comments: Vec<String>,
}

/// Credentials of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// A token.
    Bearer(Text),
    /// User and password.
    Basic(Text, Text),
}

/// The body of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Body {
    /// None.
    #[default]
    Empty,
    /// A text.
    Text(Text),
    /// A file, sent as it is.
    File(String),
    /// JSON; its texts are templates.
    Json(serde_json::Value),
    /// A form of names and values.
    Form(Vec<(String, Text)>),
    /// A form of parts.
    Multipart(Vec<(String, Part)>),
}

/// A part of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A text.
    Text(Text),
    /// A file and its type, if that is known.
    File(String, Option<String>),
}

/// What a good answer is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// Its status, one of these; none is any 2xx or 3xx.
    pub status: Vec<Status>,
    /// Texts in its body.
    pub contains: Vec<Text>,
    /// Regular expressions that its body matches.
    pub matches: Vec<String>,
    /// Header fields.
    pub headers: Vec<(String, HeaderValue)>,
    /// Values at JSONPaths.
    pub json: Vec<(String, serde_json::Value)>,
}

/// An expected header field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderValue {
    /// It has this value.
    Is(Text),
    /// It contains this text.
    Contains(Text),
}

/// An expected status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// This one.
    Code(u16),
    /// All that begin with this digit.
    Class(u16),
}

/// Where a value of an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    /// At a JSONPath.
    Json(String),
    /// In a header field, by a regular expression if there is one.
    Header(String, Option<String>),
    /// In a cookie.
    Cookie(String),
    /// What a regular expression finds in the body.
    Matches(String),
    /// The whole body.
    Body,
    /// The same, with its `decode`: `html` or `url`.
    Decoded(Box<Capture>, &'static str),
}

/// Operations that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftJourney {
    /// What it is called in the source; the written name is made from it and unique.
    pub name: String,
    /// In order.
    pub steps: Vec<DraftStep>,
    /// How often it starts beside others; `None` is once.
    pub weight: Option<f64>,
    /// Data for the placeholders of its operations.
    pub rows: Option<Rows>,
    /// A file of recorded sessions.
    pub sessions: Option<String>,
}

/// A step of a journey.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftStep {
    /// The operations at these places, at the same time.
    Do(Vec<usize>),
    /// The operation at this place, in this part of the journeys.
    Share(usize, f64),
    /// A pause of so many seconds.
    Think(f64),
    /// A pause drawn from this range of seconds.
    ThinkBetween(f64, f64),
}

/// Most steps of a journey.
pub const MOST_STEPS: usize = 100;
/// Longer notes are cut; in letters.
const LONGEST_NOTE: usize = 300;
/// Longer names are cut.
const LONGEST_NAME: usize = 40;
/// Names that placeholders of other kinds begin with, and the one of all operations together.
const RESERVED: [&str; 5] = ["row", "env", "factor", "each", "all"];

/// Small letters, digits and `_` of a name, cut where it is long.
pub(crate) fn plain(name: &str) -> String {
    let plain = name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let words: Vec<&str> = plain.split('_').filter(|word| !word.is_empty()).collect();
    words.join("_").chars().take(LONGEST_NAME).collect()
}

/// The name of a captured value, from what it is called in the source.
pub fn value_name(name: &str) -> String {
    let name = plain(name);
    // `all` is a key of captures.
    let is_free = name != "all" && name.starts_with(|first: char| first.is_ascii_lowercase());
    if is_free { name } else { format!("value_{name}").trim_end_matches('_').to_owned() }
}

/// Keeps the first of each name; whether there were others.
fn leave_out_repeated<T>(entries: &mut Vec<(String, T)>) -> bool {
    let before = entries.len();
    let mut names = BTreeSet::new();
    entries.retain(|(name, _)| names.insert(name.clone()));
    entries.len() < before
}

impl Draft {
    /// Adds an operation under a name of its own; its place.
    pub fn add(&mut self, operation: DraftOperation) -> usize {
        let name = self.free_name(&operation.name, "request");
        let mut operation = DraftOperation { name, ..operation };
        self.leave_out(&mut operation);
        self.operations.push(operation);
        self.operations.len() - 1
    }

    /// Takes out what no experiment can have, with a note.
    fn leave_out(&mut self, operation: &mut DraftOperation) {
        let place = operation.name.clone();
        let mut note = |what: String| self.note(None, format!("{place}: {what}"));
        let is_auth = operation.auth.is_some();
        operation.headers.retain(|(name, value)| {
            let can_be_sent = is_field_name(name) && !value.as_str().contains(['\r', '\n', '\0']);
            if !can_be_sent {
                note("a header that cannot be sent is left out".to_owned());
            }
            can_be_sent && !(is_auth && name == "authorization")
        });
        if !operation.method.is_empty() && !is_field_name(&operation.method) {
            note("a method that cannot be sent is left out".to_owned());
            operation.method.clear();
        }
        let is_status = |status: &Status| match status {
            Status::Code(code) => (100..600).contains(code),
            Status::Class(digit) => (1..6).contains(digit),
        };
        operation.expect.status.retain(is_status);
        if let Body::Multipart(parts) = &mut operation.body
            && leave_out_repeated(parts)
        {
            note("of parts with the same name, only the first is kept".to_owned());
        }
        if leave_out_repeated(&mut operation.captures) {
            note("of captures with the same name, only the first is kept".to_owned());
        }
        if leave_out_repeated(&mut operation.expect.json) {
            note("of expectations at the same place, only the first is kept".to_owned());
        }
    }

    /// Adds a journey under a name of its own; its steps beyond the hundredth are left out, and what they would perform.
    pub fn add_journey(&mut self, mut journey: DraftJourney) {
        if journey.steps.len() > MOST_STEPS {
            let more = journey.steps.len() - MOST_STEPS;
            self.note(
                None,
                format!("a journey has {MOST_STEPS} steps: the last {more} are left out"),
            );
            let dropped = journey.steps.split_off(MOST_STEPS);
            let first = dropped.iter().find_map(|step| match step {
                DraftStep::Do(places) => places.iter().min().copied(),
                _ => None,
            });
            self.operations.truncate(first.unwrap_or(self.operations.len()));
        }
        let name = self.free_name(&journey.name, "visit");
        self.journeys.push(DraftJourney { name, ..journey });
    }

    /// A name of small letters, digits and `_` that no operation or journey has.
    fn free_name(&mut self, wanted: &str, otherwise: &str) -> String {
        let mut name = plain(wanted);
        if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
            name = format!("{otherwise}_{name}").trim_end_matches('_').to_owned();
        }
        let mut number = self.names.get(&name).copied().unwrap_or(1);
        let mut free = name.clone();
        while self.names.contains_key(&free) || RESERVED.contains(&free.as_str()) {
            number += 1;
            free = format!("{name}_{number}");
        }
        self.names.insert(free.clone(), 1);
        if free != name {
            self.names.insert(name, number);
        }
        free
    }

    /// Notes what could not be taken over.
    pub fn note(&mut self, line: impl Into<Option<usize>>, what: impl Into<String>) {
        let what: String = what.into();
        let what = match what.char_indices().nth(LONGEST_NOTE) {
            Some((end, _)) => format!("{}…", &what[..end]),
            None => what,
        };
        self.notes.push(Note { line: line.into(), what });
    }
}
