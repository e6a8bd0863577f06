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
//! Not here: the producer ([`crate::producer`]), and what a way does ([`crate::way`]).
//!
//! In reading order: what went wrong (`fault`); what is asked (`question`); how long it took (`times`); one request
//! (`desk`); the producer as a process that is kept alive (`keeper`); settings (`settings`); all of it (`server`).

mod desk;
mod fault;
mod keeper;
mod question;
mod server;
mod settings;
mod times;

pub use server::SYSTEM;
pub use times::PARTS;

#[cfg(test)]
mod tests;
