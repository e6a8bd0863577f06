//! When each answer is due: arrivals in, departures out, no clock.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::configuration::Timing;

/// When one request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Time of work, without waiting.
    pub service_ns: u64,
    /// Instant of the answer; `due_ns − arrived_ns` is the true response time.
    pub due_ns: u64,
}

/// The timing of a mode together with what it remembers from request to request.
#[derive(Debug, Clone)]
pub struct Model {
    timing: Timing,
    draws: Draws,
    queue: Queue,
    first_ns: Option<u64>,
    served: u64,
}

impl Model {
    /// A model that has seen nothing yet; the same seed gives the same service times.
    pub fn new(timing: Timing, seed: u64) -> Self {
        let queue = Queue::default();
        Self { timing, draws: Draws::new(seed), queue, first_ns: None, served: 0 }
    }

    /// Plans the answer to the next request.
    ///
    /// Shape:  arrivals in the order in which they were seen
    /// Units:  nanoseconds on any one clock
    /// Cost:   O(1), no allocation
    pub fn plan(&mut self, arrived_ns: u64) -> Planned {
        let first_ns = *self.first_ns.get_or_insert(arrived_ns);
        let index = self.served;
        self.served += 1;
        match self.timing {
            Timing::Constant { service_ns } => without_queue(arrived_ns, service_ns),
            Timing::Mm1 { rate } => {
                let service_ns = self.draws.exponential_ns(rate);
                self.queue.plan(arrived_ns, service_ns)
            }
            Timing::Md1 { rate } => self.queue.plan(arrived_ns, (1e9 / rate).round() as u64),
            Timing::Bimodal { slow_share, fast_ns, slow_ns } => {
                let slow = self.draws.happens(slow_share);
                without_queue(arrived_ns, if slow { slow_ns } else { fast_ns })
            }
            Timing::Freeze { service_ns, at_ns, length_ns, every_ns } => {
                let freeze =
                    Freeze { from_ns: first_ns.saturating_add(at_ns), length_ns, every_ns };
                let due_ns = freeze.after_freeze(arrived_ns, arrived_ns.saturating_add(service_ns));
                Planned { service_ns, due_ns }
            }
            Timing::Leak { service_ns, growth_ns } => {
                let grown_ns = service_ns.saturating_add(growth_ns.saturating_mul(index));
                without_queue(arrived_ns, grown_ns)
            }
        }
    }
}

/// Any number of servers: no request waits.
fn without_queue(arrived_ns: u64, service_ns: u64) -> Planned {
    Planned { service_ns, due_ns: arrived_ns.saturating_add(service_ns) }
}

/// One server, first come first served.
///
/// Source: Lindley 1952: a departure is max(own arrival, previous departure) + service
#[derive(Debug, Clone, Copy, Default)]
pub struct Queue {
    free_at_ns: u64,
}

impl Queue {
    /// Plans one request behind all earlier ones.
    pub fn plan(&mut self, arrived_ns: u64, service_ns: u64) -> Planned {
        self.free_at_ns = arrived_ns.max(self.free_at_ns).saturating_add(service_ns);
        Planned { service_ns, due_ns: self.free_at_ns }
    }
}

/// Spans in which nothing is answered, as if the process had been stopped with its timers running.
#[derive(Debug, Clone, Copy)]
struct Freeze {
    from_ns: u64,
    length_ns: u64,
    every_ns: Option<u64>,
}

impl Freeze {
    /// The answer's instant: `due_ns`, or the end of the freeze in which it falls, and never
    /// before the end of a freeze that the arrival fell into.
    fn after_freeze(self, arrived_ns: u64, due_ns: u64) -> u64 {
        let arrived_end = self.end_around(arrived_ns).unwrap_or(arrived_ns);
        let due_ns = due_ns.max(arrived_end);
        self.end_around(due_ns).unwrap_or(due_ns)
    }

    /// The end of the freeze that holds `instant`, its start included and its end not.
    fn end_around(self, instant: u64) -> Option<u64> {
        let since = instant.checked_sub(self.from_ns)?;
        let into = self.every_ns.map_or(since, |every_ns| since % every_ns);
        (into < self.length_ns).then(|| instant - into + self.length_ns)
    }
}

/// Seeded draws.
#[derive(Debug, Clone)]
pub struct Draws {
    random: Xoshiro256PlusPlus,
}

impl Draws {
    /// A stream of draws of its own.
    pub fn new(seed: u64) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Other draws, with a seed drawn from these.
    pub fn fork(&mut self) -> Self {
        Self::new(self.random.next_u64())
    }

    /// Uniform in [0, 1), from the upper 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with this probability; certain ones draw nothing.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability >= 1.0 || (probability > 0.0 && self.uniform() < probability)
    }

    /// Exponential with mean 1/rate seconds: −ln(1 − U)/rate, where 1 − U is never 0.
    pub fn exponential_ns(&mut self, rate: f64) -> u64 {
        (-(1.0 - self.uniform()).ln() * 1e9 / rate).round() as u64
    }

    /// Geometric from 1 on with this mean: 1 + ⌊ln(1 − U)/ln(1 − 1/mean)⌋.
    pub fn geometric(&mut self, mean: u64) -> u64 {
        let stays = (1.0 - 1.0 / mean as f64).ln();
        1 + ((1.0 - self.uniform()).ln() / stays) as u64
    }
}

#[cfg(test)]
mod tests;
