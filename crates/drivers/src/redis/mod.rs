//! Redis: commands and replies in RESP3, several under way on one connection.
//!
//! A command is compiled to templates (`compile`, `operation`); a connection sends commands and hands replies, which
//! come in the same order, to its streams (`connection`, `stream`). `codec` reads replies and renders them as text.
//!
//! Not here: connecting and TLS (see `engine::transport`), clusters, subscriptions.

use plan::protocol::{Scheme, TlsUse};

pub mod codec;
pub mod compile;
pub mod connection;
pub mod driver;
pub mod failure;
pub mod operation;
pub mod probe;
pub mod session;
pub mod stream;

/// Names of its own spans: from the start of sending to the first byte of the reply.
pub const SPANS: &[&str] = &["first_byte"];
/// Index of that one.
pub const FIRST_BYTE: usize = 0;

/// Schemes of its addresses.
pub const SCHEMES: [Scheme; 2] = [
    Scheme::at("redis", 6379, TlsUse::Never, CREDENTIALS),
    Scheme::at("rediss", 6379, TlsUse::AtOnce, CREDENTIALS),
];
const CREDENTIALS: &str = "write user = \"…\" and password = \"{{env.NAME}}\" beside the command";
