//! The number of operations in flight over time.

use std::cell::Cell;

use record::PhaseBounds;

/// Counts what is in flight, and integrates it over the measure phase.
#[derive(Debug)]
pub(super) struct Gauge {
    count: Cell<u64>,
    max: Cell<u64>,
    integral: Cell<u128>,
    changed_at: Cell<u64>,
    due: Area,
}

/// Operations due in the measure phase that have not finished, over their whole time. Once all have finished, the area
/// is exactly the sum of their response times: Little's law without a limit.
#[derive(Debug, Default)]
struct Area {
    count: Cell<i64>,
    sum: Cell<i128>,
    changed_at: Cell<u64>,
}

impl Gauge {
    pub(super) fn new() -> Self {
        Self {
            count: Cell::new(0),
            max: Cell::new(0),
            integral: Cell::new(0),
            changed_at: Cell::new(0),
            due: Area::default(),
        }
    }

    /// In flight now.
    pub(super) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Greatest number during the measure phase.
    pub(super) fn max(&self) -> u64 {
        self.max.get()
    }

    /// Operations times nanoseconds of the measure phase.
    pub(super) fn integral(&self) -> u128 {
        self.integral.get()
    }

    /// Operations due in the measure phase times nanoseconds, from their intended starts to their ends.
    pub(super) fn area(&self) -> i128 {
        self.due.sum.get()
    }

    /// Counts the begin of an operation that was due at this instant.
    pub(super) fn begin(&self, intended_at: u64, now: u64, phases: &PhaseBounds) {
        self.up(now, phases);
        if phases.measures(intended_at) {
            self.due.change(intended_at, 1);
        }
    }

    /// Counts the end of an operation that was due at this instant.
    pub(super) fn end(&self, intended_at: u64, now: u64, phases: &PhaseBounds) {
        self.down(now, phases);
        if phases.measures(intended_at) {
            self.due.change(now, -1);
        }
    }

    /// Closes the integrals: operations still in flight count up to now.
    pub(super) fn close(&self, now: u64, phases: &PhaseBounds) {
        self.advance(now, phases);
        self.due.change(now, 0);
    }

    /// When it changed last.
    pub(super) fn changed_at(&self) -> u64 {
        self.changed_at.get()
    }

    /// One more.
    fn up(&self, now: u64, phases: &PhaseBounds) {
        self.advance(now, phases);
        self.count.set(self.count.get() + 1);
        if phases.measures(now) {
            self.max.set(self.max.get().max(self.count.get()));
        }
    }

    /// One fewer.
    fn down(&self, now: u64, phases: &PhaseBounds) {
        self.advance(now, phases);
        self.count.set(self.count.get() - 1);
    }

    /// Integrates up to now.
    fn advance(&self, now: u64, phases: &PhaseBounds) {
        let length = overlap((self.changed_at.get(), now), phases);
        if length > 0 {
            let area = u128::from(length) * u128::from(self.count.get());
            self.integral.set(self.integral.get() + area);
            // Operations in flight at the start of the phase count towards its maximum.
            self.max.set(self.max.get().max(self.count.get()));
        }
        self.changed_at.set(self.changed_at.get().max(now));
    }
}

impl Area {
    /// Changes may come in any order: a step back in time counts as negative, so the final sum is exact.
    fn change(&self, at: u64, step: i64) {
        let length = i128::from(at) - i128::from(self.changed_at.replace(at));
        self.sum.set(self.sum.get() + length * i128::from(self.count.get()));
        self.count.set(self.count.get() + step);
    }
}

/// Nanoseconds of `from..to` that lie in the measure phase.
pub(super) fn overlap((from, to): (u64, u64), phases: &PhaseBounds) -> u64 {
    to.min(phases.measure_to).saturating_sub(from.max(phases.measure_from))
}

#[cfg(test)]
mod tests {
    use plan::randomness::{RandomStream, draw};

    use super::*;

    const PHASES: PhaseBounds =
        PhaseBounds { measure_from: 10_000, measure_to: 60_000, window: 1_000 };

    /// Intended start and end of operations, some of them before the measure phase.
    fn log(seed: u64) -> Vec<(u64, u64)> {
        let below = |index: u64, bound: u64| draw(seed, RandomStream::Content, index) % bound;
        (0..200)
            .map(|k| (2 * k, below(2 * k, 60_000)))
            .map(|(k, at)| (at, at + 1 + below(k + 1, 9_000)))
            .collect()
    }

    /// The area of a log with changes in the order of their keys, without the end of the operation at `lost`.
    fn area(log: &[(u64, u64)], late: u64, lost: Option<usize>) -> i128 {
        let mut changes: Vec<(u64, usize, bool)> = Vec::new();
        for (place, &(from, to)) in log.iter().enumerate() {
            // An operation may be taken up late, perhaps after another has ended.
            changes.push((to.min(from + late), place, true));
            changes.push((to, place, false));
        }
        changes.sort_by_key(|&(at, place, begins)| (at, !begins, place));
        let gauge = Gauge::new();
        for (at, place, begins) in changes {
            let intended_at = log[place].0;
            if begins {
                gauge.begin(intended_at, at, &PHASES);
            } else if lost != Some(place) {
                gauge.end(intended_at, at, &PHASES);
            }
        }
        gauge.close(80_000, &PHASES);
        gauge.area()
    }

    fn times(log: &[(u64, u64)]) -> i128 {
        let due = log.iter().filter(|(from, _)| PHASES.measures(*from));
        due.map(|(from, to)| i128::from(to - from)).sum()
    }

    #[test]
    fn the_area_is_the_sum_of_response_times_to_the_nanosecond() {
        for seed in 1..=200 {
            let log = log(seed);
            for late in [0, 50, 3_000] {
                assert_eq!(area(&log, late, None), times(&log), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_lost_completion_shows() {
        for seed in 1..=50 {
            let log = log(seed);
            let lost = log.iter().position(|(from, _)| PHASES.measures(*from));
            assert_ne!(area(&log, 50, lost), times(&log), "seed {seed}");
        }
    }
}
