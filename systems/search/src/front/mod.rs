//! The front: a reverse proxy before a service, and how it is started as a child process.
//!
//! What is asked for under `/_go/` goes to the upstream without that prefix, and everything else as it is; what is
//! under `/_front/` is the front's own (`healthz`, `metrics`) and is not passed on. It tells its own time after those
//! of the parts behind it: `Server-Timing: …, front;dur=1.234`, in milliseconds from the request's head being read
//! until the answer's head is sent on. That holds all the time of the parts behind, and what the request waited for
//! a connection; it does not hold what it waited for this thread.
//!
//! On purpose it can be made worse: one request at a time (`serial`), CPU burned for each (`cost`), and more of it
//! for a share of them (`slow_share`, `slow_cost`).
//!
//! In reading order: `settings`, `cost`, `tally`; one request (`desk`), one thread (`lane`), all of them
//! (`server`); and a front as a child process ([`child`]).

pub mod child;
mod cost;
mod desk;
mod lane;
mod server;
mod settings;
mod tally;

pub use server::SYSTEM;
pub(crate) use settings::NAME;
