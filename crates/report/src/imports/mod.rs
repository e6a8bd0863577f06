//! Reports of other tools, read into one model: one file a format, one row in a table.
//!
//! Formats are told apart by what they contain. Not here: what is wrong with a report (see
//! [`crate::audit::foreign`]).
//!
//! In reading order: [`foreign`] is the model; [`figure`] reads printed numbers, `fields` those of
//! JSON; then a file a format.

mod ab;
mod bombardier;
mod fields;
pub mod figure;
pub mod foreign;
mod fortio;
mod generic;
mod h2load;
mod hey;
mod jtl;
mod k6;
mod locust;
mod multicast;
mod oha;
mod suite;
mod vegeta_json;
mod vegeta_text;
mod wrk;

use std::fmt;

pub use foreign::Foreign;

/// A format that can be read.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// As in `--from`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Texts that each report of this format contains; together they tell it from all others.
    marks: &'static [&'static str],
    read: fn(&str) -> Result<Foreign, String>,
}

/// Every format, the most particular first.
pub const FORMATS: &[Format] = &[
    generic::FORMAT,
    vegeta_text::FORMAT,
    vegeta_json::FORMAT,
    k6::EXPORT,
    k6::MACHINE,
    oha::FORMAT,
    wrk::FORMAT,
    hey::FORMAT,
    bombardier::TEXT,
    bombardier::JSON,
    locust::FORMAT,
    jtl::FORMAT,
    fortio::FORMAT,
    h2load::FORMAT,
    ab::FORMAT,
    multicast::FORMAT,
    suite::FORMAT,
];

/// Why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    /// `--from` names nothing.
    NoSuchFormat(String),
    /// Nothing of it looks like any format.
    Unknown,
    /// It looks like one format, and is not whole or not quite it.
    Broken {
        /// The format.
        format: &'static str,
        /// What was recognised.
        found: Vec<&'static str>,
        /// What was not.
        lacking: Vec<String>,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchFormat(name) => write!(out, "no format of reports is called \"{name}\""),
            Self::Unknown => write!(out, "this is not a report of a tool that is known here"),
            Self::Broken { format, found, lacking } => {
                write!(out, "this looks like {format}, but is not whole")?;
                if !found.is_empty() {
                    write!(out, "; recognised: {}", found.join(", "))?;
                }
                write!(out, "; not found: {}", lacking.join(", "))
            }
        }
    }
}

impl std::error::Error for ImportError {}

/// Reads a report, of the format with this name or of the one it looks like.
///
/// Errors: it is of no known format, or not whole
pub fn read(text: &str, from: Option<&str>) -> Result<Foreign, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(name) = from {
        let format = FORMATS.iter().find(|format| format.name == name);
        let format = format.ok_or_else(|| ImportError::NoSuchFormat(name.to_owned()))?;
        return format.try_read(text);
    }
    let mut nearest: Option<(usize, ImportError)> = None;
    for format in FORMATS {
        let found = format.found(text).len();
        if found == format.marks.len() {
            match format.try_read(text) {
                Ok(report) => return Ok(report),
                Err(error) => nearest = nearest.or(Some((100, error))),
            }
        } else if found * 3 >= format.marks.len() {
            let share = 99 * found / format.marks.len();
            if nearest.as_ref().is_none_or(|(best, _)| share > *best) {
                nearest = Some((share, format.broken(text, None)));
            }
        }
    }
    Err(nearest.map_or(ImportError::Unknown, |(_, error)| error))
}

impl Format {
    fn try_read(&self, text: &str) -> Result<Foreign, ImportError> {
        if self.found(text).len() < self.marks.len() {
            return Err(self.broken(text, None));
        }
        let report = (self.read)(text).map_err(|lacking| self.broken(text, Some(lacking)))?;
        let says = |row: &foreign::Row| row.count().is_some() || row.rate.is_some();
        if !report.runs.iter().any(|run| run.all().any(says)) {
            return Err(self.broken(text, Some("a count or a rate".to_owned())));
        }
        Ok(Foreign { format: self.name.to_owned(), ..report })
    }

    fn found(&self, text: &str) -> Vec<&'static str> {
        self.marks.iter().copied().filter(|mark| text.contains(mark)).collect()
    }

    fn broken(&self, text: &str, lacking: Option<String>) -> ImportError {
        let found = self.found(text);
        let marks = self.marks.iter().filter(|mark| !found.contains(mark));
        let marks = marks.map(|mark| format!("`{}`", mark.trim()));
        let lacking = marks.chain(lacking).collect();
        ImportError::Broken { format: self.name, found, lacking }
    }
}

/// A JSON text, or what is wrong with it. Some tools print their progress before it.
fn json(text: &str) -> Result<serde_json::Value, String> {
    let begin = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[begin..]).map_err(|error| format!("the rest of the JSON ({error})"))
}

/// A report of one run.
fn single(tool: &str, run: foreign::Run) -> Foreign {
    Foreign { tool: tool.to_owned(), runs: vec![run], ..Foreign::default() }
}

#[cfg(test)]
mod tests;
