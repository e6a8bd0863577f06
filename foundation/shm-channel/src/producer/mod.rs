//! The producer: lets clients in, and answers them on the caller's threads.
//!
//! `acceptor` is the one thread of the crate's own: it greets clients and learns of their end. Each
//! client belongs to one [`Worker`], which alone touches that client's memory (`connection`), so that
//! nothing is locked and a client's memory goes the moment its worker hears that it is gone.
//! [`AnswerBuffer`] is where a handler puts its answer.

mod acceptor;
mod answer_buffer;
pub(crate) mod connection;
pub(crate) mod worker;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use rustix::event::EventfdFlags;

use crate::error::while_doing;
use crate::socket::{self, SocketFile};
use crate::{Error, Geometry, region};

pub use answer_buffer::{AnswerBuffer, Reply};
pub use worker::Worker;

/// The shape of a producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Slots a client has: how many requests it may have under way. A power of two.
    pub slots: u32,
    /// Bytes that a slot has for a request.
    pub request_room: u64,
    /// Bytes that a slot has for an answer. Memory comes into being when it is written to.
    pub answer_room: u64,
    /// How many clients there may be at once.
    pub clients: u32,
    /// Bytes of all clients' regions; there are no more clients than fit, as each may come to use all
    /// of its own.
    pub memory: u64,
    /// How many workers share the clients.
    pub workers: usize,
    /// How long a worker looks for requests before it sleeps.
    pub spin: Duration,
    /// How long workers go on at the end with what was asked before it.
    pub drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 64,
            request_room: 4096,
            answer_room: 64 * 1024,
            clients: 256,
            memory: 8 << 30,
            workers: 1,
            spin: Duration::from_micros(20),
            drain: Duration::from_secs(5),
        }
    }
}

impl Settings {
    /// How many clients there may be at once: `clients`, or as many as fit in `memory`.
    ///
    /// Errors: [`Error::Settings`] where there can be none
    pub fn limit(&self) -> Result<u32, Error> {
        let geometry = Geometry::new(self.slots, self.request_room, self.answer_room)?;
        let each = geometry.requests_length() + geometry.answers_length();
        let fitting = u32::try_from(self.memory / each).unwrap_or(u32::MAX);
        match self.clients.min(fitting) {
            0 if self.clients == 0 => Err(Error::Settings("clients: one at least".to_owned())),
            0 => Err(Error::Settings(format!("less memory than one client has, {each} bytes"))),
            limit => Ok(limit),
        }
    }
}

/// What happened at a producer so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Clients that are connected, or about to be.
    pub living: u64,
    /// Clients that were let in.
    pub admitted: u64,
    /// Connections that were refused: too many for `clients` or `memory`, of another user or version,
    /// or silent.
    pub refused: u64,
    /// Clients that were cut off because they wrote something invalid.
    pub damaged: u64,
}

/// Counts as the threads share them.
#[derive(Debug, Default)]
struct SharedCounts {
    living: AtomicU64,
    admitted: AtomicU64,
    refused: AtomicU64,
    damaged: AtomicU64,
}

fn count(one: &AtomicU64) {
    one.fetch_add(1, Ordering::Relaxed);
}

/// A place at a path of the file system where clients connect. Dropping it ends it: the file goes,
/// workers answer what was asked before and return, clients learn that the producer is gone.
#[derive(Debug)]
pub struct Producer {
    file: Option<SocketFile>,
    stop: Arc<OwnedFd>,
    acceptor: Option<JoinHandle<()>>,
    counts: Arc<SharedCounts>,
}

impl Producer {
    /// Listens at `path`, with mode 0600, and lets clients in from now on; they are answered once
    /// each of the workers [runs](Worker::run) on a thread.
    ///
    /// A socket that a dead producer left at the path is replaced. Errors: [`Error::Settings`],
    /// [`Error::InUse`], [`Error::NotASocket`], [`Error::LongPath`], the system's.
    pub fn bind(path: impl AsRef<Path>, settings: Settings) -> Result<(Self, Vec<Worker>), Error> {
        let geometry = Geometry::new(settings.slots, settings.request_room, settings.answer_room)?;
        let limit = settings.limit()?;
        if settings.workers == 0 {
            return Err(Error::Settings("workers: one at least".to_owned()));
        }
        let (listener, file) = socket::listen(path.as_ref())?;
        let counts = Arc::new(SharedCounts::default());
        let stop = Arc::new(eventfd()?);
        let made = (0..settings.workers).map(|_| Worker::new(&settings, counts.clone()));
        let (workers, handles) = made.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        let terms = acceptor::Terms { geometry, generation: generation(), limit };
        let acceptor =
            acceptor::Acceptor::new(listener, stop.clone(), handles, terms, counts.clone())?;
        let acceptor = std::thread::Builder::new()
            .name("shm-acceptor".to_owned())
            .spawn(move || acceptor.run())
            .map_err(while_doing("starting a thread"))?;
        Ok((Self { file: Some(file), stop, acceptor: Some(acceptor), counts }, workers))
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        let read = |one: &AtomicU64| one.load(Ordering::Relaxed);
        Counts {
            living: read(&self.counts.living),
            admitted: read(&self.counts.admitted),
            refused: read(&self.counts.refused),
            damaged: read(&self.counts.damaged),
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // Before all else, so that the path is free for another.
        self.file = None;
        signal(&self.stop);
        if let Some(acceptor) = self.acceptor.take() {
            // One that panicked has ended, too.
            let _ = acceptor.join();
        }
    }
}

/// A number that no other start of a producer on this machine has.
fn generation() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64).rotate_left(16) ^ u64::from(std::process::id())
}

fn eventfd() -> Result<OwnedFd, Error> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    rustix::event::eventfd(0, flags).map_err(while_doing("making an eventfd"))
}

/// Makes an eventfd readable. One that is full is readable already.
fn signal(eventfd: &OwnedFd) {
    let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

/// A client's two regions and its eventfd.
fn regions(geometry: Geometry) -> Result<(OwnedFd, OwnedFd, OwnedFd), Error> {
    let requests = region::make("shm-requests", geometry.requests_length())?;
    let answers = region::make("shm-answers", geometry.answers_length())?;
    Ok((requests, answers, eventfd()?))
}
