//! A reply as text: plain for expectations, and as redis-cli shows it for people.

use std::fmt::Write as _;

use super::token::{self, Token};

/// Characters of an error that are shown.
const SHOWN_LIMIT: usize = 200;

/// The text of a complete reply: that of a scalar, and of an aggregate that of its elements, one a line. Nothing is an
/// empty text, and attributes are left out.
pub fn plain(reply: &[u8], out: &mut Vec<u8>) {
    let mut walk = Walk { rest: reply };
    if let Some(token) = walk.next() {
        walk.plain(token, out);
    }
}

/// The error of a complete reply: its first word and all of it; what would steer a terminal is replaced.
pub fn error(reply: &[u8]) -> (Vec<u8>, String) {
    let mut walk = Walk { rest: reply };
    let text = match walk.next() {
        Some(Token::Line(_, text) | Token::Blob(_, text)) => text,
        _ => b"",
    };
    let word = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    let shown = String::from_utf8_lossy(text);
    let is_control = |letter: char| letter.is_control() || letter == '\u{fffd}';
    let printable = shown.chars().map(|letter| if is_control(letter) { '?' } else { letter });
    let mut line: String = printable.clone().take(SHOWN_LIMIT).collect();
    if printable.count() > SHOWN_LIMIT {
        line.push('…');
    }
    (word.to_vec(), line)
}

/// A complete reply as redis-cli shows it.
pub fn shown(reply: &[u8]) -> String {
    let mut walk = Walk { rest: reply };
    let mut out = String::new();
    if let Some(token) = walk.next() {
        walk.shown(token, 0, &mut out);
    }
    out
}

/// A command as it is typed into redis-cli.
pub fn typed(command: &[u8]) -> String {
    let mut walk = Walk { rest: command };
    let words = match walk.next() {
        Some(Token::Aggregate(_, words)) => words,
        _ => 0,
    };
    let mut out = String::new();
    for place in 0..words {
        let Some(Token::Blob(_, word)) = walk.next() else { break };
        out.push_str(if place > 0 { " " } else { "" });
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\');
        match std::str::from_utf8(word) {
            Ok(text) if !word.is_empty() && word.iter().all(is_plain) => out.push_str(text),
            _ => quoted(word, &mut out),
        }
    }
    out
}

/// The tokens of a reply that is known to be complete and well-formed.
struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    /// The next token that belongs to no attribute.
    fn next(&mut self) -> Option<Token<'a>> {
        let mut to_skip = 0;
        loop {
            let (token, length) = token::next(self.rest).ok().flatten()?;
            self.rest = &self.rest[length..];
            match token {
                Token::Pairs(b'|', elements) => to_skip += elements,
                token if to_skip == 0 => return Some(token),
                Token::Aggregate(_, elements) | Token::Pairs(_, elements) => {
                    to_skip += elements;
                    to_skip -= 1;
                }
                _ => to_skip -= 1,
            }
        }
    }

    fn plain(&mut self, token: Token<'_>, out: &mut Vec<u8>) {
        match token {
            Token::Null => {}
            Token::Line(b'#', line) => {
                out.extend_from_slice(if line == b"t" { b"true" } else { b"false" });
            }
            Token::Line(_, text) | Token::Blob(_, text) => out.extend_from_slice(text),
            Token::Aggregate(_, elements) | Token::Pairs(_, elements) => {
                for place in 0..elements {
                    let Some(element) = self.next() else { return };
                    if place > 0 {
                        out.push(b'\n');
                    }
                    self.plain(element, out);
                }
            }
        }
    }

    fn shown(&mut self, token: Token<'_>, indent: usize, out: &mut String) {
        let text = |line| String::from_utf8_lossy(line);
        // What cannot be written to a string does not exist.
        let _ = match token {
            Token::Null => write!(out, "(nil)"),
            Token::Line(b'+', line) => write!(out, "{}", text(line)),
            Token::Line(b'-', line) | Token::Blob(b'!', line) => {
                write!(out, "(error) {}", text(line))
            }
            Token::Line(b':' | b'(', line) => write!(out, "(integer) {}", text(line)),
            Token::Line(b'#', line) => {
                write!(out, "{}", if line == b"t" { "(true)" } else { "(false)" })
            }
            Token::Line(_, line) => write!(out, "(double) {}", text(line)),
            Token::Blob(b'=', content) => write!(out, "{}", text(content)),
            Token::Blob(_, content) => {
                quoted(content, out);
                Ok(())
            }
            Token::Aggregate(_, 0) => write!(out, "(empty array)"),
            Token::Pairs(_, 0) => write!(out, "(empty hash)"),
            Token::Aggregate(mark, elements) => {
                self.elements((mark, 1, elements), indent, out);
                Ok(())
            }
            Token::Pairs(mark, elements) => {
                self.elements((mark, 2, elements / 2), indent, out);
                Ok(())
            }
        };
    }

    /// Elements, or pairs of them, each on a line behind its number.
    fn elements(
        &mut self,
        (mark, each, count): (u8, usize, usize),
        indent: usize,
        out: &mut String,
    ) {
        let after = match mark {
            b'~' => '~',
            b'%' => '#',
            _ => ')',
        };
        let width = count.to_string().len();
        for place in 1..=count {
            if place > 1 {
                let _ = write!(out, "\n{:indent$}", "");
            }
            let _ = write!(out, "{place:width$}{after} ");
            for part in 0..each {
                out.push_str(if part > 0 { " => " } else { "" });
                let Some(element) = self.next() else { return };
                self.shown(element, indent + width + 2, out);
            }
        }
    }
}

/// Bytes in quotes; those that are no printable ASCII are escaped.
fn quoted(bytes: &[u8], out: &mut String) {
    out.push('"');
    let _ = write!(out, "{}", bytes.escape_ascii().to_string().replace("\\'", "'"));
    out.push('"');
}
