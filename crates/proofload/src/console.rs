//! What is written on stderr while a run goes on, on a thread of its own: a terminal that takes nothing (Ctrl-S, a slow
//! line) delays no run.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use crate::output;

/// Texts that may wait.
const WAITING: usize = 1_024;
/// A terminal has so long to take what waits before something else is written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes to stderr.
#[derive(Debug)]
pub struct Console {
    texts: SyncSender<Text>,
}

#[derive(Debug)]
enum Text {
    Write(String),
    /// Everything before this was written.
    Flush(SyncSender<()>),
}

impl Console {
    /// Ready to write.
    pub fn new() -> Self {
        let (texts, waiting) = sync_channel(WAITING);
        // Without a thread nothing is seen of the run, and it goes on.
        let _ = thread::Builder::new().name("console".to_owned()).spawn(move || write(&waiting));
        Self { texts }
    }

    /// Writes this text, unless too many wait already.
    pub fn write(&self, text: String) {
        let _ = self.texts.try_send(Text::Write(text));
    }

    /// Waits until all of it is written, but not for a terminal that takes nothing.
    pub fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.texts.try_send(Text::Flush(done)).is_ok() {
            let _ = written.recv_timeout(PATIENCE);
        }
    }
}

fn write(waiting: &Receiver<Text>) {
    for text in waiting {
        match text {
            // What cannot be written is lost.
            Text::Write(text) => {
                output::print_to_stderr(&text);
            }
            Text::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}
