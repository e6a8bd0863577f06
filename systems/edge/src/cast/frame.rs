//! What goes over the wire between a caster and a monitor: frames, as pure functions on bytes.
//!
//! A frame is a length (of what follows it), a kind, and the fields of the kind; numbers are
//! little-endian. Over NATS each message is one frame without its length, of the kinds 2 and 3.
//!
//! | kind | who | fields |
//! |---|---|---|
//! | 1 hello | caster, once, first | magic `CASTS\0\0` and version 1 (8 bytes), caster u64, account, name (UTF-8, at most 64 bytes, to the end) |
//! | 2 cast | caster | lane u8, caster u64, sequence u64, sent at u64, payload (to the end) |
//! | 3 account | caster | caster u64, account |
//! | 17 welcome | monitor, once, first | record u64, taken u64, longest frame u32 |
//! | 18 taken | monitor | taken u64 |
//!
//! An *account* is five u64: messages cast since the caster began, and of them those dropped as
//! full, disconnected, oversize, unsent. It stands behind the casts that it counts, so that whoever
//! reads it has `received + dropped = cast`, or has lost something. The one of a hello says from
//! where on a record counts that is new.
//!
//! *Sequences* count what was cast in a lane, from 0 on; what is dropped leaves a gap. *Taken* is
//! how many casts and accounts the monitor has counted in this record; the caster sends again from
//! there. A *record* is another one when the monitor knows nothing of what came before. *Sent at* is
//! CLOCK_MONOTONIC in nanoseconds, which all processes of one machine share: between machines the
//! time under way means nothing.

use super::account::{Account, REASONS};

/// Bytes of a length.
pub const LENGTH: usize = 4;
/// Bytes of a cast's frame beside its payload, without the length.
pub const BESIDE: usize = 1 + 1 + 3 * 8;
/// Lanes that one caster may have.
pub const MOST_LANES: usize = 64;
/// Bytes of the longest name.
pub const LONGEST_NAME: usize = 64;
/// A monitor must take frames of at least this length: all but casts are shorter.
pub const LEAST_FRAME: usize = 256;

const MAGIC: [u8; 8] = *b"CASTS\0\0\x01";
const HELLO: u8 = 1;
const CAST: u8 = 2;
const ACCOUNT: u8 = 3;
const WELCOME: u8 = 17;
const TAKEN: u8 = 18;

/// One of them, read in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Who casts.
    Hello(Hello<'a>),
    /// A message.
    Cast(Cast<'a>),
    /// What a caster has cast and dropped up to here.
    Account(u64, Account),
    /// Where to go on.
    Welcome(Welcome),
    /// Casts and accounts that were counted in this record.
    Taken(u64),
}

/// Who casts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello<'a> {
    /// Unique among all casters that a monitor meets.
    pub caster: u64,
    /// From where on a new record counts.
    pub base: Account,
    /// For people to read.
    pub name: &'a str,
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cast<'a> {
    /// Lane of the caster, below [`MOST_LANES`].
    pub lane: u8,
    /// Whose it is.
    pub caster: u64,
    /// Place among all that were cast in the lane, from 0.
    pub sequence: u64,
    /// CLOCK_MONOTONIC nanoseconds.
    pub sent_at: u64,
    /// The message itself.
    pub payload: &'a [u8],
}

/// Where to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Welcome {
    /// Another number than before if nothing of before is known.
    pub record: u64,
    /// Casts and accounts counted in it.
    pub taken: u64,
    /// Bytes of the longest frame that the monitor takes, without the length.
    pub longest: u32,
}

/// Why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// The length is beyond the bound.
    Oversize,
    /// What is wrong.
    Malformed(&'static str),
}

/// Bytes on the wire of a cast with a payload of this length.
pub fn size(payload: usize) -> usize {
    LENGTH + BESIDE + payload
}

/// The first frame without its length; `None` if more bytes are wanted.
///
/// Errors: a length beyond `longest`
pub fn cut(bytes: &[u8], longest: usize) -> Result<Option<&[u8]>, FrameError> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > longest {
        return Err(FrameError::Oversize);
    }
    Ok(rest.get(..length))
}

