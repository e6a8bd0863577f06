//! Stores: one common suite for all of them, and additional tests of each.
//!
//! Redis is a real one; each test starts its own.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod clock;
mod contract;
mod coordinators;
mod embedded;
mod faults;
mod namespaces;
#[path = "../filters/random.rs"]
mod random;
mod requests;
mod server;
mod sets;
mod temp_folder;
