//! Addresses of started processes, and the placeholders for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use plan::target::Target;
use serde::{Deserialize, Serialize};

use super::error::ProcessError;

/// Addresses known so far, by the name of the process and the name of the listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    known: BTreeMap<String, ProcessAddresses>,
    expected: BTreeSet<String>,
}

/// Addresses of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessAddresses {
    /// Value of `{NAME}`.
    pub main: Option<String>,
    /// Values of `{NAME.key}`, by key.
    pub listening: BTreeMap<String, String>,
}

/// Values of `{port}` and `{scratch}` in the command of one process.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnPlaceholders {
    pub port: Option<u16>,
    pub scratch: Option<PathBuf>,
}

impl Addresses {
    /// Replaces the placeholders of a target by their addresses in this trial.
    ///
    /// Errors: a placeholder without an address
    pub fn fill_target(&self, target: &Target) -> Result<Target, ProcessError> {
        let fill = |text: &str| {
            self.fill(text, &OwnPlaceholders::default()).map_err(|reason| {
                ProcessError::Placeholder { name: format!("target {}", target.url), reason }
            })
        };
        let path = |path: &PathBuf| fill(&path.to_string_lossy()).map(PathBuf::from);
        Ok(Target {
            url: fill(&target.url)?,
            connect_to: target.connect_to.as_deref().map(fill).transpose()?,
            unix_socket: target.unix_socket.as_ref().map(path).transpose()?,
            ..target.clone()
        })
    }

    /// Registers a process that will be started, so that an early reference to it does not look like an unknown name.
    pub(super) fn expect(&mut self, name: &str) {
        self.expected.insert(name.to_owned());
    }

    pub(super) fn add(&mut self, name: &str, addresses: ProcessAddresses) {
        self.known.insert(name.to_owned(), addresses);
    }

    pub(super) fn get(&self, name: &str) -> Option<&ProcessAddresses> {
        self.known.get(name)
    }

    /// Replaces placeholders; braces around anything else stay, and so do `{{…}}`.
    ///
    /// Errors: a sentence, for a process that has no such address
    pub(super) fn fill(&self, text: &str, own: &OwnPlaceholders) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open..];
            let end = rest.find('}').map_or(rest.len(), |close| close + 1);
            let value = match rest[1..end].strip_suffix('}').filter(|name| is_name(name)) {
                Some(name) => self.value(name, own)?,
                None => None,
            };
            // Copies other text only up to its next brace, which may open a placeholder.
            let taken = match &value {
                Some(_) => end,
                None => 1 + usize::from(rest.starts_with("{{")),
            };
            filled.push_str(value.as_deref().unwrap_or(&rest[..taken]));
            rest = &rest[taken..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str, own: &OwnPlaceholders) -> Result<Option<String>, String> {
        match name {
            "port" => return Ok(own.port.map(|port| port.to_string())),
            "scratch" => return Ok(own.scratch.as_ref().map(|path| path.display().to_string())),
            _ => {}
        }
        if let Some(process) = self.known.get(name) {
            return match &process.main {
                Some(address) => Ok(Some(address.clone())),
                None => Err(process.lacks(name, "no main address")),
            };
        }
        if let Some((owner, key)) = name.rsplit_once('.') {
            if let Some(process) = self.known.get(owner) {
                return match process.listening.get(key) {
                    Some(address) => Ok(Some(address.clone())),
                    None => Err(process.lacks(owner, &format!("no address `{key}`"))),
                };
            }
            if self.expected.contains(owner) {
                return Err(format!("{{{name}}} is not known yet: {owner} starts later"));
            }
        }
        if self.expected.contains(name) {
            return Err(format!("{{{name}}} is not known yet: {name} starts later"));
        }
        Ok(None)
    }
}

impl ProcessAddresses {
    fn lacks(&self, name: &str, what: &str) -> String {
        let keys: Vec<_> = self.listening.keys().map(String::as_str).collect();
        match keys[..] {
            [] => format!(
                "{name} has {what}: its command has no {{port}} and its ready line lists no address"
            ),
            _ => format!("{name} has {what}; it listens on {}", keys.join(", ")),
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Addresses {
        let mut addresses = Addresses::default();
        for name in ["redis", "system", "receivers"] {
            addresses.expect(name);
        }
        addresses.add(
            "redis",
            ProcessAddresses { main: Some("127.0.0.1:7".into()), ..ProcessAddresses::default() },
        );
        let listening = BTreeMap::from([("http".into(), "127.0.0.1:8".into())]);
        addresses.add("system", ProcessAddresses { main: None, listening });
        addresses
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let own = OwnPlaceholders { port: Some(9), scratch: Some("/s".into()) };
        assert_eq!(addresses().fill(text, &own).unwrap(), expect);
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stay() {
        check("redis://{redis}/0", "redis://127.0.0.1:7/0");
        check("http://{system.http}", "http://127.0.0.1:8");
        check("-p {port} -d {scratch}/x", "-p 9 -d /s/x");
        check("{port}{port}", "99");
        check("{{port}} {{nonce}}", "{{port}} {{nonce}}");
        check("events {} http { listen {port}; }", "events {} http { listen 9; }");
        check("{ a, {2,3} {stranger} {", "{ a, {2,3} {stranger} {");
        check("größe {port}", "größe 9");
    }

    #[track_caller]
    fn refuse(text: &str, reason: &str) {
        let error = addresses().fill(text, &OwnPlaceholders::default()).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn a_process_without_that_address_is_refused() {
        refuse("{system.smtp}", "no address `smtp`; it listens on http");
        refuse("{receivers}", "starts later");
        refuse("{receivers.http}", "starts later");
        refuse("{redis.http}", "lists no address");
    }

    #[test]
    fn a_target_is_filled_whole() {
        let target = Target { url: "http://{system.http}".into(), ..Target::default() };
        assert_eq!(addresses().fill_target(&target).unwrap().url, "http://127.0.0.1:8");
        let unknown = Target { connect_to: Some("{system.x}".into()), ..target };
        assert!(addresses().fill_target(&unknown).is_err());
    }
}
