//! Stores: one suite of conduct for all of them, and what each one promises beyond it.
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
