//! The thread that alone writes.
//!
//! Batches that wait while one commit is under way go into the next one together. Each is applied
//! when it is on the disk, and seen by readers when all of it is applied.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::catalog::{MOST_NAMES, NewFields};
use super::disk::Disk;
use super::generation::{Generation, Published, PublishedCell};
use super::generation_writer::GenerationWriter;
use super::image;
use super::intake::{CheckedBatch, CheckedRow};
use super::settings::Settings;
use crate::api_error::{ApiError, Code};
use crate::index::Written;
use crate::watched::Watched;

/// Most batches that share a commit.
const MOST: usize = 1_000;

/// A commit with so many rows waits for no more.
const MANY_ROWS: usize = 20_000;

/// A graph with fewer removed rows is not rebuilt.
const FEWEST_GONE: u64 = 1_000;

/// A rebuild hands over when so few rows are left to copy.
const FEW_LEFT: u32 = 256;

/// After so many rounds the rest is handed over at once: fast writers would otherwise keep it from
/// ending.
const MOST_ROUNDS: usize = 8;

/// What comes of a write.
type WriteAnswer = Result<Written, ApiError>;

/// What the writer is asked for.
#[derive(Debug)]
pub(super) enum WriterJob {
    /// Change something.
    Write(CheckedBatch, oneshot::Sender<WriteAnswer>),
    /// Take over what was made anew from a generation, as far as a slot; nothing if it was dropped
    /// meanwhile.
    Rebuilt(Option<(GenerationWriter, Arc<Generation>, u32)>),
}

/// What the writer shares with readers.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) front: PublishedCell,
    /// What walks keep on their way: at first what the settings say.
    pub(super) ef: AtomicUsize,
    /// Held while writing a snapshot.
    saving: Mutex<()>,
    /// The file of the rows, if there is one.
    pub(super) watched: Option<Arc<Watched>>,
    /// Set when the index is dropped: a rebuild need not be finished.
    pub(super) is_closed: AtomicBool,
}

impl Shared {
    pub(super) fn new(
        settings: Settings,
        published: Published,
        watched: Option<Arc<Watched>>,
    ) -> Self {
        Self {
            front: PublishedCell::new(published),
            ef: AtomicUsize::new(settings.ef),
            saving: Mutex::default(),
            watched,
            is_closed: AtomicBool::new(false),
            settings,
        }
    }

    /// Writes a snapshot of what there is now.
    ///
    /// Errors: no folder; the disk
    pub(super) fn save(&self) -> Result<Value, ApiError> {
        let Some(folder) = &self.settings.folder else {
            let message = "the index has no folder to write a snapshot to";
            return Err(ApiError::new(Code::InvalidRequest, message));
        };
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let published = self.front.now();
        let told = |(path, bytes): (PathBuf, u64)| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Published { sequence, size, linked, .. } = *published;
            json!({"file": file, "bytes": bytes, "sequence": sequence, "rows": size, "vectors": linked})
        };
        let failed = |error: std::io::Error| {
            ApiError::unavailable(
                format!("the snapshot was not written: {error}"),
                Duration::from_secs(1),
            )
        };
        image::save(folder, &published).map(told).map_err(failed)
    }
}

