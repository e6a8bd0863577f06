//! The producer and the three ways to it, as their users see them.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod faults;
mod framing;
mod many;
mod processes;
mod python;
mod served;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use exchange::failure::Failure;
use exchange::payload::Payload;
use exchange::request::{DataRequest, Wanted};
use exchange::transport::Transport;
use exchange::transports::{Http, Shm, Unix};
use serving::error::ServeError;
use serving::options::Options;
use serving::ready::Ready;
use serving::stop::{Stop, Stopper};

/// Longer than anything here takes; what is over it is a hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of its own, removed at its end.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("exchange-test-{}-{number}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A producer in this process, stopped at the end.
struct TestProducer {
    ready: Ready,
    stopper: Option<Stopper>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl TestProducer {
    fn start(options: Options) -> Self {
        let (stopper, stop) = Stop::pair();
        let (tell, told) = mpsc::channel();
        let options = options.with("threads", 2);
        let thread = std::thread::spawn(move || {
            exchange::producer::SYSTEM.serve_until(&options, stop, |ready| {
                tell.send(ready.clone()).unwrap();
            })
        });
        let ready = match told.recv_timeout(PATIENCE) {
            Ok(ready) => ready,
            Err(RecvTimeoutError::Timeout) => panic!("it does not start"),
            Err(RecvTimeoutError::Disconnected) => panic!("it cannot start: {:?}", thread.join()),
        };
        Self { ready, stopper: Some(stopper), thread: Some(thread) }
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.ready.listening[kind].clone().into()
    }

    fn address(&self) -> SocketAddr {
        self.ready.listening["http"].parse().unwrap()
    }

    fn http(&self) -> Http {
        Http::new(self.address(), 8)
    }

    fn unix(&self) -> Unix {
        Unix::new(self.path("unix"), 8)
    }

    fn shm(&self) -> Shm {
        Shm::new(self.path("shm"), Duration::from_micros(20))
    }

    /// Stops it, and waits until it has ended.
    fn stop(&mut self) {
        self.stopper = None;
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for TestProducer {
    fn drop(&mut self) {
        self.stopper = None;
        if let Some(thread) = self.thread.take() {
            // A test that failed already says why.
            let _ = thread.join();
        }
    }
}

fn bytes(bytes: u64, nonce: u64) -> DataRequest {
    DataRequest { what: Wanted::Bytes(bytes), nonce }
}

fn users(users: u32, nonce: u64) -> DataRequest {
    DataRequest { what: Wanted::Users(users), nonce }
}

/// An answer, judged here once more and by other means.
async fn fetch(way: &impl Transport, ask: DataRequest) -> Result<Payload, Failure> {
    let payload = way.fetch(&ask, PATIENCE).await?;
    let nonce = format!("{{\"nonce\":\"{:016x}\",\"users\":[", ask.nonce);
    assert!(payload.starts_with(nonce.as_bytes()));
    assert!(payload.ends_with(b"}"));
    Ok(payload)
}

/// Waits until something holds that another thread or process brings about.
async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::task::yield_now().await;
    }
}
