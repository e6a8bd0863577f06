//! Writes: what is known about rows and the index are brought from one state to the next together.
//!
//! Metadata are written before the index learns of a row, and removed after it: every row that is
//! found has metadata, even after a crash. If the index refuses the row, its metadata are removed
//! again, and ignored as long as that fails.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::versions::KnownRow;
use super::{Gateway, Inner};
use crate::api_error::ApiError;
use crate::embed::Embed;
use crate::index::{Batch, Entry, Index, Written};
use crate::metadata::Changes;
use crate::row::Row;

/// Records looked at at a time when those of a dropped index are forgotten.
const PAGE: usize = 1_000;

impl<E: Embed, I: Index> Gateway<E, I> {
    /// Writes rows and their metadata; once begun it completes even if the client has gone.
    ///
    /// Errors: what the index refuses, or `Unavailable`; then what is known is as it was
    pub(crate) async fn write(
        &self,
        drop: bool,
        rows: Vec<Row>,
        vectors: Vec<Vec<f32>>,
        delete: Vec<String>,
    ) -> Result<Written, ApiError> {
        let gateway = self.clone();
        let whole = tokio::spawn(async move { gateway.0.write(drop, rows, vectors, delete).await });
        let broken = |error| {
            let why = format!("the write was aborted: {error}");
            Err(ApiError::unavailable(why, Duration::from_secs(1)))
        };
        whole.await.unwrap_or_else(broken)
    }
}

impl<E: Embed, I: Index> Inner<E, I> {
    async fn write(
        &self,
        drop: bool,
        rows: Vec<Row>,
        vectors: Vec<Vec<f32>>,
        delete: Vec<String>,
    ) -> Result<Written, ApiError> {
        let ids = rows.iter().map(|row| &*row.id).chain(delete.iter().map(String::as_str));
        let _turns = if drop { self.turns.take_all().await } else { self.turns.take(ids).await };
        let newest = self.parts.index.newest().await?;
        let entry = |(row, vector): (&Row, Vec<f32>)| Entry {
            id: row.id.clone(),
            vector,
            attributes: row.metadata.clone(),
        };
        let entries = rows.iter().zip(vectors).map(entry).collect();
        let batch = Batch { drop, rows: entries, delete: delete.clone() };
        let named: HashSet<Box<str>> = rows.iter().map(|row| row.id.as_str().into()).collect();
        let before = self.known(rows.iter().map(|row| &*row.id))?;
        let writing = self.versions.write(newest, before);
        let written = match self.put(rows, batch).await {
            Ok(written) => written,
            Err(error) => {
                if self.take_back(writing.before()).await.is_err() {
                    writing.stays();
                }
                return Err(error);
            }
        };
        std::mem::drop(writing);
        self.forget(drop.then_some(&named), delete, written.sequence).await?;
        Ok(written)
    }

    async fn put(&self, rows: Vec<Row>, batch: Batch) -> Result<Written, ApiError> {
        if !rows.is_empty() {
            self.parts.metadata.write(Changes { rows, ..Changes::default() }).await?;
        }
        self.parts.index.write(batch).await
    }

    /// What is known about some rows, each once.
    fn known<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<Vec<KnownRow>, ApiError> {
        let ids: Vec<&str> = ids.collect::<BTreeSet<&str>>().into_iter().collect();
        let records = self.parts.metadata.get(&ids)?;
        Ok(ids.into_iter().map(Box::from).zip(records).collect())
    }

    async fn take_back(&self, before: &[KnownRow]) -> Result<(), ApiError> {
        let mut changes = Changes::default();
        for (id, record) in before {
            match record {
                Some(record) => changes.rows.push(record.row(id.clone())),
                None => changes.delete.push(id.to_string()),
            }
        }
        if changes.rows.is_empty() && changes.delete.is_empty() {
            return Ok(());
        }
        self.parts.metadata.write(changes).await
    }

    /// Forgets what the index has forgotten in a write.
    async fn forget(
        &self,
        kept: Option<&HashSet<Box<str>>>,
        delete: Vec<String>,
        sequence: u64,
    ) -> Result<(), ApiError> {
        if let Some(kept) = kept {
            self.forget_all_but(kept).await?;
            self.versions.forget_unended();
        }
        if delete.is_empty() {
            return Ok(());
        }
        let before = self.known(delete.iter().map(String::as_str))?;
        let writing = self.versions.write(sequence, before);
        let forgotten = self.parts.metadata.write(Changes { delete, ..Changes::default() }).await;
        if forgotten.is_err() {
            writing.stays();
        }
        forgotten
    }

    async fn forget_all_but(&self, kept: &HashSet<Box<str>>) -> Result<(), ApiError> {
        if kept.is_empty() {
            return self.parts.metadata.write(Changes { drop: true, ..Changes::default() }).await;
        }
        let mut last = Box::from("");
        loop {
            let page = self.parts.metadata.after(&last, PAGE)?;
            let Some((id, _)) = page.last() else { return Ok(()) };
            last = id.clone();
            let ids = page.into_iter().map(|(id, _)| id).filter(|id| !kept.contains(id));
            let delete: Vec<String> = ids.map(String::from).collect();
            if !delete.is_empty() {
                self.parts.metadata.write(Changes { delete, ..Changes::default() }).await?;
            }
        }
    }
}
