//! Processes that a trial starts: services, the system under test, observers.
//!
//! [`Launcher::start`] starts those of an arm in order, waits for each to be ready, and returns [`Processes`], which
//! measures them, notices when one ends, and always stops them in reverse order: also on panic, and by the kernel if
//! this process is killed. [`capture()`] runs a program and returns its output. No other module starts processes. Not
//! here: the meaning of the figures, and what an observer's answer proves (see `judge`).

mod addresses;
mod capture;
mod child;
mod error;
mod fault_injection;
mod launcher;
mod observation;
mod parts;
mod probe;
mod ready;
mod running;
mod scratch;
#[cfg(test)]
mod tests;
mod thread_scheduling;
mod usage;
mod wall_clock;

pub use addresses::Addresses;
pub use capture::{CaptureError, CaptureLimits, capture};
pub use error::ProcessError;
pub use launcher::Launcher;
pub use observation::{Observation, Observed};
pub use ready::ReadyLine;
pub use running::{Death, Processes};
pub use wall_clock::clock_bound_ns;

pub(crate) use thread_scheduling::{become_fifo, become_nice};
pub(crate) use usage::{own_cpu_ns, thread_cpu_ns};
