//! Connections: accepted, counted, served by a session, closed.
//!
//! One task per connection. It reads into a buffer that grows only while content arrives, writes the session's replies
//! in as few calls as the client allows, and enforces the limits of time and memory.
//!
//! In reading order: `smtp` (shared state), [`listener`] (accepts, rejects, drains), `task` (one connection), `wire`
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
