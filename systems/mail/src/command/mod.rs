//! What the client asks for: one command line, understood or refused.
//!
//! `smtp-proto` parses generously, so commands that RFC 5321 and its extensions do not allow are
//! refused before. Pure: the order of commands is not known here.
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
