//! What a system is started with: an address and settings by name.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

use crate::error::{BadOption, BadOptions};

/// Options on the command line of a system (see [`crate::program`]), or of `[system]` in an experiment file.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Settings by name. From the command line each is a string; from a file it may be any JSON.
    pub settings: BTreeMap<String, Value>,
}

impl Default for Options {
    /// Loopback only, a port of the kernel's choice, and nothing set.
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), settings: BTreeMap::new() }
    }
}

impl Options {
    /// Reads `--listen` and the `--set key=value` pairs of the command line.
    ///
    /// Shape:  `sets` one `key=value` each; a key given twice is a problem, not a last word
    /// Errors: every problem at once
    pub fn parse(listen: Option<&str>, sets: &[String]) -> Result<Self, BadOptions> {
        let mut options = Self::default();
        let mut problems = Vec::new();
        if let Some(text) = listen {
            match text.parse() {
                Ok(address) => options.listen = address,
                Err(_) => problems.push(BadOption::of("--listen", address(text))),
            }
        }
        for set in sets {
            match set.split_once('=') {
                Some((key, value)) if !key.is_empty() => {
                    let value = Value::String(value.to_owned());
                    if options.settings.insert(key.to_owned(), value).is_some() {
                        problems.push(BadOption::of("--set", format!("{key} is given twice")));
                    }
                }
                _ => {
                    let what = format!("expected key=value, got \"{set}\"");
                    problems.push(BadOption::of("--set", what));
                }
            }
        }
        if problems.is_empty() { Ok(options) } else { Err(BadOptions::of(problems)) }
    }

    /// The same with one setting more; for tests and for callers that build options in code.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.settings.insert(key.to_owned(), value.into());
        self
    }
}

/// What is wrong with an address to listen on, and what to write in its place.
fn address(text: &str) -> String {
    let port = text.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(8080_u16);
    format!("expected host and port, got \"{text}\"; write --listen 127.0.0.1:{port}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_settings_and_loopback_is_the_default() {
        let options = Options::parse(None, &["mode=mm1".into(), "rate=1=2".into()]).unwrap();
        assert_eq!(options.listen.to_string(), "127.0.0.1:0");
        assert_eq!(options.settings["mode"], "mm1");
        assert_eq!(options.settings["rate"], "1=2");
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let sets = ["mode".to_owned(), "=1".into(), "a=1".into(), "a=2".into()];
        let problems = Options::parse(Some("here"), &sets).unwrap_err().sentences();
        assert_eq!(
            problems,
            [
                "--listen: expected host and port, got \"here\"; write --listen 127.0.0.1:8080",
                "--set: expected key=value, got \"mode\"",
                "--set: expected key=value, got \"=1\"",
                "--set: a is given twice",
            ]
        );
    }

    #[test]
    fn a_port_alone_gets_its_host() {
        for text in ["9090", ":9090", "localhost:9090"] {
            let told = Options::parse(Some(text), &[]).unwrap_err().to_string();
            assert!(told.ends_with("; write --listen 127.0.0.1:9090"), "{told}");
        }
    }
}
