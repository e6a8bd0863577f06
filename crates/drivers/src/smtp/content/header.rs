//! The header of a message.

use engine::driver::Call;
use plan::rows::Rows;
use plan::template::Template;

/// Digits of a SHA-256.
const DIGITS: usize = 64;

/// A piece of a header.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// The value of a field; a line break becomes a blank.
    Value(Template),
    /// The digest of the body in hexadecimal.
    Digest,
}

/// A header, its empty line included if it has one of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header(Vec<Piece>);

impl Header {
    /// Adds literal bytes.
    pub fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Literal(bytes)) => bytes.extend_from_slice(text.as_bytes()),
            _ => self.0.push(Piece::Literal(text.as_bytes().to_vec())),
        }
    }

    /// Adds a piece.
    pub fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Value(template) => match template.literal() {
                Some(text) => self.text(&text.replace(|letter: char| letter.is_control(), " ")),
                None => self.0.push(Piece::Value(template)),
            },
            Piece::Literal(bytes) => self.text(&String::from_utf8_lossy(&bytes)),
            Piece::Digest => self.0.push(Piece::Digest),
        }
    }

    /// Appends the header; gives the place of the digest, which is filled in later.
    pub fn render(&self, call: &Call, rows: Option<&Rows>, out: &mut Vec<u8>) -> usize {
        let mut digest = out.len();
        for piece in &self.0 {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Value(template) => {
                    let from = out.len();
                    template.render(call, rows, out);
                    for byte in &mut out[from..] {
                        if byte.is_ascii_control() {
                            *byte = b' ';
                        }
                    }
                }
                Piece::Digest => {
                    digest = out.len();
                    out.resize(digest + DIGITS, b'0');
                }
            }
        }
        digest
    }
}

/// Writes a digest where the header left room for it.
pub fn fill_in(digest: &[u8], room: &mut [u8]) {
    for (byte, pair) in digest.iter().zip(room.chunks_exact_mut(2)) {
        pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
}
