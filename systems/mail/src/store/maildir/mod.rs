//! A maildir on the disk: what was acknowledged is there, whatever happens to the process or the machine.
//!
//! A message goes to `tmp`, its content is synced, it is renamed to `new`, the folder is synced, and then the client
//! is told. Messages that come at the same time share the sync of the folder. Up to [`IN_MEMORY`] bytes of a message
//! wait in memory, so that most messages are written in one go.
//!
//! In reading order: names, the lines before a message (`trace`), the steps (`disk`), `publisher` with the shared
//! sync, and `start` with what is done to a folder that is already there.

mod disk;
mod name;
mod publisher;
mod start;
mod trace;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use serving::metrics::Registry;
use tokio::sync::{Semaphore, oneshot};

use super::shelf::{Arriving, Content, Reserved, Shelf, Slip};
use super::{Draft, Store, now_ms};
use crate::envelope::Envelope;
use crate::refusal::Refusal;
use disk::{Disk, Kernel};
use name::Names;
use publisher::{Publisher, Written};

/// Bytes of one message that wait in memory before they are written.
pub const IN_MEMORY: usize = 64 << 10;
/// Files that are written and synced at a time: the kernel commits those together that come together.
const WRITERS: usize = 64;
const STOPPED: Refusal = Refusal::new(451, (4, 3, 0), "the store was stopped");

/// A folder that messages are delivered to.
#[derive(Debug)]
pub struct Maildir {
    folder: Arc<Folder>,
}

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    host: String,
    names: Names,
    shelf: Shelf,
    disk: Arc<dyn Disk>,
    writers: Arc<Semaphore>,
    publisher: Publisher,
}

impl Maildir {
    /// Opens a maildir, or makes one; what an earlier server left half written is removed, and what it delivered
    /// is put on the shelf.
    ///
    /// Errors: the folder cannot be made, read or written
    pub fn open(root: &Path, host: &str, shelf: Shelf, metrics: &Registry) -> io::Result<Self> {
        Self::on(Arc::new(Kernel), root, host, (shelf, metrics))
    }

    fn on(
        disk: Arc<dyn Disk>,
        root: &Path,
        host: &str,
        (shelf, metrics): (Shelf, &Registry),
    ) -> io::Result<Self> {
        disk::make(root)?;
        let names = Names::new(host, std::process::id());
        start::clean(&root.join("tmp"), &names)?;
        start::list(&root.join("new"), &shelf)?;
        let new = File::open(root.join("new"))?;
        let publisher = Publisher::start(new, Arc::clone(&disk), shelf.clone(), metrics)?;
        let folder = Folder {
            root: root.to_owned(),
            host: host.to_owned(),
            names,
            shelf,
            disk,
            writers: Arc::new(Semaphore::new(WRITERS)),
            publisher,
        };
        Ok(Self { folder: Arc::new(folder) })
    }
}

impl Store for Maildir {
    type Draft = Delivery;

    async fn begin(&self, envelope: Envelope) -> Result<Delivery, Refusal> {
        let folder = Arc::clone(&self.folder);
        let name = folder.names.next();
        let waiting = trace::lines(&envelope, &folder.host, &name).into_bytes();
        let slip = Slip::from(envelope);
        let reserved = folder.shelf.reserve(&slip)?;
        let before = waiting.len();
        Ok(Delivery { folder, name, slip, reserved, before, size: 0, waiting, file: None })
    }

    fn effective(&self) -> Value {
        let bounds = self.folder.shelf.bounds();
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
pub struct Delivery {
    folder: Arc<Folder>,
    name: String,
    slip: Slip,
    reserved: Reserved,
    /// Bytes of the lines before the message.
    before: usize,
    /// Bytes of the message.
    size: u64,
    /// Not written yet.
    waiting: Vec<u8>,
    file: Option<Temporary>,
}

impl Delivery {
    /// Writes what waits; another thread does it, since a disk may take its time.
    async fn spill(&mut self) -> Result<(), Refusal> {
        let (folder, waiting) = (Arc::clone(&self.folder), std::mem::take(&mut self.waiting));
        let (file, path) = (self.file.take(), self.temporary());
        let writing = move || Temporary::write(file, path, &*folder.disk, &waiting);
        let written = tokio::task::spawn_blocking(writing).await.map_err(|_| STOPPED)?;
        self.file = Some(written.map_err(|error| disk::refusal(&error))?);
        Ok(())
    }

    fn temporary(&self) -> PathBuf {
        self.folder.root.join("tmp").join(&self.name)
    }
}

impl Draft for Delivery {
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
        let Self { folder, name, slip, reserved, before, size, waiting, file } = self;
        let permit = Arc::clone(&folder.writers).acquire_owned().await.map_err(|_| STOPPED)?;
        let (tell, told) = oneshot::channel();
        let writing = move || {
            let _permit = permit;
            let written = Temporary::write(file, path, &*folder.disk, &waiting);
            let synced = written.and_then(|file| file.synced(&*folder.disk));
            let temporary = match synced {
                Ok(temporary) => temporary,
                // A client that has gone does not hear it.
                Err(error) => return drop(tell.send(Err(disk::refusal(&error)))),
            };
            let path = folder.root.join("new").join(&name);
            let content = Content::File(path.clone(), before);
            let received_at = now_ms();
            let arriving = Arriving { id: Some(name), received_at, slip, size, content };
            folder.publisher.publish(Written { temporary, path, arriving, reserved, tell });
        };
        // Not waited for: what it comes to is told by whoever knows.
        drop(tokio::task::spawn_blocking(writing));
        told.await.unwrap_or(Err(STOPPED))
    }
}

/// A file in `tmp`, removed unless it gets its final place.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    file: Option<File>,
    is_published: bool,
}

impl Temporary {
    /// Appends to a file, which is made if there is none yet.
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

    /// The same, on the disk and closed.
    fn synced(mut self, disk: &dyn Disk) -> io::Result<Self> {
        let file = self.file.take().expect("it is open until it is synced");
        disk.sync(&file)?;
        Ok(self)
    }

    /// Gives it its final place.
    fn publish(mut self, disk: &dyn Disk, to: &Path) -> io::Result<()> {
        disk.publish(&self.path, to)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_published {
            // If that fails, the next start removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
