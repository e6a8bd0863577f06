//! An edge: a caching proxy between clients and a programmable origin, and a monitor of the
//! messages that services send about each request.
//!
//! In reading order: the [`origin`] serves, waits and fails as recipes say; the [`proxy`] stands
//! before it, both in the clear or over [`tls`]; [`cast`] sends messages without waiting for them and
//! keeps account of each, [`monitor`] receives and counts them; [`assembly`] is all of it, each
//! part in a process of its own.

pub mod assembly;
pub mod cast;
pub mod monitor;
pub mod origin;
pub mod proxy;
pub mod tls;
