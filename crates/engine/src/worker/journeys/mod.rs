//! Journeys in progress: no task for each, but a place in a slab, and an entry in a heap while it waits for its next
//! step.
//!
//! Slots perform the steps like any other operation. A journey with connections of its own lends them to the slot
//! that performs its step.

mod in_progress;
mod users;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use plan::journey::{Connections, Memory};
use plan::mix::Assignment;
use record::{Outcome, Sample, Spans, Status, StepOutcome, StepPlace};
use tokio::sync::Notify;

use super::connections::{ConnectionGroup, ConnectionSet};
use super::due_operation::{DueOperation, StepRef};
use super::either::either;
use super::pacer::dispatch;
use super::slot::Ended;
use super::state::{Stage, WorkerState};
use super::workload::Workload;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;
use in_progress::{After, InProgress, Next};
use users::Users;

pub(super) use users::start as start_users;

/// The journeys of a worker that have begun and not ended.
pub(super) struct Journeys<C: Clock, N: Network, D: Driver> {
    slab: RefCell<Slab<C, N, D>>,
    due: RefCell<BinaryHeap<Reverse<(u64, Due)>>>,
    /// Wakes the task that waits for the first entry of the heap.
    earlier: Notify,
    users: RefCell<Users>,
    /// Connections of their own that those in progress have or may still open.
    own_connections: Cell<u64>,
}

/// What comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The next step of the journey in this place.
    Step(u32),
    /// The next journey of this user.
    User(u32),
}

/// A journey that begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct JourneyStart {
    pub(super) assignment: Assignment,
    pub(super) seed: u64,
    pub(super) intended_at: u64,
    /// The user who performs it, in a load of users.
    pub(super) user: Option<u32>,
}

struct Slab<C: Clock, N: Network, D: Driver> {
    places: Vec<Option<InProgress<C, N, D>>>,
    free: Vec<u32>,
}

impl<C: Clock, N: Network, D: Driver> Journeys<C, N, D> {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            slab: RefCell::new(Slab { places: Vec::new(), free: Vec::new() }),
            due: RefCell::default(),
            earlier: Notify::new(),
            users: RefCell::default(),
            own_connections: Cell::new(0),
        }
    }

    /// Connections of their own that those in progress have or may still open.
    pub(super) fn own_connections(&self) -> u64 {
        self.own_connections.get()
    }

    fn promise(&self, connections: u64) {
        self.own_connections.set(self.own_connections.get() + connections);
    }

    fn release(&self, connections: u64) {
        self.own_connections.set(self.own_connections.get() - connections);
    }

    /// Forgets all of them.
    pub(super) fn clear(&self) {
        let mut slab = self.slab.borrow_mut();
        slab.places.clear();
        slab.free.clear();
    }

    /// Those in progress.
    pub(super) fn count(&self) -> u64 {
        let slab = self.slab.borrow();
        (slab.places.len() - slab.free.len()) as u64
    }

    /// What the journey of this step remembers.
    pub(super) fn memory(&self, step: StepRef) -> Option<Rc<Memory>> {
        let slab = self.slab.borrow();
        Some(Rc::clone(&slab.places.get(step.journey as usize)?.as_ref()?.memory))
    }

    /// Where this step is in the layout.
    pub(super) fn place(&self, workload: &Workload<D>, step: StepRef) -> Option<StepPlace> {
        self.with(step.journey, |journey| {
            let index = journey.assignment.operation.checked_sub(workload.operations.len())?;
            Some(StepPlace { journey: index, step: journey.current_step(workload) })
        })?
    }

    /// Whether the journey of this step has connections of its own.
    pub(super) fn has_own_connections(&self, state: &WorkerState<C, N, D>, step: StepRef) -> bool {
        self.with(step.journey, |journey| owns_connections(state, &journey.assignment))
            .unwrap_or(false)
    }

    /// The connections of the step's journey for this lane; `None` where it uses those of the load.
    pub(super) fn lend(
        &self,
        state: &WorkerState<C, N, D>,
        step: StepRef,
    ) -> Option<ConnectionSet<C, N, D>> {
        let mut slab = self.slab.borrow_mut();
        let journey = slab.places.get_mut(step.journey as usize)?.as_mut()?;
        if !owns_connections(state, &journey.assignment) {
            return None;
        }
        let lane = usize::from(step.lane);
        let kept = journey.connections.get_mut(lane).and_then(Option::take);
        Some(kept.unwrap_or_else(|| {
            let group = journey.group.get_or_insert_with(|| ConnectionGroup::new(&state.workload));
            ConnectionSet::joining(state, Rc::clone(group))
        }))
    }

    /// Takes back what was lent.
    pub(super) fn give_back(&self, step: StepRef, connections: ConnectionSet<C, N, D>) {
        let mut slab = self.slab.borrow_mut();
        let place = slab.places.get_mut(step.journey as usize);
        let Some(journey) = place.and_then(Option::as_mut) else { return };
        let lane = usize::from(step.lane);
        if journey.connections.len() <= lane {
            journey.connections.resize_with(lane + 1, || None);
        }
        journey.connections[lane] = Some(connections);
    }

    fn insert(&self, journey: InProgress<C, N, D>) -> u32 {
        let mut slab = self.slab.borrow_mut();
        match slab.free.pop() {
            Some(place) => {
                slab.places[place as usize] = Some(journey);
                place
            }
            None => {
                slab.places.push(Some(journey));
                (slab.places.len() - 1) as u32
            }
        }
    }

    fn remove(&self, place: u32) -> Option<InProgress<C, N, D>> {
        let mut slab = self.slab.borrow_mut();
        let journey = slab.places.get_mut(place as usize)?.take()?;
        slab.free.push(place);
        Some(journey)
    }

    /// Calls `act` with the journey in this place.
    fn with<T>(&self, place: u32, act: impl FnOnce(&mut InProgress<C, N, D>) -> T) -> Option<T> {
        self.slab.borrow_mut().places.get_mut(place as usize)?.as_mut().map(act)
    }

    /// Notes what comes due at this instant.
    fn schedule(&self, at: u64, due: Due) {
        let mut heap = self.due.borrow_mut();
        if heap.peek().is_none_or(|Reverse((first, _))| at < *first) {
            self.earlier.notify_one();
        }
        heap.push(Reverse((at, due)));
    }

    /// Takes what is due by now.
    fn take_due(&self, now: u64) -> Option<Due> {
        let mut heap = self.due.borrow_mut();
        heap.peek().filter(|Reverse((at, _))| *at <= now)?;
        heap.pop().map(|Reverse((_, due))| due)
    }

    fn first_due(&self) -> Option<u64> {
        self.due.borrow().peek().map(|Reverse((at, _))| *at)
    }
}

