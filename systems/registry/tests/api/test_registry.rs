//! A registry for one test, and a client for it.

use std::io::{Read, Write};

use serde_json::Value;
use serving::options::Options;
use testing::{TestSystem, client};

/// A registry on a thread, on a port that the kernel chose; stopped when dropped.
pub struct TestRegistry {
    /// The effective configuration from its ready line.
    pub effective: Value,
    system: TestSystem,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Value,
}

impl Answer {
    /// The status, code and place of an error.
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
        let system = TestSystem::start(&registry::SYSTEM, options);
        Self { effective: system.ready["effective"].clone(), system }
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
        let mut stream = client::connect(self.system.address("http"));
        let fields: String = headers.iter().map(|field| format!("{field}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n{fields}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        // A body that is too large is refused before it is read completely.
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

    /// All identities in a namespace, by name.
    pub fn names(&self, namespace: &str) -> Vec<String> {
        let path = format!("/v1/{namespace}/enumerate");
        let answer = self.post(&path, &serde_json::json!({ "limit": 10_000 }));
        let listed = answer.body["identities"].as_array().cloned().unwrap_or_default();
        listed.iter().filter_map(|one| one["identity"].as_str().map(str::to_owned)).collect()
    }
}
