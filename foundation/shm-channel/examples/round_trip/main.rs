//! Round trips over the channel beside those over a Unix socket, on the same two processors.
//!
//! ```sh
//! cargo run --release -p shm-channel --example round_trip -- [EXCHANGES] [CLIENT,SERVER]
//! ```
//!
//! One JSON line for each way and size: percentiles of the round trip in nanoseconds, exchanges a
//! second, and both as a multiple of the Unix socket's. A request has 64 bytes, and its nonce stands
//! at both ends of the answer. The answer is prepared once and only patched; `read` says whether the
//! client then looks at the nonce alone or adds up all of the answer. Ways take turns in blocks, so
//! that what the machine does meanwhile meets all of them.

#![expect(clippy::unwrap_used, reason = "a measurement that fails is no measurement")]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;
use shm_channel::{Client, Producer, Reply, Room, Settings};

const REQUEST: usize = 64;
const SIZES: [usize; 3] = [64, 4096, 256 * 1024];
const BLOCKS: usize = 10;
/// Long enough that nobody ever sleeps.
const SPIN: Duration = Duration::from_millis(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [serve, way, socket, size, processor] = &arguments[..]
        && serve == "serve"
    {
        pin(processor.parse().unwrap());
        return server(way, Path::new(socket), size.parse().unwrap());
    }
    let exchanges = arguments.first().map_or(50_000, |text| text.parse().unwrap());
    let (client, server) = processors(arguments.get(1));
    pin(client);
    for size in SIZES {
        for read in ["nonce", "all"] {
            // Large answers take longer; the number goes down with their size.
            let exchanges = (exchanges * 4096 / size.max(4096)).max(BLOCKS * 100);
            measure(size, read, exchanges, server);
        }
    }
}

/// The client's and the server's processor: those named, or the last two that we may use.
fn processors(named: Option<&String>) -> (usize, usize) {
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

/// A way to ask, as the client has it.
enum Way {
    Unix(UnixStream, Vec<u8>),
    Shm(Box<Client>),
}

impl Way {
    fn exchange(
        &mut self,
        request: &[u8; REQUEST],
        size: usize,
        check: fn(&[u8], u64),
        nonce: u64,
    ) {
        match self {
            Self::Unix(stream, answer) => {
                stream.write_all(request).unwrap();
                stream.read_exact(answer).unwrap();
                check(answer, nonce);
            }
            Self::Shm(client) => {
                let answer = client.call(request, size, Duration::from_secs(10)).unwrap();
                check(&answer, nonce);
            }
        }
    }
}

fn look(answer: &[u8], nonce: u64) {
    assert!(answer.starts_with(&nonce.to_le_bytes()) && answer.ends_with(&nonce.to_le_bytes()));
}

fn add_up(answer: &[u8], nonce: u64) {
    look(answer, nonce);
    let words = answer.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    std::hint::black_box(words.fold(0, u64::wrapping_add));
}

/// A server in a process of its own, ended with this.
struct Server(Child, PathBuf);

impl Server {
    fn start(way: &str, size: usize, processor: usize) -> Self {
        let name = format!("round-trip-{}-{way}", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["serve", way, socket.to_str().unwrap(), &size.to_string()])
            .arg(processor.to_string())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        Self(child, socket)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(&self.1);
    }
}

fn measure(size: usize, read: &str, exchanges: usize, processor: usize) {
    let names = ["unix-socket", "shm-spin", "shm-sleep"];
    let servers = names.map(|way| Server::start(way, size, processor));
    let mut ways = [
        Way::Unix(UnixStream::connect(&servers[0].1).unwrap(), vec![0; size]),
        Way::Shm(Box::new(Client::connect(&servers[1].1, SPIN).unwrap())),
        Way::Shm(Box::new(Client::connect(&servers[2].1, Duration::ZERO).unwrap())),
    ];
    let check = if read == "all" { add_up } else { look };
    let mut times = names.map(|_| Vec::with_capacity(exchanges));
    for block in 0..=BLOCKS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            for turn in 0..exchanges / BLOCKS {
                let nonce = (block * exchanges + turn) as u64;
                let mut request = [7; REQUEST];
                request[..8].copy_from_slice(&nonce.to_le_bytes());
                let begun = Instant::now();
                way.exchange(&request, size, check, nonce);
                let took = begun.elapsed().as_nanos() as u64;
                // The first block touches memory for the first time.
                if block > 0 {
                    times.push(took);
                }
            }
        }
    }
    let mut out = std::io::stdout().lock();
    let rows = times.map(Row::of);
    for (name, row) in names.iter().zip(&rows) {
        writeln!(out, "{}", row.line(name, size, read, &rows[0])).unwrap();
    }
}

struct Row {
    exchanges: usize,
    p50: u64,
    p99: u64,
    rate: f64,
}

impl Row {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() as f64 * share).ceil() as usize).max(1) - 1];
        let rate = times.len() as f64 * 1e9 / times.iter().sum::<u64>() as f64;
        Self { exchanges: times.len(), p50: at(0.5), p99: at(0.99), rate }
    }

    fn line(&self, way: &str, size: usize, read: &str, unix: &Self) -> String {
        let Self { exchanges, p50, p99, rate } = self;
        let (p50_ratio, p99_ratio) = (*p50 as f64 / unix.p50 as f64, *p99 as f64 / unix.p99 as f64);
        let rate_ratio = rate / unix.rate;
        format!(
            "{{\"way\": \"{way}\", \"answer_bytes\": {size}, \"read\": \"{read}\", \
             \"exchanges\": {exchanges}, \"p50_ns\": {p50}, \"p99_ns\": {p99}, \
             \"per_second\": {rate:.0}, \"p50_of_unix\": {p50_ratio:.3}, \
             \"p99_of_unix\": {p99_ratio:.3}, \"per_second_of_unix\": {rate_ratio:.3}}}"
        )
    }
}

fn server(way: &str, socket: &Path, size: usize) {
    let ready = || {
        let mut out = std::io::stdout();
        out.write_all(b"\n").and_then(|()| out.flush()).unwrap();
    };
    if way == "unix-socket" {
        let listener = UnixListener::bind(socket).unwrap();
        ready();
        return echo(listener.accept().unwrap().0, size);
    }
    let spin = if way == "shm-spin" { SPIN } else { Duration::ZERO };
    let room = 64 * 1024;
    let settings = Settings { answer_room: room, slots: 8, spin, ..Settings::default() };
    let (_producer, mut workers) = Producer::bind(socket, settings).unwrap();
    ready();
    workers.pop().unwrap().run(|request: &[u8], room: &mut Room<'_>| {
        if room.kept() != Some(size as u64) {
            room[..size].fill(b'x');
            room.keep_as(size as u64);
        }
        patch(&mut room[..size], request);
        room.keep_as(size as u64);
        Reply::Answer(size)
    });
}

fn echo(mut stream: UnixStream, size: usize) {
    let mut answer = vec![b'x'; size];
    let mut request = [0; REQUEST];
    while stream.read_exact(&mut request).is_ok() {
        patch(&mut answer, &request);
        stream.write_all(&answer).unwrap();
    }
}

/// Puts the request's nonce at both ends.
fn patch(answer: &mut [u8], request: &[u8]) {
    let length = answer.len();
    answer[..8].copy_from_slice(&request[..8]);
    answer[length - 8..].copy_from_slice(&request[..8]);
}
