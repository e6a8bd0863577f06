//! A mail server that receives: one SMTP session per connection, and a kept promise behind each 250.
//!
//! A message is accepted only after its store has it: discarded, in memory, in a maildir on the disk, or accepted by
//! an HTTP hook. An HTTP API counts, lists and shows stored messages, for people who test code that sends mail, and
//! answers as an observer.
//!
//! Not here: relaying, queues, spam filters, the instrument (this crate does not know it), SMTP's grammar (a
//! library's).
//!
//! In reading order. Basic types: [`envelope`], [`refusal`]. Messages: [`store`]; counts:
//! [`ledger`]; HTTP: [`api`]. SMTP: [`input`] and [`command`] (parsing), [`reply`], [`session`]
//! (the state machine), [`faults`] (injected). Connections: [`tls`], [`connection`]. Start:
//! `settings`, `server`. Separate: [`crowd`], silent sessions.

pub mod api;
pub mod command;
pub mod connection;
pub mod crowd;
pub mod envelope;
pub mod faults;
pub mod input;
pub mod ledger;
pub mod refusal;
pub mod reply;
mod server;
pub mod session;
mod settings;
pub mod store;
pub mod tls;

pub use server::SYSTEM;
