//! A producer in a process of its own, killed amid exchanges, and the next one at its place.
//!
//! The other process is this test's binary again, told by the environment where to be.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use exchange::failure::Failure;
use exchange::transport::Transport;
use exchange::transports::{Http, Shm, Unix};
use serde_json::Value;
use serving::options::Options;
use serving::stop::Stop;

use super::{PATIENCE, TempFolder, bytes, eventually, fetch};

const LISTEN: &str = "EXCHANGE_TEST_LISTEN";
const FOLDER: &str = "EXCHANGE_TEST_FOLDER";
/// Where fresh folders are.
const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// The other process's part; without one, that it would be a producer like any other.
#[test]
fn the_other_process() {
    let Ok(listen) = std::env::var(LISTEN) else {
        return (exchange::producer::SYSTEM.check)(&Options::default()).unwrap();
    };
    let options = Options { listen: listen.parse().unwrap(), ..Options::default() };
    let folder = std::env::var(FOLDER).unwrap_or_default();
    let options = options.with("folder", folder).with("threads", 2);
    // Nobody pulls it: this process is killed.
    let (_stopper, stop) = Stop::pair();
    exchange::producer::SYSTEM
        .serve_until(&options, stop, |ready| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\n{}", ready.line()).and_then(|()| out.flush()).unwrap();
        })
        .unwrap();
}

/// A producer in a process, killed at the end.
struct Producer {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Producer {
    /// With its sockets in this folder, or in a fresh one there.
    fn start(listen: SocketAddr, (variable, folder): (&str, &TempFolder)) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["processes::the_other_process", "--exact", "--nocapture"])
            .env(LISTEN, listen.to_string())
            .env(variable, &folder.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| serde_json::from_str::<Value>(&line.unwrap()).ok());
        let ready = ready.expect("the other process says that it is ready");
        let address = ready["listening"]["http"].as_str().unwrap().parse().unwrap();
        let unix = Path::new(ready["listening"]["unix"].as_str().unwrap());
        Self { child, address, folder: unix.parent().unwrap().to_owned() }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Nothing runs in a process that is killed: what it leaves is for the next one.
#[test]
fn what_a_killed_producer_leaves_goes_when_the_next_one_starts() {
    let base = TempFolder::new("fresh");
    let start = || Producer::start(SocketAddr::from(([127, 0, 0, 1], 0)), (RUNTIME, &base));
    let (living, mut killed) = (start(), start());
    assert_ne!(living.folder, killed.folder);
    killed.kill();
    assert!(killed.folder.join("shm.socket").exists());
    let next = start();
    assert!(!killed.folder.exists());
    for producer in [&living, &next] {
        assert_eq!(producer.folder.parent(), Some(base.0.as_path()));
        assert!(producer.folder.join("unix.socket").exists());
    }
}

/// Asks until that fails: why.
async fn talk(way: Arc<impl Transport>, answered: Arc<AtomicU64>) -> Failure {
    for nonce in 0.. {
        match fetch(&*way, bytes(100_000, nonce)).await {
            Ok(_) => answered.fetch_add(1, Ordering::Relaxed),
            Err(failure) => return failure,
        };
    }
    unreachable!("nonces do not end")
}

/// Short form: killed 5 times; `PROOFLOAD_PROOF=1`: 200 times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_tells_of_its_producers_death_and_goes_on_with_the_next() {
    let rounds = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 200 } else { 5 };
    let folder = TempFolder::new("killed");
    let mut listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut ways = None;
    for round in 0..rounds {
        let mut producer = Producer::start(listen, (FOLDER, &folder));
        listen = producer.address;
        let (http, unix, shm) = ways.get_or_insert_with(|| {
            (
                Arc::new(Http::new(listen, 4)),
                Arc::new(Unix::new(folder.file("unix.socket"), 4)),
                Arc::new(Shm::new(folder.file("shm.socket"), Duration::from_micros(20))),
            )
        });
        let answered = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
        let talks = [
            tokio::spawn(talk(http.clone(), answered[0].clone())),
            tokio::spawn(talk(unix.clone(), answered[1].clone())),
            tokio::spawn(talk(shm.clone(), answered[2].clone())),
        ];
        let enough = 3 + round * 37 % 23;
        eventually("exchanges over all ways", async || {
            talks.iter().any(|talk| talk.is_finished())
                || answered.iter().all(|count| count.load(Ordering::Relaxed) >= enough)
        })
        .await;
        assert!(talks.iter().all(|talk| !talk.is_finished()), "round {round}");
        producer.kill();
        let killed = Instant::now();
        for talk in talks {
            let failure = talk.await.unwrap();
            assert_eq!(failure.kind(), "unreachable", "round {round}: {failure}");
        }
        assert!(killed.elapsed() < PATIENCE / 2, "nobody hangs");
    }
}
