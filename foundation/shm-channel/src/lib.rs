//! Requests and answers between processes of one machine, over memory that both have mapped.
//!
//! One producer, many clients. A [`Producer`] listens on a Unix socket and gives each client two
//! regions of memory of its own; its [`Worker`]s, threads of the caller's, answer what comes. A
//! [`Client`] submits requests, waits spinning, on a futex or on an eventfd, and reads each
//! [`Answer`] in place. `README.md` says how it is used and what it promises, `LAYOUT.md` how it
//! lies in memory, for clients in other languages.
//!
//! Not here: discovery by name, several producers behind one path, messages to everybody, what
//! payloads mean, checksums computed.
//!
//! In reading order: [`layout`] is where everything lies, `ring` how a message is handed over,
//! `sleep` how one waits without missing it, `slots` whose memory it is; `region` and `socket` are
//! what the system gives, `greeting` what is said before; [`producer`] and [`client`] are the two
//! sides.

mod atomic;
pub mod client;
mod error;
mod greeting;
pub mod layout;
pub mod producer;
mod region;
mod ring;
mod sleep;
mod slots;
mod socket;

pub use client::{Answer, Client, Completed, Greeting, Times};
pub use error::Error;
pub use layout::Geometry;
pub use producer::{AnswerBuffer, Counts, Producer, Reply, Settings, Worker};
pub use socket::{SocketFile, listen};

/// A checksum of a payload as it is carried beside it; the channel neither computes nor checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Which: 1 for CRC-32 (ISO-HDLC, that of zlib), 2 for XXH3-64, from 256 on one's own.
    pub kind: u32,
    /// Its value.
    pub value: u64,
}

/// CRC-32 as zlib computes it.
pub const CRC32: u32 = 1;
/// XXH3 with 64 bits.
pub const XXH3: u32 = 2;

/// How long anybody sleeps at most before looking round.
const NAP: std::time::Duration = std::time::Duration::from_millis(20);

/// The examples of `README.md`, tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
