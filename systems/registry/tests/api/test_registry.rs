//! A registry of a test's own, and a client of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use serving::options::Options;
use serving::stop::{Stop, Stopper};

/// A registry on a thread, on a port of the kernel's choice; stopped when dropped.
pub struct TestRegistry {
    address: String,
    /// What is in force, as its ready line says.
    pub effective: Value,
    stopper: Option<Stopper>,
    thread: Option<JoinHandle<()>>,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Value,
}

impl Answer {
    /// The code and the place of an error.
    pub fn refusal(&self) -> (u16, &str, &str) {
        let error = &self.body["error"];
        let text = |key| error[key].as_str().unwrap_or("");
        (self.status, text("code"), text("at"))
    }
}

impl TestRegistry {
    pub fn with(settings: &[(&str, &str)]) -> Self {
        let options = settings
            .iter()
            .fold(Options::default(), |options, (key, value)| options.with(key, *value));
        let (stopper, stop) = Stop::pair();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            let announce = |ready: &serving::ready::Ready| {
                let (address, effective) = (&ready.listening["http"], &ready.effective);
                tell.send((address.clone(), effective.clone())).expect("the test waits");
            };
            registry::SYSTEM.serve_until(&options, stop, announce).expect("it serves");
        });
        let (address, effective) =
            told.recv_timeout(Duration::from_secs(20)).expect("it gets ready");
        Self { address, effective, stopper: Some(stopper), thread: Some(thread) }
    }

    pub fn open() -> Self {
        Self::with(&[])
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], body.to_string().as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it takes a bound");
        let fields: String = headers.iter().map(|field| format!("{field}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n{fields}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        // A body that is too large is refused before it was read.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
            head: head.to_owned(),
            body: serde_json::from_str(body).unwrap_or(Value::String(body.to_owned())),
        }
    }

    /// Everybody in a namespace, by name.
    pub fn names(&self, namespace: &str) -> Vec<String> {
        let path = format!("/v1/{namespace}/enumerate");
        let answer = self.post(&path, &serde_json::json!({ "limit": 10_000 }));
        let listed = answer.body["identities"].as_array().cloned().unwrap_or_default();
        listed.iter().filter_map(|one| one["identity"].as_str().map(str::to_owned)).collect()
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        drop(self.stopper.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}
