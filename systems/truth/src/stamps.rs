//! The arrivals as this side saw them: one row each, up to a bound, in memory allocated at the
//! start.

use crate::model::Planned;

/// Arrivals and what became of them. Beyond the bound they are counted, not kept.
#[derive(Debug)]
pub struct Stamps {
    bound: usize,
    received: u64,
    arrivals: Vec<Arrival>,
    lateness_ns: Vec<u64>,
}

/// One request as this side saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When the last byte of its head was read.
    pub arrived_ns: u64,
    /// Time of work planned for it.
    pub service_ns: u64,
    /// From its arrival to the planned instant of its answer.
    pub response_ns: u64,
}

impl Stamps {
    /// Room for `bound` arrivals. The kernel gives the pages as they are used.
    pub fn new(bound: usize) -> Self {
        let arrivals = Vec::with_capacity(bound);
        Self { bound, received: 0, arrivals, lateness_ns: Vec::with_capacity(bound) }
    }

    /// Keeps one arrival and its plan.
    pub fn arrived(&mut self, arrived_ns: u64, planned: Planned) {
        self.received += 1;
        if self.arrivals.len() < self.bound {
            let response_ns = planned.due_ns.saturating_sub(arrived_ns);
            let service_ns = planned.service_ns;
            self.arrivals.push(Arrival { arrived_ns, service_ns, response_ns });
        }
    }

    /// Keeps how long after its planned instant an answer was written.
    pub fn answered(&mut self, lateness_ns: u64) {
        if self.lateness_ns.len() < self.bound {
            self.lateness_ns.push(lateness_ns);
        }
    }

    /// Drops all stamps and keeps the memory.
    pub fn clear(&mut self) {
        self.received = 0;
        self.arrivals.clear();
        self.lateness_ns.clear();
    }

    /// All requests, kept or not.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The arrivals kept, in the order in which they were read.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// How late answers were written, in the order of writing.
    pub fn lateness_ns(&self) -> &[u64] {
        &self.lateness_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_arrivals_are_counted_only() {
        let mut stamps = Stamps::new(2);
        for arrived_ns in 10..15 {
            stamps.arrived(arrived_ns, Planned { service_ns: 1, due_ns: arrived_ns + 3 });
            stamps.answered(7);
        }
        assert_eq!(stamps.received(), 5);
        assert_eq!(stamps.lateness_ns(), [7, 7]);
        let last = Arrival { arrived_ns: 11, service_ns: 1, response_ns: 3 };
        assert_eq!(stamps.arrivals()[1], last);
        stamps.clear();
        assert_eq!((stamps.received(), stamps.arrivals().len()), (0, 0));
    }
}
