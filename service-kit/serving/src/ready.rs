//! The one line with which a system says that it accepts work.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// What a system reports once it is ready.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ready {
    ready: bool,
    /// The system's name.
    pub system: String,
    /// Addresses by the kind of thing that listens there (`http`, …).
    pub listening: BTreeMap<String, String>,
    /// The processes that do the work.
    pub processes: Vec<Process>,
    /// The configuration in force, read back from the running parts.
    pub effective: Value,
}

/// One process of a system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Its part in the system.
    pub name: String,
    /// Its process id.
    pub pid: u32,
}

impl Ready {
    /// A system that consists of this process alone.
    pub fn new(system: &str, effective: Value) -> Self {
        Self {
            ready: true,
            system: system.to_owned(),
            listening: BTreeMap::new(),
            processes: vec![Process { name: system.to_owned(), pid: std::process::id() }],
            effective,
        }
    }

    /// Adds an address.
    pub fn listening(mut self, kind: &str, address: impl ToString) -> Self {
        self.listening.insert(kind.to_owned(), address.to_string());
        self
    }

    /// The line, without its line feed.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and JSON values always serialize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_has_the_shape_that_launchers_read() {
        let ready = Ready::new("truth", json!({"mode": "none"})).listening("http", "127.0.0.1:9");
        let read: Value = serde_json::from_str(&ready.line()).unwrap();
        let process = json!({"name": "truth", "pid": std::process::id()});
        assert_eq!(
            read,
            json!({
                "ready": true,
                "system": "truth",
                "listening": {"http": "127.0.0.1:9"},
                "processes": [process],
                "effective": {"mode": "none"},
            })
        );
        assert!(ready.line().starts_with("{\"ready\":true,\"system\""));
    }
}
