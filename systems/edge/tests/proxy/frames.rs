//! A client that writes frames of HTTP/2 as it likes (RFC 9113 4 and 6).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::fixture::connect;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Errors by their numbers.
pub const PROTOCOL_ERROR: u32 = 1;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;

/// A request for `/` without a body.
pub const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":authority", "h"), (":path", "/")];

pub struct Frames {
    stream: TcpStream,
    /// Whether it answers when it is asked whether it is still there.
    pub is_polite: bool,
}

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The first four bytes, and what is beyond a reserved bit; of a reset the error.
    pub fn number(&self) -> u32 {
        u32::from_be_bytes(self.payload[..4].try_into().unwrap())
    }
}

impl Frames {
    /// A connection that begins with these settings.
    pub fn open(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let mut frames = Self { stream: connect(address), is_polite: true };
        frames.stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let setting = |(name, value): &(u16, u32)| {
            [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat()
        };
        let settings: Vec<u8> = settings.iter().flat_map(setting).collect();
        frames.send((SETTINGS, 0), 0, &settings).unwrap();
        frames
    }

    /// Sends a frame, by its kind and flags.
    pub fn send(&mut self, (kind, flags): (u8, u8), stream: u32, payload: &[u8]) -> io::Result<()> {
        self.stream.write_all(&frame((kind, flags), stream, payload))
    }

    /// Sends these bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Asks with these fields, and sends no body.
    pub fn ask(&mut self, stream: u32, fields: &[(&str, &str)]) {
        self.send((HEADERS, END_HEADERS | END_STREAM), stream, &block(fields)).unwrap();
    }

    /// What comes next, but for what keeps the connection; nothing at its end.
    pub fn hear(&mut self) -> Option<Frame> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).ok()?;
            let [high, middle, low, kind, flags, stream @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
            self.stream.read_exact(&mut payload).ok()?;
            if kind == PING && flags & ACK == 0 && self.is_polite {
                self.send((PING, ACK), 0, &payload).ok()?;
            } else if kind != PING && (kind, flags) != (SETTINGS, ACK) {
                return Some(Frame { kind, stream: u32::from_be_bytes(stream), payload });
            }
        }
    }

    /// The next frame of this kind.
    pub fn until(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.hear().unwrap_or_else(|| panic!("it ends before a frame of {kind}"));
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Reads to the end of the connection; the last frame of this kind.
    pub fn last(&mut self, kind: u8) -> Option<Frame> {
        std::iter::from_fn(|| self.hear()).filter(|frame| frame.kind == kind).last()
    }
}

pub fn frame((kind, flags): (u8, u8), stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Fields as they stand, in no table and in no code (RFC 7541 6.2.2); none is longer than 126 bytes.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let field = |(name, value): &(&str, &str)| [vec![0], text(name), text(value)].concat();
    fields.iter().flat_map(field).collect()
}