/// Who writes.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) book: GenerationWriter,
    pub(super) disk: Option<Disk>,
    pub(super) sequence: u64,
    /// Where a rebuild hands over; weak, or the writer would wait for itself for ever.
    pub(super) back: mpsc::WeakSender<WriterJob>,
    pub(super) is_rebuilding: bool,
    /// Rows since a snapshot was begun.
    pub(super) unsaved: u64,
    /// Rows since the start.
    pub(super) written: u64,
    pub(super) saver: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    /// Serves jobs until all senders are dropped.
    pub(super) fn serve(mut self, mut jobs: mpsc::Receiver<WriterJob>) {
        while let Some(job) = jobs.blocking_recv() {
            let mut batches = Vec::new();
            let mut rows = 0;
            let mut next = Some(job);
            while let Some(job) = next {
                match job {
                    WriterJob::Write(fit, answer) => {
                        rows += fit.rows.len();
                        batches.push((fit, answer));
                    }
                    WriterJob::Rebuilt(book) => self.take_over(book),
                }
                let is_full = batches.len() >= MOST || rows >= MANY_ROWS;
                next = if is_full { None } else { jobs.try_recv().ok() };
            }
            self.write(batches);
            self.tidy();
        }
        if let Some(saver) = self.saver.take() {
            // Unwritten batches were not acknowledged.
            let _ = saver.join();
        }
        self.save_last();
    }

    /// A clean end leaves a snapshot of all that was written, so that the next start is quick.
    fn save_last(&self) {
        let Settings { folder: Some(folder), snapshot_every, .. } = &self.shared.settings else {
            return;
        };
        let published = self.shared.front.now();
        let is_wanted = *snapshot_every > 0 && self.written > 0 && published.linked > 0;
        if is_wanted && image::newest(folder) != Some(published.sequence) {
            // The rows are safe without it.
            drop(self.shared.save());
        }
    }

    fn write(&mut self, batches: Vec<(CheckedBatch, oneshot::Sender<WriteAnswer>)>) {
        let mut taken = Vec::with_capacity(batches.len());
        let mut expected = ExpectedRows::of(&self.book);
        for (fit, answer) in batches {
            match expected.add(&fit, &self.book, self.shared.settings.max_rows) {
                Ok(()) => taken.push((fit, answer)),
                // Who no longer waits for an answer does not need one.
                Err(error) => drop(answer.send(Err(error))),
            }
        }
        if taken.is_empty() {
            return;
        }
        let on_disk = self.keep(&taken);
        for (fit, answer) in taken {
            let outcome = on_disk.clone().map(|()| self.apply(fit));
            drop(answer.send(outcome));
        }
    }

    /// Writes batches to the disk if there is one. After a failure the file is opened again the
    /// next time.
    fn keep(
        &mut self,
        taken: &[(CheckedBatch, oneshot::Sender<WriteAnswer>)],
    ) -> Result<(), ApiError> {
        let Settings { folder: Some(folder), dimension, .. } = &self.shared.settings else {
            return Ok(());
        };
        let disk = match (self.disk.take(), &self.shared.watched) {
            (Some(disk), _) => disk,
            (None, Some(watched)) => Disk::open(folder, *dimension, watched.clone())?,
            (None, None) => return Ok(()),
        };
        disk.write(taken.iter().map(|(fit, _)| fit), self.sequence + 1)?;
        self.disk = Some(disk);
        Ok(())
    }

    /// Makes a batch seen, all of it at once.
    fn apply(&mut self, fit: CheckedBatch) -> Written {
        let sequence = self.sequence + 1;
        let Settings { brute_force_below, threads, .. } = self.shared.settings;
        if fit.drop {
            self.book = GenerationWriter::new(self.shared.settings.shape());
        }
        self.unsaved += fit.rows.len() as u64;
        self.written += fit.rows.len() as u64;
        for fresh in fit.rows {
            self.book.insert(fresh, sequence);
        }
        let deleted = fit.delete.iter().filter(|id| self.book.delete(id, sequence)).count();
        self.book.link(brute_force_below, threads);
        self.sequence = sequence;
        self.shared.front.publish(self.book.published(sequence));
        Written { size: self.book.size(), deleted: deleted as u64, sequence }
    }

    /// Begins what is to be done beside the writing.
    fn tidy(&mut self) {
        let Settings { rebuild_share, snapshot_every, .. } = self.shared.settings;
        let gone = self.book.gone();
        let share = gone as f64 / f64::from(self.book.slots().max(1));
        if !self.is_rebuilding && gone >= FEWEST_GONE && share >= rebuild_share {
            self.rebuild();
        }
        let is_saving = self.saver.as_ref().is_some_and(|saver| !saver.is_finished());
        let is_due = snapshot_every > 0 && self.unsaved >= snapshot_every;
        if is_due && !is_saving && self.shared.settings.folder.is_some() {
            let shared = self.shared.clone();
            let save = std::thread::Builder::new().name("search-snapshot".into());
            // A snapshot that fails is tried again after as many rows; the rows are safe.
            self.saver = save.spawn(move || drop(shared.save())).ok();
            self.unsaved = 0;
        }
    }

    fn rebuild(&mut self) {
        let (shared, back) = (self.shared.clone(), self.back.clone());
        let base = self.book.generation.clone();
        let thread = std::thread::Builder::new().name("search-rebuild".into());
        let spawned = thread.spawn(move || {
            let rebuilt = rebuild(&shared, base);
            if let Some(back) = back.upgrade() {
                // A writer that has ended needs no graph.
                drop(back.blocking_send(WriterJob::Rebuilt(rebuilt)));
            }
        });
        self.is_rebuilding = spawned.is_ok();
    }

    /// Changes over to what was made anew, with what was written since.
    fn take_over(&mut self, rebuilt: Option<(GenerationWriter, Arc<Generation>, u32)>) {
        self.is_rebuilding = false;
        let Some((mut book, base, copied)) = rebuilt else { return };
        if !Arc::ptr_eq(&base, &self.book.generation) {
            return;
        }
        let now = self.book.published(self.sequence);
        book.copy(&now, copied);
        book.end_those_gone(&base, copied);
        let Settings { brute_force_below, threads, .. } = self.shared.settings;
        book.link(brute_force_below, threads);
        debug_assert_eq!(book.size(), self.book.size());
        self.book = book;
        self.shared.front.publish(self.book.published(self.sequence));
    }
}

