//! The proxy as it is started: before upstreams that play a part, and before and behind those of others.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod blocked;
mod browser;
mod circuit;
mod clients;
mod collapse;
mod endings;
mod floods;
mod foreign;
mod frames;
mod house;
mod http2;
mod interims;
mod messages;
#[path = "../shared/peers.rs"]
mod peers;
mod poison;
mod rules;
mod served;
mod session;
mod times;
