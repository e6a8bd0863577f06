//! RESP: commands as bytes, the end of a reply, and a reply as text. Pure functions on bytes.
//!
//! Source: the specification of RESP2 and RESP3 (`redis-specifications`, protocol/RESP3.md). Streamed strings and
//! aggregates, which no server sends, are refused.

pub mod command;
pub mod reply;
pub mod text;
mod token;

#[cfg(test)]
mod tests;
