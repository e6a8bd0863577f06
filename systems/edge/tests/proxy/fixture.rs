//! A proxy of a test's own, an upstream that says what the test says, and a client that closes its connection.

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use serving::options::Options;
use serving::start::System;
use socket2::SockRef;
pub use testing::PATIENCE;
pub use testing::client::{ask, connect, message};
use testing::client::{header, metric};
use testing::{TestSystem, wait_for};

pub struct TestProxy {
    pub address: SocketAddr,
    pub ready: Value,
    system: TestSystem,
}

impl TestProxy {
    pub fn before(upstream: SocketAddr) -> Self {
        Self::with(upstream, &[])
    }

    pub fn with(upstream: SocketAddr, settings: &[(&str, &str)]) -> Self {
        let mut options = Options::default().with("upstream", format!("http://{upstream}"));
        for (key, value) in settings {
            options = options.with(key, *value);
        }
        Self::serve(&edge::proxy::SYSTEM, options)
    }

    /// Any system.
    pub fn serve(system: &'static System, options: Options) -> Self {
        let system = TestSystem::start(system, options);
        Self { address: system.address("http"), ready: system.ready.clone(), system }
    }

    /// Tells it to stop, and does not wait.
    pub fn stop(&mut self) {
        self.system.stop();
    }

    /// Waits until it has stopped.
    pub fn stopped(self) {
        self.system.stopped();
    }

    /// A figure of `/_proxy/metrics`, by its name and labels.
    pub fn figure(&self, name: &str) -> u64 {
        metric(self.address, "/_proxy/metrics", name)
    }

    /// Waits until a figure is this.
    pub fn until(&self, name: &str, wanted: u64) {
        wait_for(name, wanted, || self.figure(name));
    }

    /// A request in short (see [`request`]) and its answer.
    pub fn ask(&self, short: &str) -> Received {
        Received::of(&ask(self.address, &request(short)))
    }
}

/// An answer as a client sees it.
#[derive(Debug)]
pub struct Received {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Received {
    fn of(text: &str) -> Self {
        let (head, body) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = match header(head, "transfer-encoding") {
            Some(_) => chunks(body),
            None => body.to_owned(),
        };
        Self { status, head: head.to_owned(), body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// Status, `x-cache` and body in one line.
    pub fn line(&self) -> String {
        let cache = self.header("x-cache").unwrap_or("?");
        format!("{} {cache} {}", self.status, self.body).trim_end().to_owned()
    }
}

/// What is in whole chunks; what has no end says so.
fn chunks(mut text: &str) -> String {
    let mut body = String::new();
    loop {
        let Some((size, rest)) = text.split_once("\r\n") else { return body + "(broken off)" };
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        let Some(piece) = rest.get(..size) else { return body + "(broken off)" };
        body.push_str(piece);
        text = rest[size..].trim_start_matches("\r\n");
    }
}

/// Leaves with a reset.
pub fn reset(client: TcpStream) {
    SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
}

/// A whole request from `GET /path|name: value|=body`.
pub fn request(short: &str) -> String {
    let mut parts = short.split('|');
    let mut text = format!("{} HTTP/1.1\r\n", parts.next().unwrap());
    let rest: Vec<&str> = parts.collect();
    if !rest.iter().any(|part| part.to_lowercase().starts_with("host:")) {
        text.push_str("host: h\r\n");
    }
    finish(text + "connection: close\r\n", &rest)
}

/// A whole answer from `200|name: value|=body`. A body that begins with `==` is sent as it stands, without a length.
pub fn answer(short: &str) -> String {
    let mut parts = short.split('|');
    let text = format!("HTTP/1.1 {} x\r\n", parts.next().unwrap());
    finish(text, &parts.collect::<Vec<_>>())
}

fn finish(mut text: String, parts: &[&str]) -> String {
    let mut body = "";
    let mut has_length = text.starts_with("HTTP/1.1 304") || text.starts_with("HTTP/1.1 204");
    has_length |= text.starts_with("GET ") || text.starts_with("HEAD ");
    for part in parts {
        if let Some(raw) = part.strip_prefix("==") {
            (body, has_length) = (raw, true);
        } else if let Some(whole) = part.strip_prefix('=') {
            (body, has_length) = (whole, false);
        } else {
            text.push_str(&format!("{part}\r\n"));
        }
    }
    if !has_length {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}")
}

/// An upstream, and the heads of what it was asked.
#[derive(Clone)]
pub struct Upstream {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    /// One that answers each request, by its head and body, with these bytes. An answer that says `connection: close` is
    /// the last on its connection; of one to HEAD the body is left out.
    pub fn new(answer: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let upstream = Self { address, asked: Arc::clone(&asked) };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
                thread::spawn(move || converse(&stream.unwrap(), &*answer, &asked));
            }
        });
        upstream
    }

    /// One that gives these answers (see [`answer`]), each once, in turn.
    pub fn of(answers: &Arc<Mutex<VecDeque<String>>>) -> Self {
        let answers = Arc::clone(answers);
        Self::new(move |_, _| {
            let next = answers.lock().unwrap().pop_front();
            answer(&next.unwrap_or_else(|| "500|=nobody said what to answer".to_owned()))
        })
    }

    /// One that gives always the same answer.
    pub fn always(short: &'static str) -> Self {
        Self::new(move |_, _| answer(short))
    }

    /// The heads of what it was asked so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// How often it was asked.
    pub fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Waits until it was asked so often.
    pub fn until(&self, times: usize) {
        let end = Instant::now() + PATIENCE;
        while self.times() < times {
            assert!(Instant::now() < end, "it was asked {} times, not {times}", self.times());
            thread::yield_now();
        }
    }
}

fn converse(stream: &TcpStream, answer: &dyn Fn(&str, &str) -> String, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut stream = stream;
    while let Some((head, body)) = message(&mut reader) {
        asked.lock().unwrap().push(head.clone());
        let mut text = answer(&head, &body);
        if head.starts_with("HEAD ") {
            text.truncate(text.find("\r\n\r\n").unwrap() + 4);
        }
        let is_written = stream.write_all(text.as_bytes()).is_ok();
        if !is_written || header(&text, "connection") == Some("close") {
            return;
        }
    }
}
