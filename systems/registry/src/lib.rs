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
//! In reading order. Words: [`fault`], [`identity`], [`message`]. Who is there: [`filter`] and
//! [`query`] say whom, [`schema`] with what metadata, [`store`] keeps them. Who gets what: [`subscription`] knows who listens,
//! [`bus`] carries messages there.

pub mod bus;
pub mod fault;
pub mod filter;
pub mod identity;
pub mod message;
pub mod query;
pub mod schema;
pub mod store;
pub mod subscription;
