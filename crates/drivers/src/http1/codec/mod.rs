//! HTTP/1.1 answers as pure functions on bytes: heads, framing, chunks.
//!
//! Not here: reading and writing (see `conversation`), and any judgement of the answer (see
//! `expect`). Source: RFC 9112.

pub mod body;
pub mod chunked;
pub mod field;
pub mod head;
pub mod protocol_error;
pub mod server_timing;

#[cfg(test)]
mod tests;
