//! What waits for a destination, in order, within a bound of age and bytes.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::Delivered;

/// Bytes that may wait.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its body.
    pub body: Bytes,
    /// What it holds.
    pub content: Content,
    /// Samples in it, or spans.
    pub samples: u64,
    /// When they were taken, from the epoch.
    pub at: Duration,
}

/// What a request holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Samples of metrics.
    Metrics,
    /// Spans of operations.
    Spans,
}

impl Content {
    /// In a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Spans => "spans",
        }
    }
}

/// What waits.
#[derive(Debug)]
pub struct Backlog {
    waiting: VecDeque<Request>,
    bytes: usize,
    keep: Duration,
    /// What became of the others.
    pub delivered: Delivered,
}

impl Backlog {
    /// Empty; what is older than the newest by more than this is dropped.
    pub fn new(keep: Duration) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, keep, delivered: Delivered::default() }
    }

    /// Adds the newest, and drops the oldest beyond the bound.
    pub fn push(&mut self, request: Request) {
        self.bytes += request.body.len();
        let oldest = request.at.saturating_sub(self.keep);
        self.waiting.push_back(request);
        while self.bytes > MOST_BYTES || self.waiting.front().is_some_and(|one| one.at < oldest) {
            let Some(dropped) = self.next() else { break };
            self.delivered.dropped += dropped.samples;
        }
    }

    /// Takes the oldest.
    pub fn next(&mut self) -> Option<Request> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.body.len();
        Some(next)
    }

    /// Puts the oldest back, unless it does not fit any more.
    pub fn put_back(&mut self, request: Request) {
        let newest = self.waiting.back().map_or(Duration::ZERO, |one| one.at);
        if self.bytes + request.body.len() > MOST_BYTES
            || request.at < newest.saturating_sub(self.keep)
        {
            self.delivered.dropped += request.samples;
            return;
        }
        self.bytes += request.body.len();
        self.waiting.push_front(request);
    }

    /// Gives up what waits.
    pub fn drop_all(&mut self) {
        while let Some(dropped) = self.next() {
            self.delivered.dropped += dropped.samples;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: u64, bytes: usize) -> Request {
        Request {
            body: vec![0; bytes].into(),
            content: Content::Metrics,
            samples: 10,
            at: Duration::from_secs(at),
        }
    }

    #[test]
    fn the_oldest_is_dropped_and_counted() {
        let mut backlog = Backlog::new(Duration::from_secs(600));
        (0..200).for_each(|number| backlog.push(request(number * 5, 100)));
        assert_eq!(backlog.delivered.dropped, 79 * 10, "those of the last ten minutes are there");
        let oldest = backlog.next().expect("one");
        assert_eq!(oldest.at, Duration::from_secs(395));
        backlog.put_back(oldest.clone());
        backlog.push(request(1_000, 100));
        assert_eq!(backlog.delivered.dropped, 80 * 10);
        backlog.put_back(oldest);
        assert_eq!(backlog.delivered.dropped, 81 * 10, "meanwhile it is too old");
        backlog.drop_all();
        assert_eq!((backlog.delivered.dropped, backlog.bytes), (202 * 10, 0));
    }

    #[test]
    fn memory_is_bounded_whatever_the_size() {
        let mut backlog = Backlog::new(Duration::from_secs(600));
        for number in 0..100 {
            backlog.push(request(number, MOST_BYTES / 10));
            assert!(backlog.bytes <= MOST_BYTES);
        }
        assert_eq!(backlog.delivered.dropped, 90 * 10);
        backlog.push(request(100, 2 * MOST_BYTES));
        assert_eq!(backlog.bytes, 0);
    }
}
