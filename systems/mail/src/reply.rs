//! Replies to the client: complete lines in one buffer, so that replies to a group of commands are sent together.
//!
//! Every line is safe to send: it has at most 512 octets, and its text cannot end it early.

use std::io::Write;

use crate::refusal::Refusal;

/// Octets of a reply line with its CRLF (RFC 5321, 4.5.3.1.5).
const LONGEST: usize = 512;

/// Pending replies.
#[derive(Debug, Default)]
pub struct Replies {
    bytes: Vec<u8>,
}

impl Replies {
    /// Adds a reply of one line, given without its CRLF.
    pub fn say(&mut self, line: &str) {
        self.say_parts(&[line]);
    }

    /// Adds a reply of one line from its parts.
    pub fn say_parts(&mut self, parts: &[&str]) {
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        self.end_line(start);
    }

    /// Adds a refusal from a store, a hook or an injected fault.
    pub fn refuse(&mut self, refusal: &Refusal) {
        let start = self.bytes.len();
        // Writing to a vector cannot fail.
        let _ = write!(self.bytes, "{refusal}");
        for byte in &mut self.bytes[start..] {
            if !matches!(byte, b' '..=b'~') {
                *byte = b'?';
            }
        }
        self.end_line(start);
    }

    /// The pending bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes what was written, and returns the memory by which the buffer has grown.
    pub fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > 4 * LONGEST {
            self.bytes.shrink_to(LONGEST);
        }
    }

    fn end_line(&mut self, start: usize) {
        let room = LONGEST - 2;
        if self.bytes.len() - start > room {
            let is_boundary = |end: &usize| self.bytes[start + end] & 0xC0 != 0x80;
            let end = (0..=room).rev().find(is_boundary).unwrap_or(room);
            self.bytes.truncate(start + end);
        }
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_never_longer_than_allowed_and_never_cut_within_a_character() {
        let mut replies = Replies::default();
        replies.say_parts(&["250 ", &"é".repeat(400)]);
        assert_eq!(replies.bytes().len(), LONGEST);
        assert!(std::str::from_utf8(replies.bytes()).is_ok());
        replies.clear();
        replies.say_parts(&["250  ", &"é".repeat(400)]);
        assert_eq!(replies.bytes().len(), LONGEST - 1);
        assert!(std::str::from_utf8(replies.bytes()).is_ok());
    }

    #[test]
    fn what_a_store_says_cannot_be_a_second_reply() {
        let mut replies = Replies::default();
        let text = "no\r\n250 yes\u{e9}".to_owned();
        replies.refuse(&Refusal { code: 451, status: (4, 3, 0), text: text.into() });
        assert_eq!(replies.bytes(), b"451 4.3.0 no??250 yes??\r\n");
    }
}
