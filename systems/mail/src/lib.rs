//! A mail server that receives: an SMTP session on every connection, and a promise kept behind each 250.
//!
//! A message is accepted only after it is where the store said that it would be: nowhere at all, in memory,
//! in a maildir on the disk, or with whoever answers a hook. A door beside it, over HTTP, counts, lists and
//! shows what was stored, for people who test code that sends mail, and answers as an observer.
//!
//! Not here: relaying, queues, spam, the instrument (nothing of it is known), SMTP's grammar (a library's).
//!
//! In reading order. Words: [`envelope`], [`refusal`]. What becomes of a message: [`store`]; what is counted of it:
//! [`ledger`]; who may look: [`door`]. A conversation: [`input`] and [`command`] (what is asked), [`reply`] (what is
//! said), [`session`] (what follows from it), [`knobs`] (faults on purpose). A connection that carries it: [`tls`],
//! [`connection`]. What it is started with: `settings`; all of it together: `server`.
//! Beside it: [`crowd`], sessions that say nothing.

pub mod command;
pub mod connection;
pub mod crowd;
pub mod door;
pub mod envelope;
pub mod input;
pub mod knobs;
pub mod ledger;
pub mod refusal;
pub mod reply;
mod server;
pub mod session;
mod settings;
pub mod store;
pub mod tls;

pub use server::SYSTEM;
