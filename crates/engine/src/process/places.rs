//! Where things are: addresses of what has been started, and the placeholders that stand for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use plan::target::Target;

use super::error::ProcessError;

/// Addresses known so far, by the name of the process and of what listens there.
#[derive(Debug, Clone, Default)]
pub struct Places {
    known: BTreeMap<String, Place>,
    awaited: BTreeSet<String>,
}

/// Addresses of one process.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// What `{NAME}` stands for.
    pub main: Option<String>,
    /// What `{NAME.key}` stands for.
    pub listening: BTreeMap<String, String>,
}

/// What `{port}` and `{scratch}` stand for in the command of one process.
#[derive(Debug, Clone, Default)]
pub(super) struct Own {
    pub port: Option<u16>,
    pub scratch: Option<PathBuf>,
}

impl Places {
    /// Replaces the placeholders of a target by what they stand for in this trial.
    ///
    /// Errors: an address that nobody has
    pub fn fill_target(&self, target: &Target) -> Result<Target, ProcessError> {
        let fill = |text: &str| {
            self.fill(text, &Own::default()).map_err(|reason| ProcessError::Placeholder {
                name: format!("target {}", target.url),
                reason,
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

    /// What will be started, so that a reference to it before its time can be told from a stranger.
    pub(super) fn expect(&mut self, name: &str) {
        self.awaited.insert(name.to_owned());
    }

    pub(super) fn add(&mut self, name: &str, place: Place) {
        self.known.insert(name.to_owned(), place);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Place> {
        self.known.get(name)
    }

    /// Replaces placeholders; braces around anything else stay, and so do `{{…}}`.
    ///
    /// Errors: a sentence, for a name that is ours and has no such address
    pub(super) fn fill(&self, text: &str, own: &Own) -> Result<String, String> {
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
            // What is no placeholder is copied up to its next brace only, which may open one.
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

    fn value(&self, name: &str, own: &Own) -> Result<Option<String>, String> {
        match name {
            "port" => return Ok(own.port.map(|port| port.to_string())),
            "scratch" => return Ok(own.scratch.as_ref().map(|path| path.display().to_string())),
            _ => {}
        }
        if let Some(place) = self.known.get(name) {
            return match &place.main {
                Some(address) => Ok(Some(address.clone())),
                None => Err(place.lacks(name, "no address of its own")),
            };
        }
        if let Some((owner, key)) = name.rsplit_once('.') {
            if let Some(place) = self.known.get(owner) {
                return match place.listening.get(key) {
                    Some(address) => Ok(Some(address.clone())),
                    None => Err(place.lacks(owner, &format!("no address `{key}`"))),
                };
            }
            if self.awaited.contains(owner) {
                return Err(format!("{{{name}}} is not known yet: {owner} starts later"));
            }
        }
        if self.awaited.contains(name) {
            return Err(format!("{{{name}}} is not known yet: {name} starts later"));
        }
        Ok(None)
    }
}

impl Place {
    fn lacks(&self, name: &str, what: &str) -> String {
        let keys: Vec<_> = self.listening.keys().map(String::as_str).collect();
        match keys[..] {
            [] => format!("{name} has {what}: it uses no {{port}} and prints no address"),
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

    fn places() -> Places {
        let mut places = Places::default();
        for name in ["redis", "system", "receivers"] {
            places.expect(name);
        }
        places.add("redis", Place { main: Some("127.0.0.1:7".into()), ..Place::default() });
        let listening = BTreeMap::from([("http".into(), "127.0.0.1:8".into())]);
        places.add("system", Place { main: None, listening });
        places
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let own = Own { port: Some(9), scratch: Some("/s".into()) };
        assert_eq!(places().fill(text, &own).unwrap(), expect);
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
        let error = places().fill(text, &Own::default()).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn a_name_of_ours_without_that_address_is_refused() {
        refuse("{system.smtp}", "no address `smtp`; it listens on http");
        refuse("{receivers}", "starts later");
        refuse("{receivers.http}", "starts later");
        refuse("{redis.http}", "prints no address");
    }

    #[test]
    fn a_target_is_filled_whole() {
        let target = Target { url: "http://{system.http}".into(), ..Target::default() };
        assert_eq!(places().fill_target(&target).unwrap().url, "http://127.0.0.1:8");
        let unknown = Target { connect_to: Some("{system.x}".into()), ..target };
        assert!(places().fill_target(&unknown).is_err());
    }
}
