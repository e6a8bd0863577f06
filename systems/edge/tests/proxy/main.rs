//! The proxy as it is started: before upstreams that play a part, and before and behind those of others.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod blocked;
mod circuit;
mod collapse;
mod endings;
mod foreign;
mod house;
mod messages;
mod poison;
mod rules;
mod served;
mod times;
