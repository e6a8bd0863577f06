//! The line that a process prints when it is ready.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The line that a system prints on stdout once it is ready.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct ReadyLine {
    ready: bool,
    /// Its own name for itself.
    #[serde(default)]
    pub system: String,
    /// Its version, if it reports one.
    #[serde(default)]
    pub version: Option<String>,
    /// Addresses, by the name of the listener.
    #[serde(default)]
    pub listening: BTreeMap<String, String>,
    /// Its processes.
    #[serde(default)]
    pub processes: Vec<NamedProcess>,
    /// The effective configuration, as read back from the running parts.
    #[serde(default)]
    pub effective: BTreeMap<String, Value>,
}

/// One process of a system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct NamedProcess {
    /// Its role.
    pub name: String,
    /// Its id.
    pub pid: u32,
}

impl ReadyLine {
    /// Parses the ready line; `None` for any other line, which a process may print before it.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().filter(|line: &Self| line.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ready_line_is_told_from_other_lines() {
        let line = br#"{"ready":true,"system":"truth","listening":{"http":"127.0.0.1:1"},
            "processes":[{"name":"front","pid":7}],"effective":{"backlog":1024},"more":1}"#;
        let parsed = ReadyLine::parse(line).unwrap();
        assert_eq!(parsed.listening["http"], "127.0.0.1:1");
        assert_eq!(parsed.processes, [NamedProcess { name: "front".into(), pid: 7 }]);
        assert_eq!(parsed.effective["backlog"], 1024);
        for other in [&b"hello"[..], b"{}", br#"{"ready":false}"#, b"42", b""] {
            assert_eq!(ReadyLine::parse(other), None);
        }
    }
}
