//! Growing pauses between attempts, with random variation.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// Doubles from `first` to `longest`. Each pause is shortened at random by up to a quarter, so that
/// clients that failed together do not retry together.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Pauses that begin with `first`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// The pause before the next attempt.
    pub fn draw(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        // Every RandomState has other keys: random enough, and without state of its own.
        let random = RandomState::new().build_hasher().finish();
        pause - pause.mul_f64(random as f64 / u64::MAX as f64 / 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_differ() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_millis(400));
        let pauses = || {
            let mut pause = Backoff::new(first, longest);
            [(); 4].map(|()| pause.draw())
        };
        let all: Vec<_> = (0..50).map(|_| pauses()).collect();
        for (index, nominal) in [100, 200, 400, 400].into_iter().enumerate() {
            let nominal = Duration::from_millis(nominal);
            let at: Vec<Duration> = all.iter().map(|pauses| pauses[index]).collect();
            assert!(at.iter().all(|pause| *pause <= nominal && *pause >= nominal * 3 / 4));
            assert!(at.iter().any(|pause| *pause != at[0]), "no two draws differ");
        }
    }
}
