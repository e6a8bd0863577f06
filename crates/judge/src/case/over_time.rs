//! Patterns over the windows of a trial: when operations were slow or failed.

use std::collections::BTreeSet;

use record::{OperationTotals, OperationWindow, Window, WindowSpan};
use stats::periodic::{self, Period};
use stats::signature;

use super::shape::Shape;

/// A trial over time, all operations together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OverTime {
    /// Response times above these are slow: four times the median, and at least 1 ms above it; ten times the median,
    /// and at least 20 ms above it, which sharing a processor does not cause.
    slow_above_ns: [u64; 2],
    moments: Vec<Moment>,
    /// By operation: the time between its two modes, and the number of windows with slower times.
    parted: Vec<Option<Parted>>,
}

/// One window. Small, because a long run has many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Moment {
    due: u32,
    bad: u32,
    slow: [u32; 2],
    max_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Parted {
    above_ns: u64,
    share: f64,
    windows: u32,
    expected: f64,
}

/// Stalls at regular intervals, in windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// The interval between them.
    pub period: Period,
    /// Median over the stalls of the longest response time in each, in nanoseconds.
    pub length_ns: u64,
    /// Window in which the first begins.
    pub first: u64,
}

/// The shortest range of windows that holds four fifths of the operations that did not succeed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// First window.
    pub from: u64,
    /// First window after it.
    pub to: u64,
    /// Operations in it that did not succeed.
    pub bad: u64,
    /// All operations that did not succeed.
    pub bad_total: u64,
    /// Share of all operations that were due in it.
    pub due_share: f64,
    /// Whether it reaches the end of the measure phase.
    pub at_end: bool,
}

impl OverTime {
    /// An empty record for a trial with these totals.
    pub fn new(total: &OperationTotals, shape: &Shape) -> Self {
        let median = total.response_time.quantile(0.5).unwrap_or(0);
        let parted = shape.operations.iter().map(|operation| {
            operation.modes.map(|modes| Parted {
                above_ns: modes.valley_ns,
                share: modes.high_share,
                ..Parted::default()
            })
        });
        Self {
            slow_above_ns: [
                (4 * median).max(median + 1_000_000),
                (10 * median).max(median + 20_000_000),
            ],
            moments: Vec::new(),
            parted: parted.collect(),
        }
    }

    /// Adds a window, or a part of it.
    pub fn add(&mut self, window: &Window) {
        let Ok(place) = usize::try_from(window.number) else { return };
        if self.moments.len() <= place {
            self.moments.resize(place + 1, Moment::default());
        }
        let moment = &mut self.moments[place];
        for (index, part) in window.operations.iter().enumerate() {
            moment.add(part, self.slow_above_ns);
            if let Some(Some(parted)) = self.parted.get_mut(index) {
                parted.add(part);
            }
        }
    }

    /// Whether operations of the slower mode are in about as many windows as chance would put them in. A stall also
    /// makes a slower mode, but in few windows.
    pub fn is_spread(&self, operation: usize) -> bool {
        let parted = self.parted.get(operation).copied().flatten();
        parted.is_some_and(|parted| f64::from(parted.windows) >= 0.5 * parted.expected)
    }

    /// Stalls at regular intervals, if there are any.
    pub fn stalls(&self) -> Option<Stalls> {
        let found = (0..2).filter_map(|level| self.stalls_above(level));
        found.min_by(|a, b| a.period.chance.total_cmp(&b.period.chance))
    }

    fn stalls_above(&self, level: usize) -> Option<Stalls> {
        let stalled = self.stalled(level);
        let begins = stalled.iter().filter(|&&at| at == 0 || !stalled.contains(&(at - 1)));
        let begins: Vec<u64> = begins.copied().collect();
        let period = periodic::period(&begins, self.moments.len() as u64)?;
        let mut longest: Vec<u64> =
            begins.iter().map(|&begin| self.longest(begin, level)).collect();
        longest.sort_unstable();
        let first = *begins.first()?;
        Some(Stalls { period, length_ns: longest[longest.len() / 2], first })
    }

    /// The shortest range of windows with four fifths of the operations that did not succeed, if there are three of
    /// those or more.
    pub fn burst(&self) -> Option<Burst> {
        const FEWEST: u64 = 3;
        let bad_total: u64 = self.moments.iter().map(|one| u64::from(one.bad)).sum();
        if bad_total < FEWEST {
            return None;
        }
        let (from, to, bad) = self.shortest_with((bad_total * 4).div_ceil(5))?;
        let due = |moments: &[Moment]| moments.iter().map(|one| f64::from(one.due)).sum::<f64>();
        let due_share = due(&self.moments[from..to]) / due(&self.moments).max(1.0);
        let at_end = to == self.moments.len();
        Some(Burst { from: from as u64, to: to as u64, bad, bad_total, due_share, at_end })
    }

    /// Windows with far more slow operations than the median window.
    fn stalled(&self, level: usize) -> BTreeSet<u64> {
        let mut counts: Vec<u32> = self.moments.iter().map(|one| one.slow[level]).collect();
        counts.sort_unstable();
        let background = counts.get(counts.len() / 2).copied().map_or(0.0, f64::from);
        let stands_out = |slow: u32| signature::stands_out(u64::from(slow), background);
        let stalled = self.moments.iter().zip(0..).filter(|(one, _)| stands_out(one.slow[level]));
        stalled.map(|(_, at)| at).collect()
    }

    fn longest(&self, begin: u64, level: usize) -> u64 {
        let stall = self.moments.iter().skip(begin as usize).take_while(|one| one.slow[level] > 0);
        stall.map(|one| one.max_ns).max().unwrap_or(0)
    }

    fn shortest_with(&self, wanted: u64) -> Option<(usize, usize, u64)> {
        let (mut from, mut bad, mut best) = (0, 0, None::<(usize, usize, u64)>);
        for (to, moment) in self.moments.iter().enumerate() {
            bad += u64::from(moment.bad);
            while bad - u64::from(self.moments[from].bad) >= wanted {
                bad -= u64::from(self.moments[from].bad);
                from += 1;
            }
            if bad >= wanted
                && best.is_none_or(|(from_best, end, _)| to + 1 - from < end - from_best)
            {
                best = Some((from, to + 1, bad));
            }
        }
        best
    }
}

impl Moment {
    fn add(&mut self, part: &OperationWindow, slow_above_ns: [u64; 2]) {
        let clipped = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let bad = part.without_time();
        self.due = self.due.saturating_add(clipped(part.planned));
        self.bad = self.bad.saturating_add(clipped(bad));
        if let Some(times) = part.histogram(WindowSpan::ResponseTime) {
            for (slow, above_ns) in self.slow.iter_mut().zip(slow_above_ns) {
                *slow = slow.saturating_add(clipped(times.count_above(above_ns)));
            }
            self.max_ns = self.max_ns.max(times.max());
        }
    }
}

impl Parted {
    fn add(&mut self, part: &OperationWindow) {
        let Some(times) = part.histogram(WindowSpan::ServiceTime) else { return };
        self.windows += u32::from(times.count_above(self.above_ns) > 0);
        self.expected += 1.0 - (1.0 - self.share).powf(times.count() as f64);
    }
}
