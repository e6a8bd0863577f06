//! A lane: one operation after the other, on connections that it keeps.
//!
//! It does not care where operations come from, nor whether others have streams on the same connection
//! (see `bundle`).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use plan::load::Reuse;
use record::{FailureKind, Outcome, Sample};

use super::bundle::{Bundle, Line};
use super::job::Job;
use super::room::{Room, Stage};
use super::seat::Seat;
use crate::clock::Clock;
use crate::driver::{Call, Driver, Exchange};
use crate::transport::Network;

/// Performs operations.
pub(super) struct Lane<C: Clock, N: Network, D: Driver> {
    pub(super) room: Rc<Room<C, N, D>>,
    pub(super) seat: Rc<Seat>,
    number: usize,
    /// By target.
    lines: Vec<Option<Line<C, N, D>>>,
    /// The connections that its streams are on.
    bundle: Rc<Bundle<C, N, D>>,
    /// The target of the last operation: the line that is watched while the lane rests.
    last: usize,
    /// Whether that line was seen to be alive just now.
    checked: bool,
    exchange: Exchange<C>,
    detail: Option<String>,
}

/// How a bounded wait ended.
enum Bounded<T> {
    Done(T),
    Expired,
    Abandoned,
}

/// When an operation ended, and whether it got as far as the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) at: u64,
    pub(super) connected: bool,
}

impl<C: Clock, N: Network, D: Driver> Lane<C, N, D> {
    pub(super) fn new(
        room: Rc<Room<C, N, D>>,
        seat: Rc<Seat>,
        bundle: Rc<Bundle<C, N, D>>,
    ) -> Self {
        let number = room.watchdog.adopt(Rc::clone(&seat));
        let lines = room.brief.endpoints.iter().map(|_| None).collect();
        let mut exchange = Exchange::new(room.clock.clone());
        exchange.parts_after(room.brief.driver.span_names().len());
        let (last, checked, detail) = (0, false, None);
        Self { room, seat, number, lines, bundle, last, checked, exchange, detail }
    }

    /// Performs one operation and records it, whatever happens.
    pub(super) async fn perform(&mut self, job: Job) -> Ended {
        let was_last = std::mem::replace(&mut self.last, job.target) == job.target;
        self.detail = None;
        let items = self.room.brief.prepared[job.assignment.operation].items;
        self.exchange.clear(items);
        let (outcome, started_at) = match self.prepare(&job, was_last).await {
            Ok(()) => self.converse(&job).await,
            Err(outcome) => (outcome, None),
        };
        let finished_at = match (outcome, self.exchange.read_at) {
            (Outcome::Succeeded, read_at) if read_at > 0 => read_at,
            _ => self.room.clock.now(),
        };
        self.record(&job, outcome, (started_at.unwrap_or(finished_at), finished_at));
        self.keep_or_close(job.target, outcome);
        Ended { at: finished_at, connected: started_at.is_some() }
    }

    /// The line of the last operation was used at this instant and need not be looked at again.
    pub(super) fn trust_line(&mut self) {
        self.checked = true;
    }

