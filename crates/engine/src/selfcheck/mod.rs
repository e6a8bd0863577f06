//! Checks the generator itself: kernel figures, read at the start, every second, and at the end.
//!
//! Small functions read files of `/proc` and `/sys`, and pure functions parse them. A missing file
//! (no control group, no pressure figures) gives a note, never an error. All TCP counters are those
//! of the whole network namespace. Not here: thresholds that judge a trial (see `judge`): effects
//! decide, and resource figures only name the cause.

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
pub use machine::{Identity, identity, machine};
pub use polled::Polled;
pub use tasks::current_task;
pub use timing::Timing;

pub(crate) use files::{open_files, time_wait_sockets};
pub(crate) use polled::PollingEstimate;
pub(crate) use real_time::real_time_share;
pub(crate) use status::field as status_field;
