//! What an index is made with.

use std::path::PathBuf;

use hnsw::Shape;
use serde::Serialize;

use crate::api_error::{ApiError, Code};

/// Longest vector.
const LONGEST: usize = 1 << 14;

/// Most links of a node.
const MOST_LINKS: usize = 512;

/// Widest walk.
const WIDEST: usize = 1 << 16;

/// Least of [`Settings::rebuild_share`]: below, the graph would be made anew for ever.
pub const LEAST_REBUILD_SHARE: f64 = 0.01;

/// What an index is made with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// Length of every vector.
    pub dimension: usize,
    /// Links of a node of the graph on each level; twice as many on the lowest.
    pub m: usize,
    /// How many of the nearest are looked at when a node is added.
    pub ef_construction: usize,
    /// How many of the nearest a search keeps on its way for up to ten results; one more for each
    /// further result. 1 is a broken index, for seeing that one is seen.
    pub ef: usize,
    /// Below so many rows every one is compared, and no graph is made.
    pub brute_force_below: u64,
    /// Most rows.
    pub max_rows: u64,
    /// Threads that link rows of one batch, and most searches at a time that compare many rows.
    pub threads: usize,
    /// A snapshot after so many rows were written; 0 for none but those asked for.
    pub snapshot_every: u64,
    /// The graph is made anew when so much of it is of rows that are gone.
    pub rebuild_share: f64,
    /// Where rows and snapshots are kept; without one, in memory only.
    pub folder: Option<PathBuf>,
}

impl Settings {
    /// The usual ones.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            m: 16,
            ef_construction: 100,
            ef: 64,
            brute_force_below: 2_000,
            max_rows: 2_000_000,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            snapshot_every: 100_000,
            rebuild_share: 0.25,
            folder: None,
        }
    }

    pub(super) fn shape(&self) -> Shape {
        let Self { dimension, m, ef_construction, .. } = *self;
        Shape { dimension, m, ef_construction }
    }

    /// Errors: the first setting that is out of its range
    pub(super) fn check(&self) -> Result<(), ApiError> {
        let ranges = [
            ("dimension", self.dimension, 1..=LONGEST),
            ("m", self.m, 2..=MOST_LINKS),
            ("ef_construction", self.ef_construction, 1..=WIDEST),
            ("ef", self.ef, 1..=WIDEST),
            ("threads", self.threads, 1..=1_024),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                let (least, most) = (range.start(), range.end());
                let message = format!("`{name}` must be {least} to {most} (got {value})");
                return Err(ApiError::new(Code::InvalidRequest, message));
            }
        }
        let most = u64::from(u32::MAX / 4);
        let refuse = |message: String| Err(ApiError::new(Code::InvalidRequest, message));
        if !(1..=most).contains(&self.max_rows) {
            return refuse(format!("`max_rows` must be 1 to {most} (got {})", self.max_rows));
        }
        if !(LEAST_REBUILD_SHARE..=1.0).contains(&self.rebuild_share) {
            let (share, least) = (self.rebuild_share, LEAST_REBUILD_SHARE);
            return refuse(format!("`rebuild_share` must be {least} to 1 (got {share})"));
        }
        Ok(())
    }
}
