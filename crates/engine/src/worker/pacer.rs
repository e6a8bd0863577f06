//! Open load: every operation begins when the schedule says so, whatever became of the others.

use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use plan::load::ArrivalProcess;
use plan::mix::Mix;
use plan::schedule::Schedule;

use super::bundle::Bundles;
use super::job::Job;
use super::lane::Lane;
use super::room::{Room, Stage};
use super::seat::Seat;
use super::shift::spawn;
use super::turns::{Arrivals, Share};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// Dispatches the worker's share of warm-up and measure phase.
pub(super) async fn pace<C: Clock, N: Network, D: Driver>(
    room: &Rc<Room<C, N, D>>,
    process: &ArrivalProcess,
) {
    let brief = Arc::clone(&room.brief);
    let share = Share { worker: room.worker, workers: brief.workers };
    let timeline = brief.timeline;
    let length = Duration::from_nanos(timeline.measure_from - timeline.warm_from);
    let seed = brief.warm_seed();
    let schedule = Schedule::warm_up(process, length, &brief.trial);
    let mut bundles = Bundles::new(room);
    let mut warm = Arrivals::new(schedule, Mix::new(&brief.operations, seed), share);
    follow(room, &mut bundles, &mut warm, (timeline.warm_from, seed)).await;
    let (schedule, seed) =
        (Schedule::of_trial(process, brief.load.stop, &brief.trial), brief.trial.seed);
    let mut arrivals = Arrivals::new(schedule, Mix::new(&brief.operations, seed), share);
    follow(room, &mut bundles, &mut arrivals, (timeline.measure_from, seed)).await;
    if let Some(offset) = arrivals.cut_at() {
        room.end_measuring(timeline.measure_from + offset);
    }
}

/// Dispatches arrivals, each at its instant. When it is late, everything that is due goes out at
/// once, in order: nothing is skipped, nothing is slowed down.
async fn follow<C: Clock, N: Network, D: Driver>(
    room: &Rc<Room<C, N, D>>,
    bundles: &mut Bundles<C, N, D>,
    arrivals: &mut Arrivals,
    (from, seed): (u64, u64),
) {
    for (offset, assignment) in arrivals {
        let intended_at = from + offset;
        let mut now = room.clock.now();
        if now < intended_at {
            room.clock.sleep_until(intended_at).await;
            now = room.clock.now();
        }
        let target = room.brief.prepared[assignment.operation].target.index(assignment.row);
        let job =
            Job { assignment, target, seed, intended_at, dispatched_at: now, acquired_at: now };
        if let Some(seat) = room.dispatch(job) {
            let bundle = bundles.place(room, target);
            spawn(room, serve(Lane::new(Rc::clone(room), seat, bundle), target));
        }
    }
}

/// A lane of the pool: performs what its mailbox holds, then what waits, then rests.
async fn serve<C: Clock, N: Network, D: Driver>(mut lane: Lane<C, N, D>, target: usize) {
    let (room, seat) = (Rc::clone(&lane.room), Rc::clone(&lane.seat));
    while let Some(job) = lane.rest(|_| next(&seat, &room)).await {
        let mut job = Some(job);
        while let Some(due) = job {
            let ended = lane.perform(due).await;
            job = room.next_or_release(target, &seat, ended.at);
        }
    }
}

fn next<C: Clock, N: Network, D: Driver>(seat: &Seat, room: &Room<C, N, D>) -> Poll<Option<Job>> {
    match seat.take() {
        Some(job) => Poll::Ready(Some(job)),
        None if room.stage() == Stage::Closed => Poll::Ready(None),
        None => Poll::Pending,
    }
}
