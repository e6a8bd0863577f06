//! An edge: a caching proxy between clients and a programmable origin, and a monitor of the
//! messages that it sends about each request.
//!
//! In reading order: [`cast`] sends messages that nobody waits for and keeps account of each,
//! [`monitor`] receives and counts them.

pub mod cast;
pub mod monitor;
