//! A front of a test's own, an upstream that says what it was asked, and a client that closes its connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use serving::error::ServeError;
use serving::options::Options;
use serving::stop::{Stop, Stopper};

/// A test that waits longer than this waits for what does not come.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct TestFront {
    pub address: SocketAddr,
    pub ready: Value,
    stopper: Option<Stopper>,
    served: Option<JoinHandle<Result<(), ServeError>>>,
}

impl TestFront {
    pub fn before(upstream: SocketAddr) -> Self {
        Self::with(upstream, &[])
    }

    pub fn with(upstream: SocketAddr, settings: &[(&str, &str)]) -> Self {
        let mut options = Options::default().with("upstream", format!("http://{upstream}"));
        for (key, value) in settings {
            options = options.with(key, *value);
        }
        let (stopper, stop) = Stop::pair();
        let (sender, ready) = mpsc::channel();
        let served = thread::spawn(move || {
            search::front::SYSTEM.serve_until(&options, stop, |ready| {
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

    /// A figure of `/_front/metrics`.
    pub fn figure(&self, name: &str) -> u64 {
        let text = ask(self.address, "GET /_front/metrics HTTP/1.0\r\n\r\n");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Waits until a figure is this.
    pub fn until(&self, name: &str, wanted: u64) {
        let end = Instant::now() + PATIENCE;
        while self.figure(name) != wanted {
            assert!(Instant::now() < end, "{name} is {}, not {wanted}", self.figure(name));
            thread::yield_now();
        }
    }
}

impl Drop for TestFront {
    fn drop(&mut self) {
        self.stop();
        if let Some(served) = self.served.take() {
            let ended = served.join();
            assert!(thread::panicking() || matches!(ended, Ok(Ok(()))), "{ended:?}");
        }
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Says this on a connection of its own, and gives all of the answer.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// One message: its head in lines, and its body by `Content-Length`.
pub fn message(reader: &mut impl BufRead) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    Some((head, String::from_utf8(body).unwrap()))
}

/// An upstream that answers each request with what it was: `{"target":…,"body":…}`, and two lines of `Server-Timing`.
pub fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || say_again(&stream.unwrap()));
        }
    });
    address
}

fn say_again(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut stream = stream;
    while let Some((head, body)) = message(&mut reader) {
        let target = head.split(' ').nth(1).unwrap();
        let body = serde_json::json!({ "target": target, "body": body }).to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Server-Timing: embed;dur=0.1\r\nServer-Timing: gateway;dur=0.2\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
