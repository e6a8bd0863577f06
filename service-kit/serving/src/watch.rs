//! How long each part of an answer took.

use std::time::{Duration, Instant};

/// Reads the clock between parts.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    last: Instant,
}

impl Watch {
    /// From now on.
    pub fn start() -> Self {
        let now = Instant::now();
        Self { begun: now, last: now }
    }

    /// Time since the last call, or the start.
    pub fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now.duration_since(self.last);
        self.last = now;
        lap
    }

    /// Time since the start.
    pub fn total(&self) -> Duration {
        self.begun.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_add_up_to_no_more_than_the_whole() {
        let mut watch = Watch::start();
        let laps = watch.lap() + watch.lap();
        assert!(laps <= watch.total());
    }
}
