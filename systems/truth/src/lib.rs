//! A target of known behaviour: the right result of a measurement is known beforehand.
//! || An HTTP/1.1 server on one thread that fixes the instant of each answer when the request
//! arrives, or misbehaves in one well-defined way. It stamps every arrival on CLOCK_MONOTONIC and
//! reports how exactly a schedule was kept.
//! || Not here: what a real service needs (routing, TLS, HTTP/2). The README lists modes, settings
//! and the `/truth/` paths.
//! || Pure: the settings ([`configuration`]), when an answer is due ([`model`]), its bytes
//! ([`answer`]), the tokens of a chat completion ([`tokens`]) and their bytes ([`completion`]), the
//! record of arrivals ([`stamps`], [`schedule`], [`report`]), request heads ([`head`]). With
//! sockets: shared state ([`state`]), one connection ([`connection`]), the `/truth/` paths
//! ([`control`]), and the server that accepts and drains ([`server`]).

pub mod answer;
pub mod completion;
pub mod configuration;
mod connection;
mod control;
pub mod head;
pub mod model;
pub mod report;
pub mod schedule;
mod server;
pub mod stamps;
mod state;
pub mod tokens;

pub use server::{SYSTEM, Truth};
