//! A multicast registry: who is there, with what properties, and one message to all whom a filter
//! names.
//!
//! Identities register with metadata and a time to live; whoever asks can enumerate those that a
//! filter matches, or send each of them a message. Recipients subscribe, singly or many on one
//! connection, and acknowledge what they got: *delivered* means that the recipient said so.
//!
//! Not here: the instrument (nothing of it is known), servers of other protocols (Redis and NATS
//! are driven through their clients), durable queues beyond what the bus keeps.
//!
//! In reading order. Words: [`fault`], [`identity`], [`message`]. Who is there: [`query`]
//! says whom (with the filters of `filtering`), [`schema`] what metadata look like, [`store`] keeps them by its [`clock`]. Who
//! gets what:
//! [`subscription`] knows who listens, [`bus`] carries messages there, with [`fanout`] to keep
//! account of them. Over both: [`service`] holds the operations, [`access`] says who may, [`api`]
//! speaks HTTP, [`metrics`] tell. Beside it: [`receivers`], which subscribe, acknowledge and count.

pub mod access;
pub mod api;
pub mod bus;
pub mod clock;
#[cfg(test)]
mod disk;
pub mod fanout;
pub mod fault;
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

pub use server::SYSTEM;
