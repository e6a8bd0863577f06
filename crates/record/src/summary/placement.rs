//! Which processors who runs on.

use serde::{Deserialize, Serialize};

/// Processors given to each side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Placement {
    /// One processor a worker.
    pub workers: Vec<usize>,
    /// Processors left to processes that we start.
    pub systems: Vec<usize>,
}

impl Placement {
    /// Whether the workers' processors are theirs alone, as far as we place anything.
    pub fn workers_alone(&self) -> bool {
        !self.workers.iter().any(|core| self.systems.contains(core))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_in_common_and_the_workers_are_not_alone() {
        let placed = |workers: &[usize], systems: &[usize]| {
            Placement { workers: workers.to_vec(), systems: systems.to_vec() }.workers_alone()
        };
        assert!(placed(&[1], &[0]) && placed(&[2, 3], &[0, 1]) && placed(&[0], &[]));
        assert!(!placed(&[0], &[0]) && !placed(&[1, 2], &[0, 1]));
    }
}
