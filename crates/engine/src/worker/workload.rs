//! The data that every worker of a trial gets before it begins.

use std::sync::Arc;

use plan::journey::{Journey, Step};
use plan::load::{ArrivalProcess, Load, Model, Stop};
use plan::mix::Mix;
use plan::operation::{Operation, TargetOf};
use plan::plan::TrialPlan;
use plan::plan_share::PlanShare;
use plan::schedule::nanos;
use record::summary::FAILURES_LISTED;
use record::{Layout, Listing, ReplayCounts, WindowSpan};

use super::backlog::Backlog;
use super::share::WorkerShare;
use super::tracing::Tracing;
use crate::driver::Driver;
use crate::transport::Endpoint;

/// Everything that the workers of a trial share: made once, never changed.
#[derive(Debug)]
pub(crate) struct Workload<D: Driver> {
    /// The driver of the protocols that it uses.
    pub(crate) driver: Arc<D>,
    /// The mix as compiled.
    pub(crate) prepared: Vec<PreparedOperation<D::Operation>>,
    /// The mix as planned.
    pub(crate) operations: Vec<Operation>,
    /// Those that belong together.
    pub(crate) journeys: Vec<Journey>,
    /// Each operation as a step of its own, for users who perform some of them alone.
    pub(crate) alone: Vec<Step>,
    /// Where operations go.
    pub(crate) endpoints: Vec<Endpoint>,
    /// The load model and its limits.
    pub(crate) load: Load,
    /// Names that samples refer to.
    pub(crate) layout: Layout,
    /// When each phase begins.
    pub(crate) timeline: Timeline,
    /// The planned trial, with the seed of its measure phase.
    pub(crate) trial: TrialPlan,
    /// Its place among the trials executed at the same time, from 0.
    pub(crate) side: usize,
    /// What this machine performs of the plan.
    pub(crate) share: PlanShare,
    /// Generator threads.
    pub(crate) workers: usize,
    /// Most operations in flight at a time, over all workers; an open load misses operations beyond
    /// it.
    pub(crate) in_flight_cap: u64,
    /// Most journeys in progress at a time, over all workers; what is beyond is missed.
    pub(crate) journeys_cap: u64,
    /// Connections that each journey may open for itself, by journey; 0 where it uses those of the load.
    pub(crate) own_connections: Vec<u64>,
    /// Most of them at a time, over all workers; journeys beyond that are missed.
    pub(crate) own_connections_cap: u64,
    /// How operations get trace ids, if they get any.
    pub(crate) tracing: Option<Tracing>,
    /// Raw samples that wait for the disk, if samples are kept.
    pub(crate) samples: Option<Backlog>,
}

/// An operation ready to be performed.
#[derive(Debug)]
pub(crate) struct PreparedOperation<O> {
    /// The operation as its driver compiled it.
    pub(crate) operation: O,
    /// Where it goes.
    pub(crate) target: TargetOf,
    /// Number of items to read from the answer.
    pub(crate) items: usize,
    /// Whether it may carry a trace id.
    pub(crate) is_traced: bool,
}

/// When each phase begins, on the trial's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// The first user starts, or the warm-up begins.
    pub(crate) start: u64,
    /// Start of the warm-up.
    pub(crate) warm_from: u64,
    /// Start of the measure phase.
    pub(crate) measure_from: u64,
    /// Its end, `u64::MAX` where a count ends it.
    pub(crate) measure_to: u64,
    /// Length of a window.
    pub(crate) window: u64,
    /// Time-out of an operation, and time from the end of measuring to the drain deadline.
    pub(crate) timeout: u64,
}

impl<D: Driver> Workload<D> {
    /// This worker's part of a total that is split evenly over all shares and their workers; the first get the
    /// remainder.
    pub(crate) fn part(&self, total: u64, worker: usize) -> u64 {
        let (worker, workers) = (worker as u64, self.workers as u64);
        let total = if total == u64::MAX { total } else { self.share.part(total) };
        total / workers + u64::from(worker < total % workers)
    }

    /// What this worker performs.
    pub(super) fn share_of(&self, worker: usize) -> WorkerShare {
        WorkerShare { worker, workers: self.workers, share: self.share }
    }

    /// The operations that this machine lists one by one, if any.
    pub(crate) fn listing(&self) -> Option<Listing> {
        let failures = FAILURES_LISTED / u64::from(self.share.of.max(1));
        let by = judged_by(&self.load.model);
        self.tracing.is_some().then_some(Listing { by, failures })
    }

    /// Empty counts of a replay, if this trial is one. A journey is one arrival and many operations, so a mix with
    /// journeys has none.
    pub(crate) fn replay_counts(&self) -> Option<ReplayCounts> {
        let Model::Open { arrivals: ArrivalProcess::Replay { list, resolution, .. } } =
            &self.load.model
        else {
            return None;
        };
        let planned = match self.load.stop {
            Stop::Operations { count } => count.min(list.count()),
            Stop::Duration { after } => list.count_before(nanos(after)),
        };
        let last = list.cursor().at(planned.checked_sub(1)?)?.offset_ns;
        let counts = || ReplayCounts::new(last + 1, resolution.map(nanos));
        self.journeys.is_empty().then(counts)
    }

    /// The mix with this seed.
    pub(crate) fn mix(&self, seed: u64) -> Mix {
        Mix::new(&self.operations, &self.journeys, seed).of_load(&self.load)
    }

    /// The journey with this index of the layout; `None` where it is that of an operation.
    pub(crate) fn journey(&self, index: usize) -> Option<&Journey> {
        self.journeys.get(index.checked_sub(self.operations.len())?)
    }

    /// Connections that what was drawn from the mix may open for itself.
    pub(crate) fn own_connections(&self, index: usize) -> u64 {
        let journey = index.checked_sub(self.operations.len());
        journey.and_then(|journey| self.own_connections.get(journey)).map_or(0, |most| *most)
    }

    /// The steps of what was drawn from the mix.
    pub(crate) fn steps(&self, index: usize) -> &[Step] {
        match self.journey(index) {
            Some(journey) => &journey.steps,
            None => std::slice::from_ref(&self.alone[index]),
        }
    }

    /// The driver's notes on the operations, for the end of the trial.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let compiled = self.prepared.iter().zip(&self.operations);
        compiled.filter_map(|(prepared, operation)| {
            let note = self.driver.note(&prepared.operation)?;
            Some(format!("operation {}: {note}", operation.name))
        })
    }

    /// Seed of the warm-up, so that its draws differ from those of the measure phase.
    pub(crate) fn warm_seed(&self) -> u64 {
        // The fractional part of the golden ratio; any non-zero constant would work.
        self.trial.seed ^ 0x9E37_79B9_7F4A_7C15
    }
}

/// The time by which an operation of such a load is judged.
pub fn judged_by(model: &Model) -> WindowSpan {
    match model {
        Model::Open { .. } => WindowSpan::ResponseTime,
        Model::Closed | Model::Users { .. } => WindowSpan::ServiceTime,
    }
}
