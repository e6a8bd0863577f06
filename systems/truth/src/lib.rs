//! A target of known behaviour: what a measurement of it must show is known beforehand.
//!
//! A bytes-on-a-socket HTTP/1.1 server on one thread that answers each request at an instant that
//! arithmetic fixed when the request arrived, or misbehaves in one well-defined way. It stamps
//! every arrival on CLOCK_MONOTONIC and can tell how exactly a schedule was kept as *it* saw it.
//!
//! Not here: anything a real service needs (routing, TLS, HTTP/2), and nothing about who measures.
//! See the README beside this crate for modes, settings and the `/truth/` paths.
//!
//! In reading order. Pure: what was asked for ([`configuration`]), when an answer is due
//! ([`model`]), what it looks like ([`script`]), what was seen ([`stamps`], [`schedule`],
//! [`report`]), how a request is read ([`head`]). At work: time ([`timer`]), what connections share
//! ([`room`]), one conversation ([`connection`]), the `/truth/` paths ([`control`]), and the
//! server that accepts, sweeps and drains ([`server`]).

pub mod configuration;
mod connection;
mod control;
pub mod head;
pub mod model;
pub mod report;
mod room;
pub mod schedule;
pub mod script;
mod server;
pub mod stamps;
mod timer;

pub use server::{SYSTEM, Truth};
