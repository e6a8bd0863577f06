//! A worker's shift: plan, drain, report.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::Poll;

use plan::load::Model;
use record::{EarlyEnd, Outcome, PoolFacts, Sample, Spans, Totals};
use tokio::task::spawn_local;

use super::brief::{Brief, Message};
use super::job::Job;
use super::room::{Room, Stage};
use super::{actors, pacer, roller};
use crate::clock::Clock;
use crate::driver::Driver;
use crate::stop::{EndSignal, StopSignal};
use crate::transport::Network;

/// Who may end a shift before its time.
#[derive(Debug, Clone)]
pub(crate) struct Stops {
    /// The user.
    pub(crate) user: StopSignal,
    /// The conduct of the trial, when something has died.
    pub(crate) conduct: StopSignal,
    /// The conduct of the run, when enough is known: it ends the measure phase and nothing else.
    pub(crate) end: EndSignal,
}

/// What a worker leaves behind.
#[derive(Debug)]
pub(crate) struct Report {
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
    /// Where the measure phase really ended.
    pub(crate) measure_to: u64,
    /// When the last operation had ended.
    pub(crate) drained_at: u64,
    /// Raw samples that were not kept, because the disk could not keep up.
    pub(crate) samples_dropped: u64,
    /// Whether it was stopped before its time.
    pub(crate) interrupted: bool,
}

/// Does one worker's share of a trial. Call it within a local runtime; what it says carries the trial's side.
///
/// Errors: what happened if one of its tasks panicked
pub(crate) async fn work<C: Clock, N: Network, D: Driver>(
    means: (C, N),
    brief: Arc<Brief<D>>,
    worker: usize,
    (stops, messages): (Stops, Sender<(usize, Message)>),
) -> Result<Report, String> {
    let room = Rc::new(Room::new(means, brief, worker, messages));
    let watched = Rc::clone(&room);
    spawn(&room, async move { watched.watchdog.run(&watched.clock).await });
    spawn(&room, roller::roll(Rc::clone(&room)));
    match either(shift(&room, &stops), room.panicked()).await {
        First::Left(interrupted) => finish(&room, interrupted),
        First::Right(()) => Err(format!("a task of worker {worker} panicked")),
    }
}

/// Spawns a task of a worker; if it panics, the worker's own task learns of it.
pub(super) fn spawn<C: Clock, N: Network, D: Driver>(
    room: &Rc<Room<C, N, D>>,
    task: impl Future<Output = ()> + 'static,
) {
    struct Witness<C: Clock, N: Network, D: Driver>(Rc<Room<C, N, D>>);
    impl<C: Clock, N: Network, D: Driver> Drop for Witness<C, N, D> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                self.0.note_panic();
            }
        }
    }
    let witness = Witness(Rc::clone(room));
    spawn_local(async move {
        let _witness = witness;
        task.await;
    });
}

/// From the first operation to the last; gives whether somebody stopped it.
async fn shift<C: Clock, N: Network, D: Driver>(room: &Rc<Room<C, N, D>>, stops: &Stops) -> bool {
    let planned = either(plan(room), enough(room, stops));
    let ended = either(planned, stops.requested(1)).await;
    // What came due up to this instant counts as planned.
    let at = room.clock.now() + 1;
    let interrupted = matches!(ended, First::Right(()));
    if interrupted {
        room.end_measuring(at);
    } else if let First::Left(First::Right(why)) = ended
        && room.end_measuring(at)
    {
        room.say(Message::EndedEarly { why, at });
    }
    room.enter(Stage::Draining);
    let deadline = room.clock.now().saturating_add(room.brief.timeline.timeout);
    let too_long = either(room.clock.sleep_until(deadline), stops.requested(2));
    if let First::Right(_) = either(room.settled(), too_long).await {
        give_up(room).await;
    }
    interrupted || stops.user.requests() > 0
}

/// Resolves with the reason when enough is known while there is still something to begin.
async fn enough<C: Clock, N: Network, D: Driver>(
    room: &Rc<Room<C, N, D>>,
    stops: &Stops,
) -> EarlyEnd {
    let why = stops.end.requested().await;
    if room.is_exhausted() {
        // Everything that was planned has begun, so that nothing can be cut short any more.
        std::future::pending::<()>().await;
    }
    why
}

/// Begins operations until the measure phase is over.
async fn plan<C: Clock, N: Network, D: Driver>(room: &Rc<Room<C, N, D>>) {
    let brief = Arc::clone(&room.brief);
    match &brief.load.model {
        Model::Open { arrivals } => {
            pacer::pace(room, arrivals).await;
            room.clock.sleep_until(room.phases().measure_to).await;
        }
        Model::Closed | Model::Users { .. } => {
            actors::start(room);
            let end = room.clock.sleep_until(brief.timeline.measure_to);
            if let First::Left(()) = either(room.exhausted(), end).await {
                // Nothing is left to do: the phase ends with the last answer.
                room.end_measuring(room.gauge.changed_at() + 1);
            }
        }
    }
}

/// Ends what is unfinished at the drain deadline.
async fn give_up<C: Clock, N: Network, D: Driver>(room: &Rc<Room<C, N, D>>) {
    let now = room.clock.now();
    for job in room.waiting() {
        room.end(&abandoned(&job, now), None);
    }
    room.enter(Stage::Abandoning);
    room.settled().await;
}

fn abandoned(job: &Job, now: u64) -> Sample<'static> {
    Sample {
        operation: job.assignment.operation,
        index: job.assignment.index,
        intended_at: job.intended_at,
        dispatched_at: job.dispatched_at,
        acquired_at: now,
        started_at: now,
        finished_at: now,
        outcome: Outcome::Abandoned,
        status: 0,
        spans: Spans::none(),
        items: &[],
        bytes_sent: 0,
        bytes_received: 0,
    }
}

fn finish<C: Clock, N: Network, D: Driver>(
    room: &Rc<Room<C, N, D>>,
    interrupted: bool,
) -> Result<Report, String> {
    let drained_at = room.clock.now();
    room.enter(Stage::Closed);
    room.close_pools(drained_at);
    room.gauge.close(drained_at, &room.phases());
    roller::hand_over(room, drained_at.max(room.phases().measure_to));
    let recorder = room.take_recorder().ok_or("the recorder was taken twice")?;
    Ok(Report {
        totals: recorder.finish(),
        in_flight_integral: room.gauge.integral(),
        area: room.gauge.area(),
        in_flight_max: room.gauge.max(),
        pool: *room.facts.borrow(),
        measure_to: room.phases().measure_to,
        drained_at,
        samples_dropped: room.dropped.get(),
        interrupted,
    })
}

impl Stops {
    /// Resolves when either wished it so often.
    async fn requested(&self, times: u32) {
        either(self.user.requested(times), self.conduct.requested(times)).await;
    }
}

/// Which of two came first.
enum First<L, R> {
    Left(L),
    Right(R),
}

/// Waits for the first of two; the left one wins a draw.
async fn either<L, R>(
    left: impl Future<Output = L>,
    right: impl Future<Output = R>,
) -> First<L, R> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|context| {
        if let Poll::Ready(value) = left.as_mut().poll(context) {
            return Poll::Ready(First::Left(value));
        }
        right.as_mut().poll(context).map(First::Right)
    })
    .await
}
