//! The protocol of NATS clients: what a server sends, read, and what a client sends, written. Pure functions on bytes.
//!
//! Source: "Client Protocol" of docs.nats.io, and ADR-4 of nats-io/nats-architecture-and-design for headers.

pub mod acknowledgement;
pub mod command;
pub mod frame;
pub mod headers;
pub mod info;
pub mod server_error;

#[cfg(test)]
mod tests;
