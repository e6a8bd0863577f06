//! The state that a worker's tasks share: one thread, so cells and no locks.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::{Poll, Waker};

use plan::trace::TraceContext;
use record::{PhaseBounds, PoolFacts, Recorder, Sample};

use super::address_use::AddressUse;
use super::connections::{ConnectionGroup, ConnectionGroups};
use super::due_operation::DueOperation;
use super::gauge::{Gauge, overlap};
use super::journeys::Journeys;
use super::message::Message;
use super::pool::{Placed, Pool};
use super::slot_handle::SlotHandle;
use super::tracing::Tracer;
use super::watchdog::Watchdog;
use super::workload::Workload;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;

/// How far a worker has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Operations are begun.
    Planning,
    /// Operations in flight may finish.
    Draining,
    /// Unfinished operations are abandoned.
    Abandoning,
    /// Slots close.
    Closed,
}

/// One worker's state.
pub(super) struct WorkerState<C: Clock, N: Network, D: Driver> {
    pub(super) clock: C,
    pub(super) network: N,
    pub(super) workload: Arc<Workload<D>>,
    pub(super) worker: usize,
    pub(super) watchdog: Watchdog,
    pub(super) gauge: Gauge,
    pub(super) facts: RefCell<PoolFacts>,
    pub(super) addresses: AddressUse,
    tracer: Option<RefCell<Tracer>>,
    /// `None` once the worker has ended.
    recorder: RefCell<Option<Recorder>>,
    phases: Cell<PhaseBounds>,
    stage: Cell<Stage>,
    /// By target, and one more: the slots of steps whose journeys have connections of their own.
    pools: RefCell<Vec<Pool>>,
    groups: RefCell<ConnectionGroups<C, N, D>>,
    pub(super) journeys: Journeys<C, N, D>,
    in_flight_cap: u64,
    journeys_cap: u64,
    own_connections_cap: u64,
    limits_reported: Cell<[bool; 4]>,
    lost: Cell<u64>,
    /// Raw samples that were dropped because the disk was too slow.
    pub(super) dropped: Cell<u64>,
    connections: Cell<u64>,
    /// Actors of a closed or users' load that may still begin operations.
    actors: Cell<usize>,
    /// Whether the plan has no more operations for actors.
    exhausted: Cell<bool>,
    /// Wakes the worker's main task, which waits for one of the states here.
    worker_waker: RefCell<Option<Waker>>,
    panicked: Cell<bool>,
    messages: Sender<(usize, Message)>,
}

impl<C: Clock, N: Network, D: Driver> WorkerState<C, N, D> {
    pub(super) fn new(
        clock: C,
        network: N,
        workload: Arc<Workload<D>>,
        worker: usize,
        messages: Sender<(usize, Message)>,
    ) -> Self {
        let timeline = workload.timeline;
        let phases = PhaseBounds {
            measure_from: timeline.measure_from,
            measure_to: timeline.measure_to,
            window: timeline.window,
        };
        let recorder = Recorder::new(worker, &workload.layout, phases, workload.samples.is_some());
        let recorder = recorder.listing(workload.listing()).replaying(workload.replay_counts());
        let tracer = workload.tracing.as_ref().map(|tracing| tracing.tracer(worker).into());
        let connections = workload.part(u64::from(workload.load.connections), worker);
        let limit = connections * u64::from(workload.load.streams);
        let pools = workload.endpoints.iter().map(|_| Pool::new(limit));
        let pools = pools.chain([Pool::new(u64::MAX)]).collect();
        let groups = RefCell::new(ConnectionGroups::new(&workload));
        let addresses =
            AddressUse::new(&workload.endpoints, workload.share.number as usize + worker);
        let journeys_cap = workload.part(workload.journeys_cap, worker).max(1);
        let own_connections_cap = workload.part(workload.own_connections_cap, worker);
        let in_flight_cap = workload.part(workload.in_flight_cap, worker).max(1);
        Self {
            clock,
            network,
            workload,
            worker,
            watchdog: Watchdog::default(),
            gauge: Gauge::new(),
            facts: RefCell::default(),
            addresses,
            tracer,
            recorder: RefCell::new(Some(recorder)),
            phases: Cell::new(phases),
            stage: Cell::new(Stage::Planning),
            pools: RefCell::new(pools),
            groups,
            journeys: Journeys::new(),
            in_flight_cap,
            journeys_cap,
            own_connections_cap,
            limits_reported: Cell::new([false; 4]),
            lost: Cell::new(0),
            dropped: Cell::new(0),
            connections: Cell::new(0),
            actors: Cell::new(0),
            exhausted: Cell::new(false),
            worker_waker: RefCell::new(None),
            panicked: Cell::new(false),
            messages,
        }
    }

