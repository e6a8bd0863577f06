//! A front of a test's own, and an upstream that answers with what it was asked.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::Value;
use serving::options::Options;
use testing::client::{message, metric};
use testing::{TestSystem, wait_for};

pub struct TestFront {
    pub address: SocketAddr,
    pub ready: Value,
    system: TestSystem,
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
        let system = TestSystem::start(&search::front::SYSTEM, options);
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

    /// A figure of `/_front/metrics`.
    pub fn figure(&self, name: &str) -> u64 {
        metric(self.address, "/_front/metrics", name)
    }

    /// Waits until a figure is this.
    pub fn until(&self, name: &str, wanted: u64) {
        wait_for(name, wanted, || self.figure(name));
    }
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
