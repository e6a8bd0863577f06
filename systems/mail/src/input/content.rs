//! The content of `DATA` out of bytes: where it ends, and what of it was meant.
//!
//! One scan for carriage return, line feed and NUL at once; the runs between stuffed dots are handed on as they lie in
//! the input, so nothing is copied. What makes a message unfit (a line too long, a NUL) is noted and does not disturb
//! where it ends; what makes its end ambiguous (a bare CR or LF) ends the conversation.

use memchr::memchr3;

/// Cuts content.
#[derive(Debug, Clone)]
pub struct Framing {
    state: State,
    /// Octets of the line so far, the stuffed dot left out.
    line: usize,
    /// Octets that a line may have with its CRLF.
    limit: usize,
    is_line_too_long: bool,
    has_nul: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first octet of a line.
    Start,
    /// After a dot that began a line; it is not content.
    Dot,
    /// After such a dot and a carriage return, which is not content either.
    DotReturn,
    /// Within a line.
    Within,
    /// After a carriage return within a line.
    Return,
}

/// What was found up to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The message goes on.
    More,
    /// CRLF `.` CRLF; what follows is the next command.
    End,
    /// A carriage return or a line feed alone.
    Bare,
}

/// A piece of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Bytes of the input that are done with.
    pub used: usize,
    /// Content among them.
    pub run: &'a [u8],
    /// What came after it.
    pub found: Found,
}

impl Framing {
    /// The state before a message whose lines have at most so many octets.
    pub fn new(limit: usize) -> Self {
        Self { state: State::Start, line: 0, limit, is_line_too_long: false, has_nul: false }
    }

    /// Whether some line had more octets than allowed.
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

    /// Consumes bytes within a line; returns them.
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
