//! Frames on the Unix socket.
//!
//! A request is its length (`u32`, little-endian) and its text; an answer is a head of 16 bytes
//! (length `u32`, code `u32`, checksum `u64`, little-endian all) and the payload. Pure functions:
//! who reads and writes is elsewhere.

use crate::refusal::Refusal;
use crate::request::LONGEST;

/// Bytes before a request.
pub const REQUEST_HEAD: usize = 4;
/// Bytes before a payload.
pub const ANSWER_HEAD: usize = 16;
/// The code of a successful answer.
pub const ANSWERED: u32 = 0;

/// A request in its frame.
pub fn request(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("requests are short");
    [&length.to_le_bytes()[..], text.as_bytes()].concat()
}

/// The first request among these bytes; `None` where not all of it is there yet.
///
/// Shape:  the request after its length; its frame has [`REQUEST_HEAD`] bytes more
/// Errors: it announces more than is ever read
pub fn first_request(bytes: &[u8]) -> Result<Option<&[u8]>, Refusal> {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > LONGEST {
        return Err(Refusal::NotUnderstood);
    }
    Ok(rest.get(..length))
}

/// The header before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes that follow.
    pub length: u32,
    /// [`ANSWERED`], or the number of a refusal.
    pub code: u32,
    /// CRC-32 of what follows.
    pub checksum: u64,
}

impl FrameHeader {
    /// Before an answer.
    pub fn answered(length: usize, checksum: u32) -> Self {
        let length = u32::try_from(length).expect("payloads are at most 16 MiB");
        Self { length, code: ANSWERED, checksum: u64::from(checksum) }
    }

    /// Instead of one.
    pub fn refused(refusal: Refusal) -> Self {
        Self { length: 0, code: refusal.code(), checksum: 0 }
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; ANSWER_HEAD] {
        let mut bytes = [0; ANSWER_HEAD];
        bytes[..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.code.to_le_bytes());
        bytes[8..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// The head at the beginning of these bytes; `None` where not all of it is there yet.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (code, rest) = rest.split_first_chunk()?;
        let (checksum, _) = rest.split_first_chunk()?;
        Some(Self {
            length: u32::from_le_bytes(*length),
            code: u32::from_le_bytes(*code),
            checksum: u64::from_le_bytes(*checksum),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_readme() {
        assert_eq!(request("users 1 0"), b"\x09\0\0\0users 1 0");
        let head = FrameHeader::answered(0x0102_0304, 0xcbf4_3926);
        let bytes = *b"\x04\x03\x02\x01\0\0\0\0\x26\x39\xf4\xcb\0\0\0\0";
        assert_eq!(head.encode(), bytes);
        let refused = FrameHeader::refused(Refusal::OutOfBounds).encode();
        assert_eq!(refused, *b"\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_request_is_found_when_its_last_byte_came() {
        let frame = request("users 100 00000000000000ff");
        for cut in 0..frame.len() {
            assert_eq!(first_request(&frame[..cut]), Ok(None), "cut at {cut}");
        }
        let text = &b"users 100 00000000000000ff"[..];
        assert_eq!(first_request(&frame), Ok(Some(text)));
        let two = [frame.clone(), frame].concat();
        for cut in text.len() + REQUEST_HEAD..two.len() {
            assert_eq!(first_request(&two[..cut]), Ok(Some(text)), "cut at {cut}");
        }
        assert_eq!(first_request(b"\0\0\0\0"), Ok(Some(&b""[..])));
    }

    #[test]
    fn a_request_that_is_too_long_is_refused_by_its_length_alone() {
        let announced =
            |length: u32| first_request(&length.to_le_bytes()).map(|it| it.map(<[u8]>::len));
        assert_eq!(announced(LONGEST as u32), Ok(None));
        assert_eq!(announced(LONGEST as u32 + 1), Err(Refusal::NotUnderstood));
        assert_eq!(announced(u32::MAX), Err(Refusal::NotUnderstood));
    }

    #[test]
    fn a_head_is_read_when_its_last_byte_came() {
        let head = FrameHeader { length: 262_144, code: 0, checksum: 0xffff_ffff };
        let bytes = [&head.encode()[..], b"{"].concat();
        for cut in 0..ANSWER_HEAD {
            assert_eq!(FrameHeader::decode(&bytes[..cut]), None, "cut at {cut}");
        }
        assert_eq!(FrameHeader::decode(&bytes[..ANSWER_HEAD]), Some(head));
        assert_eq!(FrameHeader::decode(&bytes), Some(head));
    }
}
