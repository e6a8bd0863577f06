//! The slots of an open load towards one target: idle ones, and operations that wait for one.

use std::collections::VecDeque;
use std::rc::Rc;

use super::due_operation::DueOperation;
use super::slot_handle::SlotHandle;

/// Idle slots and waiting operations of one target.
#[derive(Debug)]
pub(super) struct Pool {
    /// The slot used last comes first, so that as few connections as possible stay warm.
    idle: Vec<Rc<SlotHandle>>,
    /// First come, first served.
    waiting: VecDeque<DueOperation>,
    slots: u64,
    limit: u64,
    saturated_since: Option<u64>,
}

/// Where an operation was placed.
pub(super) enum Placed {
    /// It went to an idle slot.
    Assigned,
    /// It needs a new slot.
    NeedsSlot,
    /// It waits.
    Waits,
}

impl Pool {
    pub(super) fn new(limit: u64) -> Self {
        let slots = usize::try_from(limit).unwrap_or(usize::MAX).min(1_024);
        Self {
            idle: Vec::with_capacity(slots),
            waiting: VecDeque::with_capacity(slots),
            slots: 0,
            limit,
            saturated_since: None,
        }
    }

    /// Finds a place for an operation.
    pub(super) fn place(&mut self, due: DueOperation) -> Placed {
        if let Some(handle) = self.idle.pop() {
            handle.assign(due);
            self.note_saturation(due.dispatched_at);
            Placed::Assigned
        } else if self.slots < self.limit {
            self.slots += 1;
            self.note_saturation(due.dispatched_at);
            Placed::NeedsSlot
        } else {
            self.waiting.push_back(due);
            Placed::Waits
        }
    }

    /// The operation that has waited longest, for a slot that has become free.
    pub(super) fn next_waiting(&mut self) -> Option<DueOperation> {
        self.waiting.pop_front()
    }

    /// Marks a slot as idle. Returns the interval during which every slot was busy, if it ends now.
    pub(super) fn release(&mut self, handle: Rc<SlotHandle>, now: u64) -> Option<(u64, u64)> {
        self.idle.push(handle);
        self.saturated_since.take().map(|since| (since, now))
    }

    /// Ends the interval during which every slot was busy, at the end of the trial.
    pub(super) fn end_saturation(&mut self, now: u64) -> Option<(u64, u64)> {
        self.saturated_since.take().map(|since| (since, now))
    }

    fn note_saturation(&mut self, now: u64) {
        if self.slots == self.limit && self.idle.is_empty() {
            self.saturated_since = Some(now);
        }
    }
}
