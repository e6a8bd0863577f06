//! Exchanges over the channel beside those over a Unix socket, on the same two processors.
//!
//! ```sh
//! cargo run --release -p shm-channel --example round_trip -- [EXCHANGES] [CLIENT,SERVER]
//! cargo run --release -p shm-channel --example round_trip -- stream [EXCHANGES] [CLIENT,SERVER]
//! ```
//!
//! One JSON line for each way and size. One request after another: percentiles of the round trip in
//! nanoseconds, exchanges a second, both as a multiple of the Unix socket's, and how the producer's
//! times part the channel's round trip. With `stream`: exchanges and bytes a second while 1, 4 and
//! 16 requests are under way.
//!
//! A request has 64 bytes, and its nonce stands at both ends of the answer. The answer is prepared
//! once in each slot and only patched; `read` says whether the client then looks at the nonce alone
//! or adds up all of the answer, as it always does with `stream`. Ways take turns in blocks, so that
//! what the machine does meanwhile meets all of them.

#![expect(clippy::unwrap_used, reason = "a measurement that fails is no measurement")]

mod server;
mod stream;
mod turns;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};
use shm_channel::Client;

use server::Server;

const REQUEST: usize = 64;
const SIZES: [usize; 3] = [64, 4096, 256 * 1024];
const BLOCKS: usize = 10;
/// Long enough that nobody ever sleeps.
const SPIN: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(10);
const WAYS: [&str; 3] = ["unix-socket", "shm-spin", "shm-sleep"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (run, numbers): (fn(usize, usize), _) = match &words[..] {
        [server::PART, words @ ..] => return server::run(words),
        ["stream", numbers @ ..] => (stream::run, numbers),
        numbers => (turns::run, numbers),
    };
    let exchanges = numbers.first().map_or(50_000, |text| text.parse().unwrap());
    let (client, server) = processors(numbers.get(1).copied());
    pin(client);
    run(exchanges, server);
}

/// The client's and the server's processor: those named, or the last two that we may use.
fn processors(named: Option<&str>) -> (usize, usize) {
    if let Some((client, server)) = named.and_then(|text| text.split_once(',')) {
        return (client.parse().unwrap(), server.parse().unwrap());
    }
    let ours = rustix::thread::sched_getaffinity(None).unwrap();
    let mut last = (0..CpuSet::MAX_CPU).rev().filter(|processor| ours.is_set(*processor));
    let client = last.next().unwrap();
    (client, last.next().expect("two processors to be pinned to"))
}

fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}

/// Nanoseconds on the clock that the producer has, too.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec * 1_000_000_000 + now.tv_nsec).cast_unsigned()
}

/// A way to ask, as the client has it.
enum Way {
    Unix(UnixStream, Vec<u8>),
    Shm(Box<Client>),
}

impl Way {
    /// Each of [`WAYS`], to its server.
    fn all([unix, spins, sleeps]: &[Server; 3], size: usize) -> [Self; 3] {
        [
            Self::Unix(UnixStream::connect(&unix.socket).unwrap(), vec![0; size]),
            Self::Shm(Box::new(Client::connect(&spins.socket, SPIN).unwrap())),
            Self::Shm(Box::new(Client::connect(&sleeps.socket, Duration::ZERO).unwrap())),
        ]
    }

    fn send(&mut self, nonce: u64, size: usize) {
        let mut request = [7; REQUEST];
        request[..8].copy_from_slice(&nonce.to_le_bytes());
        match self {
            Self::Unix(stream, _) => stream.write_all(&request).unwrap(),
            Self::Shm(client) => _ = client.submit(&request, size).unwrap(),
        }
    }

    /// The answer that is next, where it lies.
    fn receive(&mut self, check: impl FnOnce(&[u8])) {
        match self {
            Self::Unix(stream, answer) => {
                stream.read_exact(answer).unwrap();
                check(answer);
            }
            Self::Shm(client) => {
                let done = loop {
                    match client.take().unwrap() {
                        Some(done) => break done,
                        None => assert!(client.wait(PATIENCE).unwrap(), "no answer in time"),
                    }
                };
                check(&done.outcome.unwrap());
            }
        }
    }
}

/// What is done with an answer whose request had this nonce.
type Check = fn(&[u8], u64);

fn look(answer: &[u8], nonce: u64) {
    assert!(answer.starts_with(&nonce.to_le_bytes()) && answer.ends_with(&nonce.to_le_bytes()));
}

fn add_up(answer: &[u8], nonce: u64) {
    look(answer, nonce);
    let words = answer.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    std::hint::black_box(words.fold(0, u64::wrapping_add));
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}
