//! The mix: which operation the k-th arrival is, drawn from the seed.

use crate::operation::Operation;

/// What the k-th arrival does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// k.
    pub index: u64,
    /// Index of the operation.
    pub operation: usize,
    /// How many of this operation came before it.
    pub sequence: u64,
    /// The row it takes, 0 where the operation has none.
    pub row: usize,
}

/// Walks the indices 0, 1, 2 … and assigns an operation to each; ends when an operation with
/// rows `once` has none left. Every worker walks all indices, so the assignment does not depend
/// on the number of workers.
#[derive(Debug, Clone)]
pub struct Mix {}

impl Mix {
    /// The mix of these operations.
    pub fn new(_operations: &[Operation], _seed: u64) -> Self {
        todo!()
    }
}

impl Iterator for Mix {
    type Item = Assignment;

    fn next(&mut self) -> Option<Assignment> {
        todo!()
    }
}
