//! The mark in messages of a load, by which a receiver tells duplicates, strangers and the time
//! under way.
//!
//! Layout, 33 characters and a number:
//!
//! | characters | content |
//! |---|---|
//! | 0–7 | number of the trial, 32 bits, lower-case hexadecimal |
//! | 8–19 | place in the schedule (k of the k-th arrival), 48 bits |
//! | 20–31 | check, 48 bits: only the sender, who knows the seed, can compute it |
//! | 32 | `-` |
//! | 33– | the sending instant, CLOCK_MONOTONIC nanoseconds, decimal |
//!
//! Pure. Not here: how the check is drawn (see `plan::nonce`), and clocks.

/// Hexadecimal digits before the dash.
const DIGITS: usize = 32;

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce {
    /// Number of the trial.
    pub trial: u32,
    /// k of the k-th arrival, modulo 2⁴⁸.
    pub index: u64,
    /// A draw that only the sender can repeat, modulo 2⁴⁸.
    pub check: u64,
    /// CLOCK_MONOTONIC nanoseconds.
    pub sent_at: u64,
}

impl Nonce {
    /// Appends its text to `out`. Allocates only when `out` must grow.
    pub fn render(&self, out: &mut Vec<u8>) {
        hexadecimal(u64::from(self.trial), 8, out);
        // Twelve digits take the lowest 48 bits.
        hexadecimal(self.index, 12, out);
        hexadecimal(self.check, 12, out);
        out.push(b'-');
        decimal(self.sent_at, out);
    }

    /// The first mark in a text, whatever stands around it.
    pub fn find(text: &[u8]) -> Option<Self> {
        let dashes = text.iter().enumerate().filter(|(_, byte)| **byte == b'-').map(|(at, _)| at);
        dashes.filter(|at| *at >= DIGITS).find_map(|at| {
            let after = &text[at + 1..];
            let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            Self::parse(&text[at - DIGITS..=at + digits])
        })
    }

    /// Reads a text that is a mark and nothing else; `None` for anything else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (digits, sent_at) = text.split_once('-')?;
        let is_lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits.len() != DIGITS || !is_lower || !sent_at.bytes().all(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        Some(Self {
            trial: u32::from_str_radix(&digits[..8], 16).ok()?,
            index: u64::from_str_radix(&digits[8..20], 16).ok()?,
            check: u64::from_str_radix(&digits[20..], 16).ok()?,
            sent_at: sent_at.parse().ok()?,
        })
    }
}

/// Appends the lowest `digits` hexadecimal digits.
pub fn hexadecimal(value: u64, digits: u32, out: &mut Vec<u8>) {
    for place in (0..digits).rev() {
        let digit = (value >> (4 * place)) & 0xf;
        out.push(b"0123456789abcdef"[digit as usize]);
    }
}

/// Appends decimal digits, without the allocation of formatting.
pub fn decimal(value: u64, out: &mut Vec<u8>) {
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

    #[test]
    fn a_mark_reads_back_as_it_was_written() {
        let nonce = Nonce { trial: 3, index: 123_456, check: 0xabc, sent_at: 9_876_543_210 };
        let mut out = Vec::new();
        nonce.render(&mut out);
        assert_eq!(out, b"0000000300000001e240000000000abc-9876543210");
        assert_eq!(Nonce::parse(&out), Some(nonce));
    }

    #[test]
    fn nothing_else_is_taken_for_a_mark() {
        for other in [
            &b""[..],
            b"hello",
            b"0000000200000000000aabcdefabcdef",
            b"0000000200000000000aabcdefabcdef-",
            b"0000000200000000000aabcdefabcdef-12x",
            b"0000000200000000000aabcdefabcdef-+12",
            b"0000000200000000000AABCDEFABCDEF-12",
            b"0000000200000000000aabcdefabcde-12",
            b"\xff0000000200000000000aabcdefabcde-12",
        ] {
            assert_eq!(Nonce::parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_mark_is_found_in_a_text() {
        let mark = "0000000300000001e240000000000abc-98765";
        for text in [
            mark.to_owned(),
            format!("{{\"id\":\"{mark}\",\"to\":\"a-b\"}}"),
            format!("--- 00000000-0000-0000-0000-000000000000 f{mark}, {mark}1"),
        ] {
            let found = Nonce::find(text.as_bytes()).map(|nonce| (nonce.index, nonce.sent_at));
            assert_eq!(found, Some((123_456, 98_765)), "{text}");
        }
        for text in ["", "-", "no mark", &mark[..33], &mark[1..], &mark.replace('e', "E")] {
            assert_eq!(Nonce::find(text.as_bytes()), None, "{text}");
        }
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
