//! One thread that gives messages their final place, and syncs the folder once for all that came meanwhile.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serving::metrics::{Counter, Registry};
use tokio::sync::oneshot;

use super::disk::{self, Disk};
use super::{STOPPED, Temporary};
use crate::refusal::Refusal;
use crate::store::shelf::{Arriving, Reserved, Shelf};

/// A message whose content is on the disk.
pub(super) struct Written {
    pub temporary: Temporary,
    /// Its final place.
    pub path: PathBuf,
    pub arriving: Arriving,
    pub reserved: Reserved,
    /// Who waits for it.
    pub tell: oneshot::Sender<Result<String, Refusal>>,
}

/// Hands messages to the thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Publisher {
    sender: Sender<Written>,
}

impl Publisher {
    /// Starts the thread for an open folder.
    ///
    /// Errors: no thread can be had
    pub fn start(
        new: File,
        disk: Arc<dyn Disk>,
        shelf: Shelf,
        metrics: &Registry,
    ) -> io::Result<Self> {
        let help = "Times that the folder was synced; messages that come together share one.";
        let syncs = metrics.counter("mail_folder_syncs_total", help);
        let (sender, receiver) = channel();
        let room = Room { new, disk, shelf, syncs };
        thread::Builder::new().name("maildir".to_owned()).spawn(move || room.serve(&receiver))?;
        Ok(Self { sender })
    }

    /// Publishes a message and tells who waits for it.
    pub fn publish(&self, written: Written) {
        if let Err(unsent) = self.sender.send(written) {
            let _ = unsent.0.tell.send(Err(STOPPED));
        }
    }
}

struct Room {
    new: File,
    disk: Arc<dyn Disk>,
    shelf: Shelf,
    syncs: Counter,
}

type Published = (PathBuf, Arriving, Reserved, oneshot::Sender<Result<String, Refusal>>);

impl Room {
    fn serve(self, receiver: &Receiver<Written>) {
        while let Ok(first) = receiver.recv() {
            let batch = std::iter::once(first).chain(receiver.try_iter());
            let published = batch.filter_map(|written| self.rename(written)).collect();
            self.sync(published);
        }
    }

    fn rename(&self, written: Written) -> Option<Published> {
        let Written { temporary, path, arriving, reserved, tell } = written;
        match temporary.publish(&*self.disk, &path) {
            Ok(()) => Some((path, arriving, reserved, tell)),
            Err(error) => {
                // A client that has gone does not hear it.
                let _ = tell.send(Err(disk::refusal(&error)));
                None
            }
        }
    }

    fn sync(&self, published: Vec<Published>) {
        if published.is_empty() {
            return;
        }
        self.syncs.one();
        let synced = self.disk.sync_folder(&self.new);
        for (path, arriving, reserved, tell) in published {
            let told = match &synced {
                Ok(()) => Ok(self.shelf.put(arriving, Some(reserved)).to_string()),
                Err(error) => {
                    // Whether it is there after a crash is not known, so that it must not be there now either.
                    let _ = fs::remove_file(path);
                    Err(disk::refusal(error))
                }
            };
            let _ = tell.send(told);
        }
    }
}
