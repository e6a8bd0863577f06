//! The front: HTTP over a producer in another process, which it asks by the way that the path names.
//!
//! | request | asks the producer |
//! |---|---|
//! | `GET /api/users-via-api` | over HTTP |
//! | `GET /api/users-via-uds` | over a Unix socket |
//! | `GET /api/users-via-shm` | over shared memory, or with `file_race` over a file ([`crate::race`]) |
//!
//! `?users=` or `?size=` says how much, `?nonce=` what must come back inside the data. The answer is the producer's, decoded
//! and encoded anew as the original front did, and says in `Server-Timing` how long each part of that took.
//! Failures are `{"error":{"code":…,"message":…,"at":…}}` with the status of their code.
//!
//! Not here: the producer ([`crate::producer`]), and what a transport does ([`crate::transport`]).
//!
//! In reading order: errors (`api_error`); parsing (`request`); times (`times`); one request
//! (`handler`); the producer's process (`producer_process`); settings (`settings`); the whole
//! (`server`).

mod api_error;
mod handler;
mod producer_process;
mod request;
mod server;
mod settings;
mod times;

pub use server::SYSTEM;
pub use times::PARTS;

#[cfg(test)]
mod tests;
