//! Closed and users' load: the next operation begins when the previous one has ended.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use plan::load::{Model, Stop, Think};
use plan::mix::Assignment;

use super::bundle::Bundle;
use super::job::Job;
use super::lane::Lane;
use super::room::{Room, Stage};
use super::seat::Seat;
use super::shift::spawn;
use super::turns::{Share, Turns};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// First pause after a connection that failed; it doubles with each further one.
const PAUSE_MIN: u64 = 1_000_000;
/// Longest pause: a closed loop must not spin on a target that refuses at once.
const PAUSE_MAX: u64 = 100_000_000;

/// The assignments of a worker, taken by its actors as they come by.
struct Queue {
    warm: RefCell<Turns>,
    measured: RefCell<Turns>,
}

/// Pauses of one actor between its operations.
struct Pauses {
    think: Think,
    seed: u64,
    /// Place of the next draw in the trial's stream; every actor has a stretch of its own, so that
    /// its pauses do not depend on the number of workers.
    place: u64,
    refused: u32,
}

/// Starts the worker's share of connections or users; each stream of the former and each of the latter is an actor.
pub(super) fn start<C: Clock, N: Network, D: Driver>(room: &Rc<Room<C, N, D>>) {
    let brief = &room.brief;
    let share = Share { worker: room.worker, workers: brief.workers };
    let below = match brief.load.stop {
        Stop::Duration { .. } => u64::MAX,
        Stop::Operations { count } => count,
    };
    let queue = Rc::new(Queue {
        warm: RefCell::new(Turns::new(&brief.operations, brief.warm_seed(), share, u64::MAX)),
        measured: RefCell::new(Turns::new(&brief.operations, brief.trial.seed, share, below)),
    });
    let (connections, spawn_rate, think) = match brief.load.model {
        Model::Users { users, spawn_rate, think } => (users, spawn_rate, think),
        _ => (brief.load.connections, f64::INFINITY, Think::Fixed { pause: Duration::ZERO }),
    };
    let streams = u64::from(brief.load.streams);
    for connection in (0..u64::from(connections)).filter(|&connection| share.owns(connection)) {
        let bundle = Bundle::new(room);
        for actor in connection * streams..(connection + 1) * streams {
            let comes_at = brief.timeline.start + spawn_offset(actor, spawn_rate);
            let pauses = Pauses { think, seed: brief.trial.seed, place: actor << 32, refused: 0 };
            room.actor_comes();
            let lane = Lane::new(Rc::clone(room), Rc::new(Seat::new()), Rc::clone(&bundle));
            spawn(room, act(lane, Rc::clone(&queue), comes_at, pauses));
        }
    }
}

/// Offset of the k-th user: computed from k, not from the one before.
pub(crate) fn spawn_offset(actor: u64, spawn_rate: f64) -> u64 {
    (actor as f64 / spawn_rate * 1e9).round() as u64
}

/// One connection or user.
async fn act<C: Clock, N: Network, D: Driver>(
    mut lane: Lane<C, N, D>,
    queue: Rc<Queue>,
    comes_at: u64,
    mut pauses: Pauses,
) {
    let room = Rc::clone(&lane.room);
    let mut intended_at = comes_at;
    // The instant of the last answer, where nothing lies between it and the next operation.
    let mut answered_at = None;
    while comes_to_turn(&mut lane, intended_at, answered_at).await {
        let Some((assignment, seed)) = queue.take(&room, intended_at) else {
            let measure_from = room.brief.timeline.measure_from;
            if intended_at >= measure_from {
                room.exhaust();
                break;
            }
            // Nothing is left for the warm-up.
            intended_at = measure_from;
            answered_at = None;
            continue;
        };
        // One reading of the clock serves for the end of one operation and the start of the next.
        let now = answered_at.unwrap_or_else(|| room.clock.now());
        let job = Job {
            assignment,
            target: room.brief.prepared[assignment.operation].target.index(assignment.row),
            seed,
            intended_at,
            dispatched_at: now,
            acquired_at: now,
        };
        room.begin(&job);
        let ended = lane.perform(job).await;
        let stuck = !ended.connected || ended.at == now;
        intended_at = ended.at + pauses.next(stuck);
        answered_at = Some(ended.at).filter(|&at| at == intended_at);
    }
    room.actor_goes();
}

/// Waits for the intended start, unless it is now; false if there is nothing to begin then.
async fn comes_to_turn<C: Clock, N: Network, D: Driver>(
    lane: &mut Lane<C, N, D>,
    intended_at: u64,
    answered_at: Option<u64>,
) -> bool {
    let room = &lane.room;
    if answered_at.is_none() {
        return wait_until(lane, intended_at).await;
    }
    let is_over = room.stage() > Stage::Planning || room.is_exhausted();
    let goes_on = !is_over && intended_at < room.phases().measure_to;
    // The connection was read from just now; nothing new is known of it until the runtime looks again.
    lane.trust_line();
    goes_on
}

/// Rests until the instant; false if there is nothing to begin then.
async fn wait_until<C: Clock, N: Network, D: Driver>(lane: &mut Lane<C, N, D>, at: u64) -> bool {
    let room = Rc::clone(&lane.room);
    if at >= room.phases().measure_to {
        return false;
    }
    let mut wait = pin!(room.clock.sleep_until(at));
    lane.rest(|context| {
        if room.stage() > Stage::Planning || room.is_exhausted() {
            return Poll::Ready(false);
        }
        wait.as_mut().poll(context).map(|()| true)
    })
    .await
}

impl Queue {
    fn take<C: Clock, N: Network, D: Driver>(
        &self,
        room: &Room<C, N, D>,
        intended_at: u64,
    ) -> Option<(Assignment, u64)> {
        let brief = &room.brief;
        if intended_at < brief.timeline.measure_from {
            return Some((self.warm.borrow_mut().next()?, brief.warm_seed()));
        }
        Some((self.measured.borrow_mut().next()?, brief.trial.seed))
    }
}

impl Pauses {
    /// Nanoseconds from an answer to the next intended start.
    fn next(&mut self, stuck: bool) -> u64 {
        let think = self.think.pause(self.seed, self.place);
        let think = u64::try_from(think.as_nanos()).unwrap_or(u64::MAX);
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
