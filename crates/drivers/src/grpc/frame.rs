//! Messages in a body: each after a flag and its length in four bytes.
//!
//! Source: the gRPC document `PROTOCOL-HTTP2.md`, Length-Prefixed-Message

use record::FailureKind;

use crate::http::answer::Failure;

/// Bytes before each message.
pub const PREFIX: usize = 5;
/// Memory that a message may leave behind for the next one.
const IDLE_LIMIT: usize = 64 * 1024;

/// Appends a message with what stands before it; `write` appends the message itself.
///
/// Errors: those of `write`, and a message of 4 GiB or more
pub fn append(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), String>,
) -> Result<(), String> {
    let begin = out.len();
    out.extend_from_slice(&[0; PREFIX]);
    write(out)?;
    let length = out.len() - begin - PREFIX;
    let length = u32::try_from(length).map_err(|_| format!("a message of {length} bytes"))?;
    out[begin + 1..begin + PREFIX].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Finds messages in the bytes of a body, wherever these are cut.
#[derive(Debug, Default)]
pub struct Deframer {
    prefix: [u8; PREFIX],
    /// How much of the prefix came.
    came: usize,
    /// Bytes that the message at hand still lacks.
    left: usize,
    length: usize,
    message: Vec<u8>,
}

impl Deframer {
    /// Forgets the previous body, but not its memory.
    pub fn clear(&mut self) {
        (self.came, self.left, self.length) = (0, 0, 0);
        self.message.clear();
        self.message.shrink_to(IDLE_LIMIT);
    }

    /// Hands over each message that is complete with these bytes, and its length. Without `keep` the bytes of messages
    /// are skipped. `limit`: of the length of a message.
    ///
    /// Errors: a message is too long or compressed, and those of `on`
    /// Cost:   O(n) time; memory for the part of a message that came
    pub fn take(
        &mut self,
        mut bytes: &[u8],
        (keep, limit): (bool, usize),
        mut on: impl FnMut(&[u8], usize) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        while !bytes.is_empty() {
            if self.came < PREFIX {
                let some = bytes.len().min(PREFIX - self.came);
                self.prefix[self.came..self.came + some].copy_from_slice(&bytes[..some]);
                self.came += some;
                bytes = &bytes[some..];
                if self.came < PREFIX {
                    break;
                }
                self.length = self.begin(limit)?;
                self.left = self.length;
            }
            let some = bytes.len().min(self.left);
            let (part, rest) = bytes.split_at(some);
            (bytes, self.left) = (rest, self.left - some);
            let is_whole = self.left == 0;
            if !keep {
                if is_whole {
                    on(&[], self.length)?;
                }
            } else if is_whole && self.message.is_empty() {
                on(part, self.length)?;
            } else {
                self.message.extend_from_slice(part);
                if is_whole {
                    on(&self.message, self.length)?;
                }
            }
            if is_whole {
                self.came = 0;
                self.message.clear();
            }
        }
        Ok(())
    }

    /// How many bytes came of a message that is not complete, and of how many, prefix included.
    pub fn partial(&self) -> Option<(usize, usize)> {
        match self.came {
            0 => None,
            PREFIX => Some((PREFIX + self.length - self.left, PREFIX + self.length)),
            came => Some((came, PREFIX)),
        }
    }

    /// The length that the prefix gives.
    fn begin(&self, limit: usize) -> Result<usize, Failure> {
        let [flag, length @ ..] = self.prefix;
        let refuse = |kind, detail| Err(Failure { kind, detail });
        match flag {
            0 => {}
            1 => {
                let detail = "a message is compressed, which was not agreed on".to_owned();
                return refuse(FailureKind::Malformed, detail);
            }
            flag => {
                let detail = format!("a message begins with {flag}, expected 0");
                return refuse(FailureKind::Malformed, detail);
            }
        }
        let length = u32::from_be_bytes(length);
        match usize::try_from(length) {
            Ok(length) if length <= limit => Ok(length),
            _ => {
                let detail = format!("a message of {length} bytes, at most {limit} are read");
                refuse(FailureKind::TooLarge, detail)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(messages: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for message in messages {
            append(&mut out, |out| {
                out.extend_from_slice(message);
                Ok(())
            })
            .expect("it is short");
        }
        out
    }

    #[test]
    fn a_message_follows_a_flag_and_its_length() {
        assert_eq!(framed(&[b"abc", b""]), b"\0\0\0\0\x03abc\0\0\0\0\0");
    }

    #[test]
    fn what_is_too_long_or_compressed_is_refused_before_it_came() {
        for (prefix, kind, detail) in [
            (b"\0\0\0\0\x09", FailureKind::TooLarge, "a message of 9 bytes, at most 8 are read"),
            (b"\0\xff\xff\xff\xff", FailureKind::TooLarge, "a message of 4294967295 bytes"),
            (b"\x01\0\0\0\x01", FailureKind::Malformed, "compressed"),
            (b"\x02\0\0\0\x01", FailureKind::Malformed, "begins with 2"),
            (b"HTTP/", FailureKind::Malformed, "begins with 72"),
        ] {
            let mut deframer = Deframer::default();
            let taken = deframer.take(prefix, (true, 8), |_, _| Ok(()));
            let failure = taken.expect_err("it is refused");
            assert_eq!(failure.kind, kind);
            assert!(failure.detail.contains(detail), "{}", failure.detail);
            assert_eq!(deframer.message.capacity(), 0);
        }
    }

    #[test]
    fn what_is_missing_is_known() {
        let whole = framed(&[b"abc"]);
        for (came, partial) in
            [(0, None), (1, Some((1, 5))), (5, Some((5, 8))), (7, Some((7, 8))), (8, None)]
        {
            for keep in [true, false] {
                let mut deframer = Deframer::default();
                deframer.take(&whole[..came], (keep, 8), |_, _| Ok(())).expect("it is fine");
                assert_eq!(deframer.partial(), partial);
            }
        }
    }

    proptest! {
        #[test]
        fn cuts_do_not_matter(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..6),
            cuts in prop::collection::vec(1_usize..12, 1..60),
            keep: bool,
        ) {
            let slices: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
            let bytes = framed(&slices);
            let mut rest = bytes.as_slice();
            let (mut deframer, mut seen) = (Deframer::default(), Vec::new());
            for cut in cuts.iter().cycle() {
                let (part, after) = rest.split_at((*cut).min(rest.len()));
                deframer.take(part, (keep, 20), |message, length| {
                    seen.push((message.to_vec(), length));
                    Ok(())
                }).expect("it is fine");
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            let expected: Vec<_> = messages.iter().map(|message| {
                (if keep { message.clone() } else { Vec::new() }, message.len())
            }).collect();
            prop_assert_eq!(seen, expected);
            prop_assert_eq!(deframer.partial(), None);
        }
    }
}
