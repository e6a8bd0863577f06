//! Makes the workload of the workers from a planned trial.

use std::sync::Arc;
use std::time::Duration;

use plan::journey::{Journey, Step};
use plan::load::{Model, Stop};
use plan::operation::{CONNECTING, TargetOf, part_names};
use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::schedule::{Schedule, nanos};
use plan::target::Target;
use record::event::{Event, EventKind, Phase};
use record::{JourneyLayout, Layout};

use super::TrialError;
use super::host::TrialEnd;
use crate::driver::{CompileContext, Driver};
use crate::stop::{EndSignal, StopSignal};
use crate::transport::Endpoint;
use crate::worker::{Backlog, PreparedOperation, StopSignals, Timeline, Tracing, Workload};

/// A trial to be executed.
#[derive(Debug)]
pub struct Setup<'a, D: Driver> {
    /// The driver of the protocols in use.
    pub driver: Arc<D>,
    /// The arm, fully resolved.
    pub arm: &'a Arm,
    /// The planned trial of that arm.
    pub trial: &'a TrialPlan,
    /// Time of day at which the trial begins, RFC 3339, UTC.
    pub wall_clock: String,
    /// The time of day now, in the same form; the engine does not read the calendar.
    pub calendar: fn() -> String,
    /// The part of the operations that carry a trace id, if any do.
    pub trace_share: Option<f64>,
    /// How many raw samples of a worker may wait to be taken; `None` for no raw samples. Samples beyond the limit are
    /// dropped and counted.
    pub keep_samples: Option<u64>,
    /// Whether workers ask the kernel for real-time priority.
    pub real_time: bool,
    /// What this machine performs of the plan.
    pub share: PlanShare,
    /// When the load begins.
    pub start: Start<'a>,
    /// The user's signal to stop.
    pub stop: StopSignal,
    /// The signal to end the measure phase early.
    pub end: EndSignal,
}

/// When the load of a trial begins.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// As soon as everything is ready.
    Ready,
    /// At this instant of CLOCK_MONOTONIC.
    At(u64),
    /// At the instant that this returns, which is called once everything is ready; `None` calls the trial off.
    Appointed(&'a dyn Fn() -> Option<u64>),
}

impl std::fmt::Debug for Start<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ready => formatter.write_str("Ready"),
            Self::At(at) => write!(formatter, "At({at})"),
            Self::Appointed(_) => formatter.write_str("Appointed"),
        }
    }
}

