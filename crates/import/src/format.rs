//! The formats that can be imported, and how one is told from its text.

use crate::draft::Draft;
use crate::{curl, har, http_file, hurl, jmeter, k6, openapi, postman, vegeta};

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines of curl, as a browser copies them.
    Curl,
    /// Files `.http` and `.rest` of editors.
    HttpFile,
    /// Files of Hurl.
    Hurl,
    /// A recording of a browser, HAR 1.2.
    Har,
    /// An API description: OpenAPI 3.0 or 3.1, as JSON or YAML.
    OpenApi,
    /// A collection of Postman.
    Postman,
    /// A test plan of JMeter.
    JMeter,
    /// A script of k6, in JavaScript or TypeScript.
    K6,
    /// Targets of vegeta, in both forms.
    Vegeta,
}

/// A text that is not of its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub what: String,
    /// One thing to do.
    pub hint: Option<String>,
}

impl Format {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 9] = [
        ("curl", Self::Curl),
        ("har", Self::Har),
        ("http", Self::HttpFile),
        ("hurl", Self::Hurl),
        ("jmeter", Self::JMeter),
        ("k6", Self::K6),
        ("openapi", Self::OpenApi),
        ("postman", Self::Postman),
        ("vegeta", Self::Vegeta),
    ];

    /// The format with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// The format that a file of this name and text seems to have.
    pub fn guess(name: &str, text: &str) -> Option<Self> {
        // Descriptions may hold lines of curl, so those are looked for last.
        match () {
            () if jmeter::seems(text) => Some(Self::JMeter),
            () if k6::seems(name, text) => Some(Self::K6),
            () if har::seems(name, text) => Some(Self::Har),
            () if postman::seems(text) => Some(Self::Postman),
            () if openapi::seems(text) => Some(Self::OpenApi),
            () if vegeta::seems(name, text) => Some(Self::Vegeta),
            () if hurl::seems(name, text) => Some(Self::Hurl),
            () if http_file::seems(name, text) => Some(Self::HttpFile),
            () if curl::seems(text) => Some(Self::Curl),
            () => None,
        }
    }
}

/// What to take of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Requests to these hosts; without any, to all.
    pub hosts: Vec<String>,
}

impl Options {
    /// Whether requests to this origin are wanted: `hosts` has its host, with its port or without.
    pub fn wants(&self, origin: &str) -> bool {
        let place = origin.split_once("://").map_or(origin, |(_, place)| place);
        let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
        let is_it = |wanted: &String| {
            let wanted = wanted.split_once("://").map_or(wanted.as_str(), |(_, place)| place);
            let wanted = wanted.trim_end_matches('/');
            wanted.eq_ignore_ascii_case(place) || wanted.eq_ignore_ascii_case(host)
        };
        self.hosts.is_empty() || self.hosts.iter().any(is_it)
    }
}

/// Reads a text of this format; `name` is what the text is called. Deep scripts need [`k6::STACK`].
///
/// Errors: it is not of this format, or holds nothing that can be sent
pub fn read(
    format: Format,
    name: &str,
    text: &str,
    options: &Options,
) -> Result<Draft, Unreadable> {
    let mut draft = match format {
        Format::Curl => curl::read(text, options),
        Format::HttpFile => http_file::read(text, options),
        Format::Hurl => hurl::read(text, options),
        Format::Har => har::read(text, options),
        Format::JMeter => jmeter::read(text, options),
        Format::K6 => k6::read(name, text, options),
        Format::OpenApi => openapi::read(text, options),
        Format::Postman => postman::read(text, options),
        Format::Vegeta => vegeta::read(text, options),
    }?;
    if draft.operations.is_empty() {
        let wanted = if options.hosts.is_empty() { "" } else { " to the hosts that are wanted" };
        let first = draft.notes.first();
        let why = first.map(|note| format!(": {}", draft.credentials.redact(&note.what)));
        let what = format!("{name} holds no request{wanted}{}", why.unwrap_or_default());
        return Err(Unreadable::new(first.and_then(|note| note.line), what));
    }
    if draft.title.is_empty() {
        draft.title = format!("Imported from {name}");
    }
    Ok(draft)
}

impl Unreadable {
    /// With what is wrong.
    pub fn new(line: impl Into<Option<usize>>, what: impl Into<String>) -> Self {
        Self { line: line.into(), what: what.into(), hint: None }
    }
}