impl<'a> Frame<'a> {
    /// Reads a frame without its length.
    ///
    /// Errors: what is malformed
    pub fn read(body: &'a [u8]) -> Result<Self, FrameError> {
        let mut fields = Fields(body);
        let frame = match fields.byte()? {
            HELLO => Self::Hello(fields.hello()?),
            CAST => Self::Cast(fields.cast()?),
            ACCOUNT => Self::Account(fields.number()?, fields.account()?),
            WELCOME => Self::Welcome(Welcome {
                record: fields.number()?,
                taken: fields.number()?,
                longest: u32::from_le_bytes(fields.take()?),
            }),
            TAKEN => Self::Taken(fields.number()?),
            _ => return Err(FrameError::Malformed("a kind that does not exist")),
        };
        match fields.0 {
            [] => Ok(frame),
            _ => Err(FrameError::Malformed("bytes after the last field")),
        }
    }

    /// Appends it with its length.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(&[0; LENGTH]);
        self.write_body(bytes);
        let length = (bytes.len() - start - LENGTH) as u32;
        bytes[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
    }

    fn write_body(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Hello(Hello { caster, base, name }) => {
                bytes.push(HELLO);
                bytes.extend_from_slice(&MAGIC);
                write_numbers(&[caster], bytes);
                write_account(&base, bytes);
                bytes.extend_from_slice(name.as_bytes());
            }
            Self::Cast(Cast { lane, caster, sequence, sent_at, payload }) => {
                bytes.extend_from_slice(&[CAST, lane]);
                write_numbers(&[caster, sequence, sent_at], bytes);
                bytes.extend_from_slice(payload);
            }
            Self::Account(caster, account) => {
                bytes.push(ACCOUNT);
                write_numbers(&[caster], bytes);
                write_account(&account, bytes);
            }
            Self::Welcome(Welcome { record, taken, longest }) => {
                bytes.push(WELCOME);
                write_numbers(&[record, taken], bytes);
                bytes.extend_from_slice(&longest.to_le_bytes());
            }
            Self::Taken(taken) => {
                bytes.push(TAKEN);
                write_numbers(&[taken], bytes);
            }
        }
    }
}

fn write_numbers(numbers: &[u64], bytes: &mut Vec<u8>) {
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

fn write_account(account: &Account, bytes: &mut Vec<u8>) {
    write_numbers(&[account.cast], bytes);
    write_numbers(&account.dropped, bytes);
}

/// What is left of a frame.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let short = FrameError::Malformed("it ends before its last field");
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(short)?;
        self.0 = rest;
        Ok(*field)
    }

    fn byte(&mut self) -> Result<u8, FrameError> {
        let [byte] = self.take()?;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, FrameError> {
        self.take().map(u64::from_le_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    fn account(&mut self) -> Result<Account, FrameError> {
        let mut account = Account { cast: self.number()?, dropped: [0; REASONS] };
        for dropped in &mut account.dropped {
            *dropped = self.number()?;
        }
        Ok(account)
    }

    fn hello(&mut self) -> Result<Hello<'a>, FrameError> {
        if self.take::<8>()? != MAGIC {
            return Err(FrameError::Malformed("another protocol, or another version of it"));
        }
        let (caster, base) = (self.number()?, self.account()?);
        let name = self.rest();
        match std::str::from_utf8(name) {
            Ok(name) if name.len() <= LONGEST_NAME => Ok(Hello { caster, base, name }),
            _ => Err(FrameError::Malformed("a name that is too long or no UTF-8")),
        }
    }

    fn cast(&mut self) -> Result<Cast<'a>, FrameError> {
        let lane = self.byte()?;
        let (caster, sequence, sent_at) = (self.number()?, self.number()?, self.number()?);
        if usize::from(lane) >= MOST_LANES || sequence == u64::MAX {
            return Err(FrameError::Malformed("a lane or a sequence that does not exist"));
        }
        Ok(Cast { lane, caster, sequence, sent_at, payload: self.rest() })
    }
}

#[cfg(test)]
mod tests;
