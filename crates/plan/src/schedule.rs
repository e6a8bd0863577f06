//! The schedule: the sequence of arrivals, fixed by process and seed.

use crate::load::{ArrivalProcess, Stop};

/// One arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// k of the k-th arrival.
    pub index: u64,
    /// Nanoseconds from the start of the phase.
    pub offset_ns: u64,
}

/// All arrivals of a phase, in order; `skip`ping to a worker's share is up to the caller
/// (worker i of W takes indices k ≡ i mod W).
#[derive(Debug, Clone)]
pub struct Schedule {}

impl Schedule {
    /// The schedule of this process until it stops.
    ///
    /// The k-th offset is computed from k (constant) or from the k-th partial sum of draws in
    /// operational time (all random processes), never by adding a rounded period.
    pub fn new(_arrivals: &ArrivalProcess, _stop: Stop, _seed: u64) -> Self {
        todo!()
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        todo!()
    }
}
