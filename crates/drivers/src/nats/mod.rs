//! NATS: publishing, requests and publishing to JetStream, several under way on one connection.
//!
//! An operation is compiled to templates (`compile`, `operation`). A connection writes what its streams send and hands
//! each answer to the stream that waits for it (`connection`, `pending`, `stream`); `session` opens it. `codec` reads
//! and writes the bytes.
//!
//! Not here: connecting and TLS (see `engine::transport`), subscriptions, consumers of JetStream.

use plan::protocol::{Scheme, TlsUse};

pub mod codec;
pub mod compile;
pub mod connection;
pub mod driver;
pub mod failure;
mod input;
pub mod operation;
pub mod pending;
pub mod probe;
pub mod session;
pub mod stream;

/// Schemes of its addresses.
pub const SCHEMES: [Scheme; 1] = [Scheme::at(
    "nats",
    4222,
    TlsUse::Later,
    "write user = \"…\" and password = \"{{env.NAME}}\", or token = \"{{env.NAME}}\", beside the subject",
)];

/// Names of its own spans: from the start of sending to the first byte of the reply.
pub const SPANS: &[&str] = &["first_byte"];
/// Index of that one.
pub const FIRST_BYTE: usize = 0;
