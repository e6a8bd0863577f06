//! Connections: accepted, counted, carried through a session, closed.
//!
//! One task a connection. It reads into a buffer that grows only while content flows, writes what the session says
//! in as few calls as its client allows, and keeps to the bounds of time and memory.
//!
//! In reading order: [`listener`] (accepts, turns away, drains), `carrier` (one connection's task), `wire` (reading
//! and writing in time, in the clear and over TLS), `buffer`.

mod buffer;
mod carrier;
pub mod listener;
mod wire;

pub use listener::{Smtp, serve};

#[cfg(test)]
mod tests;
