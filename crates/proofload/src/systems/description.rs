//! A program's description of its systems (`--describe`), read as untrusted input.
//!
//! Not here: the choice of the program (see `known`).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use engine::process::{CaptureLimits, capture};
use plan::experiment::{BadSetting, ReportedNames, SettingError};
use plan::printable::printable;
use serde::Deserialize;

/// The supported version of the contract.
const CONTRACT: u32 = 1;
/// Limits on describing itself.
const BOUNDS: CaptureLimits = CaptureLimits { within: Duration::from_secs(10), bytes: 1 << 20 };
/// Characters of a name.
const NAME_LIMIT: usize = 64;
/// Characters of a text for people.
const TEXT_LIMIT: usize = 500;

/// A program's description of a system with some settings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Description {
    pub name: String,
    /// What it is, in a few words.
    #[serde(default)]
    pub about: String,
    /// The available settings; `None` if unknown.
    settings: Option<Vec<Setting>>,
    #[serde(default = "http")]
    listening: Vec<String>,
    #[serde(default)]
    processes: Vec<String>,
    #[serde(default)]
    counts: Vec<String>,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(default)]
    other_parts: bool,
    #[serde(default)]
    problems: Vec<Refusal>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Setting {
    name: String,
}

/// A setting that is refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Refusal {
    #[serde(default)]
    key: String,
    what: String,
    #[serde(default)]
    idle: bool,
}

fn http() -> Vec<String> {
    vec!["http".to_owned()]
}

/// Only the contract's version: nothing else is known about other versions.
#[derive(Deserialize)]
struct Version {
    contract: u32,
}

#[derive(Deserialize)]
struct Document {
    systems: Vec<Description>,
}

/// Asks a program to describe all its systems, or one of them with these settings.
///
/// Errors: why there is no description, as the end of a sentence about the program
pub(super) fn ask(
    program: &Path,
    system: Option<&str>,
    set: &BTreeMap<String, String>,
) -> Result<Vec<Description>, String> {
    let mut arguments: Vec<String> = system.into_iter().map(str::to_owned).collect();
    arguments.push("--describe".to_owned());
    for (key, value) in set {
        arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let printed = capture(program, &arguments, BOUNDS);
    printed.map_err(|error| plain(&error.to_string())).and_then(|printed| read(&printed))
}

fn read(printed: &[u8]) -> Result<Vec<Description>, String> {
    let invalid =
        |error: serde_json::Error| plain(&format!("its description is not valid: {error}"));
    let Version { contract } = serde_json::from_slice(printed).map_err(invalid)?;
    if contract != CONTRACT {
        return Err(format!(
            "it follows version {contract} of the contract, and this is version {CONTRACT}"
        ));
    }
    let Document { mut systems } = serde_json::from_slice(printed).map_err(invalid)?;
    for system in &mut systems {
        if let Some(name) = system.names().find(|name| !is_name(name)) {
            let why = "which is not 1 to 64 letters, digits, `-`, `_` and `.`";
            return Err(plain(&format!("its description names \"{name}\", {why}")));
        }
        system.about = plain(&system.about);
        system.problems.iter_mut().for_each(|problem| problem.what = plain(&problem.what));
    }
    Ok(systems)
}

/// Whether this is a valid name of a system, a setting or a part.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=NAME_LIMIT).contains(&text.len()) && text.bytes().all(is_plain)
}

/// A printable form of the text, shortened if it is too long.
fn plain(text: &str) -> String {
    printable(text).chars().take(TEXT_LIMIT).collect()
}

impl Description {
    fn names(&self) -> impl Iterator<Item = &str> {
        let Self { listening, processes, counts, parts, .. } = self;
        let lists = [listening, processes, counts, parts].into_iter().flatten();
        let settings = self.settings.iter().flatten().map(|setting| &setting.name);
        [&self.name].into_iter().chain(lists).chain(settings).map(String::as_str)
    }

    /// The problems of the settings with which it was described.
    pub fn problems(&self, set: &BTreeMap<String, String>) -> Vec<BadSetting> {
        let told = self.problems.iter().map(|Refusal { key, what, idle }| {
            let kind = if *idle { SettingError::Idle } else { SettingError::Value };
            BadSetting { key: key.clone(), what: what.clone(), kind }
        });
        let names = self.settings.iter().flatten().map(|setting| setting.name.clone());
        let names: Vec<String> = names.collect();
        let is_unknown = |key: &&String| self.settings.is_some() && !names.contains(key);
        let unknown = set.keys().filter(is_unknown).map(|key| BadSetting {
            key: key.clone(),
            what: format!("no setting of {}", self.name),
            kind: SettingError::Unknown(names.clone()),
        });
        told.chain(unknown).collect()
    }

    /// The names that it will report with these settings.
    pub fn reported_names(&self) -> ReportedNames {
        ReportedNames {
            parts: self.parts.clone(),
            other_parts: self.other_parts,
            counts: self.counts.clone(),
            listening: self.listening.clone(),
            processes: self.processes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Description {
        read(text.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn a_name_is_enough() {
        let described = one(r#"{"contract":1,"systems":[{"name":"hello"}],"more":1}"#);
        let given = [("colour".to_owned(), "red".to_owned())].into();
        assert_eq!(described.problems(&given), [], "which settings there are is not known");
        assert_eq!(
            described.reported_names(),
            ReportedNames { listening: http(), ..ReportedNames::default() }
        );
    }

    #[test]
    fn settings_that_are_not_listed_are_unknown() {
        let described = one(
            r#"{"contract":1,"systems":[{"name":"hello","settings":[{"name":"greeting"}],
                "problems":[{"key":"greeting","what":"it is empty"},{"key":"x","what":"nothing has it","idle":true}]}]}"#,
        );
        let given = ["greeting", "greting"].map(|key| (key.to_owned(), String::new())).into();
        let problems = described.problems(&given);
        let seen: Vec<_> = problems.iter().map(|one| (&*one.key, one.kind.clone())).collect();
        let known = SettingError::Unknown(vec!["greeting".to_owned()]);
        assert_eq!(
            seen,
            [("greeting", SettingError::Value), ("x", SettingError::Idle), ("greting", known)]
        );
    }

    #[test]
    fn what_is_no_description_is_told_plainly() {
        for (text, told) in [
            ("", "its description is not valid: EOF"),
            ("hello\n", "its description is not valid: expected value at line 1 column 1"),
            ("{\"contract\":1}", "its description is not valid: missing field `systems`"),
            ("{\"contract\":2}", "it follows version 2 of the contract, and this is version 1"),
            (
                r#"{"contract":1,"systems":[{"name":"a b"}]}"#,
                "its description names \"a b\", which is not 1 to 64 letters",
            ),
            (
                r#"{"contract":1,"systems":[{"name":"a","counts":["\u001b[2J"]}]}"#,
                "its description names \"\u{fffd}[2J\", which",
            ),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.starts_with(told), "{text}: {error}");
        }
    }

    #[test]
    fn texts_cannot_steer_a_terminal_nor_fill_it() {
        let text = format!(
            r#"{{"contract":1,"systems":[{{"name":"a","about":"\u001b[2J{}"}}]}}"#,
            "x".repeat(10_000)
        );
        let about = one(&text).about;
        assert!(about.starts_with("\u{fffd}[2Jx"), "{about}");
        assert_eq!(about.chars().count(), TEXT_LIMIT);
    }
}
