//! A maildir on the disk: acknowledged messages survive a crash of the process or the machine.
//!
//! A message goes to `tmp`, its content is synced, it is renamed to `new`, the folder is synced,
//! and then the client gets its reply. Concurrent messages share the sync of the folder. Up to
//! [`IN_MEMORY`] bytes of a message wait in memory, so that most messages need one write.
//!
//! In reading order: names, the lines before a message (`trace`), the disk operations (`disk`), `publisher` with the
//! shared sync, and `recovery` of an existing folder.

mod disk;
mod name;
mod publisher;
mod recovery;
mod trace;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use serving::metrics::Registry;
use tokio::sync::{Semaphore, oneshot};

use super::retained::{MessageSummary, NewMessage, ReservedBytes, RetainedMessages, StoredContent};
use super::{Draft, Store, now_ms};
use crate::envelope::Envelope;
use crate::refusal::Refusal;
use disk::{Disk, RealDisk};
use name::UniqueNames;
use publisher::{Publisher, SyncedMessage};

/// Bytes of one message that are buffered in memory before they are written.
pub const IN_MEMORY: usize = 64 << 10;
/// Most files that are written and synced at the same time: the kernel commits concurrent syncs together.
const WRITERS: usize = 64;
const STOPPED: Refusal = Refusal::new(451, (4, 3, 0), "the store was stopped");

/// A folder for deliveries.
#[derive(Debug)]
pub struct Maildir {
    folder: Arc<Folder>,
}

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    host: String,
    names: UniqueNames,
    retained: RetainedMessages,
    disk: Arc<dyn Disk>,
    writers: Arc<Semaphore>,
    publisher: Publisher,
}

impl Maildir {
    /// Opens or creates a maildir; removes unfinished files of earlier servers and lists their
    /// messages.
    ///
    /// Errors: the folder cannot be created, read or written
    pub fn open(
        root: &Path,
        host: &str,
        retained: RetainedMessages,
        metrics: &Registry,
    ) -> io::Result<Self> {
        Self::on(Arc::new(RealDisk), root, host, retained, metrics)
    }

    fn on(
        disk: Arc<dyn Disk>,
        root: &Path,
        host: &str,
        retained: RetainedMessages,
        metrics: &Registry,
    ) -> io::Result<Self> {
        disk::make(root)?;
        let names = UniqueNames::new(host, std::process::id());
        recovery::clean(&root.join("tmp"), &names)?;
        recovery::list(&root.join("new"), &retained)?;
        let new = File::open(root.join("new"))?;
        let publisher = Publisher::start(new, Arc::clone(&disk), retained.clone(), metrics)?;
        let folder = Folder {
            root: root.to_owned(),
            host: host.to_owned(),
            names,
            retained,
            disk,
            writers: Arc::new(Semaphore::new(WRITERS)),
            publisher,
        };
        Ok(Self { folder: Arc::new(folder) })
    }
}

impl Store for Maildir {
    type Draft = MaildirDraft;

    async fn begin(&self, envelope: Envelope) -> Result<MaildirDraft, Refusal> {
        let folder = Arc::clone(&self.folder);
        let name = folder.names.next();
        let waiting = trace::lines(&envelope, &folder.host, &name).into_bytes();
        let summary = MessageSummary::from(envelope);
        let reserved = folder.retained.reserve(&summary)?;
        let before = waiting.len();
        Ok(MaildirDraft { folder, name, summary, reserved, before, size: 0, waiting, file: None })
    }

    fn effective(&self) -> Value {
        let bounds = self.folder.retained.bounds();
        json!({
            "store": "maildir",
            "path": self.folder.root,
            "store_messages": bounds.messages,
            "store_bytes": bounds.bytes,
        })
    }
}

/// A message on its way into the folder.
#[derive(Debug)]
pub struct MaildirDraft {
    folder: Arc<Folder>,
    name: String,
    summary: MessageSummary,
    reserved: ReservedBytes,
    /// Bytes of the lines before the message.
    before: usize,
    /// Bytes of the message.
    size: u64,
    /// Buffered bytes.
    waiting: Vec<u8>,
    file: Option<TemporaryFile>,
}

impl MaildirDraft {
    /// Writes the buffered bytes on another thread, because a disk may be slow.
    async fn spill(&mut self) -> Result<(), Refusal> {
        let (folder, waiting) = (Arc::clone(&self.folder), std::mem::take(&mut self.waiting));
        let (file, path) = (self.file.take(), self.temporary());
        let writing = move || TemporaryFile::write(file, path, &*folder.disk, &waiting);
        let written = tokio::task::spawn_blocking(writing).await.map_err(|_| STOPPED)?;
        self.file = Some(written.map_err(|error| disk::refusal(&error))?);
        Ok(())
    }

    fn temporary(&self) -> PathBuf {
        self.folder.root.join("tmp").join(&self.name)
    }
}

impl Draft for MaildirDraft {
    async fn write(&mut self, content: &[u8]) -> Result<(), Refusal> {
        self.size += content.len() as u64;
        if self.waiting.len() + content.len() > IN_MEMORY {
            self.spill().await?;
        }
        self.waiting.extend_from_slice(content);
        Ok(())
    }

    async fn commit(self) -> Result<String, Refusal> {
        let path = self.temporary();
        let Self { folder, name, summary, reserved, before, size, waiting, file } = self;
        let permit = Arc::clone(&folder.writers).acquire_owned().await.map_err(|_| STOPPED)?;
        let (tell, told) = oneshot::channel();
        let writing = move || {
            let _permit = permit;
            let written = TemporaryFile::write(file, path, &*folder.disk, &waiting);
            let synced = written.and_then(|file| file.synced(&*folder.disk));
            let temporary = match synced {
                Ok(temporary) => temporary,
                // The client may have gone.
                Err(error) => return drop(tell.send(Err(disk::refusal(&error)))),
            };
            let path = folder.root.join("new").join(&name);
            let content = StoredContent::File(path.clone(), before);
            let received_at = now_ms();
            let arriving = NewMessage { id: Some(name), received_at, summary, size, content };
            folder.publisher.publish(SyncedMessage { temporary, path, arriving, reserved, tell });
        };
        // Not awaited: the publisher reports the result.
        drop(tokio::task::spawn_blocking(writing));
        told.await.unwrap_or(Err(STOPPED))
    }
}

/// A file in `tmp`, removed unless it is moved to its final path.
#[derive(Debug)]
struct TemporaryFile {
    path: PathBuf,
    file: Option<File>,
    is_published: bool,
}

impl TemporaryFile {
    /// Appends to a file, which is created if needed.
    fn write(file: Option<Self>, path: PathBuf, disk: &dyn Disk, bytes: &[u8]) -> io::Result<Self> {
        let mut temporary = match file {
            Some(file) => file,
            None => {
                let file = disk.create(&path)?;
                Self { path, file: Some(file), is_published: false }
            }
        };
        let file = temporary.file.as_mut().expect("it is open until it is synced");
        disk.write(file, bytes)?;
        Ok(temporary)
    }

    /// The same, synced and closed.
    fn synced(mut self, disk: &dyn Disk) -> io::Result<Self> {
        let file = self.file.take().expect("it is open until it is synced");
        disk.sync(&file)?;
        Ok(self)
    }

    /// Moves it to its final path.
    fn publish(mut self, disk: &dyn Disk, to: &Path) -> io::Result<()> {
        disk.publish(&self.path, to)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_published {
            // If this fails, the next start removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
