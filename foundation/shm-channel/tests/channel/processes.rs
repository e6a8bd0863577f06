//! Producer and client in processes of their own, and either killed at any moment.
//!
//! The other process is this test's binary again, told by the environment which part it has.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shm_channel::{AnswerBuffer, Client, Error, Producer, Reply, Settings};

use super::{Folder, PATIENCE, Running, eventually};

const PART: &str = "SHM_CHANNEL_PART";
const SOCKET: &str = "SHM_CHANNEL_SOCKET";
/// Longest answer: three slots.
const LONGEST: u64 = 3 * 1024;

fn settings() -> Settings {
    Settings { slots: 8, request_room: 64, answer_room: 1024, ..Settings::default() }
}

fn is_long() -> bool {
    std::env::var_os("PROOFLOAD_PROOF").is_some()
}

/// One of our processes, killed at the end.
struct Peer(Child);

impl Peer {
    /// Starts the part and waits until it says that it is ready.
    fn start(part: &str, socket: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["processes::the_other_process", "--exact", "--nocapture"])
            .env(PART, part)
            .env(SOCKET, socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.unwrap().contains("ready"));
        assert!(is_ready, "the other process ended");
        Self(child)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The part of another process; without one, what every part relies on.
#[test]
fn the_other_process() {
    let ready = || {
        let mut out = std::io::stdout().lock();
        out.write_all(b"ready\n").and_then(|()| out.flush()).unwrap();
    };
    match std::env::var(PART).as_deref() {
        Ok("producer") => {
            let socket = std::env::var(SOCKET).unwrap();
            let (_producer, mut workers) = Producer::bind(socket, settings()).unwrap();
            ready();
            workers.pop().unwrap().run(fill);
        }
        Ok("client") => {
            let socket = std::env::var(SOCKET).unwrap();
            let mut client = Client::connect(socket, Duration::ZERO).unwrap();
            ready();
            for nonce in 0.. {
                exchange(&mut client, nonce).unwrap();
            }
        }
        Ok("poor") => {
            let socket = std::env::var(SOCKET).unwrap();
            // Room for the socket and two of the four descriptors that come with the welcome.
            let next = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
            let current = u64::try_from(next + 3).unwrap();
            let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
            setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum }).unwrap();
            let told = Client::connect(socket, Duration::ZERO).unwrap_err();
            assert!(told.to_string().contains("Too many open files"), "{told}");
            ready();
        }
        _ => assert_eq!(expected(3, 20)[..17], *b"\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x03"),
    }
}

/// What is missing is told as our own limit, and not as something that the producer did.
#[test]
fn a_process_without_room_for_the_descriptors_is_told_so() {
    let folder = Folder::new("poor");
    let _producer = Peer::start("producer", &folder.socket());
    Peer::start("poor", &folder.socket());
}

/// An answer of this length: the nonce again and again.
fn expected(nonce: u64, length: usize) -> Vec<u8> {
    nonce.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Answers (nonce, length).
fn fill(request: &[u8], buffer: &mut AnswerBuffer<'_>) -> Reply {
    let word = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().unwrap());
    buffer.put(&expected(word(0), word(8) as usize))
}

/// One exchange, every byte checked.
fn exchange(client: &mut Client, nonce: u64) -> Result<(), Error> {
    let length = nonce.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (LONGEST + 1);
    let request = [nonce.to_le_bytes(), length.to_le_bytes()].concat();
    let answer = client.call(&request, length as usize, PATIENCE)?;
    assert_eq!(&answer[..], expected(nonce, length as usize), "wrong data delivered as right");
    Ok(())
}

/// Short form: 8 clients with 1,000 exchanges each; `PROOFLOAD_PROOF=1`: 64 with 16,000.
#[test]
fn many_clients_in_one_process_and_their_producer_in_another() {
    let (clients, exchanges) = if is_long() { (64, 16_000) } else { (8, 1_000) };
    let folder = Folder::new("two");
    let _producer = Peer::start("producer", &folder.socket());
    let talk = |number: u64| {
        let mut client = Client::connect(folder.socket(), Duration::ZERO).unwrap();
        for turn in 0..exchanges {
            exchange(&mut client, number << 32 | turn).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for number in 0..clients {
            scope.spawn(move || talk(number));
        }
    });
}

/// Kills the producer after a number of answers, amid the next exchange, and starts another one.
///
/// Short form: 10 times; `PROOFLOAD_PROOF=1`: 200 times.
#[test]
fn clients_learn_of_their_producers_death_and_go_on_with_the_next() {
    let folder = Folder::new("killed-producer");
    let answered = AtomicU64::new(0);
    let mut generations = Vec::new();
    for round in 0..if is_long() { 200 } else { 10 } {
        let mut producer = Peer::start("producer", &folder.socket());
        let enough = answered.load(Ordering::Relaxed) + 20 + round * 37 % 211;
        std::thread::scope(|scope| {
            let clients = [0, 0, 100]
                .map(|spin| Client::connect(folder.socket(), Duration::from_micros(spin)).unwrap());
            let answered = &answered;
            let talk = |mut client: Client| {
                let generation = client.generation();
                let ended = loop {
                    match exchange(&mut client, answered.fetch_add(1, Ordering::Relaxed)) {
                        Ok(()) => {}
                        Err(error) => break error,
                    }
                };
                assert!(matches!(ended, Error::Gone), "{ended}");
                generation
            };
            let talkers = clients.map(|client| scope.spawn(move || talk(client)));
            eventually("exchanges", || answered.load(Ordering::Relaxed) >= enough);
            producer.kill();
            let killed = Instant::now();
            let seen = talkers.map(|talker| talker.join().unwrap());
            assert!(killed.elapsed() < Duration::from_secs(10), "clients hang");
            assert!(seen.iter().all(|generation| *generation == seen[0]));
            generations.push(seen[0]);
        });
    }
    let rounds = generations.len();
    generations.sort_unstable();
    generations.dedup();
    assert_eq!(generations.len(), rounds, "each start has a generation of its own");
}

/// Kills clients amid their exchanges; the producer goes on, and keeps nothing of them.
///
/// Short form: 10 times; `PROOFLOAD_PROOF=1`: 200 times.
#[test]
fn a_producer_loses_nothing_but_the_clients_that_die() {
    let running = Running::start("killed-client", settings(), fill);
    let mut survivor = running.client();
    for round in 0..if is_long() { 200 } else { 10 } {
        let mut victims = [0, 1].map(|_| Peer::start("client", &running.folder.socket()));
        assert_eq!(running.counts().living, 3);
        for nonce in 0..20 + round * 37 % 211 {
            exchange(&mut survivor, nonce).unwrap();
        }
        for victim in &mut victims {
            victim.kill();
            exchange(&mut survivor, round).unwrap();
        }
        eventually("the dead are forgotten", || running.counts().living == 1);
    }
    assert_eq!(running.counts().damaged, 0);
    drop(survivor);
    eventually("nobody is left", || running.counts().living == 0);
}
