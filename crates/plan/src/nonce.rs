//! `{{nonce}}`: a mark by which a receiver recognises duplicates, foreign messages and the time
//! under way.
//!
//! Layout, 33 characters and a number:
//!
//! | characters | content |
//! |---|---|
//! | 0–7 | number of the trial, 32 bits, lower-case hexadecimal |
//! | 8–19 | place in the schedule (k of the k-th arrival), 48 bits |
//! | 20–31 | check: the first 48 bits of a draw from trial seed, trial and place |
//! | 32 | `-` |
//! | 33– | the instant just before encoding, CLOCK_MONOTONIC nanoseconds, decimal |

use crate::randomness::{RandomStream, draw};

/// Places in the schedule are marked modulo this.
const PLACES: u64 = 1 << 48;

/// What a genuine nonce says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce {
    /// Number of the trial.
    pub trial: u32,
    /// k of the k-th arrival, modulo 2⁴⁸.
    pub index: u64,
    /// CLOCK_MONOTONIC nanoseconds.
    pub sent_at: u64,
}

impl Nonce {
    /// Appends its text to `out`. Allocates only when `out` must grow.
    pub fn render(&self, seed: u64, out: &mut Vec<u8>) {
        let index = self.index % PLACES;
        hexadecimal(u64::from(self.trial), 8, out);
        hexadecimal(index, 12, out);
        hexadecimal(check(seed, self.trial, index), 12, out);
        out.push(b'-');
        decimal(self.sent_at, out);
    }
}

fn check(seed: u64, trial: u32, index: u64) -> u64 {
    draw(seed ^ (u64::from(trial) << 32), RandomStream::Nonce, index) >> 16
}

/// What a nonce says, if it was made with this trial seed; `None` for a stranger.
pub fn verify(text: &str, seed: u64) -> Option<Nonce> {
    let (digits, sent_at) = text.split_once('-')?;
    let lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != 32 || !lower {
        return None;
    }
    let trial = u32::from_str_radix(&digits[..8], 16).ok()?;
    let index = u64::from_str_radix(&digits[8..20], 16).ok()?;
    let found = u64::from_str_radix(&digits[20..], 16).ok()?;
    let sent_at = sent_at.parse().ok()?;
    (found == check(seed, trial, index)).then_some(Nonce { trial, index, sent_at })
}

/// Appends the lowest `digits` hexadecimal digits.
pub(crate) fn hexadecimal(value: u64, digits: u32, out: &mut Vec<u8>) {
    for place in (0..digits).rev() {
        let digit = (value >> (4 * place)) & 0xf;
        out.push(b"0123456789abcdef"[digit as usize]);
    }
}

/// Appends decimal digits, without the allocation of formatting.
pub(crate) fn decimal(value: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(nonce: Nonce, seed: u64) -> String {
        let mut out = Vec::new();
        nonce.render(seed, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_nonce_says_what_it_was_made_of() {
        let nonce = Nonce { trial: 3, index: 123_456, sent_at: 9_876_543_210 };
        let text = text(nonce, 42);
        assert!(text.starts_with("0000000300000001e240"), "{text}");
        assert_eq!(text.find('-'), Some(32));
        assert!(text.ends_with("-9876543210"));
        assert_eq!(verify(&text, 42), Some(nonce));
    }

    #[test]
    fn a_stranger_is_told() {
        let nonce = Nonce { trial: 3, index: 7, sent_at: 1 };
        let genuine = text(nonce, 42);
        assert_eq!(verify(&genuine, 43), None);
        assert_eq!(verify(&genuine.replace("00000003", "00000004"), 42), None);
        assert_eq!(verify(&genuine.to_uppercase().replace('A', "B"), 42), None);
        assert_eq!(verify("", 42), None);
        assert_eq!(verify(&format!("é{}", &genuine[1..]), 42), None);
        assert_eq!(verify(&genuine[1..], 42), None);
    }

    #[test]
    fn decimal_digits() {
        for value in [0, 9, 10, 12_345, u64::MAX] {
            let mut out = Vec::new();
            decimal(value, &mut out);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }
}
