//! What is seen of a run while it goes on, on a whole screen of a terminal.
//!
//! In reading order: [`view`] is the state of the run as far as it is known, made from the same events and windows as the
//! record; [`screen`] draws it; [`audience`] takes the events over a bounded queue on a thread of its own, so that a slow
//! terminal delays nothing.
//!
//! Not here: the report of a finished run (see `pages`), the line of a terminal that is too small (see the binary).

pub mod audience;
pub mod screen;
pub mod second;
pub mod view;

#[cfg(test)]
mod tests;
