//! Joins the workers' parts of each window and gives windows out, in order, once they are complete.

use std::collections::BTreeMap;

use stats::{COARSE, Histogram};

use super::{LateTime, OperationWindow, Window, WindowPart};
use crate::{Batch, Layout};

/// Joins batches of all workers to whole windows.
#[derive(Debug)]
pub struct WindowAssembler {
    /// Operations and journeys.
    all: usize,
    /// Operations; journeys come after them.
    operations: usize,
    /// By worker.
    closed_below: Vec<u64>,
    /// Number of the next window to give out.
    next: u64,
    pending: BTreeMap<u64, Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    operations: Vec<OperationWindow>,
    late: Vec<LateTime>,
}

impl WindowAssembler {
    /// For a trial with this many workers.
    pub fn new(workers: usize, layout: &Layout) -> Self {
        let (all, operations) = (layout.len(), layout.operations.len());
        Self { all, operations, closed_below: vec![0; workers], next: 0, pending: BTreeMap::new() }
    }

    /// Takes the windows of a batch and gives the windows that are complete now, in order; a window
    /// without operations is given too, so that numbers have no gaps.
    pub fn add(&mut self, batch: &mut Batch) -> Vec<Window> {
        for late in batch.late.drain(..) {
            self.pending(late.window).add_late(late);
        }
        self.add_windows(batch.worker, batch.windows.drain(..), batch.closed_below)
    }

    /// The same for parts alone. From this worker, windows below `closed_below` get nothing more.
    pub fn add_windows(
        &mut self,
        worker: usize,
        parts: impl IntoIterator<Item = WindowPart>,
        closed_below: u64,
    ) -> Vec<Window> {
        parts.into_iter().for_each(|part| self.add_part(part));
        let closed = &mut self.closed_below[worker];
        *closed = closed_below.max(*closed);
        self.take_closed()
    }

    /// Copies of the newest windows that are not complete, at most this many, as far as they are known now.
    pub fn open(&self, most: usize) -> Vec<Window> {
        let newest = self.pending.iter().rev().take(most);
        let copy = |(&number, pending): (&u64, &Pending)| {
            let late = pending.late.clone();
            let copy = Pending { operations: pending.operations.clone(), late };
            copy.close(number, self.all, self.operations)
        };
        let mut open: Vec<Window> = newest.map(copy).collect();
        open.reverse();
        open
    }

    /// Gives the rest, without the windows in which nothing happened.
    pub fn finish(self) -> Vec<Window> {
        let (all, operations) = (self.all, self.operations);
        let close = |(number, pending): (u64, Pending)| pending.close(number, all, operations);
        self.pending.into_iter().map(close).collect()
    }

    fn add_part(&mut self, part: WindowPart) {
        let pending = self.pending(part.window);
        for (mine, theirs) in pending.operations.iter_mut().zip(part.operations) {
            mine.merge(theirs);
        }
    }

    fn pending(&mut self, window: u64) -> &mut Pending {
        let all = self.all;
        self.pending.entry(window).or_insert_with(|| Pending {
            operations: vec![OperationWindow::default(); all],
            late: Vec::new(),
        })
    }

    fn take_closed(&mut self) -> Vec<Window> {
        let limit = self.closed_below.iter().copied().min().unwrap_or(0);
        let open = self.pending.split_off(&limit);
        let mut closed = std::mem::replace(&mut self.pending, open);
        // Nothing comes after the last window.
        let last = if limit == u64::MAX { self.next } else { limit };
        for number in self.next..last {
            closed.entry(number).or_default();
        }
        self.next = self.next.max(last);
        let close =
            |(number, pending): (u64, Pending)| pending.close(number, self.all, self.operations);
        closed.into_iter().map(close).collect()
    }
}

impl Pending {
    /// Single values are kept until a dense histogram takes less memory than they do.
    const LATE_LIMIT: usize = 2_000;

    fn add_late(&mut self, late: LateTime) {
        self.late.push(late);
        if self.late.len() > Self::LATE_LIMIT * self.operations.len() {
            self.fold();
        }
    }

    fn fold(&mut self) {
        for late in std::mem::take(&mut self.late) {
            let place = self.operations[late.operation].histogram_mut(late.span);
            place.get_or_insert_with(|| Histogram::new(COARSE)).record(late.value);
        }
    }

    fn close(mut self, number: u64, all: usize, operations: usize) -> Window {
        self.fold();
        self.operations.resize_with(all, OperationWindow::default);
        let journeys = self.operations.split_off(operations);
        Window { number, operations: self.operations, journeys }
    }
}
