//! The generator as a suspect: what the kernel says about it, read at start, each second, and end.
//!
//! Files of `/proc` and `/sys` are read by small functions; what they say is parsed by pure ones. A
//! file that is missing (no control group, no pressure figures) makes a note, never an error. All
//! TCP counters are those of the whole network namespace. Not here: any threshold that would judge
//! a trial (see `judge`): effects decide, resources only name the cause.

mod check;
mod counters;
mod files;
mod host;
mod machine;
mod polled;
mod real_time;
mod status;
mod tasks;
mod throttling;
mod timing;

pub use check::{SelfCheck, WorkerThread};
pub use machine::machine;
pub use polled::Polled;
pub use tasks::current_task;
pub use timing::Timing;

pub(crate) use files::{open_files, time_wait_sockets};
pub(crate) use polled::PollingEstimate;
pub(crate) use real_time::real_time_share;
pub(crate) use status::field as status_field;
