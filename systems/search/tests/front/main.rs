//! The front as it is started: before upstreams of our own and of others, for clients of others, and beside other fronts.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod foreign;
mod others;
mod served;
mod test_front;
