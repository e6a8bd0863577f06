//! A slot: performs one operation after another on connections that it keeps.
//!
//! Where operations come from (`pacer`, `actors`) and which slots share a connection (`connections`) does not
//! matter here.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use plan::load::Reuse;
use record::{FailureKind, Outcome, Sample, TraceId};

use super::connections::{ConnectionGroup, ConnectionSet};
use super::due_operation::{DueOperation, StepRef};
use super::slot_handle::SlotHandle;
use super::state::{Stage, WorkerState};
use crate::clock::Clock;
use crate::driver::{Call, Driver, Exchange, Onward};
use crate::transport::{self, Network, no_target};

/// Performs operations.
pub(super) struct Slot<C: Clock, N: Network, D: Driver> {
    pub(super) state: Rc<WorkerState<C, N, D>>,
    pub(super) handle: Rc<SlotHandle>,
    number: usize,
    /// Its own, or those of the journey whose step it performs.
    connections: ConnectionSet<C, N, D>,
    /// The target of the last operation: its stream is watched while the slot rests.
    last: usize,
    /// Whether that stream was just found alive.
    checked: bool,
    exchange: Exchange<C>,
    detail: Option<String>,
    /// What the request of the operation at hand carried.
    trace: Option<TraceId>,
}

/// How a bounded wait ended.
enum Bounded<T> {
    Done(T),
    Expired,
    Abandoned,
}

/// When an operation ended, and whether anything was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) at: u64,
    pub(super) connected: bool,
    pub(super) outcome: Outcome,
}

impl<C: Clock, N: Network, D: Driver> Slot<C, N, D> {
    pub(super) fn new(
        state: Rc<WorkerState<C, N, D>>,
        handle: Rc<SlotHandle>,
        group: Rc<ConnectionGroup<C, N, D>>,
    ) -> Self {
        let number = state.watchdog.register(Rc::clone(&handle));
        let connections = ConnectionSet::joining(&state, group);
        let mut exchange = Exchange::new(state.clock.clone());
        exchange.parts_after(state.workload.driver.span_names().len());
        let (last, checked, detail, trace) = (0, false, None, None);
        Self { state, handle, number, connections, last, checked, exchange, detail, trace }
    }

    /// Performs one operation and records it, however it ends.
    pub(super) async fn perform(&mut self, mut due: DueOperation) -> Ended {
        let mut lent = due.step.and_then(|step| self.state.journeys.lend(&self.state, step));
        if let Some(connections) = &mut lent {
            std::mem::swap(&mut self.connections, connections);
            self.checked = false;
        }
        (self.detail, self.trace) = (None, None);
        let items = self.state.workload.prepared[due.assignment.operation].items;
        self.exchange.clear(items);
        let mut call = self.call(&due);
        let (outcome, started_at) = match self.begin(&mut due, &call).await {
            Ok(()) => self.converse(&mut due, &mut call).await,
            Err(outcome) => (outcome, None),
        };
        let finished_at = match (outcome, self.exchange.read_at) {
            (Outcome::Succeeded, read_at) if read_at > 0 => read_at,
            _ => self.state.clock.now(),
        };
        self.record(&due, outcome, started_at.unwrap_or(finished_at), finished_at);
        self.keep_or_close(due.target, outcome);
        if let (Some(own), Some(step)) = (lent, due.step) {
            let connections = std::mem::replace(&mut self.connections, own);
            self.state.journeys.give_back(step, connections);
        }
        Ended { at: finished_at, connected: started_at.is_some(), outcome }
    }

    /// Marks the stream of the last operation as just used: it is not checked again.
    pub(super) fn trust_stream(&mut self) {
        self.checked = true;
    }

