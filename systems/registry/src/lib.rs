//! A multicast registry: identities with metadata, and one message to all that match a filter.
//!
//! Identities register with metadata and a time to live; clients enumerate the identities that
//! match a filter, or send each of them a message. Recipients subscribe, one or many on a
//! connection, and acknowledge deliveries: *delivered* means acknowledged.
//!
//! Not here: the instrument (this crate does not know it), servers of other protocols (Redis and
//! NATS are used through their clients), durable queues beyond those of the bus.
//!
//! In reading order. Basic types: [`api_error`], [`identity`], [`message`]. Registrations:
//! [`query`], [`schema`] of metadata, [`store`] and its [`clock`]. Messages: [`subscription`],
//! [`bus`], and [`fanout`], which tracks deliveries. Above both: the operations in [`service`],
//! [`access`] by tokens, HTTP in [`api`], [`metrics`]. Separate: [`receivers`], which subscribe,
//! acknowledge and count.

pub mod access;
pub mod api;
pub mod api_error;
pub mod bus;
pub mod clock;
pub mod fanout;
pub mod identity;
pub mod message;
pub mod metrics;
mod object;
pub mod query;
pub mod receivers;
pub mod schema;
mod server;
pub mod service;
mod settings;
pub mod store;
pub mod subscription;
#[cfg(test)]
mod test_disk;

pub use server::SYSTEM;
