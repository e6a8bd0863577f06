//! Whoever answers, in a process of its own.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use shm_channel::{AnswerBuffer, Producer, Reply, Settings};

use super::{REQUEST, SPIN, pin};

/// The word that starts this program again as a server.
pub const PART: &str = "serve";

/// What a server is for.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Bytes of an answer.
    pub size: usize,
    /// Slots of a client, and the room of each for an answer.
    pub slots: u32,
    pub room: usize,
}

/// A server, ended with this.
pub struct Server {
    child: Child,
    pub socket: PathBuf,
}

impl Server {
    pub fn start(way: &str, shape: Shape, processor: usize) -> Self {
        let Shape { size, slots, room } = shape;
        let name = format!("round-trip-{}-{way}", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let numbers = [size, slots as usize, room, processor].map(|number| number.to_string());
        let child = Command::new(std::env::current_exe().unwrap())
            .args([PART, way, socket.to_str().unwrap()])
            .args(numbers)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        Self { child, socket }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Answers until it is killed; the words are those of [`Server::start`].
pub fn run(words: &[&str]) {
    let [way, socket, numbers @ ..] = words else { panic!("a way and a socket") };
    let numbers: Vec<usize> = numbers.iter().map(|text| text.parse().unwrap()).collect();
    let [size, slots, room, processor] = numbers[..] else { panic!("four numbers") };
    pin(processor);
    let ready = || {
        let mut out = std::io::stdout();
        out.write_all(b"\n").and_then(|()| out.flush()).unwrap();
    };
    if *way == "unix-socket" {
        let listener = UnixListener::bind(socket).unwrap();
        ready();
        return echo(listener.accept().unwrap().0, size);
    }
    let spin = if *way == "shm-spin" { SPIN } else { Duration::ZERO };
    let (slots, answer_room) = (slots as u32, room as u64);
    let settings = Settings { answer_room, slots, spin, ..Settings::default() };
    let (_producer, mut workers) = Producer::bind(Path::new(socket), settings).unwrap();
    ready();
    workers.pop().unwrap().run(|request: &[u8], buffer: &mut AnswerBuffer<'_>| {
        if buffer.tag() != Some(size as u64) {
            buffer[..size].fill(b'x');
        }
        patch(&mut buffer[..size], request);
        buffer.set_tag(size as u64);
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