    /// Waits for the value of `ready`, and notices meanwhile if the idle connection is lost.
    pub(super) async fn rest<T>(
        &mut self,
        mut ready: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> T {
        loop {
            let Some(open) = self.connections.streams.get_mut(self.last).and_then(Option::as_mut)
            else {
                return poll_fn(|context| {
                    self.handle.remember(context);
                    ready(context)
                })
                .await;
            };
            let idle = self.state.workload.driver.idle(&mut open.stream);
            if let Some(value) = first_of(idle, &self.handle, &mut ready).await {
                self.checked = true;
                return value;
            }
            self.lose_idle(self.last);
        }
    }

    /// Finds the operation's target, and ensures a usable stream to it.
    async fn begin(&mut self, due: &mut DueOperation, call: &Call) -> Result<(), Outcome> {
        let workload = &self.state.workload;
        let operation = &workload.prepared[due.assignment.operation].operation;
        let own = &workload.endpoints[due.target];
        if let Some(origin) = workload.driver.origin(operation, call, own) {
            due.target = self.target_of(&origin, due.target).ok_or_else(|| {
                self.detail = Some(no_target(&origin));
                Outcome::Failed(FailureKind::Redirect)
            })?;
        }
        let was_last = std::mem::replace(&mut self.last, due.target) == due.target;
        let deadline = due.acquired_at.saturating_add(self.state.workload.timeline.timeout);
        self.prepare(due, was_last, deadline).await
    }

    /// Ensures a usable stream to the operation's target; connects if there is none.
    async fn prepare(
        &mut self,
        due: &DueOperation,
        was_last: bool,
        deadline: u64,
    ) -> Result<(), Outcome> {
        if self.state.stage() >= Stage::Abandoning {
            return Err(Outcome::Abandoned);
        }
        if let Some(open) = &mut self.connections.streams[due.target] {
            // The peer may have closed it since it was last used; that must not fail the operation.
            let checked = std::mem::take(&mut self.checked) && was_last;
            if checked || !is_ready(self.state.workload.driver.idle(&mut open.stream)) {
                return Ok(());
            }
            self.lose_idle(due.target);
        }
        let timeout = self.state.workload.timeline.timeout;
        if self.state.clock.now() > self.state.phases().measure_to.saturating_add(timeout) {
            // Opening thousands of connections may keep the worker from noticing the drain deadline.
            return Err(Outcome::Abandoned);
        }
        self.state.watchdog.watch(self.number, &self.handle, deadline);
        let (state, handle) = (&self.state, &self.handle);
        self.exchange.timeout_kind = FailureKind::ConnectTimeout;
        // Boxed: a slot would keep room for all of a handshake while it carries operations.
        let joining = Box::pin(self.connections.group.join(state, due, &mut self.exchange));
        match bounded(state, handle, joining).await {
            Bounded::Done(Ok(open)) => {
                self.connections.streams[due.target] = Some(open);
                Ok(())
            }
            Bounded::Done(Err((kind, detail))) => {
                self.detail = Some(detail);
                Err(Outcome::Failed(kind))
            }
            Bounded::Expired => Err(Outcome::Failed(self.exchange.timeout_kind)),
            Bounded::Abandoned => Err(Outcome::Abandoned),
        }
    }

    fn call(&self, due: &DueOperation) -> Call {
        let (state, step) = (&*self.state, due.step);
        Call {
            index: step.map_or(due.assignment.index, |step| call_index(due.assignment.index, step)),
            operation: due.assignment.operation,
            sequence: due.assignment.sequence,
            row: due.assignment.row,
            trial: state.workload.trial.index,
            seed: due.seed,
            now: 0,
            trace: None,
            memory: step.and_then(|step| state.journeys.memory(step)),
        }
    }

    /// Sends the operation and awaits its answer. Returns the outcome and when it started.
    async fn converse(
        &mut self,
        due: &mut DueOperation,
        call: &mut Call,
    ) -> (Outcome, Option<u64>) {
        let state = &*self.state;
        let workload = &*state.workload;
        let Some(open) = &mut self.connections.streams[due.target] else {
            return (Outcome::Failed(FailureKind::Closed), None);
        };
        call.trace = state.draw_trace(due.assignment.operation);
        self.trace = call.trace.map(|trace| TraceId(trace.trace_id));
        call.now = state.clock.now();
        let operation = &workload.prepared[due.assignment.operation].operation;
        workload.driver.encode(operation, &mut open.stream, call);
        let started_at = state.clock.now();
        self.exchange.started_at = started_at;
        self.exchange.is_last = workload.load.reuse == Reuse::NewPerOperation;
        let deadline = started_at.saturating_add(workload.timeline.timeout);
        let mut outcome = self.exchange_once(due, deadline).await;
        while let Some(Onward { origin, state }) = self.exchange.onward.take() {
            let Some(target) = self.target_of(&origin, due.target) else { break };
            if let Err(failed) = self.move_to(target, due, deadline).await {
                outcome = failed;
                break;
            }
            let Some(open) = &mut self.connections.streams[due.target] else { break };
            let workload = &self.state.workload;
            let operation = &workload.prepared[due.assignment.operation].operation;
            workload.driver.resume(operation, &mut open.stream, call, state);
            outcome = self.exchange_once(due, deadline).await;
        }
        (outcome, Some(started_at))
    }

    /// Ensures a usable stream to another target, on which the operation goes on.
    async fn move_to(
        &mut self,
        target: usize,
        due: &mut DueOperation,
        deadline: u64,
    ) -> Result<(), Outcome> {
        self.keep_or_close(due.target, Outcome::Succeeded);
        (due.target, self.last) = (target, target);
        self.exchange.reusable = true;
        self.detail = None;
        // Connecting here is part of the service time, not of what came before it.
        let spans = std::mem::take(&mut self.exchange.spans);
        let prepared = self.prepare(due, false, deadline).await;
        self.exchange.spans = spans;
        prepared
    }

    /// The target with this origin, if there is one.
    fn target_of(&self, origin: &str, current: usize) -> Option<usize> {
        transport::with_origin(&self.state.workload.endpoints, origin, current)
    }

    /// Sends what is encoded and awaits the answer.
    async fn exchange_once(&mut self, due: &DueOperation, deadline: u64) -> Outcome {
        let state = &*self.state;
        let workload = &*state.workload;
        let Some(open) = &mut self.connections.streams[due.target] else {
            return Outcome::Failed(FailureKind::Closed);
        };
        let operation = &workload.prepared[due.assignment.operation].operation;
        self.exchange.timeout_kind = FailureKind::Timeout;
        state.watchdog.watch(self.number, &self.handle, deadline);
        let ended = {
            // Pinned in place: passing it by value would copy it twice for each operation.
            let performing =
                pin!(workload.driver.perform(operation, &mut open.stream, &mut self.exchange));
            bounded(state, &self.handle, performing).await
        };
        let outcome = match (ended, self.exchange.settled) {
            (Bounded::Done(outcome), _) => outcome,
            (_, Some(outcome)) => {
                // The wait lasted until now, not until the last read.
                self.exchange.read_at = 0;
                outcome
            }
            (Bounded::Expired, None) => Outcome::Failed(self.exchange.timeout_kind),
            (Bounded::Abandoned, None) => Outcome::Abandoned,
        };
        if !matches!(outcome, Outcome::Succeeded) {
            self.detail = self.exchange.detail.take();
        }
        outcome
    }

    fn record(&self, due: &DueOperation, outcome: Outcome, started_at: u64, finished_at: u64) {
        let (exchange, state) = (&self.exchange, &*self.state);
        let step = due.step.filter(|_| state.lists());
        let sample = Sample {
            operation: due.assignment.operation,
            index: due.assignment.index,
            step: step.and_then(|step| state.journeys.place(&state.workload, step)),
            trace: self.trace,
            intended_at: due.intended_at,
            dispatched_at: due.dispatched_at,
            acquired_at: due.acquired_at,
            started_at,
            finished_at,
            outcome,
            status: exchange.status,
            spans: &exchange.spans,
            items: &exchange.items,
            bytes_sent: exchange.bytes_sent,
            bytes_received: exchange.bytes_received,
        };
        state.end(&sample, self.detail.as_deref());
    }

    /// After a time-out the stream is in the middle of an answer and must not be reused; after a time-out while
    /// connecting there is no stream.
    fn keep_or_close(&mut self, target: usize, outcome: Outcome) {
        let cut = matches!(
            outcome,
            Outcome::Abandoned
                | Outcome::Failed(
                    FailureKind::Timeout
                        | FailureKind::ConnectTimeout
                        | FailureKind::GreetingTimeout
                )
        );
        let spent = cut || !self.exchange.reusable;
        let planned = self.state.workload.load.reuse == Reuse::NewPerOperation;
        let Some(open) = self.connections.streams[target].as_ref().filter(|_| spent || planned)
        else {
            return;
        };
        if !planned && open.connection.outlives_streams() {
            self.connections.streams[target] = None;
        } else {
            self.connections.close(target, !planned);
        }
    }

    fn lose_idle(&mut self, target: usize) {
        if self.connections.close(target, true) {
            self.state.lost_idle();
        }
    }
}

/// Runs a future until it ends, the slot's deadline passes, or the worker abandons operations.
async fn bounded<C: Clock, N: Network, D: Driver, T>(
    state: &WorkerState<C, N, D>,
    handle: &SlotHandle,
    work: impl Future<Output = T>,
) -> Bounded<T> {
    let mut work = pin!(work);
    let ended = poll_fn(|context| {
        if let Poll::Ready(value) = work.as_mut().poll(context) {
            return Poll::Ready(Bounded::Done(value));
        }
        handle.remember(context);
        if state.stage() >= Stage::Abandoning {
            return Poll::Ready(Bounded::Abandoned);
        }
        if handle.expired() { Poll::Ready(Bounded::Expired) } else { Poll::Pending }
    })
    .await;
    handle.clear_deadline();
    ended
}

/// `None` when the idle connection was lost first.
async fn first_of<T>(
    idle: impl Future<Output = ()>,
    handle: &SlotHandle,
    ready: &mut impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let mut idle = pin!(idle);
    poll_fn(|context| {
        handle.remember(context);
        if idle.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        ready(context).map(Some)
    })
    .await
}

fn is_ready(future: impl Future<Output = ()>) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// The index of an operation that is a step: no other operation of the run has it, nor any that begins alone.
fn call_index(journey: u64, step: StepRef) -> u64 {
    /// Operations of a journey that are told apart.
    const OPERATIONS: u64 = 4_096;
    const STEPS_FROM: u64 = 1 << 47;
    STEPS_FROM + journey * OPERATIONS + u64::from(step.ordinal) % OPERATIONS
}
