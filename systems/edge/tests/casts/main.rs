//! Casters and monitors, as they are started: what is cast is received or dropped, and all of it is counted.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod accounting;
mod bus;
mod pressure;
mod processes;
mod queries;
mod wire;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use edge::cast::account::{Account, Why};
use edge::cast::{Address, Caster, PeerAccount, Settings};
use edge::monitor;
use serde_json::Value;
use serving::error::ServeError;
use serving::options::Options;
use serving::stop::{Stop, Stopper};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A monitor of a test's own, in a thread.
struct Monitor {
    ready: Value,
    stopper: Stopper,
    thread: JoinHandle<Result<(), ServeError>>,
}

impl Monitor {
    fn start() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        Self::try_with(options).unwrap()
    }

    /// One that listens for casts here. At an address that no other test has, the port stays free when it is gone, so that
    /// another may be where it has been.
    ///
    /// A process that another test begins holds what is open here until it has become another program, the former listener
    /// as well: for that moment, the place is taken.
    fn at(casts: &str) -> Self {
        let began = Instant::now();
        loop {
            match Self::try_with(Options::default().with("casts", casts)) {
                Err(ServeError::Listen { .. }) if began.elapsed() < PATIENCE => thread::yield_now(),
                started => return started.unwrap(),
            }
        }
    }

    fn try_with(options: Options) -> Result<Self, ServeError> {
        let (stopper, stop) = Stop::pair();
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            monitor::SYSTEM.serve_until(&options, stop, |ready| tell.send(ready.line()).unwrap())
        });
        match told.recv_timeout(PATIENCE) {
            Ok(ready) => Ok(Self { ready: serde_json::from_str(&ready).unwrap(), stopper, thread }),
            Err(RecvTimeoutError::Disconnected) => Err(thread.join().unwrap().unwrap_err()),
            Err(RecvTimeoutError::Timeout) => panic!("neither ready nor over in time"),
        }
    }

    fn casts(&self) -> String {
        self.address("casts")
    }

    fn address(&self, name: &str) -> String {
        self.ready["listening"][name].as_str().unwrap().to_owned()
    }

    fn get(&self, path: &str) -> Value {
        get(&self.address("http"), path)
    }

    fn seen(&self) -> Observation {
        Observation(self.get("/observed"))
    }

    fn stop(self) {
        self.stopper.stop();
        self.thread.join().unwrap().unwrap();
    }
}

/// What a monitor saw.
struct Observation(Value);

impl Observation {
    fn count(&self, name: &str) -> u64 {
        let own = self.0.get(name).filter(|value| value.is_u64());
        own.unwrap_or(&self.0["detail"][name]).as_u64().unwrap()
    }

    fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.count(name))
    }

    /// Holds both sides against each other: this many were cast and dropped, the rest arrived once.
    fn adds_up(&self, account: &Account) {
        let counts =
            self.counts(["received", "dropped", "cast", "lost", "duplicates", "unbalanced"]);
        let (cast, dropped) = (account.cast, account.all_dropped());
        assert_eq!(counts, [cast - dropped, dropped, cast, dropped, 0, 0], "{}", self.0);
        let reasons =
            ["dropped_full", "dropped_disconnected", "dropped_oversize", "dropped_unsent"];
        assert_eq!(self.counts(reasons), account.dropped, "{}", self.0);
    }
}

fn get(address: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| body.into())
}

/// Settings towards these monitors, with one lane, so that what has room is known.
fn towards(addresses: &[&str]) -> Settings {
    let peers = addresses.iter().map(|address| Address::read(address).unwrap()).collect();
    Settings { peers, lanes: 1, name: "a test".into(), ..Settings::default() }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it does not last for ever")
}

/// Waits until it holds, while others have their turns.
async fn until(holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    within(wait).await;
}

/// The account of the only peer, which has come to rest.
fn rested(caster: &Caster) -> PeerAccount {
    let account = caster.accounts().remove(0);
    assert_eq!(account.pending, 0);
    assert_eq!(account.taken + account.account.all_dropped(), account.account.cast);
    account
}

fn dropped(account: &PeerAccount, why: Why) -> u64 {
    account.account.dropped_for(why)
}