    /// Bounds of the measure phase as they are known now.
    pub(super) fn phases(&self) -> PhaseBounds {
        self.phases.get()
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Moves on to a later stage and wakes every slot.
    pub(super) fn enter(&self, stage: Stage) {
        self.stage.set(stage);
        self.watchdog.wake_all();
    }

    /// Ends the measure phase at this instant. Returns whether that is before the planned end.
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

    /// Calls `act` with the recorder; does nothing once the worker has ended.
    pub(super) fn with_recorder<T>(&self, act: impl FnOnce(&mut Recorder) -> T) -> Option<T> {
        self.recorder.borrow_mut().as_mut().map(act)
    }

    /// Takes the recorder, at the end.
    pub(super) fn take_recorder(&self) -> Option<Recorder> {
        self.recorder.borrow_mut().take()
    }

    /// Sends a message to the supervisor; without a receiver it is dropped.
    pub(super) fn send(&self, message: Message) {
        let _ = self.messages.send((self.workload.side, message));
    }

    /// What the request of this operation carries, if anything.
    pub(super) fn draw_trace(&self, operation: usize) -> Option<TraceContext> {
        let tracer = self.tracer.as_ref()?;
        self.workload.prepared[operation].is_traced.then(|| tracer.borrow_mut().draw())?
    }

    /// Whether operations are listed one by one.
    pub(super) fn lists(&self) -> bool {
        self.tracer.is_some()
    }

    /// Counts an operation as begun.
    pub(super) fn begin(&self, due: &DueOperation) {
        self.with_recorder(|recorder| recorder.begin(due.assignment.operation, due.intended_at));
        self.gauge.begin(due.intended_at, due.dispatched_at, &self.phases.get());
    }

    /// Records how an operation ended.
    pub(super) fn end(&self, sample: &Sample<'_>, detail: Option<&str>) {
        self.with_recorder(|recorder| recorder.end(sample, detail));
        self.gauge.end(sample.intended_at, sample.finished_at, &self.phases.get());
        self.wake_if_settled();
    }

    /// A journey has ended.
    pub(super) fn journey_ended(&self) {
        self.wake_if_settled();
    }

    fn wake_if_settled(&self) {
        if self.stage.get() > Stage::Planning && self.is_settled() {
            self.wake_worker();
        }
    }

    fn is_settled(&self) -> bool {
        self.gauge.count() == 0 && self.journeys.count() == 0
    }

    /// The pool whose slots perform this operation.
    pub(super) fn pool_of(&self, due: &DueOperation) -> usize {
        match due.step {
            Some(step) if self.journeys.has_own_connections(self, step) => {
                self.workload.endpoints.len()
            }
            _ => due.target,
        }
    }

    /// The connections of a new slot in this pool.
    pub(super) fn group_of(&self, pool: usize) -> Rc<ConnectionGroup<C, N, D>> {
        if pool < self.workload.endpoints.len() {
            self.groups.borrow_mut().place(&self.workload, pool)
        } else {
            ConnectionGroup::new(&self.workload)
        }
    }

    /// Counts a journey as missed if it would exceed a limit. Returns whether it may begin.
    pub(super) fn admits_journey(&self, operation: usize, intended_at: u64, now: u64) -> bool {
        let (promised, wanted) =
            (self.journeys.own_connections(), self.workload.own_connections(operation));
        if self.journeys.count() >= self.journeys_cap {
            self.report_limit(2, "journeys", self.workload.journeys_cap, now);
        // The first may always begin: a worker's part of the limit may be less than it needs.
        } else if wanted > 0 && promised > 0 && promised + wanted > self.own_connections_cap {
            self.report_limit(3, "journey_connections", self.workload.own_connections_cap, now);
            if self.phases.get().measures(intended_at) {
                self.facts.borrow_mut().journeys_unconnected += 1;
            }
        } else {
            return true;
        }
        self.with_recorder(|recorder| recorder.miss(operation, intended_at));
        false
    }

    /// Places a due operation of an open load. Returns a handle if a new slot must be made for it.
    pub(super) fn dispatch(&self, due: DueOperation) -> Option<Rc<SlotHandle>> {
        let operation = due.assignment.operation;
        // A step is never missed: its journey has begun.
        if due.step.is_none() && self.gauge.count() >= self.in_flight_cap {
            self.with_recorder(|recorder| recorder.miss(operation, due.intended_at));
            self.report_limit(0, "in_flight_cap", self.workload.in_flight_cap, due.dispatched_at);
            return None;
        }
        self.begin(&due);
        let pool = self.pool_of(&due);
        let placed = self.pools.borrow_mut()[pool].place(due);
        match placed {
            Placed::Assigned => None,
            Placed::NeedsSlot => {
                let handle = Rc::new(SlotHandle::new());
                handle.assign(due);
                Some(handle)
            }
            Placed::Waits => {
                if self.phases.get().measures(due.intended_at) {
                    self.facts.borrow_mut().waited += 1;
                }
                let load = &self.workload.load;
                let limit = u64::from(load.connections) * u64::from(load.streams);
                let name = if load.streams > 1 { "streams" } else { "connections" };
                self.report_limit(1, name, limit, due.dispatched_at);
                None
            }
        }
    }

    /// The operation that has waited longest for a slot of this pool; without one, the slot becomes idle.
    ///
    /// The slot is free from its last read on, so an operation that was dispatched during the driver's farewell did
    /// not wait before its dispatch.
    pub(super) fn next_or_release(
        &self,
        pool: usize,
        handle: &Rc<SlotHandle>,
        now: u64,
    ) -> Option<DueOperation> {
        let mut pools = self.pools.borrow_mut();
        if let Some(due) = pools[pool].next_waiting() {
            return Some(DueOperation { acquired_at: now.max(due.dispatched_at), ..due });
        }
        let stretch = pools[pool].release(Rc::clone(handle), now);
        self.note_saturation(stretch);
        None
    }

    /// Takes everything that waits for a slot, at the end.
    pub(super) fn waiting(&self) -> Vec<DueOperation> {
        let mut pools = self.pools.borrow_mut();
        pools.iter_mut().flat_map(|pool| std::iter::from_fn(|| pool.next_waiting())).collect()
    }

    /// Lets go of connections. They refer to this state, which would otherwise keep itself alive.
    pub(super) fn release_connections(&self) {
        self.groups.borrow_mut().clear();
        self.journeys.clear();
    }

    /// Ends the open saturation intervals of the pools.
    pub(super) fn close_pools(&self, now: u64) {
        for pool in self.pools.borrow_mut().iter_mut() {
            self.note_saturation(pool.end_saturation(now));
        }
    }

    /// Counts a connection as open.
    pub(super) fn connected(&self) {
        self.connections.set(self.connections.get() + 1);
        let mut facts = self.facts.borrow_mut();
        facts.connections_opened += 1;
        facts.connections_max = facts.connections_max.max(self.connections.get());
    }

    /// Counts a connection as closed.
    pub(super) fn disconnected(&self) {
        self.connections.set(self.connections.get() - 1);
    }

    /// Counts a connection that ended unplanned.
    pub(super) fn lost(&self) {
        self.facts.borrow_mut().connections_lost += 1;
    }

    /// Counts an idle connection that was lost.
    pub(super) fn lost_idle(&self) {
        self.lost.set(self.lost.get() + 1);
    }

    /// Idle connections lost since the last call.
    pub(super) fn take_lost_idle(&self) -> u64 {
        self.lost.replace(0)
    }

    /// Counts an actor as started.
    pub(super) fn actor_started(&self) {
        self.actors.set(self.actors.get() + 1);
    }

    /// Counts an actor as ended.
    pub(super) fn actor_ended(&self) {
        self.actors.set(self.actors.get() - 1);
        self.wake_worker();
    }

    /// Marks the plan as exhausted and wakes the actors, which then end.
    pub(super) fn exhaust(&self) {
        if !self.exhausted.replace(true) {
            self.watchdog.wake_all();
        }
    }

    /// Whether the plan has no more operations for actors.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    /// Resolves when the plan is exhausted and the last actor has ended.
    pub(super) async fn exhausted(&self) {
        self.until(|| self.exhausted.get() && self.actors.get() == 0).await;
    }

    /// Resolves when nothing is in flight, and no journey in progress.
    pub(super) async fn settled(&self) {
        self.until(|| self.is_settled()).await;
    }

    /// Resolves when a task of this worker has panicked.
    pub(super) async fn panicked(&self) {
        self.until(|| self.panicked.get()).await;
    }

    /// Notes that a task of this worker is unwinding.
    pub(super) fn note_panic(&self) {
        self.panicked.set(true);
        self.wake_worker();
    }

    /// Only the worker's main task may wait here: there is one waker.
    async fn until(&self, holds: impl Fn() -> bool) {
        poll_fn(|context| {
            if holds() {
                return Poll::Ready(());
            }
            *self.worker_waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn wake_worker(&self) {
        if let Some(waker) = &*self.worker_waker.borrow() {
            waker.wake_by_ref();
        }
    }

    fn report_limit(&self, which: usize, name: &'static str, value: u64, at: u64) {
        let mut reported = self.limits_reported.get();
        if !std::mem::replace(&mut reported[which], true) {
            self.limits_reported.set(reported);
            self.send(Message::Limit { name, value, at });
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
