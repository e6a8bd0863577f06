//! WebSocket (RFC 6455): opening sockets, and messages that are answered by a message.
//!
//! An operation without a message *opens* a socket of its own: the handshake is what is measured. One with a message
//! *asks*: the first message that matches it is its answer, and several are under way on one socket (`socket`, `stream`).
//! `correlation` says which message answers which. Frames are tokio-websockets' (`prefixed` gives it what came with the
//! handshake); the handshake is ours, since that library's ends the program where a server's `sec-websocket-accept` is
//! too long.
//!
//! Not here: connecting and TLS (see `engine::transport`), compression, which is not offered.

use plan::protocol::{Scheme, TlsUse, WEB};

pub mod compile;
pub mod correlation;
pub mod driver;
pub mod failure;
pub mod handshake;
pub mod opening;
pub mod operation;
pub mod prefixed;
pub mod probe;
pub mod socket;
pub mod stream;

/// Schemes of its addresses: those of the web are as good, since each socket begins with a request.
pub const SCHEMES: [Scheme; 4] = [
    Scheme::at("ws", 80, TlsUse::Never, WEB[0].credentials),
    Scheme::at("wss", 443, TlsUse::AtOnce, WEB[0].credentials),
    WEB[0],
    WEB[1],
];
/// Bytes of a message that is read, at most.
pub const MESSAGE_LIMIT: usize = 16 << 20;
