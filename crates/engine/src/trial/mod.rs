//! Running one trial, or both trials of a duet: processes, workers, windows, events, and the facts at the end.
//!
//! [`run_trial`] runs it in real time on the caller's thread, with one pinned thread for each worker.
//! [`run_virtual`] runs it in virtual time on one thread. Everything from pacing to recording is the same code.
//! [`run_together`] and [`run_virtual_together`] run several trials at once. Not here: the loop over trials, and
//! any judgement.
//!
//! In reading order: the request (`setup`), both ways to run it (`real` with `threads`, `preparation`, `polling`, `scheduling`,
//! `supervisor` and `host`; `virtual_run`), the output meanwhile (`collector`, `completion_rate`, `failure_list`), and the facts at the
//! end (`facts`, `observers`). Without a load: `wakes`.

mod collector;
mod completion_rate;
mod error;
mod facts;
mod failure_list;
mod host;
mod observers;
mod polling;
mod preparation;
mod real;
mod scheduling;
mod setup;
mod supervisor;
#[cfg(test)]
mod tests;
mod threads;
mod virtual_run;
mod wakes;

use record::event::Event;
use record::{AllFailed, RawSample, Window};

pub use crate::worker::judged_by;
pub use error::TrialError;
pub use host::{Host, OnHostEvent, TrialEnd};
pub use real::{run_together, run_trial};
pub use setup::{Setup, Start, layout};
pub use virtual_run::{run_virtual, run_virtual_together};
pub use wakes::Wakes;

/// The output of a running trial.
#[derive(Debug)]
pub enum TrialOutput {
    /// An event happened.
    Event(Event),
    /// A window is complete.
    Window(Window),
    /// Windows that are not complete; with each progress, for the screen alone.
    Open {
        /// As far as they are known, the newest last.
        windows: Vec<Window>,
        /// Everything that ended before this instant is in them; from the start of the measure phase.
        until_ns: i64,
    },
    /// Raw samples, if they were requested.
    Samples(Vec<RawSample>),
    /// Every operation that has ended since the trial began has failed in the same way. Repeated while that holds.
    AllFailed(AllFailed),
}
