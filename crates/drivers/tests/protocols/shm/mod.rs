//! The driver of shared-memory channels against producers of them, and against peers that are none.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod attacks;
mod exchanges;
mod failures;
mod peer;
mod stand;
mod streams;
mod times;
