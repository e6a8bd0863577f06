//! The windows of one worker that may still get something.

use std::collections::VecDeque;

use super::{OperationWindow, WindowPart};

/// Counts of the windows from the oldest with an unfinished operation to the newest seen.
///
/// Cost:   one step per operation; memory only when a window is touched first
#[derive(Debug)]
pub(crate) struct OpenWindows {
    operations: usize,
    /// Number of the first entry.
    first: u64,
    entries: VecDeque<Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    /// Begun and not ended.
    unfinished: u64,
    /// Since the last hand-over; empty when nothing came.
    operations: Vec<OperationWindow>,
}

impl Entry {
    fn touch(&mut self, operations: usize, operation: usize) -> &mut OperationWindow {
        if self.operations.is_empty() {
            self.operations.resize_with(operations, OperationWindow::default);
        }
        &mut self.operations[operation]
    }
}

impl OpenWindows {
    /// Room for this many entries before the ring grows; a minute of seconds or some seconds of tenths.
    const ROOM: usize = 128;

    pub(crate) fn new(operations: usize) -> Self {
        Self { operations, first: 0, entries: VecDeque::with_capacity(Self::ROOM) }
    }

    /// What came since the last hand-over for one operation of one window.
    pub(crate) fn touch(&mut self, window: u64, operation: usize) -> &mut OperationWindow {
        let operations = self.operations;
        self.entry(window).touch(operations, operation)
    }

    /// An operation due in this window was begun.
    pub(crate) fn begin(&mut self, window: u64) {
        self.entry(window).unfinished += 1;
    }

    /// An operation due in this window ended; gives what came for it.
    pub(crate) fn end(&mut self, window: u64, operation: usize) -> &mut OperationWindow {
        let operations = self.operations;
        let entry = self.entry(window);
        entry.unfinished -= 1;
        entry.touch(operations, operation)
    }

    /// Takes what came since the last call, forgets windows below `limit` that have nothing unfinished,
    /// and gives the number of the first window that may get more, at most `limit`.
    pub(crate) fn hand_over(&mut self, limit: u64) -> (Vec<WindowPart>, u64) {
        let mut parts = Vec::new();
        for (window, entry) in (self.first..).zip(&mut self.entries) {
            if !entry.operations.is_empty() {
                parts
                    .push(WindowPart { window, operations: std::mem::take(&mut entry.operations) });
            }
        }
        while self.first < limit && self.entries.front().is_some_and(|entry| entry.unfinished == 0)
        {
            self.entries.pop_front();
            self.first += 1;
        }
        if self.entries.is_empty() {
            self.first = self.first.max(limit);
        }
        (parts, self.first.min(limit))
    }

    fn entry(&mut self, window: u64) -> &mut Entry {
        while window < self.first {
            self.entries.push_front(Entry::default());
            self.first -= 1;
        }
        let place = (window - self.first) as usize;
        if place >= self.entries.len() {
            self.entries.resize_with(place + 1, Entry::default);
        }
        &mut self.entries[place]
    }
}
