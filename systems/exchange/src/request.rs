//! A request to a producer and its form on the wire: `users 100 00000000000000ff`.
//!
//! The same text goes over the Unix socket and over the channel; HTTP has it as a query. It is read
//! strictly: one spelling for each question.

use std::ops::RangeInclusive;

use crate::refusal::Refusal;

/// Bytes of a payload that is asked for by its size, and of any payload at most.
pub const SIZES: RangeInclusive<u64> = 1024..=16 << 20;
/// The most users of one request; so many fit into [`SIZES`] for every seed.
pub const USERS: RangeInclusive<u32> = 1..=6_500;
/// Longest request that is read, in bytes.
pub const LONGEST: usize = 4096;
/// More bytes than a user has in the mean, and fewer than would make all of [`USERS`] too large.
const A_USER: u64 = 2_560;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// So many user records, however long they are.
    Users(u32),
    /// As many user records as fit into exactly so many bytes, and padding.
    Bytes(u64),
}

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRequest {
    /// What is wanted.
    pub what: Wanted,
    /// What must come back inside the payload, as 16 hexadecimal digits.
    pub nonce: u64,
}

impl Wanted {
    /// So many users, as digits.
    ///
    /// Errors: no number, or not one of [`USERS`]
    pub fn users(digits: &str) -> Result<Self, Refusal> {
        let users = u32::try_from(number(digits)?).map_err(|_| Refusal::OutOfBounds)?;
        if USERS.contains(&users) { Ok(Self::Users(users)) } else { Err(Refusal::OutOfBounds) }
    }

    /// So many bytes, as digits.
    ///
    /// Errors: no number, or not one of [`SIZES`]
    pub fn bytes(digits: &str) -> Result<Self, Refusal> {
        let bytes = number(digits)?;
        if SIZES.contains(&bytes) { Ok(Self::Bytes(bytes)) } else { Err(Refusal::OutOfBounds) }
    }

    /// How many bytes the payload has, as far as one knows before it is there.
    pub fn expected_length(self) -> usize {
        let length = match self {
            Self::Users(users) => (u64::from(users) * A_USER).min(*SIZES.end()),
            Self::Bytes(bytes) => bytes,
        };
        usize::try_from(length).unwrap_or(usize::MAX)
    }
}

impl DataRequest {
    /// The question as it goes over the Unix socket and the channel.
    pub fn wire(&self) -> String {
        let nonce = self.nonce;
        match self.what {
            Wanted::Users(users) => format!("users {users} {nonce:016x}"),
            Wanted::Bytes(bytes) => format!("bytes {bytes} {nonce:016x}"),
        }
    }

    /// Reads what [`DataRequest::wire`] writes, and nothing else.
    ///
    /// Errors: another text, or one that is too long; numbers out of bounds
    pub fn read(request: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(request).map_err(|_| Refusal::NotUnderstood)?;
        if text.len() > LONGEST {
            return Err(Refusal::NotUnderstood);
        }
        let (kind, rest) = text.split_once(' ').ok_or(Refusal::NotUnderstood)?;
        let (digits, nonce) = rest.split_once(' ').ok_or(Refusal::NotUnderstood)?;
        let nonce = read_nonce(nonce)?;
        let what = match kind {
            "users" => Wanted::users(digits)?,
            "bytes" => Wanted::bytes(digits)?,
            _ => return Err(Refusal::NotUnderstood),
        };
        Ok(Self { what, nonce })
    }
}

/// Reads 16 lower-case hexadecimal digits.
///
/// Errors: anything else
pub fn read_nonce(digits: &str) -> Result<u64, Refusal> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 16 || !digits.bytes().all(is_digit) {
        return Err(Refusal::NotUnderstood);
    }
    u64::from_str_radix(digits, 16).map_err(|_| Refusal::NotUnderstood)
}

/// Digits, none of them a zero before others.
fn number(digits: &str) -> Result<u64, Refusal> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || digits.starts_with('0') && digits.len() > 1 {
        return Err(Refusal::NotUnderstood);
    }
    digits.parse().map_err(|_| Refusal::OutOfBounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_text_and_comes_back_as_it_was() {
        let ask = DataRequest { what: Wanted::Users(100), nonce: 0xff };
        assert_eq!(ask.wire(), "users 100 00000000000000ff");
        let sized = DataRequest { what: Wanted::Bytes(262_144), nonce: u64::MAX };
        assert_eq!(sized.wire(), "bytes 262144 ffffffffffffffff");
        for ask in [ask, sized] {
            assert_eq!(DataRequest::read(ask.wire().as_bytes()), Ok(ask));
        }
    }

    #[test]
    fn there_is_one_spelling_of_a_question() {
        let nonce = "00000000000000ff";
        for text in [
            String::new(),
            "users".into(),
            "users 100".into(),
            format!("users {nonce}"),
            format!("users 100 {nonce} "),
            format!(" users 100 {nonce}"),
            format!("users  100 {nonce}"),
            format!("users\t100 {nonce}"),
            format!("users 0100 {nonce}"),
            format!("users +100 {nonce}"),
            format!("users -1 {nonce}"),
            format!("users 1e2 {nonce}"),
            format!("Users 100 {nonce}"),
            format!("user 100 {nonce}"),
            format!("users 100 {nonce}\n"),
            "users 100 00000000000000FF".into(),
            "users 100 ff".into(),
            "users 100 +0000000000000ff".into(),
            "users 100 000000000000000ff".into(),
            format!("users 100 {nonce} {}", "x".repeat(LONGEST)),
        ] {
            assert_eq!(DataRequest::read(text.as_bytes()), Err(Refusal::NotUnderstood), "{text:?}");
        }
        assert_eq!(DataRequest::read(b"users 100 \xff"), Err(Refusal::NotUnderstood));
    }

    #[test]
    fn numbers_have_bounds() {
        let read = |text: &str| DataRequest::read(format!("{text} 0000000000000000").as_bytes());
        for text in ["users 1", "users 6500", "bytes 1024", "bytes 16777216"] {
            assert!(read(text).is_ok(), "{text}");
        }
        for text in [
            "users 0",
            "users 6501",
            "users 4294967297",
            "bytes 0",
            "bytes 1023",
            "bytes 16777217",
            "bytes 99999999999999999999",
        ] {
            assert_eq!(read(text), Err(Refusal::OutOfBounds), "{text}");
        }
    }
}
