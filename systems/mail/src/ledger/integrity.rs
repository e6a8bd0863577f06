//! Reads a message as it is received: finds its nonce, and checks whether its body was changed.
//!
//! Memory is one line of [`LONGEST`] bytes. Lines end with LF or CRLF; the body is everything after the first empty
//! line.

use nonce::Nonce;
use sha2::{Digest, Sha256};

/// Bytes of a header line that are checked; both fields are shorter.
const LONGEST: usize = 128;
const NONCE: &[u8] = b"x-proofload-nonce";
const DIGEST: &[u8] = b"x-proofload-digest";

/// Whether a body matches the digest in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// The digest matches.
    Intact,
    /// The digest does not match, or is invalid.
    Damaged,
    /// The header has no digest.
    Unchecked,
}

/// Reads one message.
#[derive(Debug)]
pub(super) struct IntegrityReader {
    place: Section,
    nonce: Option<Nonce>,
    digest: Option<Comparison>,
}

/// The digest in the header, if it is valid, and the hash of the body so far.
type Comparison = (Option<[u8; 32]>, Sha256);

/// Keeps no line within the body, the largest part of a message.
#[derive(Debug)]
enum Section {
    Header { line: [u8; LONGEST], length: usize },
    Body,
}

impl Default for IntegrityReader {
    fn default() -> Self {
        let place = Section::Header { line: [0; LONGEST], length: 0 };
        Self { place, nonce: None, digest: None }
    }
}

impl IntegrityReader {
    /// Takes the next bytes of the message.
    pub fn read(&mut self, mut content: &[u8]) {
        while let Section::Header { line, length } = &mut self.place {
            let end = content.iter().position(|byte| *byte == b'\n');
            let piece = &content[..end.unwrap_or(content.len())];
            let kept = piece.len().min(LONGEST - *length);
            line[*length..*length + kept].copy_from_slice(&piece[..kept]);
            *length += kept;
            let Some(end) = end else { return };
            content = &content[end + 1..];
            let whole = &line[..*length];
            let whole = whole.strip_suffix(b"\r").unwrap_or(whole);
            if whole.is_empty() {
                self.place = Section::Body;
            } else {
                field(whole, &mut self.nonce, &mut self.digest);
                *length = 0;
            }
        }
        if let Some((_, so_far)) = &mut self.digest {
            so_far.update(content);
        }
    }

    /// The nonce, and the state of the body.
    pub fn end(self) -> (Option<Nonce>, Body) {
        let is_same = |(told, so_far): Comparison| told == Some(so_far.finalize().into());
        let body = match self.digest.map(is_same) {
            None => Body::Unchecked,
            Some(true) => Body::Intact,
            Some(false) => Body::Damaged,
        };
        (self.nonce, body)
    }
}

/// Reads a header field; the first of each kind counts.
fn field(line: &[u8], nonce: &mut Option<Nonce>, digest: &mut Option<Comparison>) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    if nonce.is_none() && name.eq_ignore_ascii_case(NONCE) {
        *nonce = Nonce::parse(value);
    } else if digest.is_none() && name.eq_ignore_ascii_case(DIGEST) {
        *digest = Some((hexadecimal(value), Sha256::new()));
    }
}

/// Parses `sha256=` and 64 digits.
fn hexadecimal(value: &[u8]) -> Option<[u8; 32]> {
    let digits = value.strip_prefix(b"sha256=").filter(|digits| digits.len() == 64)?;
    let mut told = [0; 32];
    for (byte, pair) in told.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (16 * digit(0)? + digit(1)?) as u8;
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE_TEXT: &str = "0000000200000000000aabcdefabcdef-12345";
    /// SHA-256 of `abc`, from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// Reads the message whole, and split in two at every place; both give the same result.
    fn read(message: &[u8]) -> (Option<u64>, Body) {
        let say = |pieces: &[&[u8]]| {
            let mut marks = IntegrityReader::default();
            pieces.iter().for_each(|piece| marks.read(piece));
            let (nonce, body) = marks.end();
            (nonce.map(|nonce| nonce.index), body)
        };
        let whole = say(&[message]);
        for cut in 0..message.len() {
            assert_eq!(say(&[&message[..cut], &message[cut..]]), whole, "cut at {cut}");
        }
        let single: Vec<&[u8]> = message.chunks(1).collect();
        assert_eq!(say(&single), whole);
        whole
    }

    #[test]
    fn nonce_and_digest_are_found_in_the_header_and_nowhere_else() {
        let good = format!(
            "From: a@b\r\nx-proofload-NONCE:{NONCE_TEXT}\r\nX-Proofload-Digest: sha256={ABC}\r\n\r\nabc"
        );
        assert_eq!(read(good.as_bytes()), (Some(10), Body::Intact));
        let other = good.replace("\r\n\r\nabc", "\r\n\r\nabd");
        assert_eq!(read(other.as_bytes()), (Some(10), Body::Damaged));
        let longer = format!("{good}\r\n");
        assert_eq!(read(longer.as_bytes()), (Some(10), Body::Damaged));
        let bare = good.replace("\r\n", "\n");
        assert_eq!(read(bare.as_bytes()), (Some(10), Body::Intact));
        let below = format!("From: a@b\r\n\r\nX-Proofload-Nonce: {NONCE_TEXT}\r\n");
        assert_eq!(read(below.as_bytes()), (None, Body::Unchecked));
        assert_eq!(read(b""), (None, Body::Unchecked));
        let headless = format!("X-Proofload-Digest: sha256={ABC}\r\n");
        assert_eq!(read(headless.as_bytes()), (None, Body::Damaged));
    }

    #[test]
    fn what_is_no_mark_is_not_taken_for_one() {
        let long = "y".repeat(10_000);
        for header in [
            format!("X-Proofload-Nonce: {NONCE_TEXT}x"),
            format!("X-Proofload-Nonce: {}", NONCE_TEXT.replace('a', "g")),
            format!("Y-Proofload-Nonce: {NONCE_TEXT}"),
            format!("X-Proofload-Nonce {NONCE_TEXT}"),
            format!("{long}X-Proofload-Nonce: {NONCE_TEXT}"),
            format!("X-Proofload-Nonce: {NONCE_TEXT}{long}"),
            format!("Digest: sha256={ABC}"),
        ] {
            assert_eq!(whole(&header), (None, Body::Unchecked), "{header}");
        }
    }

    #[test]
    fn a_digest_that_cannot_be_read_is_a_damage() {
        for value in [
            format!("sha512={ABC}"),
            format!("sha256={ABC}0"),
            format!("sha256={}", ABC.replace('b', "é")),
            format!("sha256={ABC}{}", "y".repeat(10_000)),
            String::new(),
        ] {
            let header = format!("X-Proofload-Digest: {value}");
            assert_eq!(whole(&header), (None, Body::Damaged), "{header}");
        }
    }

    /// The result of a message whose header has this one line.
    fn whole(line: &str) -> (Option<Nonce>, Body) {
        let mut marks = IntegrityReader::default();
        marks.read(format!("{line}\r\n\r\nabc").as_bytes());
        marks.end()
    }

    #[test]
    fn the_first_of_two_counts() {
        let second = NONCE_TEXT.replace("00a", "00b");
        let text =
            format!("X-Proofload-Nonce: {NONCE_TEXT}\r\nX-Proofload-Nonce: {second}\r\n\r\n");
        assert_eq!(read(text.as_bytes()), (Some(10), Body::Unchecked));
    }
}