impl<D: Driver> Setup<'_, D> {
    /// Number of workers: each needs a connection, or a user, of its own.
    pub(super) fn workers(&self, wanted: usize) -> usize {
        let actors = match self.arm.load.model {
            Model::Users { users, .. } => users,
            Model::Open { .. } | Model::Closed => self.arm.load.connections,
        };
        let actors = self.share.part(u64::from(actors));
        wanted.min(usize::try_from(actors).unwrap_or(usize::MAX)).max(1)
    }

    /// The signals that end it early.
    pub(super) fn stops(&self) -> StopSignals {
        let (user, end) = (self.stop.clone(), self.end.clone());
        StopSignals { user, abort: StopSignal::new(), end }
    }

    /// Length of the warm-up.
    pub(super) fn warm_up(&self) -> Duration {
        self.arm.load.warm_up.length()
    }

    /// How it ended.
    pub(super) fn ending<'w>(&self, workload: &'w Workload<D>) -> TrialEnd<'w> {
        TrialEnd {
            measure_from: workload.timeline.measure_from,
            stopped: self.stop.requests() > 0,
            items: &workload.layout.items,
        }
    }

    /// Nanoseconds from the start of the trial to that of the measure phase.
    pub fn lead_ns(&self) -> u64 {
        nanos(self.arm.load.ramp_up() + self.warm_up())
    }

    /// The first events of the trial. The measure phase is not dated yet: how long launching takes is not known.
    pub fn launched(&self) -> [Event; 2] {
        let at_ns = -self.lead_ns().cast_signed();
        let launch = EventKind::PhaseEntered { phase: Phase::Launch };
        [self.started(), launch].map(|kind| Event { at_ns, kind })
    }

    /// The first event of the trial.
    pub(super) fn started(&self) -> EventKind {
        EventKind::TrialStarted {
            trial: self.trial.index,
            arm: self.arm.name.clone(),
            wall_clock: self.wall_clock.clone(),
        }
    }

    /// Compiles the mix for these targets, whose placeholders are filled.
    ///
    /// Errors: everything that the driver rejects
    pub(super) fn compile(
        &self,
        targets: &[Target],
    ) -> Result<Vec<PreparedOperation<D::Operation>>, TrialError> {
        let mut prepared = Vec::new();
        let mut problems = Vec::new();
        for operation in &self.arm.operations {
            let wall_clock = self.wall_clock.as_str();
            match self.driver.compile(CompileContext { operation, targets, wall_clock }) {
                Ok(compiled) => prepared.push(PreparedOperation {
                    operation: compiled,
                    target: operation.target.clone(),
                    items: operation.items.len(),
                    is_traced: operation.is_traced,
                }),
                Err(found) => problems.extend(found),
            }
        }
        let is_whole = prepared.len() == self.arm.operations.len();
        if is_whole { Ok(prepared) } else { Err(TrialError::Compile(problems)) }
    }

    /// The workload of a trial that begins at `start`.
    fn workload(
        &self,
        side: usize,
        mix: PreparedMix<D>,
        workers: usize,
        start: u64,
    ) -> Workload<D> {
        let load = &self.arm.load;
        Workload {
            driver: Arc::clone(&self.driver),
            prepared: mix.operations,
            operations: self.arm.operations.clone(),
            journeys: self.arm.journeys.clone(),
            alone: (0..self.arm.operations.len()).map(Step::once).collect(),
            endpoints: mix.endpoints,
            layout: self.layout(),
            timeline: self.timeline(start),
            trial: self.trial.clone(),
            side,
            share: self.share,
            workers,
            in_flight_cap: load.in_flight_cap().unwrap_or(u64::MAX).max(1),
            journeys_cap: self.arm.journeys_cap(),
            own_connections: self
                .arm
                .journeys
                .iter()
                .map(|journey| {
                    journey.own_connections(&self.arm.operations, self.arm.targets.len())
                })
                .collect(),
            // Users, and the connections of a closed load, begin no more journeys than there are of them.
            own_connections_cap: match load.model {
                Model::Open { .. } => u64::from(load.connections),
                Model::Closed | Model::Users { .. } => u64::MAX,
            },
            tracing: self.tracing(),
            samples: self.keep_samples.map(|limit| Backlog::new(workers, limit)),
            load: load.clone(),
        }
    }

    /// How operations get trace ids; an arm none of whose operations can carry one lists nothing.
    fn tracing(&self) -> Option<Tracing> {
        let share = self.trace_share?;
        self.arm.operations.iter().any(|one| one.is_traced).then(|| Tracing::new(share))
    }

    /// Names that samples refer to.
    pub fn layout(&self) -> Layout {
        layout(self.arm, &*self.driver)
    }

    /// Length of a window, in nanoseconds.
    pub fn window_ns(&self) -> u64 {
        nanos(self.arm.load.window())
    }

    fn timeline(&self, start: u64) -> Timeline {
        let load = &self.arm.load;
        let warm_from = start + nanos(load.ramp_up());
        let measure_from = warm_from + nanos(self.warm_up());
        let length = self.measure_ns();
        Timeline {
            start,
            warm_from,
            measure_from,
            measure_to: length.map_or(u64::MAX, |length| measure_from + length),
            window: self.window_ns(),
            timeout: nanos(load.timeout),
        }
    }

    /// Length of the measure phase, if the plan has one.
    ///
    /// An open load of n operations lasts until the next one would begin; so n operations at a
    /// constant rate last n periods. Costs one walk through the schedule.
    pub fn measure_ns(&self) -> Option<u64> {
        let load = &self.arm.load;
        match (load.stop, &load.model) {
            (Stop::Duration { after }, _) => Some(nanos(after)),
            (Stop::Operations { count }, Model::Open { arrivals }) => {
                let one_more = Stop::Operations { count: count.saturating_add(1) };
                let last = Schedule::new(arrivals, one_more, self.trial.seed).last();
                Some(last.map_or(0, |last| {
                    if last.index < count { last.offset_ns + 1 } else { last.offset_ns }
                }))
            }
            (Stop::Operations { .. }, Model::Closed | Model::Users { .. }) => None,
        }
    }
}

