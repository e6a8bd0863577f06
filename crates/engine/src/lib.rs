//! During a trial: clock, pacing, connections, transports, phases, recording, self-check, and the
//! processes under test.
//!
//! Not here: protocols (see `drivers`), the meaning of a result (see `judge`).

pub mod clock;
pub mod connect;
pub mod driver;
pub mod exchange;
pub mod file;
pub mod placement;
pub mod preflight;
pub mod process;
pub mod selfcheck;
mod stop;
pub mod transport;
pub mod trial;
mod worker;

pub use stop::{EndSignal, StopSignal};
