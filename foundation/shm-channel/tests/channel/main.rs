//! The channel as its users see it: exchanges, bounds, faults, a model, other processes, Python.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod bounds;
mod exchanges;
mod faults;
mod model;
mod processes;
mod python;
mod raw;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shm_channel::{AnswerBuffer, Client, Producer, Reply, Settings};

/// Longer than anything here takes; what is over it is a hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of its own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("shm-{}-{number}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("channel")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A producer whose workers run on threads, stopped at the end.
struct Running {
    producer: Option<Producer>,
    workers: Vec<JoinHandle<()>>,
    folder: Folder,
}

impl Running {
    fn start(
        name: &str,
        settings: Settings,
        handler: impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply + Clone + Send + 'static,
    ) -> Self {
        let folder = Folder::new(name);
        let (producer, workers) = Producer::bind(folder.socket(), settings).unwrap();
        let run = |worker: shm_channel::Worker| {
            let handler = handler.clone();
            std::thread::spawn(move || worker.run(handler))
        };
        let workers = workers.into_iter().map(run).collect();
        Self { producer: Some(producer), workers, folder }
    }

    fn client(&self) -> Client {
        Client::connect(self.folder.socket(), Duration::ZERO).unwrap()
    }

    /// Ends the producer and waits for its workers.
    fn stop(&mut self) {
        self.producer = None;
        for worker in self.workers.drain(..) {
            worker.join().unwrap();
        }
    }
}

impl Deref for Running {
    type Target = Producer;

    fn deref(&self) -> &Producer {
        self.producer.as_ref().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.producer = None;
        for worker in self.workers.drain(..) {
            // A worker that panicked is what some tests are about.
            let _ = worker.join();
        }
    }
}

fn small() -> Settings {
    Settings { slots: 4, request_room: 128, answer_room: 256, ..Settings::default() }
}

/// Answers with the request.
fn echo(request: &[u8], buffer: &mut AnswerBuffer<'_>) -> Reply {
    buffer.put(request)
}

/// Waits until something holds that another thread brings about.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// A number that each use counts up.
fn counter() -> (Arc<AtomicU32>, impl Fn() -> u32) {
    let counter = Arc::new(AtomicU32::new(0));
    let read = counter.clone();
    (counter, move || read.load(Ordering::SeqCst))
}
