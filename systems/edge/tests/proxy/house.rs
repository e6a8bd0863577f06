//! A proxy of a test's own, an upstream that says what the test says, and a client that closes its connection.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use serving::error::ServeError;
use serving::options::Options;
use serving::start::System;
use serving::stop::{Stop, Stopper};
use socket2::SockRef;

/// A test that waits longer than this waits for what does not come.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct House {
    pub address: SocketAddr,
    pub ready: Value,
    stopper: Option<Stopper>,
    served: Option<JoinHandle<Result<(), ServeError>>>,
}

impl House {
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
        let (stopper, stop) = Stop::pair();
        let (sender, ready) = mpsc::channel();
        let served = thread::spawn(move || {
            system.serve_until(&options, stop, |ready| {
                sender.send(serde_json::to_value(ready).unwrap()).unwrap();
            })
        });
        let ready = ready.recv_timeout(PATIENCE).unwrap();
        let address = ready["listening"]["http"].as_str().unwrap().parse().unwrap();
        Self { address, ready, stopper: Some(stopper), served: Some(served) }
    }

    /// Pulls the stop, and does not wait.
    pub fn stop(&mut self) {
        self.stopper = None;
    }

    /// Waits until it has stopped.
    pub fn stopped(mut self) {
        self.stop();
        self.served.take().unwrap().join().unwrap().unwrap();
    }

    /// A figure of `/_proxy/metrics`, by its name and labels.
    pub fn figure(&self, name: &str) -> u64 {
        let text = ask(self.address, "GET /_proxy/metrics HTTP/1.0\r\n\r\n");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Waits until a figure is this.
    pub fn until(&self, name: &str, figure: u64) {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.figure(name);
            if seen == figure {
                return;
            }
            assert!(Instant::now() < end, "{name} is {seen}, not {figure}");
            thread::yield_now();
        }
    }

    /// A request in short (see [`request`]) and what is seen of its answer.
    pub fn ask(&self, short: &str) -> Seen {
        Seen::of(&ask(self.address, &request(short)))
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stop();
        if let Some(served) = self.served.take() {
            let ended = served.join();
            assert!(thread::panicking() || matches!(ended, Ok(Ok(()))), "{ended:?}");
        }
    }
}

/// An answer as a client sees it.
#[derive(Debug)]
pub struct Seen {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Seen {
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

/// The value of a header, by its name in lower case.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
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

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Leaves with a reset.
pub fn reset(client: TcpStream) {
    SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
}

/// Says this on a connection of its own, and gives all of the answer; what broke off is given as far as it came.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
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

/// One message: its head in lines, and its body by `Content-Length`.
pub fn message(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        // A connection that is reset is one that ends.
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).unwrap()))
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