    /// Waits for what `ready` gives, and notices meanwhile when the idle connection goes away.
    pub(super) async fn rest<T>(
        &mut self,
        mut ready: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> T {
        loop {
            let Some(line) = self.lines.get_mut(self.last).and_then(Option::as_mut) else {
                return poll_fn(|context| {
                    self.seat.remember(context);
                    ready(context)
                })
                .await;
            };
            let idle = self.room.brief.driver.idle(&mut line.stream);
            if let Some(value) = first_of(idle, &self.seat, &mut ready).await {
                self.checked = true;
                return value;
            }
            self.lose_idle(self.last);
        }
    }

    /// Has a usable stream to the operation's target, connecting where there is none.
    async fn prepare(&mut self, job: &Job, was_last: bool) -> Result<(), Outcome> {
        if self.room.stage() >= Stage::Abandoning {
            return Err(Outcome::Abandoned);
        }
        let operation = &self.room.brief.prepared[job.assignment.operation].operation;
        let line = self.lines[job.target].as_ref();
        if line.is_some_and(|line| !self.room.brief.driver.fits(operation, &line.stream)) {
            self.close(job.target, false);
        }
        if let Some(line) = &mut self.lines[job.target] {
            // The peer may have closed it since it was last used; that must not fail the operation.
            let checked = std::mem::take(&mut self.checked) && was_last;
            if checked || !is_ready(self.room.brief.driver.idle(&mut line.stream)) {
                return Ok(());
            }
            self.lose_idle(job.target);
        }
        let deadline = job.acquired_at.saturating_add(self.room.brief.timeline.timeout);
        self.room.watchdog.watch(self.number, &self.seat, deadline);
        let (room, seat) = (&self.room, &self.seat);
        self.exchange.if_late = FailureKind::ConnectTimeout;
        let joining = self.bundle.join(room, job, &mut self.exchange);
        match bounded(room, seat, joining).await {
            Bounded::Done(Ok(line)) => {
                self.lines[job.target] = Some(line);
                Ok(())
            }
            Bounded::Done(Err((kind, detail))) => {
                self.detail = Some(detail);
                Err(Outcome::Failed(kind))
            }
            Bounded::Expired => Err(Outcome::Failed(self.exchange.if_late)),
            Bounded::Abandoned => Err(Outcome::Abandoned),
        }
    }

    /// Sends the operation and awaits its answer; gives the outcome and when it started.
    async fn converse(&mut self, job: &Job) -> (Outcome, Option<u64>) {
        let room = &*self.room;
        let brief = &*room.brief;
        let Some(line) = &mut self.lines[job.target] else {
            return (Outcome::Failed(FailureKind::Closed), None);
        };
        let operation = &brief.prepared[job.assignment.operation].operation;
        let call = Call {
            index: job.assignment.index,
            operation: job.assignment.operation,
            sequence: job.assignment.sequence,
            row: job.assignment.row,
            trial: brief.trial.index,
            seed: job.seed,
            now: room.clock.now(),
        };
        brief.driver.encode(operation, &mut line.stream, &call);
        let started_at = room.clock.now();
        self.exchange.started_at = started_at;
        self.exchange.is_last = brief.load.reuse == Reuse::NewPerOperation;
        self.exchange.if_late = FailureKind::Timeout;
        let deadline = started_at.saturating_add(brief.timeline.timeout);
        room.watchdog.watch(self.number, &self.seat, deadline);
        let ended = {
            // Pinned where it is made: handed over by value it would be copied twice for each operation.
            let performing =
                pin!(brief.driver.perform(operation, &mut line.stream, &mut self.exchange));
            bounded(room, &self.seat, performing).await
        };
        let outcome = match (ended, self.exchange.settled) {
            (Bounded::Done(outcome), _) => outcome,
            (_, Some(outcome)) => {
                // It was waited for until now, and not until the last read.
                self.exchange.read_at = 0;
                outcome
            }
            (Bounded::Expired, None) => Outcome::Failed(self.exchange.if_late),
            (Bounded::Abandoned, None) => Outcome::Abandoned,
        };
        if !matches!(outcome, Outcome::Succeeded) {
            self.detail = self.exchange.detail.take();
        }
        (outcome, Some(started_at))
    }

    fn record(&self, job: &Job, outcome: Outcome, (started_at, finished_at): (u64, u64)) {
        let exchange = &self.exchange;
        let sample = Sample {
            operation: job.assignment.operation,
            index: job.assignment.index,
            intended_at: job.intended_at,
            dispatched_at: job.dispatched_at,
            acquired_at: job.acquired_at,
            started_at,
            finished_at,
            outcome,
            status: exchange.status,
            spans: exchange.spans,
            items: &exchange.items,
            bytes_sent: exchange.bytes_sent,
            bytes_received: exchange.bytes_received,
        };
        self.room.end(&sample, self.detail.as_deref());
    }

    /// After a time-out the stream is in the middle of something; it is never used again. One in connecting left none.
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
        let planned = self.room.brief.load.reuse == Reuse::NewPerOperation;
        let Some(line) = self.lines[target].as_ref().filter(|_| spent || planned) else { return };
        if !planned && line.trunk.outlives_streams() {
            self.lines[target] = None;
        } else {
            self.close(target, !planned);
        }
    }

    fn lose_idle(&mut self, target: usize) {
        if self.close(target, true) {
            self.room.lost_idle();
        }
    }

    /// Gives up a stream and its connection; gives whether nobody had done so before.
    fn close(&mut self, target: usize, given_up: bool) -> bool {
        let Some(Line { stream, trunk }) = self.lines[target].take() else { return false };
        drop(stream);
        self.bundle.forget(target, &trunk);
        trunk.end(given_up)
    }
}

/// Runs something until it ends, the lane's deadline passes, or the worker gives up.
async fn bounded<C: Clock, N: Network, D: Driver, T>(
    room: &Room<C, N, D>,
    seat: &Seat,
    work: impl Future<Output = T>,
) -> Bounded<T> {
    let mut work = pin!(work);
    let ended = poll_fn(|context| {
        if let Poll::Ready(value) = work.as_mut().poll(context) {
            return Poll::Ready(Bounded::Done(value));
        }
        seat.remember(context);
        if room.stage() >= Stage::Abandoning {
            return Poll::Ready(Bounded::Abandoned);
        }
        if seat.expired() { Poll::Ready(Bounded::Expired) } else { Poll::Pending }
    })
    .await;
    seat.rest();
    ended
}

/// `None` when the idle connection went away first.
async fn first_of<T>(
    idle: impl Future<Output = ()>,
    seat: &Seat,
    ready: &mut impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let mut idle = pin!(idle);
    poll_fn(|context| {
        seat.remember(context);
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
