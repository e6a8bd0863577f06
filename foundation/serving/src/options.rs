//! What a system is started with: an address and settings by name.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;

use crate::error::BadOptions;

/// Options of `proofload serve SYSTEM`, or of `[system]` in an experiment file.
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
    /// Reads `--listen` and the `--set key=value` pairs as they stand on the command line.
    ///
    /// Shape:  `sets` one `key=value` each; a key given twice is a problem, not a last word
    /// Errors: every problem at once
    pub fn parse(listen: Option<&str>, sets: &[String]) -> Result<Self, BadOptions> {
        let mut options = Self::default();
        let mut problems = Vec::new();
        if let Some(text) = listen {
            match text.parse() {
                Ok(address) => options.listen = address,
                Err(_) => problems.push(format!(
                    "--listen: expected an address such as 127.0.0.1:8080, got \"{text}\""
                )),
            }
        }
        for set in sets {
            match set.split_once('=') {
                Some((key, value)) if !key.is_empty() => {
                    let value = Value::String(value.to_owned());
                    if options.settings.insert(key.to_owned(), value).is_some() {
                        problems.push(format!("--set: {key} is given twice"));
                    }
                }
                _ => problems.push(format!("--set: expected key=value, got \"{set}\"")),
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
        let problems = Options::parse(Some("here"), &sets).unwrap_err().problems;
        assert_eq!(problems.len(), 4);
        assert!(problems[0].starts_with("--listen: expected an address"));
        assert_eq!(problems[3], "--set: a is given twice");
    }
}
