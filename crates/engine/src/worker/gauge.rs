//! Operations begun and not finished, over time.

use std::cell::Cell;

use record::Phases;

/// Counts what is in flight, and integrates it over the measure phase.
#[derive(Debug)]
pub(super) struct Gauge {
    count: Cell<u64>,
    max: Cell<u64>,
    integral: Cell<u128>,
    changed_at: Cell<u64>,
}

impl Gauge {
    pub(super) fn new() -> Self {
        Self {
            count: Cell::new(0),
            max: Cell::new(0),
            integral: Cell::new(0),
            changed_at: Cell::new(0),
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

    /// When it changed last.
    pub(super) fn changed_at(&self) -> u64 {
        self.changed_at.get()
    }

    /// One more.
    pub(super) fn up(&self, now: u64, phases: &Phases) {
        self.advance(now, phases);
        self.count.set(self.count.get() + 1);
        if phases.measures(now) {
            self.max.set(self.max.get().max(self.count.get()));
        }
    }

    /// One fewer.
    pub(super) fn down(&self, now: u64, phases: &Phases) {
        self.advance(now, phases);
        self.count.set(self.count.get() - 1);
    }

    /// Integrates up to now.
    pub(super) fn advance(&self, now: u64, phases: &Phases) {
        let length = overlap((self.changed_at.get(), now), phases);
        if length > 0 {
            let area = u128::from(length) * u128::from(self.count.get());
            self.integral.set(self.integral.get() + area);
            // What was in flight when the phase began counts towards its maximum.
            self.max.set(self.max.get().max(self.count.get()));
        }
        self.changed_at.set(self.changed_at.get().max(now));
    }
}

/// Nanoseconds of `from..to` that lie in the measure phase.
pub(super) fn overlap((from, to): (u64, u64), phases: &Phases) -> u64 {
    to.min(phases.measure_to).saturating_sub(from.max(phases.measure_from))
}
