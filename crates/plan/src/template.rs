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
//! | `{{bytes 1KiB}}` | so many letters, digits, `-` and `_` |
//! | `{{row.column}}` | a field of the operation's row, as it is |
//! | `{{trial}}` | number of the trial |
//! | `{{login.token}}` | what a journey captured under this name at an earlier step |
//! | `{{each}}` | the value that a step with `each` is at |
//! | `{{{{` | `{{` itself |

use std::rc::Rc;

use ::nonce::{decimal, hexadecimal};

use crate::diagnostic::{Diagnostic, Span};
use crate::journey::Memory;
use crate::nonce;
use crate::randomness::{RandomStream, below, draw, spread};
use crate::rows::Rows;
use crate::trace::TraceContext;
use crate::units;

/// One operation about to be performed: everything that its templates may refer to.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// Place in the schedule, k of the k-th arrival.
    pub index: u64,
    /// Which operation of the mix.
    pub operation: usize,
    /// How many of this operation came before it.
    pub sequence: u64,
    /// Row of the operation's data, 0 where there is none.
    pub row: usize,
    /// Number of the trial.
    pub trial: u32,
    /// Seed of the trial.
    pub seed: u64,
    /// CLOCK_MONOTONIC nanoseconds just before encoding, for `{{nonce}}`.
    pub now: u64,
    /// What its requests carry, where they are traced.
    pub trace: Option<TraceContext>,
    /// What its journey remembers; `None` for an operation on its own.
    pub memory: Option<Rc<Memory>>,
}

/// What a template may refer to beside the call itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope<'a> {
    /// Data of the operation or of its journey.
    pub rows: Option<&'a Rows>,
    /// Values that every journey with this operation has captured before it.
    pub captures: &'a [VisibleCapture],
    /// Values that it may not refer to, for messages.
    pub hidden: &'a [HiddenCapture],
    /// Whether `{{each}}` stands for something.
    pub each: bool,
}

/// A captured value that a template may refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleCapture {
    /// As written: `login.token`.
    pub name: String,
    /// Its place among all captures of the arm.
    pub place: usize,
    /// Whether it is a list, which has no one text.
    pub is_list: bool,
}

/// A captured value that a template may not refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenCapture {
    /// As written: `login.token`.
    pub name: String,
    /// Why it may have no value.
    pub why: String,
    /// One thing to do.
    pub hint: String,
}

impl<'a> Scope<'a> {
    /// Rows and nothing else.
    pub fn of_rows(rows: Option<&'a Rows>) -> Self {
        Self { rows, ..Self::default() }
    }
}

/// A compiled template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
    /// Keeps the draws of different texts apart.
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
    Captured { place: usize },
    Each,
}

/// What may stand between the braces, for messages.
const KNOWN: [&str; 11] = [
    "sequence", "nonce", "uuid", "token", "random", "bytes", "row", "trial", "env", "factor",
    "folder",
];

/// 64 characters that need no escape in JSON, URLs or headers.
const PRINTABLE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Template {
    /// Compiles `text`, whose first byte stands at `span.start` of the experiment file.
    ///
    /// Errors: each unknown placeholder, bad range or unknown column, with its span
    pub fn compile(text: &str, span: Span, scope: Scope<'_>) -> Result<Self, Vec<Diagnostic>> {
        let mut parts = Vec::new();
        let mut problems = Vec::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(literal) => push_literal(&mut parts, literal),
                Piece::Placeholder { inner, start, end } => {
                    match placeholder(inner, span.within(text, start, end), scope) {
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

    /// The text, if it holds no placeholder.
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
                Part::Captured { place } => {
                    call.memory.iter().for_each(|memory| memory.append(*place, out));
                }
                Part::Each => call.memory.iter().for_each(|memory| memory.append_each(out)),
            }
        }
    }

    /// Key of the draws of the placeholder at `place`.
    fn key(&self, place: usize, call: &Call) -> u64 {
        call.seed ^ spread(self.salt ^ ((place as u64) << 32 | call.operation as u64))
    }
}