/// Whether the steps of this assignment use connections of their own.
fn owns_connections<C: Clock, N: Network, D: Driver>(
    state: &WorkerState<C, N, D>,
    assignment: &Assignment,
) -> bool {
    let journey = state.workload.journey(assignment.operation);
    journey.is_some_and(|journey| journey.connections == Connections::Own)
}

/// Begins steps and users' journeys when they are due. Runs until the worker ends.
pub(super) async fn run<C: Clock, N: Network, D: Driver>(state: Rc<WorkerState<C, N, D>>) {
    let journeys = &state.journeys;
    loop {
        match journeys.first_due() {
            None => journeys.earlier.notified().await,
            Some(at) => {
                either(state.clock.sleep_until(at), journeys.earlier.notified()).await;
            }
        }
        let now = state.clock.now();
        while let Some(due) = journeys.take_due(now) {
            match due {
                Due::Step(place) => proceed(&state, place, now),
                Due::User(user) => users::begin_next(&state, user, now),
            }
        }
    }
}

/// Begins a journey, or counts it as missed where that would exceed a limit.
pub(super) fn begin<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    start: JourneyStart,
    now: u64,
) {
    let operation = start.assignment.operation;
    let is_journey = state.workload.journey(operation).is_some();
    if !state.admits_journey(operation, start.intended_at, now) {
        return;
    }
    if is_journey {
        state.with_recorder(|recorder| recorder.begin(operation, start.intended_at));
    }
    state.journeys.promise(state.workload.own_connections(operation));
    let place = state.journeys.insert(InProgress::new(start));
    proceed(state, place, now);
}

/// Performs what is next for a journey, or waits for its time.
fn proceed<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    place: u32,
    now: u64,
) {
    loop {
        let next = state.journeys.with(place, |journey| journey.next(&state.workload, now));
        match next {
            None => return,
            Some(Next::Skip { step }) => end_step(state, place, step, StepOutcome::Skipped),
            Some(Next::Wait(at)) => return state.journeys.schedule(at, Due::Step(place)),
            Some(Next::Perform) => return perform(state, place, now),
            Some(Next::Finish) => return finish(state, place, false),
        }
    }
}

