//! How it was done once, kept as an example of what must not be: an ordinary file of one fixed name in the place of shared
//! memory.
//!
//! The front asks the producer over HTTP to write; the producer removes the file and writes it anew in its place, the length
//! as four big-endian bytes and the JSON behind them, with neither a lock nor a rename; the front reads, decodes, and removes
//! the file. Two requests at once race: one may find the other's data, a part of it, or nothing.
//!
//! Nothing is verified here, as nothing was then: an answer to another request is delivered as if
//! it were right. Only a client that checks its own nonce notices.
//!
//! `race_hold` lets the file lie for a while between writing and reading. The original had no such pause; it makes the window
//! as wide as one likes.
//!
//! Not here: the true channel (`foundation/shm-channel`).

mod file;
mod reader;

pub(crate) use file::{File, NAME};
pub(crate) use reader::Reader;

/// The producer's setting that lets it write the file.
pub(crate) const SETTING: &str = "file_race";
/// Where it is asked to, over HTTP; the query is that of a question.
pub(crate) const PATH: &str = "/write-to-shm";
