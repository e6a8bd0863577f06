//! Templates: text with placeholders, compiled once, rendered for each operation without
//! allocating.
//!
//! | placeholder | becomes |
//! |---|---|
//! | `{{sequence}}` | how many of this operation came before |
//! | `{{nonce}}` | a mark for observers, see [`crate::nonce`] |
//! | `{{uuid}}` | version 4 by shape, from seed and index: the same everywhere in one operation |
//! | `{{token}}` | 16 hexadecimal digits, likewise |
//! | `{{random a..b}}` | a whole number from a to b, both included |
//! | `{{bytes 1KiB}}` | this many letters, digits, `-` and `_` |
//! | `{{row.column}}` | a field of the operation's row, as it is |
//! | `{{trial}}` | number of the trial |
//! | `{{{{` | `{{` itself |

use ::nonce::{decimal, hexadecimal};

use crate::diagnostic::{Diagnostic, Span};
use crate::nonce;
use crate::randomness::{RandomStream, below, draw, spread};
use crate::rows::Rows;
use crate::units;

/// One operation that is about to be performed, with everything that its templates may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Place in the schedule, k of the k-th arrival.
    pub index: u64,
    /// Index of the operation in the mix.
    pub operation: usize,
    /// Number of earlier arrivals with this operation.
    pub sequence: u64,
    /// Row of the operation's data, 0 if there is none.
    pub row: usize,
    /// Number of the trial.
    pub trial: u32,
    /// Seed of the trial.
    pub seed: u64,
    /// CLOCK_MONOTONIC nanoseconds just before encoding, for `{{nonce}}`.
    pub now: u64,
}

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
    /// Makes the draws of different texts independent.
    salt: u64,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Literal(String),
    Sequence,
    Nonce,
    Uuid,
    Token,
    Trial,
    Random { low: i64, high: i64 },
    Bytes { count: u64 },
    Row { column: usize },
}

/// The known placeholders, for messages.
const KNOWN: [&str; 11] = [
    "sequence", "nonce", "uuid", "token", "random", "bytes", "row", "trial", "env", "factor",
    "folder",
];

/// 64 characters that need no escaping in JSON, URLs or headers.
const PRINTABLE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Template {
    /// Compiles `text`; its first byte is at `span.start` in the experiment file.
    ///
    /// Errors: each unknown placeholder, bad range or unknown column, with its span
    pub fn compile(text: &str, span: Span, rows: Option<&Rows>) -> Result<Self, Vec<Diagnostic>> {
        let mut parts = Vec::new();
        let mut problems = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(literal) => push_literal(&mut parts, literal),
                Piece::Placeholder { inner, start, end } => {
                    match placeholder(inner, span.within(text, start, end), rows) {
                        Ok(part) => parts.push(part),
                        Err(problem) => problems.push(problem),
                    }
                }
                Piece::Unclosed { start } => problems.push(Diagnostic::new(
                    span.within(text, start, start + 2),
                    "`{{` is never closed",
                    "expected a placeholder such as {{sequence}}; write {{{{ for the braces",
                )),
            }
        }
        let salt = text.bytes().fold(0, |salt, byte| spread(salt ^ u64::from(byte)));
        let template = Self { parts, salt };
        if problems.is_empty() { Ok(template) } else { Err(problems) }
    }

    /// The text, if it contains no placeholder.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the text of this call to `out`. Allocates only when `out` must grow.
    pub fn render(&self, call: &Call, rows: Option<&Rows>, out: &mut Vec<u8>) {
        for (place, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Part::Sequence => decimal(call.sequence, out),
                Part::Trial => decimal(u64::from(call.trial), out),
                Part::Nonce => {
                    nonce::of_arrival(call.seed, call.trial, call.index, call.now).render(out);
                }
                Part::Uuid => uuid(call, out),
                Part::Token => hexadecimal(token(call), 16, out),
                Part::Random { low, high } => {
                    whole(*low, *high, self.key(place, call), call.index, out);
                }
                Part::Bytes { count } => bytes(*count, self.key(place, call), call.index, out),
                Part::Row { column } => {
                    let value = rows.map_or("", |rows| rows.value(call.row, *column));
                    out.extend_from_slice(value.as_bytes());
                }
            }
        }
    }

    /// Key of the draws for the placeholder at `place`.
    fn key(&self, place: usize, call: &Call) -> u64 {
        call.seed ^ spread(self.salt ^ ((place as u64) << 32 | call.operation as u64))
    }
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text between placeholders; escaped braces are a separate piece.
    Text(&'a str),
    /// `inner` is the text between the braces, trimmed; `start..end` includes the braces.
    Placeholder { inner: &'a str, start: usize, end: usize },
    /// Braces that are not closed.
    Unclosed { start: usize },
}

/// Splits a text at its placeholders; `{{{{` means `{{`.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        let start = at + found;
        if start > at {
            pieces.push(Piece::Text(&text[at..start]));
        }
        let rest = &text[start + 2..];
        if rest.starts_with("{{") {
            pieces.push(Piece::Text("{{"));
            at = start + 4;
        } else if let Some(close) = rest.find("}}") {
            let end = start + 2 + close + 2;
            pieces.push(Piece::Placeholder { inner: rest[..close].trim(), start, end });
            at = end;
        } else {
            pieces.push(Piece::Unclosed { start });
            return pieces;
        }
    }
    if at < text.len() {
        pieces.push(Piece::Text(&text[at..]));
    }
    pieces
}

