//! The origin as its clients and its administrators see it, over sockets.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

mod administration;
mod clients;
mod faults;
mod http2;
mod language;
mod limits;
#[path = "../shared/peers.rs"]
mod peers;
mod swaps;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use edge::origin;
use serde_json::{Value, json};
use serving::options::Options;
use testing::{TestSystem, client};

/// Longer than anything here takes; what is over it is a hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// An origin in this process, stopped at the end.
struct TestOrigin {
    system: TestSystem,
}

impl TestOrigin {
    /// One that begins with these recipes.
    fn with(recipes: Value) -> Self {
        Self::start(Options::default().with("recipe", recipes.to_string()))
    }

    fn start(options: Options) -> Self {
        Self { system: TestSystem::start(&origin::SYSTEM, options.with("threads", 2)) }
    }

    fn address(&self) -> SocketAddr {
        self.system.address("http")
    }

    fn connect(&self) -> TcpStream {
        client::connect(self.address())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        Reply::read(self.sent(method, path, body))
    }

    /// A connection over which a request went, and nothing was read.
    fn sent(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        stream
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "")
    }

    /// The text of a path of the administration, which answers with 200.
    fn admin(&self, path: &str) -> String {
        let reply = self.get(&format!("/_admin/{path}"));
        assert_eq!(reply.status, 200, "{path}");
        reply.text()
    }

    fn add(&self, recipes: &Value) -> Reply {
        self.ask("POST", "/_admin/add_recipe", &recipes.to_string())
    }

    /// Adds what must be taken.
    fn added(&self, recipes: Value) -> Value {
        let reply = self.add(&recipes);
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()
    }
}

/// An answer to its last byte.
struct Reply {
    status: u16,
    head: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    /// All that comes until the server closes.
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let (reply, rest) = Self::parse(&bytes);
        assert!(rest.is_empty(), "more than one answer");
        reply
    }

    /// The first answer among these bytes, and what is after it.
    fn parse(bytes: &[u8]) -> (Self, &[u8]) {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head") + 4;
        let text = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let head: Vec<(String, String)> = (lines.filter_map(|line| line.split_once(": ")))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut reply = Self { status, head, body: Vec::new() };
        let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        let rest = &bytes[end..];
        let length = if status == 304 || status == 204 { 0 } else { length };
        reply.body = rest[..length].to_vec();
        (reply, &rest[length..])
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A stage that holds from the beginning.
fn stage(status: u16, wait: &str) -> Value {
    json!({"at": 0, "status": status, "latency": wait})
}

/// A recipe with a body and one stage.
fn recipe(route: &str, body: &str, status: u16) -> Value {
    json!({"route": route, "body": body, "stages": [stage(status, "0")]})
}

/// Answers every connection with these bytes, once for each of them, and closes it.
fn upstream(answers: Vec<Vec<u8>>) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let mut heads = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            heads.push(String::from_utf8(head).unwrap());
            stream.write_all(&answer).unwrap();
        }
        heads
    });
    (address, served)
}
