//! The target as its clients see it: every mode, over real sockets on ports of the kernel's choice.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod behaviours;
mod control;
mod ending;
mod running;
mod timings;
mod tokens;
