//! Parses one command line, or refuses it.
//!
//! `smtp-proto` parses generously, so commands that RFC 5321 and its extensions forbid are refused
//! before. Pure: it does not check the order of commands.
//!
//! In reading order: `path` (addresses), `parameters` (of `MAIL`), `verb` (the commands).

mod error;
mod parameters;
mod path;
mod verb;

pub use error::CommandError;
pub use parameters::{OfferedExtensions, Parameters};
pub use path::is_host;
pub use verb::{Command, Mechanism, parse};

#[cfg(test)]
mod tests;
