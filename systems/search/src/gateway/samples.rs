//! One of every so many answers of the index, kept for the recall observer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::index::{Found, Near};
use crate::parts::packed;

/// What was asked of the index, and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The text, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Where it looked.
    #[serde(with = "packed")]
    pub vector: Vec<f32>,
    /// How many at most.
    pub k: usize,
    /// Which rows were admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Value>,
    /// The write that the answer saw last.
    pub sequence: u64,
    /// Whether every admitted row was compared.
    pub exact: bool,
    /// What was found, before any boost.
    pub nearest: Vec<Near>,
}

/// The newest samples, and how many there were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Searches that might have been sampled.
    pub seen: u64,
    /// One of so many searches is sampled; 0 for none.
    pub every: u64,
    /// Samples taken.
    pub taken: u64,
    /// Those that are still there, oldest first.
    pub samples: Vec<Sample>,
}

/// A ring of samples.
#[derive(Debug)]
pub(super) struct Samples {
    every: u64,
    most: usize,
    seen: AtomicU64,
    ring: Mutex<(u64, VecDeque<Sample>)>,
}

impl Samples {
    /// Takes one search in `every`, and keeps the newest `most` of them; `every` 0 takes none.
    pub fn new(every: u64, most: usize) -> Self {
        Self { every, most, seen: AtomicU64::new(0), ring: Mutex::default() }
    }

    /// Counts a search; whether it is to be sampled.
    pub fn is_due(&self) -> bool {
        self.every > 0 && self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.every)
    }

    /// Keeps one.
    pub fn keep(&self, sample: Sample) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.0 += 1;
        if ring.1.len() == self.most {
            ring.1.pop_front();
        }
        ring.1.push_back(sample);
    }

    /// What there is.
    pub fn sampled(&self) -> Sampled {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        Sampled {
            seen: self.seen.load(Ordering::Relaxed),
            every: self.every,
            taken: ring.0,
            samples: ring.1.iter().cloned().collect(),
        }
    }
}

impl Sample {
    /// What was found for what.
    pub(super) fn of(
        query: Option<String>,
        vector: Vec<f32>,
        filter: Option<Value>,
        k: usize,
        found: Found,
    ) -> Self {
        let Found { nearest, sequence, exact, .. } = found;
        Self { query, vector, k, filter, sequence, exact, nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(sequence: u64) -> Sample {
        let found = Found { nearest: Vec::new(), size: 3, sequence, exact: false };
        Sample::of(None, vec![1.0], None, 10, found)
    }

    #[test]
    fn one_in_so_many_is_taken_and_the_newest_stay() {
        let samples = Samples::new(3, 2);
        let due: Vec<bool> = (0..9).map(|_| samples.is_due()).collect();
        let expect = [true, false, false, true, false, false, true, false, false];
        assert_eq!(due, expect);
        (0..3).for_each(|sequence| samples.keep(sample(sequence)));
        let sampled = samples.sampled();
        assert_eq!((sampled.seen, sampled.every, sampled.taken), (9, 3, 3));
        let kept: Vec<u64> = sampled.samples.iter().map(|sample| sample.sequence).collect();
        assert_eq!(kept, [1, 2]);
        assert!(!Samples::new(0, 2).is_due());
    }
}
