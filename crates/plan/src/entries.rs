//! Which row of a list each arrival of a replay has, where arrivals do not take the rows in turn.

/// Which row of a list each arrival has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    pub(crate) of: Vec<u32>,
    pub(crate) said_by: SaidBy,
}

/// What says which row an arrival has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaidBy {
    /// Its place among so many recorded ones; a list of as many rows is meant.
    Place(u64),
    /// A column of the file.
    Column,
}

impl Entries {
    /// Rows, from 0, as a column of the file has them.
    pub fn of_column(of: Vec<u32>) -> Self {
        Self { of, said_by: SaidBy::Column }
    }
}
