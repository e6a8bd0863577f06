//! What is seen of a run while it goes on: in a terminal, in browsers, and as metrics.
//!
//! In reading order: [`audience`] is what a run sends to each who watches, over a bounded queue; [`view`] is the state of
//! the run as far as it is known, made from the same events and windows as the record, with [`second`], [`outlook`] and
//! [`texts`]; [`terminal`] draws it on a whole screen, [`browser`] serves it as a page. [`metrics`] are what other programs
//! read of it, and [`push`] sends them.
//!
//! Not here: the report of a finished run (see `pages`), the line of a terminal that is too small (see the binary).

pub mod audience;
pub mod browser;
pub mod metrics;
pub mod outlook;
pub mod push;
pub mod second;
pub mod terminal;
pub mod texts;
pub mod view;

#[cfg(test)]
mod tests;
