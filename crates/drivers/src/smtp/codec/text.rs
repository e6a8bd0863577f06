//! Lines as the protocol wants them: every one ends with CR LF, and a dot that begins one is doubled.
//!
//! Both are machines that are fed pieces and carry their state from one to the next, so that it does not matter where
//! a text is cut.

/// Makes every line end with CR LF, whether it ended with that, with LF or with CR alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineEnds {
    after_return: bool,
}

impl LineEnds {
    /// Appends what this piece of text becomes.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for &byte in piece {
            if self.after_return && byte != b'\n' {
                out.push(b'\n');
            }
            if byte == b'\n' && !self.after_return {
                out.push(b'\r');
            }
            out.push(byte);
            self.after_return = byte == b'\r';
        }
    }

    /// Ends the text; its last line ends like all others.
    pub fn finish(self, out: &mut Vec<u8>) {
        if self.after_return {
            out.push(b'\n');
        } else if !out.is_empty() && !out.ends_with(b"\r\n") {
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// Doubles the dots at the beginning of lines (RFC 5321 section 4.5.2).
#[derive(Debug, Clone, Copy)]
pub struct Dots {
    at_start: bool,
}

impl Default for Dots {
    fn default() -> Self {
        Self { at_start: true }
    }
}

impl Dots {
    /// Appends this piece, whose lines end with CR LF, with its dots doubled.
    ///
    /// Cost:   O(n), a copy for each line
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.at_start && line[0] == b'.' {
                out.push(b'.');
            }
            out.extend_from_slice(line);
            self.at_start = line.ends_with(b"\n");
        }
    }
}

/// A text with every line as the protocol wants it, dots not yet doubled.
pub fn lines(text: &[u8], out: &mut Vec<u8>) {
    let mut ends = LineEnds::default();
    ends.push(text, out);
    ends.finish(out);
}

/// Where the body begins: after the first empty line. `None` where there is none.
pub fn body_of(message: &[u8]) -> Option<usize> {
    if message.starts_with(b"\r\n") {
        return Some(2);
    }
    message.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}
