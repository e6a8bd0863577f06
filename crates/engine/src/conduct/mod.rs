//! The conduct of one trial, or of both trials of a duet: processes, workers, windows, events, and the facts at the end.
//!
//! [`run_trial`] does it in real time on the caller's thread, with one pinned thread a worker.
//! [`run_virtual`] does it in virtual time on one thread. What lies between pacing and record is the
//! same code; each is the case of one of [`run_together`] and [`run_virtual_together`]. Not here: the loop over trials, and any judgement.
//!
//! In reading order: what is asked for (`setup`), both ways to do it (`real` with `threads`, `polling` and
//! `watch`, `virtual_run`), what is said meanwhile (`desk`), and what is left at the end (`facts`,
//! `observers`).

mod desk;
mod error;
mod facts;
mod observers;
mod pace;
mod polling;
mod real;
mod setup;
#[cfg(test)]
mod tests;
mod threads;
mod virtual_run;
mod watch;

use record::event::Event;
use record::{AllFailed, RawSample, Window};

pub use error::ConductError;
pub use real::{run_together, run_trial};
pub use setup::{Setup, layout};
pub use virtual_run::{run_virtual, run_virtual_together};

/// What a trial says while it goes on.
#[derive(Debug)]
pub enum Output {
    /// Something happened.
    Event(Event),
    /// A window is complete.
    Window(Window),
    /// Raw samples, if they were asked for.
    Samples(Vec<RawSample>),
    /// Every operation that has ended since the trial began failed, and all in the same way. Said again and again.
    AllFailed(AllFailed),
}
