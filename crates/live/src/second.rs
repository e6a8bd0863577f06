//! One second of a run, by intended start: counts and times, and what still waits for an answer.

use std::collections::BTreeMap;

use record::{FailureKind, OperationWindow, Window, WindowSpan};
use stats::{COARSE, Histogram, quantile};

/// The operations that were due in a second, or in a longer time.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Due.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, ended badly, by kind.
    pub failures: BTreeMap<FailureKind, u64>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    times: Histogram,
}

/// A quantile, or what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Nothing is.
    Nothing,
    /// Nanoseconds.
    Exactly(u64),
    /// Operations that still wait for an answer are among those that decide it: it is at least this.
    AtLeast(u64),
}

impl Default for Tally {
    fn default() -> Self {
        let times = Histogram::new(COARSE);
        Self { planned: 0, succeeded: 0, failures: BTreeMap::new(), missed: 0, times }
    }
}

impl Tally {
    /// Adds all operations of a window.
    pub fn add(&mut self, window: &Window, span: WindowSpan) {
        window.operations.iter().for_each(|operation| self.add_operation(operation, span));
    }

    /// Adds one operation of a window.
    pub fn add_operation(&mut self, operation: &OperationWindow, span: WindowSpan) {
        self.planned += operation.planned;
        self.succeeded += operation.succeeded;
        for (kind, count) in &operation.failed {
            *self.failures.entry(*kind).or_default() += count;
        }
        self.missed += operation.missed;
        if let Some(times) = operation.histogram(span) {
            self.times.merge(times);
        }
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Self) {
        self.planned += other.planned;
        self.succeeded += other.succeeded;
        for (kind, count) in &other.failures {
            *self.failures.entry(*kind).or_default() += count;
        }
        self.missed += other.missed;
        self.times.merge(&other.times);
    }

    /// Operations that ended badly.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Operations that wait for an answer.
    pub fn unanswered(&self) -> u64 {
        self.planned.saturating_sub(self.succeeded + self.failed() + self.missed)
    }

    /// A quantile of the times of succeeded operations, where those that wait for an answer have waited at least
    /// `waited_ns`.
    pub fn quantile(&self, q: f64, waited_ns: u64) -> Known {
        let waiting = self.unanswered();
        let total = self.times.count() + waiting;
        if total == 0 {
            return Known::Nothing;
        }
        let rank = quantile::rank(q, total).max(1);
        let at = |rank: u64| self.times.at_rank(rank).map(|bucket| bucket.high);
        // The least that it can become: all that wait are answered now.
        let faster = self.times.count() - self.times.count_above(waited_ns);
        let least = match rank {
            rank if rank <= faster => at(rank),
            rank if rank <= faster + waiting => Some(waited_ns),
            rank => at(rank - waiting),
        };
        // The most: all that wait are slower than the others.
        match (least, at(rank)) {
            (Some(least), Some(most)) if least == most => Known::Exactly(least),
            (least, _) => Known::AtLeast(least.unwrap_or(waited_ns)),
        }
    }
}

impl Known {
    /// The number as a point of a chart: the time that operations have waited for less than a second says nothing yet.
    pub fn drawn(self) -> Option<u64> {
        match self {
            Self::AtLeast(ns) if ns < 1_000_000_000 => None,
            known => known.nanoseconds(),
        }
    }

    /// The number, whether or not it is only a lower bound.
    pub fn nanoseconds(self) -> Option<u64> {
        match self {
            Self::Nothing => None,
            Self::Exactly(ns) | Self::AtLeast(ns) => Some(ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn answered(times: &[u64], planned: u64) -> Tally {
        let mut histogram = Histogram::new(COARSE);
        times.iter().for_each(|time| histogram.record(*time));
        let operation = OperationWindow {
            planned,
            succeeded: times.len() as u64,
            response_time: Some(histogram),
            ..OperationWindow::default()
        };
        let mut tally = Tally::default();
        tally.add_operation(&operation, WindowSpan::ResponseTime);
        tally
    }

    #[test]
    fn operations_that_wait_are_slower_than_the_time_they_have_waited() {
        let near = |known: Known, ms: u64| match known {
            Known::Exactly(ns) => ns.abs_diff(ms * MS) < ms * MS / 64,
            _ => false,
        };
        // Nine of ten have answered, one waits for two seconds.
        let tally = answered(&[10 * MS; 9], 10);
        assert_eq!(tally.unanswered(), 1);
        assert!(near(tally.quantile(0.5, 2_000 * MS), 10));
        assert_eq!(tally.quantile(0.99, 2_000 * MS), Known::AtLeast(2_000 * MS));
        // All have.
        assert!(near(answered(&[10 * MS; 10], 10).quantile(0.99, 2_000 * MS), 10));
        // None has: nothing is known but that.
        assert_eq!(answered(&[], 10).quantile(0.5, 300 * MS), Known::AtLeast(300 * MS));
        assert_eq!(answered(&[], 0).quantile(0.5, 300 * MS), Known::Nothing);
        // The one that waits has waited less than the slowest took: it may become any of them.
        let mixed = answered(&[10 * MS, 10 * MS, 10 * MS, 500 * MS], 5);
        assert!(near(mixed.quantile(0.5, 100 * MS), 10));
        assert_eq!(mixed.quantile(0.8, 100 * MS), Known::AtLeast(100 * MS));
        // Whatever becomes of it, another one took longer than that.
        assert!(matches!(mixed.quantile(0.9, 100 * MS), Known::AtLeast(ns) if ns >= 500 * MS));
        // Many that wait change no median where all that have answered took as long as that.
        assert!(near(answered(&[10 * MS; 90], 120).quantile(0.5, 1), 10));
    }
}
