//! Waiting for instants of CLOCK_MONOTONIC: one `timerfd` with absolute deadlines for all tasks of
//! a thread. tokio's own timers have a grain of a millisecond, which is the size of what is
//! measured here.
//!
//! A clock of another kind uses [`Queue`] and [`Waits`] and shares [`Sleep`], as the engine's virtual time does.
//!
//! Not here: virtual time, and dates.

mod queue;
mod sleep;
mod timer;

pub use queue::{Key, Queue};
pub use sleep::{Sleep, Waits};
pub use timer::{Timer, monotonic};
