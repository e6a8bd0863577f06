//! One SMTP session without its connection: bytes in, replies and actions out.
//!
//! A [`Session`] is fed what was read and says what has to happen next: read more, wait, hand content to the store,
//! go over to TLS, close. It does no I/O and knows no clock, so that a test can drive it with any bytes at any splits.
//! What it keeps is bounded by its [`Settings`].
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
