//! Finds the end of `DATA` content in the input, and removes dot-stuffing.
//!
//! One scan looks for carriage return, line feed and NUL at the same time. The runs between stuffed dots are returned
//! as slices of the input, so nothing is copied. Problems that make a message unacceptable (a line too long, a NUL)
//! are recorded and do not change where it ends; problems that make its end ambiguous (a bare CR or LF) end the
//! conversation.

use memchr::memchr3;

/// Splits content.
#[derive(Debug, Clone)]
pub struct Framing {
    state: State,
    /// Octets of the line so far, without the stuffed dot.
    line: usize,
    /// Most octets of a line with its CRLF.
    limit: usize,
    is_line_too_long: bool,
    has_nul: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first octet of a line.
    Start,
    /// After a dot at the start of a line; the dot is not content.
    Dot,
    /// After such a dot and a carriage return, which is not content either.
    DotReturn,
    /// Within a line.
    Within,
    /// After a carriage return within a line.
    Return,
}

/// What ended the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing: the message continues.
    More,
    /// CRLF `.` CRLF; what follows is the next command.
    End,
    /// A bare carriage return or line feed.
    Bare,
}

/// A piece of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Bytes of the input that were used.
    pub used: usize,
    /// The content in them.
    pub run: &'a [u8],
    /// What follows it.
    pub found: Found,
}

impl Framing {
    /// The state before a message; `limit` is the most octets of a line.
    pub fn new(limit: usize) -> Self {
        Self { state: State::Start, line: 0, limit, is_line_too_long: false, has_nul: false }
    }

    /// Whether some line was longer than allowed.
    pub fn is_line_too_long(&self) -> bool {
        self.is_line_too_long
    }

    /// Whether there was a NUL.
    pub fn has_nul(&self) -> bool {
        self.has_nul
    }

    /// The next run of content, up to the next stuffed dot, the end, or the end of the input.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Piece<'a> {
        let (mut start, mut at) = (0, 0);
        while let Some(&byte) = input.get(at) {
            let found = match self.state {
                State::Start if byte == b'.' => {
                    self.state = State::Dot;
                    if at > start {
                        return Piece { used: at + 1, run: &input[start..at], found: Found::More };
                    }
                    at += 1;
                    start = at;
                    continue;
                }
                State::Start | State::Within => match self.scan(&input[at..]) {
                    Ok(used) => {
                        at += used;
                        continue;
                    }
                    Err(found) => found,
                },
                State::Dot if byte == b'\r' => {
                    self.state = State::DotReturn;
                    at += 1;
                    start = at;
                    continue;
                }
                State::Dot => {
                    self.state = State::Within;
                    continue;
                }
                State::DotReturn if byte == b'\n' => {
                    return Piece { used: at + 1, run: &[], found: Found::End };
                }
                State::Return if byte == b'\n' => {
                    self.end_line();
                    at += 1;
                    continue;
                }
                State::DotReturn | State::Return => Found::Bare,
            };
            return Piece { used: input.len(), run: &input[start..at], found };
        }
        Piece { used: input.len(), run: &input[start..at], found: Found::More }
    }

    /// Consumes bytes within a line; returns their number.
    fn scan(&mut self, input: &[u8]) -> Result<usize, Found> {
        self.state = State::Within;
        let end = memchr3(b'\r', b'\n', 0, input);
        self.line += end.unwrap_or(input.len());
        let Some(end) = end else {
            self.is_line_too_long |= self.line + 2 > self.limit;
            return Ok(input.len());
        };
        match input[end] {
            b'\r' => self.state = State::Return,
            b'\n' => return Err(Found::Bare),
            _ => {
                self.line += 1;
                self.has_nul = true;
            }
        }
        Ok(end + 1)
    }

    fn end_line(&mut self) {
        self.is_line_too_long |= self.line + 2 > self.limit;
        self.line = 0;
        self.state = State::Start;
    }
}

#[cfg(test)]
mod tests;
