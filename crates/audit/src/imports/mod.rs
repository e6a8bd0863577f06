//! Reads reports of other tools into one model: one file and one table row for each format.
//! The content of a report identifies its format. Not here: what is wrong with a report (see [`crate::rules`]).
//!
//! In reading order: [`report`] is the model, with [`claims`]; [`figure`] reads printed numbers, `fields` reads JSON;
//! `format` describes one format; then one file for each format.

mod ab;
mod bombardier;
pub mod claims;
mod fields;
pub mod figure;
mod format;
mod fortio;
mod h2load;
mod hey;
mod jtl;
mod k6;
mod locust;
mod oha;
pub mod report;
mod typed_figures;
mod vegeta_json;
mod vegeta_text;
mod wrk;

use std::fmt;

pub use format::{Format, LONGEST};
use format::{MOST_ROWS, MOST_RUNS, at_most};
use plan::printable::printable;
use report::MOST_QUANTILES;
pub use report::Report;
pub use typed_figures::FIELDS;

/// Every format; specific formats come before general ones.
pub const FORMATS: &[Format] = &[
    typed_figures::FORMAT,
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
];

/// Why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    /// `--from` names an unknown format.
    NoSuchFormat(String),
    /// The report is empty.
    Empty,
    /// The input is not text.
    NoText,
    /// The report matches no format.
    Unknown,
    /// The report matches one format, but is incomplete or invalid.
    Broken {
        /// The format.
        format: &'static str,
        /// What was recognised.
        found: Vec<&'static str>,
        /// What was missing.
        lacking: Vec<String>,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchFormat(name) => {
                write!(out, "no format of reports is called \"{}\"", quoted(name))
            }
            Self::Empty => write!(out, "there is nothing in it"),
            Self::NoText => write!(out, "this is not a report of a tool: it is not text in UTF-8"),
            Self::Unknown => write!(out, "this is not a report of a known tool"),
            Self::Broken { format, found, lacking } => {
                write!(out, "this looks like {format}, but is incomplete or malformed")?;
                if !found.is_empty() {
                    write!(out, "; recognised: {}", found.join(", "))?;
                }
                let lacking: Vec<_> = lacking.iter().map(|one| quoted(one)).collect();
                write!(out, "; expected: {}", lacking.join(", "))
            }
        }
    }
}

impl std::error::Error for ImportError {}

/// The beginning of an untrusted text, short enough for a message.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 300;
    let mut short: String = printable(text).chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        short.push('…');
    }
    short
}

/// The text of a file: UTF-8, or UTF-16 with a byte order mark, as some shells write it. Replaces invalid bytes, so
/// that the format can still be recognised.
pub fn decode(bytes: Vec<u8>) -> String {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units = bytes[2..].as_chunks::<2>().0.iter().map(|pair| of(*pair));
        char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes[..] {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// Reads a report in the named format, or in the format that its content matches.
///
/// Errors: the format is unknown, or the report is incomplete
pub fn read(text: &str, from: Option<&str>) -> Result<Report, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
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
    let unlike = || {
        let text = !text.contains(['\0', char::REPLACEMENT_CHARACTER]);
        if text { ImportError::Unknown } else { ImportError::NoText }
    };
    Err(nearest.map_or_else(unlike, |(_, error)| error))
}

impl Format {
    fn try_read(&self, text: &str) -> Result<Report, ImportError> {
        if self.found(text).len() < self.marks.len() {
            return Err(self.broken(text, None));
        }
        let broken = |lacking| self.broken(text, Some(lacking));
        if text.len() > self.longest {
            return Err(broken(format!("an end within {} MiB", self.longest >> 20)));
        }
        let report = (self.read)(text).map_err(broken)?;
        let says = |row: &report::Row| row.count().is_some() || row.rate.is_some();
        if !report.runs.iter().any(|run| run.all().any(says)) {
            return Err(broken("a count or a rate".to_owned()));
        }
        within_bounds(&report).map_err(broken)?;
        Ok(Report { format: self.name.to_owned(), ..report })
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

/// Limits the size of a report, because rules compare everything with everything.
fn within_bounds(report: &Report) -> Result<(), String> {
    let rows = || report.runs.iter().flat_map(report::Run::all);
    let quantiles = rows().map(|row| row.quantiles.len()).max().unwrap_or(0);
    at_most(MOST_RUNS, report.runs.len(), "runs")?;
    at_most(MOST_ROWS, rows().count(), "lines of figures")?;
    at_most(MOST_QUANTILES, quantiles, "percentiles in a line")
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
