//! How far the index was seen to have come: one that falls behind that has lost rows.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::api_error::{ApiError, Code};
use crate::index::{Batch, Found, Index, Query, Status, Written};

/// When to retry: an operator has to act first.
const RETRY: Duration = Duration::from_secs(5);

/// An index, and the newest write that it was seen to have made.
#[derive(Debug)]
pub(crate) struct IndexProgress<I> {
    pub(crate) index: I,
    newest: AtomicU64,
    /// Writes that may have been made without a confirmation, and the index state after which they
    /// are settled; at first the writes before this gateway.
    doubts: AtomicU64,
    settled: AtomicU64,
    lost: OnceLock<String>,
}

impl<I: Index> IndexProgress<I> {
    pub(super) fn new(index: I) -> Self {
        let (newest, doubts, settled) = (0.into(), 1.into(), 0.into());
        Self { index, newest, doubts, settled, lost: OnceLock::new() }
    }

    /// As the index does.
    ///
    /// Errors: what the index refuses; `Unavailable` once it has lost rows
    pub(crate) async fn search(&self, query: Query) -> Result<Found, ApiError> {
        let before = self.before()?;
        let found = self.index.search(query).await.map_err(misfit)?;
        self.check(before, found.sequence)?;
        Ok(found)
    }

    /// As the index does.
    ///
    /// Errors: likewise
    pub(crate) async fn write(&self, batch: Batch) -> Result<Written, ApiError> {
        let before = self.before()?;
        let written = self.index.write(batch).await.map_err(misfit).inspect_err(|error| {
            if error.code == Code::Unavailable {
                self.doubts.fetch_add(1, Ordering::AcqRel);
            }
        })?;
        // It counts itself.
        self.check(before + 1, written.sequence)?;
        Ok(written)
    }

    /// As the index does.
    ///
    /// Errors: likewise
    pub(crate) async fn status(&self) -> Result<Status, ApiError> {
        let before = self.before()?;
        let status = self.index.status().await?;
        self.check(before, status.sequence)?;
        Ok(status)
    }

    /// The number of the newest write that was answered before this, or a later one.
    ///
    /// Errors: as [`Self::status`]
    pub(super) async fn newest(&self) -> Result<u64, ApiError> {
        let doubts = self.doubts.load(Ordering::Acquire);
        if self.settled.load(Ordering::Acquire) < doubts {
            self.status().await?;
            self.settled.fetch_max(doubts, Ordering::AcqRel);
        }
        self.before()
    }

    fn before(&self) -> Result<u64, ApiError> {
        match self.lost.get() {
            Some(why) => Err(ApiError::unavailable(why, RETRY)),
            None => Ok(self.newest.load(Ordering::Acquire)),
        }
    }

    /// What was seen before it was asked is the least that its answer may be.
    fn check(&self, least: u64, sequence: u64) -> Result<(), ApiError> {
        if sequence >= least {
            self.newest.fetch_max(sequence, Ordering::AcqRel);
            return Ok(());
        }
        let why = format!(
            "the index has lost rows: it is at write {sequence}, expected at least {least}; restart this service to fill it"
        );
        Err(ApiError::unavailable(self.lost.get_or_init(|| why), RETRY))
    }
}

/// Vectors that come here have the dimension of the start.
fn misfit(error: ApiError) -> ApiError {
    if error.code != Code::InvalidVector {
        return error;
    }
    let what = format!("the index no longer fits the embedder: {}", error.message);
    ApiError::unavailable(what, RETRY)
}
