//! A multicast registry: identities with metadata, and one message to all that a filter matches.
//!
//! Identities register with metadata and a time to live; clients enumerate those that a filter
//! matches or send each of them a message. Recipients subscribe, one or many on a connection, and
//! acknowledge deliveries: *delivered* means acknowledged.
//!
//! Not here: the instrument (nothing of it is known), servers of other protocols (Redis and NATS
//! are driven through their clients), durable queues beyond what the bus keeps.
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
