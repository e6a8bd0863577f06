//! Users who perform journeys: the next one begins when the one before has ended.

use std::rc::Rc;

use super::{Due, JourneyStart, begin, begins};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;
use crate::worker::actors::{Actor, Queue, actors};
use crate::worker::state::WorkerState;

/// The users of a worker.
#[derive(Default)]
pub(super) struct Users {
    /// What they take their journeys from; `None` before the first has come.
    queue: Option<Queue>,
    users: Vec<User>,
}

struct User {
    actor: Actor,
    /// When its next journey is due.
    next_at: u64,
}

/// Lets the worker's share of users come.
pub(in crate::worker) fn start<C: Clock, N: Network, D: Driver>(state: &Rc<WorkerState<C, N, D>>) {
    let mut users = state.journeys.users.borrow_mut();
    users.queue = Some(Queue::new(state));
    for (place, actor) in (0..).zip(actors(state)) {
        let next_at = actor.starts_at;
        users.users.push(User { actor, next_at });
        state.actor_started();
        state.journeys.schedule(next_at, Due::User(place));
    }
}

/// Begins the next journey of a user, which is due now; the user leaves where there is none.
pub(super) fn begin_next<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    user: u32,
    now: u64,
) {
    let (at, ends_at) = {
        let users = state.journeys.users.borrow();
        let user = &users.users[user as usize];
        (user.next_at, user.actor.ends_at)
    };
    if at >= ends_at || !begins(state, at) || state.is_exhausted() {
        return state.actor_ended();
    }
    let taken = {
        let users = state.journeys.users.borrow();
        users.queue.as_ref().and_then(|queue| queue.take(state, at))
    };
    let measure_from = state.workload.timeline.measure_from;
    match taken {
        Some((assignment, seed)) => {
            begin(state, JourneyStart { assignment, seed, intended_at: at, user: Some(user) }, now);
        }
        // Nothing is left for the warm-up.
        None if at < measure_from => wait_until(state, user, measure_from),
        None => {
            state.exhaust();
            state.actor_ended();
        }
    }
}

/// The journey of a user has ended; `stuck` if it must not begin again at once.
pub(super) fn journey_ended<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    user: u32,
    at: u64,
    stuck: bool,
) {
    let pause = state.journeys.users.borrow_mut().users[user as usize].actor.pauses.next(stuck);
    wait_until(state, user, at + pause);
}

fn wait_until<C: Clock, N: Network, D: Driver>(state: &WorkerState<C, N, D>, user: u32, at: u64) {
    state.journeys.users.borrow_mut().users[user as usize].next_at = at;
    state.journeys.schedule(at, Due::User(user));
}
