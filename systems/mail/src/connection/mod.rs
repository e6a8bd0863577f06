//! Connections: accepted, counted, carried through a session, closed.
//!
//! One task a connection. It reads into a buffer that grows only while content flows, writes what the session says
//! in as few calls as its client allows, and keeps to the bounds of time and memory.
//!
//! In reading order: `smtp` (what they share), [`listener`] (accepts, rejects, drains), `task` (one connection), `wire`
//! (reading and writing with time-outs, in the clear and over TLS), `buffer`.

mod buffer;
pub mod listener;
mod smtp;
mod task;
mod wire;

pub use listener::serve;
pub use smtp::Smtp;

#[cfg(test)]
mod tests;
