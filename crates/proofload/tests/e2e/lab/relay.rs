//! A slow way to a server: a TCP relay that delays each direction by its own time, stands still now and then, as TCP
//! does after a loss, and can be held by the test. It needs no privileges.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time of one direction.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    pub delay: Duration,
    /// Up to so much more, drawn for each chunk.
    pub jitter: Duration,
    /// Each chunk with a number divisible by this comes later by [`STILL`], and all behind it wait; 0 for never.
    pub still_each: u64,
}

/// The time that TCP takes to notice a loss, and to send again.
const STILL: Duration = Duration::from_millis(300);

impl Way {
    pub const AT_ONCE: Self = Self { delay: Duration::ZERO, jitter: Duration::ZERO, still_each: 0 };

    pub const fn slow(milliseconds: u64, still_each: u64) -> Self {
        let (delay, jitter) =
            (Duration::from_millis(milliseconds), Duration::from_millis(milliseconds / 2));
        Self { delay, jitter, still_each }
    }

    fn of(self, number: u64) -> Duration {
        // Any sequence without a pattern will do.
        let drawn = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let jitter = self.jitter.mul_f64(drawn as f64 / 65_536.0);
        let stands_still = self.still_each > 0 && number.is_multiple_of(self.still_each);
        self.delay + jitter + if stands_still { STILL } else { Duration::ZERO }
    }
}

/// A relay to one server; it ends with the test process.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    gate: Arc<Gate>,
}

/// Whether chunks pass.
#[derive(Debug, Default)]
struct Gate {
    is_held: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, is_held: bool) {
        *self.is_held.lock().unwrap_or_else(PoisonError::into_inner) = is_held;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let is_held = self.is_held.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_held, |is_held| *is_held));
    }
}

impl Relay {
    /// To a URL such as `nats://127.0.0.1:4222`, with the ways there and back.
    pub fn start(url: &str, ways: [Way; 2]) -> Self {
        let server = url.rsplit('/').next().expect("an address").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let gate = Arc::new(Gate::default());
        let passed = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A server that is away refuses its clients; they come again.
                let Ok(server) = TcpStream::connect(&server) else { continue };
                join([client, server], ways, &passed);
            }
        });
        Self { port, gate }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Nothing passes from now on.
    pub fn hold(&self) {
        self.gate.set(true);
    }
}

/// Relays in both directions.
fn join(ends: [TcpStream; 2], ways: [Way; 2], gate: &Arc<Gate>) {
    let [there, back] = [[0, 1], [1, 0]]
        .map(|order| order.map(|place: usize| ends[place].try_clone().expect("another handle")));
    for (ends, way) in [there, back].into_iter().zip(ways) {
        let (chunk, chunks) = channel();
        let [from, to] = ends;
        from.set_nodelay(true).expect("a socket");
        thread::spawn(move || take(from, way, &chunk));
        let gate = Arc::clone(gate);
        thread::spawn(move || pass_on(&chunks, to, &gate));
    }
}

/// Takes chunks, each with the instant at which it is due at the other end.
fn take(mut from: TcpStream, way: Way, chunk: &Sender<(Instant, Vec<u8>)>) {
    let mut buffer = vec![0; 64 << 10];
    let mut number = 0;
    while let Ok(bytes) = from.read(&mut buffer)
        && bytes > 0
    {
        number += 1;
        let due = Instant::now() + way.of(number);
        if chunk.send((due, buffer[..bytes].to_vec())).is_err() {
            return;
        }
    }
}

/// Writes chunks when they are due, in order.
fn pass_on(chunks: &Receiver<(Instant, Vec<u8>)>, mut to: TcpStream, gate: &Gate) {
    for (due, bytes) in chunks {
        // The delay is what this relay is for.
        thread::sleep(due.saturating_duration_since(Instant::now()));
        gate.pass();
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
