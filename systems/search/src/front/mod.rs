//! The front: a reverse proxy before a service, and how it is started as a child process.
//!
//! Requests under `/_go/` are forwarded without that prefix, all others as they are. `/_front/healthz` and
//! `/_front/metrics` are the front's own. It appends its time to those of the parts behind it: `Server-Timing: …,
//! front;dur=1.234`, in milliseconds from when the request's head was read until the answer's head is sent on. That
//! includes the time of the parts behind and the wait for a connection; it does not include the wait for this thread.
//!
//! A front can be made worse on purpose: one request at a time (`serial`), CPU burned for each (`cost`), and more of it
//! for a share of them (`slow_share`, `slow_cost`).
//!
//! In reading order: `settings`, `cost`, `tally`; one request (`handler`), one thread (`worker`), all of them
//! (`server`); and a front as a child process ([`child`]).

pub mod child;
mod cost;
mod handler;
mod server;
mod settings;
mod tally;
mod worker;

pub use server::SYSTEM;
pub(crate) use settings::NAME;
