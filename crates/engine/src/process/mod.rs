//! Processes that a trial starts: services, the system under test, observers.
//!
//! [`Launcher::start`] starts those of an arm in order, waits for each to be ready, and gives
//! [`Processes`], which measures them, notices their death, and stops them in reverse, always: also
//! on panic, and by the kernel if this process is killed. [`answer()`] runs a program for what it
//! prints. Here, and nowhere else, are processes started. Not here: what the figures mean, and
//! what an observer's answer proves (see `judge`).

mod answer;
mod child;
mod error;
mod launcher;
mod observed;
mod parts;
mod places;
mod probe;
mod ready;
mod running;
mod scratch;
mod strike;
#[cfg(test)]
mod tests;
mod thread_scheduling;
mod usage;

pub use answer::{Bounds, NoAnswer, answer};
pub use error::ProcessError;
pub use launcher::Launcher;
pub use observed::{Observation, Observed};
pub use places::Places;
pub use ready::ReadyLine;
pub use running::{Death, Processes};

pub(crate) use thread_scheduling::{become_fifo, become_nice};
pub(crate) use usage::{own_cpu_ns, thread_cpu_ns};
