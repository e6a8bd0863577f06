//! What the client asks for: one command line, understood or refused.
//!
//! `smtp-proto` knows the grammar; it is made for servers that are generous, so whatever it lets pass and RFC 5321 and
//! its extensions do not is refused before. Pure: whether a command is in order is not known here.
//!
//! In reading order: [`path`] (addresses), [`parameters`] (of `MAIL`), [`verb`] (the commands).

mod parameters;
mod path;
mod verb;

pub use parameters::Parameters;
pub use path::is_host;
pub use verb::{Command, Fault, Mechanism, Offers, parse};

#[cfg(test)]
mod tests;
