//! HTTP/1.1 answers as pure functions on bytes: heads, framing, chunks.
//!
//! Not here: reading and writing (see `conversation`), and any judgement of the answer (see
//! `expect`). Source: RFC 9112.

pub mod body;
pub mod chunked;
pub mod head;

#[cfg(test)]
mod tests;
