//! The state that a worker's tasks share: one thread, so cells and no locks.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::{Poll, Waker};

use record::{Phases, PoolFacts, Recorder, Sample};

use super::brief::{Brief, Message};
use super::gauge::{Gauge, overlap};
use super::job::Job;
use super::pool::{Placed, Pool};
use super::seat::Seat;
use super::watchdog::Watchdog;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// How far a worker's shift has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Operations are begun.
    Planning,
    /// What was begun may finish.
    Draining,
    /// What is unfinished is given up.
    Abandoning,
    /// Lanes close.
    Closed,
}

/// One worker's state.
pub(super) struct Room<C: Clock, N: Network, D: Driver> {
    pub(super) clock: C,
    pub(super) network: N,
    pub(super) brief: Arc<Brief<D>>,
    pub(super) worker: usize,
    pub(super) watchdog: Watchdog,
    pub(super) gauge: Gauge,
    pub(super) facts: RefCell<PoolFacts>,
    /// `None` once the shift is over.
    recorder: RefCell<Option<Recorder>>,
    phases: Cell<Phases>,
    stage: Cell<Stage>,
    pools: RefCell<Vec<Pool>>,
    in_flight_cap: u64,
    limits_said: Cell<[bool; 2]>,
    lost: Cell<u64>,
    /// Raw samples that found no room on their way to the disk.
    pub(super) dropped: Cell<u64>,
    connections: Cell<u64>,
    /// Actors of a closed or users' load that may still begin something.
    actors: Cell<usize>,
    /// Whether the plan holds nothing more for them.
    empty: Cell<bool>,
    /// The worker's own task, which waits for one of the states here.
    foreman: RefCell<Option<Waker>>,
    panicked: Cell<bool>,
    messages: Sender<(usize, Message)>,
}

impl<C: Clock, N: Network, D: Driver> Room<C, N, D> {
    pub(super) fn new(
        (clock, network): (C, N),
        brief: Arc<Brief<D>>,
        worker: usize,
        messages: Sender<(usize, Message)>,
    ) -> Self {
        let timeline = brief.timeline;
        let phases = Phases {
            measure_from: timeline.measure_from,
            measure_to: timeline.measure_to,
            window: timeline.window,
        };
        let recorder = Recorder::new(worker, &brief.layout, phases, brief.samples.is_some());
        let connections = brief.share(u64::from(brief.load.connections), worker);
        let limit = connections * u64::from(brief.load.streams);
        let pools = brief.endpoints.iter().map(|_| Pool::new(limit)).collect();
        let in_flight_cap = brief.share(brief.in_flight_cap, worker).max(1);
        Self {
            clock,
            network,
            brief,
            worker,
            watchdog: Watchdog::default(),
            gauge: Gauge::new(),
            facts: RefCell::default(),
            recorder: RefCell::new(Some(recorder)),
            phases: Cell::new(phases),
            stage: Cell::new(Stage::Planning),
            pools: RefCell::new(pools),
            in_flight_cap,
            limits_said: Cell::new([false; 2]),
            lost: Cell::new(0),
            dropped: Cell::new(0),
            connections: Cell::new(0),
            actors: Cell::new(0),
            empty: Cell::new(false),
            foreman: RefCell::new(None),
            panicked: Cell::new(false),
            messages,
        }
    }

    /// Bounds of the measure phase as they are known now.
    pub(super) fn phases(&self) -> Phases {
        self.phases.get()
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Goes on to a later stage and lets every lane see it.
    pub(super) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
        self.watchdog.wake_all();
    }

    /// The measure phase ends here and no later; gives whether that is before the planned end.
    pub(super) fn end_measuring(&self, at: u64) -> bool {
        let mut phases = self.phases.get();
        let early = at < phases.measure_to;
        if early {
            phases.measure_to = at.max(phases.measure_from);
            self.phases.set(phases);
            self.with_recorder(|recorder| recorder.set_end(phases.measure_to));
        }
        early
    }

    /// Does something with the recorder; nothing once the shift is over.
    pub(super) fn with_recorder<T>(&self, act: impl FnOnce(&mut Recorder) -> T) -> Option<T> {
        self.recorder.borrow_mut().as_mut().map(act)
    }

    /// Takes the recorder, at the end of the shift.
    pub(super) fn take_recorder(&self) -> Option<Recorder> {
        self.recorder.borrow_mut().take()
    }

    /// Says something to the conductor; if nobody listens any more, nobody needs to know.
    pub(super) fn say(&self, message: Message) {
        let _ = self.messages.send((self.brief.side, message));
    }

    /// Counts an operation as taken up.
    pub(super) fn begin(&self, job: &Job) {
        self.with_recorder(|recorder| recorder.begin(job.assignment.operation, job.intended_at));
        self.gauge.begin((job.intended_at, job.dispatched_at), &self.phases.get());
    }

    /// Records how an operation ended.
    pub(super) fn end(&self, sample: &Sample<'_>, detail: Option<&str>) {
        self.with_recorder(|recorder| recorder.end(sample, detail));
        self.gauge.end((sample.intended_at, sample.finished_at), &self.phases.get());
        if self.gauge.count() == 0 && self.stage.get() > Stage::Planning {
            self.call_foreman();
        }
    }

