//! Exchanges over shared memory: a request in one region, its answer in the other one, nothing between.
//!
//! The other side is a producer of `shm_channel`. An operation is compiled to a template and what its answer must be
//! (`compile`); a connection is a client of the channel with its wakers (`shared_client`), and a stream on it has one request
//! under way at a time (`channel`); the operation exchanges and checks (`operation`), and `failure` lists what can go wrong.
//!
//! What is stamped: `welcome` is the greeting, from the open socket to the mapped regions; `written` is from the start
//! until the request is in its slot and the worker on the other side was woken if it slept; `waited` from there until
//! the answer was seen; `read`, where the checksum is asked for, from there until all of the answer was read. The
//! last three add up to the service time, to the nanosecond. Where the operation asks the producer for its times,
//! `there` is from the start until the producer had found the request, `producer` from there until it had the answer,
//! `back` from there until that was seen; these three are `written` and `waited` once more, parted otherwise.
//!
//! Not here: opening the Unix socket (see `engine::transport`), the channel itself (see `foundation/shm-channel`).

use plan::protocol::{FileForm, FileKey, Place, Scheme};

pub mod channel;
pub mod compile;
pub mod driver;
pub mod failure;
pub mod operation;
pub mod options;
pub mod probe;
mod shared_client;

/// Names of the spans, in order.
const SPANS: &[&str] = &["welcome", "written", "waited", "read", "there", "producer", "back"];
const WELCOME: usize = 0;
const WRITTEN: usize = 1;
const WAITED: usize = 2;
const READ: usize = 3;
const THERE: usize = 4;
const PRODUCER: usize = 5;
const BACK: usize = 6;

/// Schemes of its addresses.
pub const SCHEMES: [Scheme; 1] =
    [Scheme { name: "shm", place: Place::Channel, credentials: "remove them" }];

/// Keys that name files.
pub(crate) const FILES: [FileKey; 1] =
    [FileKey { key: "body_file", content: "body", form: FileForm::Text }];