/// A text cut at its placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Between placeholders; escaped braces come as a piece of their own.
    Text(&'a str),
    /// `inner` without braces and outer spaces; `start..end` with the braces.
    Placeholder { inner: &'a str, start: usize, end: usize },
    /// Braces that are opened and not closed.
    Unclosed { start: usize },
}

/// Cuts a text at its placeholders; `{{{{` stands for `{{`.
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

fn placeholder(inner: &str, span: Span, scope: Scope<'_>) -> Result<Part, Diagnostic> {
    let (word, argument) = inner.split_once(' ').unwrap_or((inner, ""));
    if let Some(column) = inner.strip_prefix("row.") {
        return row(column, span, scope.rows);
    }
    if let Some(capture) = scope.captures.iter().find(|capture| capture.name == inner) {
        return captured(capture, span);
    }
    if let Some(hidden) = scope.hidden.iter().find(|hidden| hidden.name == inner) {
        let message = format!("`{inner}` may have no value here");
        let problem = Diagnostic::new(span, message, hidden.why.as_str());
        return Err(problem.with_hint(hidden.hint.as_str()));
    }
    match (word, argument.trim()) {
        ("sequence", "") => Ok(Part::Sequence),
        ("nonce", "") => Ok(Part::Nonce),
        ("uuid", "") => Ok(Part::Uuid),
        ("token", "") => Ok(Part::Token),
        ("trial", "") => Ok(Part::Trial),
        ("each", "") if scope.each => Ok(Part::Each),
        ("each", "") => {
            let problem = Diagnostic::new(span, "`each` outside of a step with `each`", "no list");
            Err(problem
                .with_hint("name the list in each journey: { do = \"open\", each = \"list.ids\" }"))
        }
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
        _ if inner.contains('.') && !(scope.captures.is_empty() && scope.hidden.is_empty()) => {
            let visible = scope.captures.iter().map(|capture| capture.name.as_str());
            let hidden = scope.hidden.iter().map(|capture| capture.name.as_str());
            Err(Diagnostic::unknown("captured value", inner, span, visible.chain(hidden)))
        }
        _ => {
            let word = inner.split(['.', ' ']).next().unwrap_or(inner);
            let known = KNOWN.into_iter().chain(scope.each.then_some("each"));
            Err(Diagnostic::unknown("placeholder", word, span, known))
        }
    }
}

fn captured(capture: &VisibleCapture, span: Span) -> Result<Part, Diagnostic> {
    if !capture.is_list {
        return Ok(Part::Captured { place: capture.place });
    }
    let message = format!("`{}` is a list of values", capture.name);
    let problem = Diagnostic::new(span, message, "expected one value");
    Err(problem.with_hint(format!(
        "let a step go through it: each = \"{}\", with {{{{each}}}} in the operation",
        capture.name
    )))
}

fn row(column: &str, span: Span, rows: Option<&Rows>) -> Result<Part, Diagnostic> {
    let Some(rows) = rows else {
        let message = format!("`row.{column}` in an operation without rows");
        let problem = Diagnostic::new(span, message, "no data to take it from");
        let hint = "add rows = { file = \"data.csv\" } to the operation, or to its journey";
        return Err(problem.with_hint(hint));
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
// Inlined, its draws would be hoisted to the start of each `render`.
#[inline(never)]
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

#[inline(never)]
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
    let from = out.len();
    out.resize(from + count as usize, 0);
    let (tens, rest) = out[from..].as_chunks_mut();
    let mut blocks = (0..).map(|block| ten(draw(start, RandomStream::Content, block)));
    for (characters, block) in tens.iter_mut().zip(&mut blocks) {
        *characters = block;
    }
    for (character, last) in rest.iter_mut().zip(blocks.next().into_iter().flatten()) {
        *character = last;
    }
}

/// Ten characters of 6 bits each.
fn ten(bits: u64) -> [u8; 10] {
    std::array::from_fn(|place| PRINTABLE[(bits >> (6 * place) & 63) as usize])
}

#[cfg(test)]
mod tests;