    /// Places a due operation of an open load. Gives a seat if a lane must be made for it.
    pub(super) fn dispatch(&self, job: Job) -> Option<Rc<Seat>> {
        let operation = job.assignment.operation;
        if self.gauge.count() >= self.in_flight_cap {
            self.with_recorder(|recorder| recorder.miss(operation, job.intended_at));
            self.say_limit(0, ("in_flight_cap", self.brief.in_flight_cap), job.dispatched_at);
            return None;
        }
        self.begin(&job);
        let placed = self.pools.borrow_mut()[job.target].place(job);
        match placed {
            Placed::Assigned => None,
            Placed::NeedsLane => {
                let seat = Rc::new(Seat::new());
                seat.assign(job);
                Some(seat)
            }
            Placed::Waits => {
                if self.phases.get().measures(job.intended_at) {
                    self.facts.borrow_mut().waited += 1;
                }
                let load = &self.brief.load;
                let limit = u64::from(load.connections) * u64::from(load.streams);
                let name = if load.streams > 1 { "streams" } else { "connections" };
                self.say_limit(1, (name, limit), job.dispatched_at);
                None
            }
        }
    }

    /// The operation that waits longest for this target; without one, the lane becomes idle.
    ///
    /// The lane is free from its last read on, and what came while its driver still took leave did not wait before it came.
    pub(super) fn next_or_release(&self, target: usize, seat: &Rc<Seat>, now: u64) -> Option<Job> {
        let mut pools = self.pools.borrow_mut();
        if let Some(job) = pools[target].next_waiting() {
            return Some(Job { acquired_at: now.max(job.dispatched_at), ..job });
        }
        let stretch = pools[target].release(Rc::clone(seat), now);
        self.note_saturation(stretch);
        None
    }

    /// Everything that waits for a lane, at the end.
    pub(super) fn waiting(&self) -> Vec<Job> {
        let mut pools = self.pools.borrow_mut();
        pools.iter_mut().flat_map(|pool| std::iter::from_fn(|| pool.next_waiting())).collect()
    }

    /// Ends the books on the pools.
    pub(super) fn close_pools(&self, now: u64) {
        for pool in self.pools.borrow_mut().iter_mut() {
            self.note_saturation(pool.end_saturation(now));
        }
    }

    /// A connection was made.
    pub(super) fn connected(&self) {
        self.connections.set(self.connections.get() + 1);
        let mut facts = self.facts.borrow_mut();
        facts.connections_opened += 1;
        facts.connections_max = facts.connections_max.max(self.connections.get());
    }

    /// A connection is no more.
    pub(super) fn disconnected(&self) {
        self.connections.set(self.connections.get() - 1);
    }

    /// Nothing more is begun on a connection, which was not our plan.
    pub(super) fn lost(&self) {
        self.facts.borrow_mut().connections_lost += 1;
    }

    /// An idle connection went away.
    pub(super) fn lost_idle(&self) {
        self.lost.set(self.lost.get() + 1);
    }

    /// Idle connections that went away since the last call.
    pub(super) fn take_lost(&self) -> u64 {
        self.lost.replace(0)
    }

    /// An actor begins.
    pub(super) fn actor_comes(&self) {
        self.actors.set(self.actors.get() + 1);
    }

    /// An actor begins nothing more.
    pub(super) fn actor_goes(&self) {
        self.actors.set(self.actors.get() - 1);
        self.call_foreman();
    }

    /// The plan holds nothing more for actors; those who rest go.
    pub(super) fn exhaust(&self) {
        if !self.empty.replace(true) {
            self.watchdog.wake_all();
        }
    }

    /// Whether the plan holds nothing more for actors.
    pub(super) fn is_exhausted(&self) -> bool {
        self.empty.get()
    }

    /// Resolves when the plan holds nothing more and the last actor has gone.
    pub(super) async fn exhausted(&self) {
        self.until(|| self.empty.get() && self.actors.get() == 0).await;
    }

    /// Resolves when nothing is in flight.
    pub(super) async fn settled(&self) {
        self.until(|| self.gauge.count() == 0).await;
    }

    /// Resolves when a task of this worker has panicked.
    pub(super) async fn panicked(&self) {
        self.until(|| self.panicked.get()).await;
    }

    /// Notes that a task of this worker is unwinding.
    pub(super) fn note_panic(&self) {
        self.panicked.set(true);
        self.call_foreman();
    }

    /// Only the worker's own task may wait here: there is one waker.
    async fn until(&self, holds: impl Fn() -> bool) {
        poll_fn(|context| {
            if holds() {
                return Poll::Ready(());
            }
            *self.foreman.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn call_foreman(&self) {
        if let Some(waker) = &*self.foreman.borrow() {
            waker.wake_by_ref();
        }
    }

    fn say_limit(&self, which: usize, (name, value): (&'static str, u64), at: u64) {
        let mut said = self.limits_said.get();
        if !std::mem::replace(&mut said[which], true) {
            self.limits_said.set(said);
            self.say(Message::Limit { name, value, at });
        }
    }

    fn note_saturation(&self, stretch: Option<(u64, u64)>) {
        let phases = self.phases.get();
        let Some(stretch) = stretch else { return };
        let length = overlap(stretch, &phases);
        if length > 0 {
            let mut facts = self.facts.borrow_mut();
            facts.saturated_ns += length;
            let first = stretch.0.saturating_sub(phases.measure_from);
            facts.saturated_first_ns.get_or_insert(first);
        }
    }
}
