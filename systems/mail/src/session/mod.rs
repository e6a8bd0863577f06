//! One SMTP session without its connection: bytes in, replies and actions out.
//!
//! A [`Session`] gets the bytes that were read and returns the next action: read more, wait, pass content to the
//! store, switch to TLS, close. It does no I/O and has no clock, so tests can drive it with any bytes, split anywhere.
//! Its [`Settings`] bound its memory.
//!
//! In reading order: [`settings`], [`counts`], `machine` (the states), `commands` (what each command does in each),
//! `transaction` and `transfer` (content, by `DATA` and by `BDAT`), [`auth`].

pub mod auth;
mod commands;
pub mod counts;
mod machine;
pub mod settings;
mod transaction;
mod transfer;

pub use counts::Counts;
pub use machine::{Action, Origin, Session, Step, Waiting};
pub use settings::{Policy, Settings};

#[cfg(test)]
mod tests;
