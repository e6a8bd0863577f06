//! Subscribers: sockets that are open before a load begins, and count which published messages reach each of them.
//!
//! Publishing is an operation of the load, over any protocol; its payload has the mark `{{nonce}}`. What arrives is counted
//! here, in another process: at how many sockets, how late, how often.
//!
//! In reading order: [`ledger`] counts, `socket` opens and listens, `server` combines them.
//!
//! Not here: publishing, and answers to messages (both are operations).

pub mod ledger;
mod server;
mod settings;
mod socket;

pub use server::SYSTEM;
