//! The constant part of generated bodies: lines that are the same for every message, made once.

use std::sync::Arc;

/// Bytes of a line, its end included.
pub const LINE: usize = 80;

/// Every so many lines one begins with a dot, so that doubling it is always exercised.
const DOTTED: usize = 5;

const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyz 0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Lines of filler in both forms.
#[derive(Debug, Clone)]
pub struct Filler {
    plain: Arc<[u8]>,
    stuffed: Arc<[u8]>,
}

impl Filler {
    /// So many lines; with bytes beyond ASCII if they are to be of eight bits.
    pub fn new(lines: usize, eight_bit: bool) -> Self {
        let mut plain = Vec::with_capacity(lines * LINE);
        let mut stuffed = Vec::with_capacity(stuffed_length(lines));
        for number in 0..lines {
            let line = line(number, eight_bit);
            if line[0] == b'.' {
                stuffed.push(b'.');
            }
            plain.extend_from_slice(&line);
            stuffed.extend_from_slice(&line);
        }
        Self { plain: plain.into(), stuffed: stuffed.into() }
    }

    /// All lines, with their dots doubled or not.
    pub fn bytes(&self, dots: bool) -> &[u8] {
        if dots { &self.stuffed } else { &self.plain }
    }

    /// The first lines.
    pub fn lines(&self, lines: usize, dots: bool) -> &[u8] {
        let length = if dots { stuffed_length(lines) } else { lines * LINE };
        &self.bytes(dots)[..length]
    }
}

/// Bytes of the first lines with their dots doubled.
fn stuffed_length(lines: usize) -> usize {
    lines * LINE + (lines + DOTTED - 2) / DOTTED
}

fn line(number: usize, eight_bit: bool) -> [u8; LINE] {
    let mut line = [0; LINE];
    for (place, byte) in line.iter_mut().enumerate() {
        // Five apart from line to line, and never a blank at the end of one.
        *byte = LETTERS[(5 * number + place) % LETTERS.len()];
    }
    if number % DOTTED == 1 {
        line[0] = b'.';
    }
    if eight_bit {
        line[2..4].copy_from_slice("é".as_bytes());
    }
    line[LINE - 3] = b'-';
    line[LINE - 2..].copy_from_slice(b"\r\n");
    line
}
