//! Closed and users' load: the next operation begins when the previous one has ended.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use plan::load::{Model, Stop, Think};
use plan::mix::Assignment;
use plan::schedule::nanos;

use super::connections::ConnectionGroup;
use super::due_operation::DueOperation;
use super::share::Assignments;
use super::slot::Slot;
use super::slot_handle::SlotHandle;
use super::state::{Stage, WorkerState};
use super::task::spawn;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// First pause after a connection that failed; it doubles with each further one.
const PAUSE_MIN: u64 = 1_000_000;
/// Longest pause: a closed loop must not spin on a target that refuses connections at once.
const PAUSE_MAX: u64 = 100_000_000;

/// The assignments of a worker; its actors take them in turn.
pub(super) struct Queue {
    warm: RefCell<Assignments>,
    measured: RefCell<Assignments>,
}

/// Pauses of one actor between its operations.
pub(super) struct Pauses {
    think: Think,
    seed: u64,
    /// Place of the next draw in the trial's stream; every actor has its own range, so its pauses do not depend on the
    /// number of workers.
    place: u64,
    refused: u32,
}

/// Starts the worker's share of connections or users; each stream of a connection and each user is an actor.
pub(super) fn start<C: Clock, N: Network, D: Driver>(state: &Rc<WorkerState<C, N, D>>) {
    let queue = Rc::new(Queue::new(state));
    let streams = state.workload.load.streams as usize;
    let mut group = ConnectionGroup::new(&state.workload);
    for (place, actor) in actors(state).enumerate() {
        if place % streams == 0 {
            group = ConnectionGroup::new(&state.workload);
        }
        state.actor_started();
        let slot = Slot::new(Rc::clone(state), Rc::new(SlotHandle::new()), Rc::clone(&group));
        spawn(state, act(slot, Rc::clone(&queue), actor));
    }
}

/// One connection or user before it begins.
pub(super) struct Actor {
    pub(super) starts_at: u64,
    /// From here on it begins nothing more.
    pub(super) ends_at: u64,
    pub(super) pauses: Pauses,
}

/// The worker's actors; the streams of one connection come one after the other.
pub(super) fn actors<C: Clock, N: Network, D: Driver>(
    state: &WorkerState<C, N, D>,
) -> impl Iterator<Item = Actor> {
    let workload = Arc::clone(&state.workload);
    let share = workload.share_of(state.worker);
    let (connections, think) = match workload.load.model {
        Model::Users { users, think, .. } => (users, think),
        _ => (workload.load.connections, Think::Fixed { pause: Duration::ZERO }),
    };
    let streams = u64::from(workload.load.streams);
    let owned = (0..u64::from(connections)).filter(move |&connection| share.owns(connection));
    let actors = owned.flat_map(move |connection| connection * streams..(connection + 1) * streams);
    actors.map(move |actor| {
        let (starts, ends) = presence(&workload.load.model, actor);
        let pauses = Pauses { think, seed: workload.trial.seed, place: actor << 32, refused: 0 };
        let start = workload.timeline.start;
        let ends_at = ends.map_or(u64::MAX, |ends| start.saturating_add(ends));
        Actor { starts_at: start.saturating_add(starts), ends_at, pauses }
    })
}

/// Offsets at which the k-th actor begins, and begins no more.
fn presence(model: &Model, actor: u64) -> (u64, Option<u64>) {
    match model {
        Model::Users { ramp: Some(ramp), .. } => {
            let user = u32::try_from(actor).unwrap_or(u32::MAX);
            let ends = ramp.ends_at(user).map(nanos);
            (nanos(ramp.starts_at(user)), ends)
        }
        Model::Users { spawn_rate, .. } => (spawn_offset(actor, *spawn_rate), None),
        _ => (0, None),
    }
}

/// Offset of the k-th user: computed from k, not from the previous offset.
pub(crate) fn spawn_offset(actor: u64, spawn_rate: f64) -> u64 {
    (actor as f64 / spawn_rate * 1e9).round() as u64
}

