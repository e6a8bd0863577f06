//! The proxy between raw sockets on both sides: what is written on one, byte for byte, and what the other sees.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod bodies;
mod endings;
mod fixture;
mod framing;
mod headers;
mod interims;
mod pooling;
mod smuggling;
mod times;
mod uploads;
