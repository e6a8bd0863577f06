//! Communication between a worker and the supervisor: signals to the worker, messages and a report
//! from it.

use std::sync::mpsc::Sender;

use record::{Batch, EarlyEnd, ListedSamples, PoolFacts, Totals};

use super::either::either;
use crate::stop::{EndSignal, StopSignal};

/// A worker's channel to the supervisor. A message carries the side of its trial.
#[derive(Debug, Clone)]
pub(crate) struct ConductorLink {
    /// Signals to the worker.
    pub(crate) stops: StopSignals,
    /// Messages from the worker.
    pub(crate) messages: Sender<(usize, Message)>,
}

/// What a worker reports while it runs.
#[derive(Debug)]
pub(crate) enum Message {
    /// A window of recorded results.
    Batch(Batch),
    /// A limit was reached for the first time.
    Limit {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: u64,
        /// When.
        at: u64,
    },
    /// Idle connections were lost.
    Lost {
        /// How many.
        count: u64,
        /// When that was noticed.
        at: u64,
    },
    /// The measure phase ended before the planned end.
    EndedEarly {
        /// Why.
        why: EarlyEnd,
        /// When it ended.
        at: u64,
    },
}

/// The signals that end a worker early.
#[derive(Debug, Clone)]
pub(crate) struct StopSignals {
    /// From the user.
    pub(crate) user: StopSignal,
    /// From the trial itself, when a process or worker has died.
    pub(crate) abort: StopSignal,
    /// From the run: ends the measure phase early and nothing else.
    pub(crate) end: EndSignal,
}

/// The result of a worker.
#[derive(Debug)]
pub(crate) struct WorkerReport {
    /// The operations that it lists one by one, if any.
    pub(crate) listed: Option<ListedSamples>,
    /// Counts and histograms.
    pub(crate) totals: Totals,
    /// Operations times nanoseconds of the measure phase.
    pub(crate) in_flight_integral: u128,
    /// Operations due in the measure phase times nanoseconds, from intended start to end.
    pub(crate) area: i128,
    /// Greatest number in flight.
    pub(crate) in_flight_max: u64,
    /// Its part of the pool.
    pub(crate) pool: PoolFacts,
    /// Connections opened, by target and address.
    pub(crate) addresses: Vec<Vec<u64>>,
    /// The actual end of the measure phase.
    pub(crate) measure_to: u64,
    /// When the last operation had ended.
    pub(crate) drained_at: u64,
    /// Raw samples that were dropped because the disk was too slow.
    pub(crate) samples_dropped: u64,
    /// Whether it was stopped early.
    pub(crate) interrupted: bool,
}

impl StopSignals {
    /// Resolves when the user or the trial has requested a stop this many times.
    pub(super) async fn requested(&self, times: u32) {
        either(self.user.requested(times), self.abort.requested(times)).await;
    }
}