/// One connection or user.
async fn act<C: Clock, N: Network, D: Driver>(
    mut slot: Slot<C, N, D>,
    queue: Rc<Queue>,
    actor: Actor,
) {
    let state = Rc::clone(&slot.state);
    let Actor { starts_at, ends_at, mut pauses } = actor;
    let mut intended_at = starts_at;
    // The instant of the last answer, if nothing lies between it and the next operation.
    let mut answered_at = None;
    while intended_at < ends_at && awaits_turn(&mut slot, intended_at, answered_at).await {
        let Some((assignment, seed)) = queue.take(&state, intended_at) else {
            let measure_from = state.workload.timeline.measure_from;
            if intended_at >= measure_from {
                state.exhaust();
                break;
            }
            // No time is left for the warm-up.
            intended_at = measure_from;
            answered_at = None;
            continue;
        };
        // One clock reading serves as the end of one operation and the start of the next.
        let now = answered_at.unwrap_or_else(|| state.clock.now());
        let due = DueOperation {
            assignment,
            target: state.workload.prepared[assignment.operation].target.index(assignment.row),
            seed,
            intended_at,
            dispatched_at: now,
            acquired_at: now,
            step: None,
        };
        state.begin(&due);
        let ended = slot.perform(due).await;
        let stuck = !ended.connected || ended.at == now;
        intended_at = ended.at + pauses.next(stuck);
        answered_at = Some(ended.at).filter(|&at| at == intended_at);
    }
    state.actor_ended();
}

/// Waits for the intended start, unless it is now; false if the actor must begin no more operations.
async fn awaits_turn<C: Clock, N: Network, D: Driver>(
    slot: &mut Slot<C, N, D>,
    intended_at: u64,
    answered_at: Option<u64>,
) -> bool {
    let state = &slot.state;
    if answered_at.is_none() {
        return wait_until(slot, intended_at).await;
    }
    let is_over = state.stage() > Stage::Planning || state.is_exhausted();
    let goes_on = !is_over && intended_at < state.phases().measure_to;
    // The connection was just read from; its state is known until the runtime polls again.
    slot.trust_stream();
    goes_on
}

/// Waits until the instant; false if the actor must begin no more operations.
async fn wait_until<C: Clock, N: Network, D: Driver>(slot: &mut Slot<C, N, D>, at: u64) -> bool {
    let state = Rc::clone(&slot.state);
    if at >= state.phases().measure_to {
        return false;
    }
    let mut wait = pin!(state.clock.sleep_until(at));
    slot.rest(|context| {
        if state.stage() > Stage::Planning || state.is_exhausted() {
            return Poll::Ready(false);
        }
        wait.as_mut().poll(context).map(|()| true)
    })
    .await
}

impl Queue {
    /// The worker's share of the mix.
    pub(super) fn new<C: Clock, N: Network, D: Driver>(state: &WorkerState<C, N, D>) -> Self {
        let workload = &state.workload;
        let share = workload.share_of(state.worker);
        let below = match workload.load.stop {
            Stop::Duration { .. } => u64::MAX,
            Stop::Operations { count } => count,
        };
        let assignments =
            |seed, below| RefCell::new(Assignments::new(workload.mix(seed), share, below));
        Self {
            warm: assignments(workload.warm_seed(), u64::MAX),
            measured: assignments(workload.trial.seed, below),
        }
    }

    /// What is next in the phase of this instant, and the seed of its content.
    pub(super) fn take<C: Clock, N: Network, D: Driver>(
        &self,
        state: &WorkerState<C, N, D>,
        intended_at: u64,
    ) -> Option<(Assignment, u64)> {
        let workload = &state.workload;
        if intended_at < workload.timeline.measure_from {
            return Some((self.warm.borrow_mut().next()?, workload.warm_seed()));
        }
        Some((self.measured.borrow_mut().next()?, workload.trial.seed))
    }
}

impl Pauses {
    /// Nanoseconds from an answer to the next intended start.
    pub(super) fn next(&mut self, stuck: bool) -> u64 {
        let think = nanos(self.think.pause(self.seed, self.place));
        self.place += 1;
        if !stuck {
            self.refused = 0;
            return think;
        }
        let pause = PAUSE_MIN.saturating_mul(1 << self.refused.min(30)).min(PAUSE_MAX);
        self.refused += 1;
        think.max(pause)
    }
}