/// The workloads of trials that begin together at `start`, unless they have an appointed time.
pub(super) fn workloads<D: Driver>(
    setups: &[Setup<'_, D>],
    mixes: Vec<PreparedMix<D>>,
    workers: usize,
    start: u64,
) -> Vec<Arc<Workload<D>>> {
    let sides = setups.iter().zip(mixes).enumerate();
    let workload = |(side, (setup, mix)): (usize, (&Setup<'_, D>, _))| {
        let start = if let Start::At(at) = setup.start { at } else { start };
        Arc::new(setup.workload(side, mix, workers, start))
    };
    sides.map(workload).collect()
}

/// The targets of a trial, resolved, and the mix compiled for them.
pub(super) struct PreparedMix<D: Driver> {
    /// A target stands here once for each kind of connection that operations need to it.
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) operations: Vec<PreparedOperation<D::Operation>>,
}

impl<D: Driver> PreparedMix<D> {
    /// The mix for these targets; operations that cannot share connections get places of their own.
    pub(super) fn new(
        driver: &D,
        mut endpoints: Vec<Endpoint>,
        mut operations: Vec<PreparedOperation<D::Operation>>,
    ) -> Self {
        // For each target: the places of its kinds, each with the first operation of that kind.
        let mut kinds: Vec<Vec<(usize, usize)>> = vec![Vec::new(); endpoints.len()];
        for number in 0..operations.len() {
            let TargetOf::Fixed(target) = operations[number].target else { continue };
            let shares = |first: usize| {
                let [one, other] = [first, number].map(|at| &operations[at].operation);
                driver.shares_connection(one, other)
            };
            let known = kinds[target].iter().find(|(_, first)| shares(*first));
            let known = known.map(|(place, _)| *place);
            let place = match known {
                Some(place) => place,
                None if kinds[target].is_empty() => target,
                None => {
                    endpoints.push(endpoints[target].clone());
                    endpoints.len() - 1
                }
            };
            if known.is_none() {
                kinds[target].push((place, number));
            }
            operations[number].target = TargetOf::Fixed(place);
        }
        Self { endpoints, operations }
    }
}

/// Names that the samples of an arm refer to.
pub fn layout<D: Driver>(arm: &Arm, driver: &D) -> Layout {
    let spans = CONNECTING.iter().chain(driver.span_names());
    Layout {
        operations: arm.operations.iter().map(|operation| operation.name.clone()).collect(),
        items: arm
            .operations
            .iter()
            .map(|operation| operation.items.iter().map(|item| item.name.clone()).collect())
            .collect(),
        spans: spans.map(|name| (*name).to_owned()).chain(part_names(&arm.operations)).collect(),
        journeys: arm.journeys.iter().map(|journey| journey_layout(journey, arm)).collect(),
    }
}

fn journey_layout(journey: &Journey, arm: &Arm) -> JourneyLayout {
    let performing = journey.steps.iter().filter(|step| !step.operations().is_empty());
    let steps = performing.map(|step| step.label(&arm.operations)).collect();
    JourneyLayout { name: journey.name.clone(), steps }
}