/// Begins all operations of the step that is due.
fn perform<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    place: u32,
    now: u64,
) {
    let workload = &state.workload;
    let started = state.journeys.with(place, |journey| {
        let step = journey.launch(workload);
        let assignment = Assignment { row: journey.row(workload), ..journey.assignment };
        (step, assignment, journey.seed, journey.due_at, journey.ordinal)
    });
    let Some((step, journey, seed, due_at, ordinal)) = started else { return };
    for (lane, &operation) in (0_u8..).zip(workload.steps(journey.operation)[step].operations()) {
        let assignment = Assignment { operation, ..journey };
        dispatch(
            state,
            DueOperation {
                assignment,
                target: workload.prepared[operation].target.index(assignment.row),
                seed,
                intended_at: due_at,
                dispatched_at: now,
                acquired_at: now,
                step: Some(StepRef {
                    journey: place,
                    lane,
                    ordinal: ordinal.wrapping_add(u32::from(lane)),
                }),
            },
        );
    }
}

/// An operation of a journey has ended, and was recorded.
pub(super) fn operation_ended<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    step: StepRef,
    ended: Ended,
) {
    let place = step.journey;
    let after = state.journeys.with(place, |journey| journey.ended(&state.workload, ended));
    match after {
        None | Some(After::Waits) => {}
        Some(After::Proceeds) => proceed(state, place, ended.at),
        Some(After::StepEnded { step, outcome, ends }) => {
            end_step(state, place, step, outcome);
            if ends {
                finish(state, place, outcome == StepOutcome::Abandoned);
            } else {
                proceed(state, place, ended.at);
            }
        }
    }
}

/// Gives up every journey that waits for its next step; those with operations in flight end with them.
pub(super) fn abandon_waiting<C: Clock, N: Network, D: Driver>(state: &Rc<WorkerState<C, N, D>>) {
    let waiting = std::mem::take(&mut *state.journeys.due.borrow_mut());
    for Reverse((_, due)) in waiting {
        if let Due::Step(place) = due {
            let begun = state.journeys.with(place, |journey| journey.begun_step(&state.workload));
            if let Some(step) = begun.flatten() {
                end_step(state, place, step, StepOutcome::Abandoned);
            }
            finish(state, place, true);
        }
    }
}

fn end_step<C: Clock, N: Network, D: Driver>(
    state: &WorkerState<C, N, D>,
    place: u32,
    step: usize,
    outcome: StepOutcome,
) {
    let of = state.journeys.with(place, |one| (one.assignment.operation, one.intended_at));
    let Some((operation, intended_at)) = of else { return };
    if state.workload.journey(operation).is_some() {
        state.with_recorder(|recorder| recorder.end_step(operation, step, intended_at, outcome));
    }
}

/// Ends a journey: records it, closes its connections, and lets its user go on.
fn finish<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    place: u32,
    abandoned: bool,
) {
    let Some(mut journey) = state.journeys.remove(place) else { return };
    for connections in journey.connections.drain(..).flatten() {
        connections.close_all();
    }
    let operation = journey.assignment.operation;
    state.journeys.release(state.workload.own_connections(operation));
    if state.workload.journey(operation).is_some() {
        record(state, &journey, abandoned);
    }
    if let Some(user) = journey.user {
        users::journey_ended(state, user, journey.due_at, journey.is_stuck());
    }
    state.journey_ended();
}

fn record<C: Clock, N: Network, D: Driver>(
    state: &WorkerState<C, N, D>,
    journey: &InProgress<C, N, D>,
    abandoned: bool,
) {
    let outcome = match journey.failure {
        _ if abandoned => Outcome::Abandoned,
        Some((kind, _)) => Outcome::Failed(kind),
        None => Outcome::Succeeded,
    };
    let intended_at = journey.intended_at;
    let finished_at = match outcome {
        Outcome::Abandoned => state.clock.now().max(intended_at),
        _ => journey.ended_at.max(intended_at),
    };
    let sample = Sample {
        operation: journey.assignment.operation,
        index: journey.assignment.index,
        step: None,
        trace: None,
        intended_at,
        dispatched_at: intended_at,
        acquired_at: intended_at,
        // The service time of a journey is its time without thinking.
        started_at: (intended_at + journey.thought).min(finished_at),
        finished_at,
        outcome,
        status: Status::None,
        spans: Spans::NONE,
        items: &[],
        bytes_sent: 0,
        bytes_received: 0,
    };
    let detail = journey.failure.map(|(_, step)| {
        let name = state.workload.steps(journey.assignment.operation)[step]
            .label(&state.workload.operations);
        format!("step {name}")
    });
    state.with_recorder(|recorder| recorder.end(&sample, detail.as_deref()));
}

/// Whether the worker still begins journeys.
fn begins<C: Clock, N: Network, D: Driver>(state: &WorkerState<C, N, D>, at: u64) -> bool {
    state.stage() == Stage::Planning && at < state.phases().measure_to
}
