//! The index in this process: vectors and rows in memory, and in a folder if it has one.
//!
//! In reading order: [`settings`]; checks of input ([`intake`]); rows and graph ([`generation`],
//! with its [`catalog`] of fields); search ([`search_plan`]); changes ([`generation_writer`], [`writer`]);
//! files ([`disk`] has the rows, [`image`] the graph).

mod catalog;
mod disk;
mod generation;
mod generation_writer;
mod image;
mod intake;
mod search_plan;
mod settings;
mod writer;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{Batch, Found, Index, Query, Status, Written};
use crate::api_error::ApiError;
use disk::Disk;
use generation_writer::GenerationWriter;
use image::LoadReport;
use search_plan::Search;
pub use settings::{LEAST_REBUILD_SHARE, Settings};
use writer::{Shared, Writer, WriterJob};

/// Batches that may wait; further callers wait before theirs is queued.
const QUEUE: usize = 1_024;

/// A search that compares more rows goes to a thread of its own: others are not to wait for it.
const AT_ONCE: usize = 16_384;

/// The index in this process.
#[derive(Debug)]
pub struct Local {
    shared: Arc<Shared>,
    jobs: Option<mpsc::Sender<WriterJob>>,
    writer: Option<JoinHandle<()>>,
    loaded: LoadReport,
    /// Searches on threads of their own.
    large: Arc<Semaphore>,
}

impl Local {
    /// Makes an index, with what its folder holds if it has one.
    ///
    /// Errors: a setting out of its range; rows that cannot be read, or of another dimension
    pub fn open(settings: Settings) -> Result<Self, ApiError> {
        settings.check()?;
        let (book, disk, sequence, loaded) = load(&settings)?;
        let large = Arc::new(Semaphore::new(settings.threads));
        let shared = Arc::new(Shared::new(
            settings,
            book.published(sequence),
            disk.as_ref().map(Disk::watched),
        ));
        let (jobs, waiting) = mpsc::channel(QUEUE);
        let writer = Writer {
            shared: shared.clone(),
            book,
            disk,
            sequence,
            back: jobs.downgrade(),
            is_rebuilding: false,
            unsaved: 0,
            written: 0,
            saver: None,
        };
        let thread = std::thread::Builder::new().name("search-writer".into());
        let writer = thread.spawn(move || writer.serve(waiting)).map_err(|_| no_thread())?;
        Ok(Self { shared, jobs: Some(jobs), writer: Some(writer), loaded, large })
    }

    /// Changes how wide walks are from now on; see [`Settings::ef`].
    ///
    /// Errors: 0
    pub fn set_ef(&self, ef: usize) -> Result<(), ApiError> {
        Settings { ef, ..self.shared.settings.clone() }.check()?;
        self.shared.ef.store(ef, Ordering::Relaxed);
        Ok(())
    }

    /// How many rows there are.
    pub fn size(&self) -> u64 {
        self.shared.front.now().size
    }
}

/// What the folder holds, and what becomes of it.
fn load(
    settings: &Settings,
) -> Result<(GenerationWriter, Option<Disk>, u64, LoadReport), ApiError> {
    let Some(folder) = &settings.folder else {
        return Ok((GenerationWriter::new(settings.shape()), None, 0, LoadReport::default()));
    };
    let disk = Disk::open_whole(folder, settings.dimension)?;
    let (rows, sequence) = disk.rows()?;
    if let Some(newest) = image::newest(folder).filter(|newest| *newest > sequence) {
        let message = format!(
            "the rows on the disk end with write {sequence}, and there is a snapshot taken after \
             {newest}: rows are lost; to begin anew, remove the snapshots, too"
        );
        return Err(ApiError::unavailable(message, Duration::from_secs(1)));
    }
    image::sweep(folder);
    let (image, loaded) = image::load(folder, settings.shape());
    let (mut book, known) = match image {
        Some(image) => (GenerationWriter::on(image.graph, image.nodes), image.rows),
        None => (GenerationWriter::new(settings.shape()), Default::default()),
    };
    let mut others = Vec::new();
    for kept in rows {
        // A snapshot is believed where it agrees with the rows.
        let node = known.get(&*kept.fresh.id).filter(|(born, _)| *born == kept.born);
        let vector = node.and_then(|(_, node)| book.generation.graph.vector(*node));
        match (node, vector) {
            (Some((born, node)), Some(vector))
                if generation_writer::is_same(vector, &kept.fresh.vector) =>
            {
                book.restore(kept.fresh, *node, *born);
            }
            _ => others.push(kept),
        }
    }
    for kept in others {
        book.insert(kept.fresh, kept.born);
    }
    book.link(settings.brute_force_below, settings.threads);
    Ok((book, Some(disk), sequence, loaded))
}

impl Index for Local {
    async fn search(&self, query: Query) -> Result<Found, ApiError> {
        let search = Search::plan(&query, &self.shared)?;
        if search.cost() <= AT_ONCE {
            return Ok(search.find());
        }
        let permit = self.large.clone().acquire_owned().await;
        aside("search-scan", move || {
            let found = search.find();
            drop(permit);
            found
        })
        .await
    }

    async fn write(&self, batch: Batch) -> Result<Written, ApiError> {
        let fit = intake::fit(batch, self.shared.settings.dimension)?;
        let (answer, waiting) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(WriterJob::Write(fit, answer)).await.map_err(|_| closed())?;
        waiting.await.map_err(|_| closed())?
    }

    async fn snapshot(&self) -> Result<Value, ApiError> {
        let shared = self.shared.clone();
        aside("search-snapshot", move || shared.save()).await?
    }

    async fn status(&self) -> Result<Status, ApiError> {
        if self.writer.as_ref().is_some_and(JoinHandle::is_finished) {
            return Err(closed());
        }
        self.shared.watched.as_ref().map_or(Ok(()), |watched| watched.check())?;
        let published = self.shared.front.now();
        let tombstones = u64::from(published.slots).saturating_sub(published.size);
        Ok(Status { size: published.size, tombstones, sequence: published.sequence })
    }

    fn effective(&self) -> Value {
        let published = self.shared.front.now();
        let mut effective = json!(self.shared.settings);
        effective["ef"] = self.shared.ef.load(Ordering::Relaxed).into();
        effective["kind"] = "local".into();
        effective["loaded"] = json!(self.loaded);
        effective["loaded"]["rows"] = published.size.into();
        effective
    }
}

impl Drop for Local {
    /// Writes what waits.
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            // A panic there was reported to all waiting callers by their dropped channels.
            let _ = writer.join();
        }
    }
}

/// Runs long work on a blocking thread.
async fn aside<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let (answer, waiting) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(move || drop(answer.send(work()))).map_err(|_| no_thread())?;
    waiting.await.map_err(|_| closed())
}

fn closed() -> ApiError {
    ApiError::unavailable("the index is closed", Duration::from_secs(1))
}

fn no_thread() -> ApiError {
    ApiError::unavailable("no more threads can be started", Duration::from_secs(1))
}

#[cfg(test)]
mod tests;
