//! An edge as a whole: the proxy in this process, an origin behind it and a monitor beside it as processes of their own.
//!
//! Each of the three uses processor time and memory of its own, which can be told apart. A part that dies is started again
//! where it was; the proxy goes on meanwhile. What was added to an origin is gone with it, and so is what a monitor counted.
//!
//! Not here: what the parts do ([`crate::origin`], [`crate::proxy`], [`crate::monitor`]), and how one is supervised
//! ([`serving::supervisor`]).
//!
//! In reading order: `settings`, and `server`, which puts it together.

mod server;
mod settings;

pub use server::SYSTEM;
