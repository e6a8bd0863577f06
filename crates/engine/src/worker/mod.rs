//! One worker: a thread's share of the load, from the plan to the record.
//!
//! Open loads, closed loads and users differ only in where the next operation comes from; the same slots
//! perform them. Everything here is generic over clock, network and driver, and runs in virtual time as it
//! does in real time. Workers share nothing.
//!
//! In reading order: what a worker gets (`workload`) and sends back (`message`), its share of the plan
//! (`share`), the state that its tasks share (`state`, with `pool`, `slot_handle`, `gauge`), the sources of
//! operations (`pacer`, `actors`, `journeys`), their execution (`slot`, `connections`, `address_use`, `watchdog`, `tracing`), the hand-over of
//! windows (`window_roller`, `backlog`), and the order of it all (`run`).

mod actors;
mod address_use;
mod backlog;
mod connections;
mod due_operation;
mod either;
mod gauge;
mod journeys;
mod message;
mod pacer;
mod pool;
mod run;
mod share;
mod slot;
mod slot_handle;
mod state;
mod task;
mod tracing;
mod watchdog;
mod window_roller;
mod workload;

pub(crate) use backlog::Backlog;
pub(crate) use either::{First, either};
pub(crate) use message::{ConductorLink, Message, StopSignals, WorkerReport};
pub(crate) use run::run_worker;
pub(crate) use tracing::Tracing;
pub use workload::judged_by;
pub(crate) use workload::{PreparedOperation, Timeline, Workload};