/// Makes a generation anew from the rows that are there, until few are left to copy.
fn rebuild(
    shared: &Shared,
    base: Arc<Generation>,
) -> Option<(GenerationWriter, Arc<Generation>, u32)> {
    let Settings { brute_force_below, threads, .. } = shared.settings;
    let mut book = GenerationWriter::new(shared.settings.shape());
    let mut copied = 0;
    for round in 0.. {
        let now = shared.front.now();
        let is_over = shared.is_closed.load(Ordering::Relaxed);
        if is_over || !Arc::ptr_eq(&base, &now.generation) {
            return None;
        }
        let is_near = now.slots - copied < FEW_LEFT || round >= MOST_ROUNDS;
        if round > 0 && is_near {
            return Some((book, base, copied));
        }
        book.copy(&now, copied);
        // Half of the threads: searches continue meanwhile.
        book.link(brute_force_below, threads.div_ceil(2));
        copied = now.slots;
    }
    None
}

/// How many rows there will be at most, once batches that wait are written, and which fields they bring.
struct ExpectedRows {
    size: u64,
    /// Those of a batch that is refused for them count until the others of its commit are written.
    fields: NewFields,
    new: HashSet<Arc<str>>,
    is_dropped: bool,
}

impl ExpectedRows {
    fn of(book: &GenerationWriter) -> Self {
        let fields = NewFields::default();
        Self { size: book.size(), fields, new: HashSet::new(), is_dropped: false }
    }

    /// Errors: more rows, or more fields, than fit
    fn add(
        &mut self,
        fit: &CheckedBatch,
        book: &GenerationWriter,
        most: u64,
    ) -> Result<(), ApiError> {
        let (size, is_dropped) = match fit.drop {
            true => (0, true),
            false => (self.size, self.is_dropped),
        };
        let is_new =
            |id: &Arc<str>| fit.drop || !self.new.contains(id) && (is_dropped || !book.has(id));
        let count = fit.rows.iter().filter(|row| is_new(&row.id)).count() as u64;
        if size + count > most {
            let message = format!("{} rows would be more than the {most} that fit", size + count);
            return Err(ApiError::new(Code::TooLarge, message).at("/rows"));
        }
        if fit.drop {
            self.fields = NewFields::default();
        }
        let catalog = book.generation.catalog();
        let has_room =
            |row: &CheckedRow| catalog.has_room(&row.attributes, &mut self.fields, is_dropped);
        if !fit.rows.iter().all(has_room) {
            let message = format!("metadata of all rows must have at most {MOST_NAMES} names");
            return Err(ApiError::new(Code::TooLarge, message).at("/rows"));
        }
        if fit.drop {
            self.new.clear();
        }
        (self.size, self.is_dropped) = (size + count, is_dropped);
        self.new.extend(fit.rows.iter().map(|row| row.id.clone()));
        Ok(())
    }
}
