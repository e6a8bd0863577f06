//! The lanes of an open load towards one target: idle ones, and operations that wait for one.

use std::collections::VecDeque;
use std::rc::Rc;

use super::job::Job;
use super::seat::Seat;

/// Lanes and waiting operations of one target.
#[derive(Debug)]
pub(super) struct Pool {
    /// The one that was used last comes first, so that as few as possible stay warm.
    idle: Vec<Rc<Seat>>,
    /// First come, first served.
    waiting: VecDeque<Job>,
    lanes: u64,
    limit: u64,
    saturated_since: Option<u64>,
}

/// What is to be done with an operation.
pub(super) enum Placed {
    /// It went to an idle lane.
    Assigned,
    /// A new lane must be made for it.
    NeedsLane,
    /// It waits.
    Waits,
}

impl Pool {
    pub(super) fn new(limit: u64) -> Self {
        let lanes = usize::try_from(limit).unwrap_or(usize::MAX).min(1_024);
        Self {
            idle: Vec::with_capacity(lanes),
            waiting: VecDeque::with_capacity(lanes),
            lanes: 0,
            limit,
            saturated_since: None,
        }
    }

    /// Finds a place for an operation.
    pub(super) fn place(&mut self, job: Job) -> Placed {
        if let Some(seat) = self.idle.pop() {
            seat.assign(job);
            self.note_saturation(job.dispatched_at);
            Placed::Assigned
        } else if self.lanes < self.limit {
            self.lanes += 1;
            self.note_saturation(job.dispatched_at);
            Placed::NeedsLane
        } else {
            self.waiting.push_back(job);
            Placed::Waits
        }
    }

    /// The operation that has waited longest, for a lane that is free now.
    pub(super) fn next_waiting(&mut self) -> Option<Job> {
        self.waiting.pop_front()
    }

    /// A lane has nothing to do. Gives the stretch during which every lane was busy, if it ends.
    pub(super) fn release(&mut self, seat: Rc<Seat>, now: u64) -> Option<(u64, u64)> {
        self.idle.push(seat);
        self.saturated_since.take().map(|since| (since, now))
    }

    /// Ends the stretch during which every lane was busy, at the end of the trial.
    pub(super) fn end_saturation(&mut self, now: u64) -> Option<(u64, u64)> {
        self.saturated_since.take().map(|since| (since, now))
    }

    fn note_saturation(&mut self, now: u64) {
        if self.lanes == self.limit && self.idle.is_empty() {
            self.saturated_since = Some(now);
        }
    }
}
