//! One thread that moves messages to their final paths, and syncs the folder once for all messages that arrived
//! meanwhile.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serving::metrics::{Counter, Registry};
use tokio::sync::oneshot;

use super::disk::{self, Disk};
use super::{STOPPED, TemporaryFile};
use crate::refusal::Refusal;
use crate::store::retained::{NewMessage, ReservedBytes, RetainedMessages};

/// A message whose content is synced.
pub(super) struct SyncedMessage {
    pub temporary: TemporaryFile,
    /// Its final place.
    pub path: PathBuf,
    pub arriving: NewMessage,
    pub reserved: ReservedBytes,
    /// Gets the result.
    pub tell: oneshot::Sender<Result<String, Refusal>>,
}

/// Passes messages to the thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Publisher {
    sender: Sender<SyncedMessage>,
}

impl Publisher {
    /// Starts the thread for an open folder.
    ///
    /// Errors: the thread cannot be started
    pub fn start(
        new: File,
        disk: Arc<dyn Disk>,
        retained: RetainedMessages,
        metrics: &Registry,
    ) -> io::Result<Self> {
        let help = "Syncs of the folder; concurrent messages share one.";
        let syncs = metrics.counter("mail_folder_syncs_total", help);
        let (sender, receiver) = channel();
        let room = PublisherState { new, disk, retained, syncs };
        thread::Builder::new().name("maildir".to_owned()).spawn(move || room.serve(&receiver))?;
        Ok(Self { sender })
    }

    /// Publishes a message and reports the result.
    pub fn publish(&self, written: SyncedMessage) {
        if let Err(unsent) = self.sender.send(written) {
            let _ = unsent.0.tell.send(Err(STOPPED));
        }
    }
}

struct PublisherState {
    new: File,
    disk: Arc<dyn Disk>,
    retained: RetainedMessages,
    syncs: Counter,
}

type Published = (PathBuf, NewMessage, ReservedBytes, oneshot::Sender<Result<String, Refusal>>);

impl PublisherState {
    fn serve(self, receiver: &Receiver<SyncedMessage>) {
        while let Ok(first) = receiver.recv() {
            let batch = std::iter::once(first).chain(receiver.try_iter());
            let published = batch.filter_map(|written| self.rename(written)).collect();
            self.sync(published);
        }
    }

    fn rename(&self, written: SyncedMessage) -> Option<Published> {
        let SyncedMessage { temporary, path, arriving, reserved, tell } = written;
        match temporary.publish(&*self.disk, &path) {
            Ok(()) => Some((path, arriving, reserved, tell)),
            Err(error) => {
                // The client may have gone.
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
                Ok(()) => Ok(self.retained.put(arriving, Some(reserved)).to_string()),
                Err(error) => {
                    // The file may or may not survive a crash, so it must not stay now either.
                    let _ = fs::remove_file(path);
                    Err(disk::refusal(error))
                }
            };
            let _ = tell.send(told);
        }
    }
}