fn push_literal(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Literal(before)) => before.push_str(text),
        _ => parts.push(Part::Literal(text.to_owned())),
    }
}

fn placeholder(inner: &str, span: Span, rows: Option<&Rows>) -> Result<Part, Diagnostic> {
    let (word, argument) = inner.split_once(' ').unwrap_or((inner, ""));
    if let Some(column) = inner.strip_prefix("row.") {
        return row(column, span, rows);
    }
    match (word, argument.trim()) {
        ("sequence", "") => Ok(Part::Sequence),
        ("nonce", "") => Ok(Part::Nonce),
        ("uuid", "") => Ok(Part::Uuid),
        ("token", "") => Ok(Part::Token),
        ("trial", "") => Ok(Part::Trial),
        ("random", range) => random(range).ok_or_else(|| {
            let message = format!("expected a range such as 0..99, got \"{range}\"");
            Diagnostic::new(span, message, "whole numbers, the second not below the first")
        }),
        ("bytes", size) => units::parse_size(size)
            .filter(|count| *count <= 1 << 30)
            .map(|count| Part::Bytes { count })
            .ok_or_else(|| {
                let message = format!("expected {}, got \"{size}\"", units::SIZE);
                Diagnostic::new(span, message, "at most 1GiB")
            }),
        ("sequence" | "nonce" | "uuid" | "token" | "trial", rest) => {
            let message = format!("`{word}` takes nothing, got \"{rest}\"");
            Err(Diagnostic::new(span, message, format!("write {{{{{word}}}}}")))
        }
        _ => {
            let word = inner.split(['.', ' ']).next().unwrap_or(inner);
            Err(Diagnostic::unknown("placeholder", word, span, KNOWN))
        }
    }
}

fn row(column: &str, span: Span, rows: Option<&Rows>) -> Result<Part, Diagnostic> {
    let Some(rows) = rows else {
        let message = format!("`row.{column}` in an operation without rows");
        let problem = Diagnostic::new(span, message, "no data to take it from");
        return Err(problem.with_hint("add rows = { file = \"data.csv\" } to the operation"));
    };
    match rows.column(column) {
        Some(column) => Ok(Part::Row { column }),
        None => {
            let known = rows.columns().iter().map(String::as_str);
            Err(Diagnostic::unknown(&format!("column of {}", rows.file), column, span, known))
        }
    }
}

fn random(range: &str) -> Option<Part> {
    let (low, high) = range.split_once("..")?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some(Part::Random { low, high })
}

/// 122 bits of two draws, and the six that say version 4, variant 1 (RFC 9562 section 5.4).
fn uuid(call: &Call, out: &mut Vec<u8>) {
    let key = spread(call.seed ^ 0x7575_6964);
    let high = draw(key, RandomStream::Content, call.index) & !0xf000 | 0x4000;
    let low = draw(!key, RandomStream::Content, call.index) & (u64::MAX >> 2) | 1 << 63;
    hexadecimal(high >> 32, 8, out);
    for (value, digits) in [(high >> 16, 4), (high, 4), (low >> 48, 4), (low, 12)] {
        out.push(b'-');
        hexadecimal(value, digits, out);
    }
}

fn token(call: &Call) -> u64 {
    draw(spread(call.seed ^ 0x74_6f6b_656e), RandomStream::Content, call.index)
}

fn whole(low: i64, high: i64, key: u64, index: u64, out: &mut Vec<u8>) {
    let span = high.wrapping_sub(low) as u64;
    let bits = draw(key, RandomStream::Content, index);
    let step = span.checked_add(1).map_or(bits, |bound| below(bits, bound));
    let value = low.wrapping_add(step as i64);
    if value < 0 {
        out.push(b'-');
    }
    decimal(value.unsigned_abs(), out);
}

fn bytes(count: u64, key: u64, index: u64, out: &mut Vec<u8>) {
    let start = spread(key ^ draw(key, RandomStream::Content, index));
    // Ten characters of 6 bits from each draw of 64.
    for block in 0..count.div_ceil(10) {
        let mut bits = draw(start, RandomStream::Content, block);
        for _ in 0..(count - block * 10).min(10) {
            out.push(PRINTABLE[(bits & 63) as usize]);
            bits >>= 6;
        }
    }
}

#[cfg(test)]
mod tests;
