//! The mark in messages of a load, by which a receiver distinguishes them and knows when they were
//! sent.
//!
//! 8 hexadecimal digits of the trial, 12 of the place in its schedule, 12 of a check, `-`, and the
//! sending instant in CLOCK_MONOTONIC nanoseconds, which all processes of a machine share. The
//! check needs the sender's seed and is not looked at here.

use rustix::time::{ClockId, clock_gettime};

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce {
    /// Number of the trial.
    pub trial: u32,
    /// Place in the schedule.
    pub index: u64,
    /// CLOCK_MONOTONIC nanoseconds.
    pub sent_at: u64,
}

/// The instant by the clock that marks are dated with.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Reads a text that is a mark and nothing else; `None` for anything else.
pub fn read(text: &[u8]) -> Option<Nonce> {
    let text = std::str::from_utf8(text).ok()?;
    let (digits, sent_at) = text.split_once('-')?;
    let is_lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != 32 || !is_lower || !sent_at.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Nonce {
        trial: u32::from_str_radix(&digits[..8], 16).ok()?,
        index: u64::from_str_radix(&digits[8..20], 16).ok()?,
        sent_at: sent_at.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_and_nothing_else_is_taken_for_one() {
        let mark = b"0000000200000000000aabcdefabcdef-12345";
        assert_eq!(read(mark), Some(Nonce { trial: 2, index: 10, sent_at: 12_345 }));
        for other in [
            &b""[..],
            b"hello",
            b"0000000200000000000aabcdefabcdef",
            b"0000000200000000000aabcdefabcdef-",
            b"0000000200000000000aabcdefabcdef-12x",
            b"0000000200000000000AABCDEFABCDEF-12",
            b"0000000200000000000aabcdefabcde-12",
            b"\xff0000000200000000000aabcdefabcde-12",
        ] {
            assert_eq!(read(other), None, "{other:?}");
        }
    }
}
