//! `[[service]]`, `[system]`, `[[observer]]`: the processes that a trial starts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::request::{KnownNames, NoSystem};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Reader, Table};
use crate::process::{Observer, Ready, Service, Start, System};
use crate::units::parse_duration;

/// Reads the `[[service]]` tables.
pub(super) fn services(tables: &[&Table], problems: &mut Vec<Diagnostic>) -> Vec<Service> {
    let mut services: Vec<Service> = Vec::new();
    for table in tables {
        let mut reader = Reader::new(table);
        let name = name(&mut reader);
        let command = command(&mut reader);
        if table.get("command").is_none() {
            reader.missing("command", "command = \"redis-server --port {port}\"");
        }
        let ready = ready(&mut reader).unwrap_or(Ready::Tcp);
        let ready_within = bound(&mut reader, "ready_within");
        if let Some((name, span)) = &name
            && (services.iter().any(|known| known.name == *name) || name == "system")
        {
            let message = format!("service name `{name}` is taken");
            reader.problem(Diagnostic::new(*span, message, "names must differ"));
        }
        problems.extend(reader.finish());
        if let (Some((name, _)), Some(command)) = (name, command) {
            services.push(Service { name, command, ready, ready_within });
        }
    }
    services
}

/// Reads the `[system]` table.
pub(super) fn system(
    table: &Table,
    known: &dyn KnownNames,
    problems: &mut Vec<Diagnostic>,
) -> Option<System> {
    let mut reader = Reader::new(table);
    let start = start(&mut reader, table, known);
    let set = settings(&mut reader);
    let ready = ready(&mut reader);
    let ready_within = bound(&mut reader, "ready_within");
    if start.is_none() && table.get("serve").is_none() && table.get("command").is_none() {
        reader.missing("serve", "serve = \"truth\" or command = \"…\"");
    }
    problems.extend(reader.finish());
    let start = start?;
    let ready = match start {
        Start::Serve(_) => Ready::Line,
        Start::Command(_) => ready.unwrap_or(Ready::Tcp),
    };
    Some(System { start, set, ready, ready_within })
}

/// Reads the `[[observer]]` tables.
pub(super) fn observers(
    tables: &[&Table],
    known: &dyn KnownNames,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Observer> {
    let mut observers: Vec<Observer> = Vec::new();
    for table in tables {
        let mut reader = Reader::new(table);
        let name = name(&mut reader);
        let start = start(&mut reader, table, known);
        let set = settings(&mut reader);
        let expect = reader.string("expect").map(|(text, _)| text.to_owned());
        let ready_within = bound(&mut reader, "ready_within");
        let answers_within = bound(&mut reader, "answers_within");
        if let Some((name, span)) = &name
            && observers.iter().any(|known| known.name == *name)
        {
            let message = format!("observer name `{name}` is taken");
            reader.problem(Diagnostic::new(*span, message, "names must differ"));
        }
        problems.extend(reader.finish());
        if let Some((name, _)) = name {
            let observer = Observer { name, start, set, expect, ready_within, answers_within };
            observers.push(observer);
        }
    }
    observers
}

fn name(reader: &mut Reader<'_>) -> Option<(String, Span)> {
    let given = reader.string("name");
    if given.is_none() && reader.node("name").is_none() {
        reader.missing("name", "name = \"…\"");
    }
    let (name, span) = given?;
    if let Some(problem) = super::operation::bad_name(name, span) {
        reader.problem(problem);
    }
    Some((name.to_owned(), span))
}

fn start(reader: &mut Reader<'_>, table: &Table, known: &dyn KnownNames) -> Option<Start> {
    let serve = reader.string("serve");
    let command = command(reader);
    if let (Some(_), Some(entry)) = (table.get("serve"), table.get("command")) {
        let message = "`serve` and `command` exclude each other";
        reader.problem(Diagnostic::new(entry.key_span, message, "keep one of them"));
    }
    if let Some(problem) = serve.and_then(|(name, span)| unserved(name, span, known)) {
        reader.problem(problem);
    }
    match serve {
        Some((name, _)) => Some(Start::Serve(name.to_owned())),
        None => command.map(Start::Command),
    }
}

/// The problem that no program serves this system, if that is so.
fn unserved(name: &str, span: Span, known: &dyn KnownNames) -> Option<Diagnostic> {
    Some(match known.find(name).err()? {
        NoSystem::Unknown { known, hint } => {
            Diagnostic::unknown("system", name, span, known.iter().map(String::as_str))
                .with_hint(hint)
        }
        NoSystem::Unusable { what, hint } => {
            Diagnostic::new(span, what, "the system cannot be served").with_hint(hint)
        }
    })
}

fn command(reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let (text, span) = reader.string("command")?;
    match split_command(text) {
        Some(words) if !words.is_empty() => Some(words),
        Some(_) => {
            reader.problem(Diagnostic::new(span, "the command is empty", "expected a program"));
            None
        }
        None => {
            let message = "a quote in the command is never closed";
            reader.problem(Diagnostic::new(span, message, "expected ' or \" in pairs"));
            None
        }
    }
}

/// Splits a command line like a shell, but without expansions; `None` if a quote is not closed.
fn split_command(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(characters.next()?),
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A time limit.
fn bound(reader: &mut Reader<'_>, key: &str) -> Option<Duration> {
    let parse = |text: &str| parse_duration(text).filter(|bound| !bound.is_zero());
    reader.parsed(key, "a time above zero such as \"30s\"", parse).map(|(bound, _)| bound)
}

fn settings(reader: &mut Reader<'_>) -> BTreeMap<String, Json> {
    let entries = reader.table("set").map(|table| table.entries.as_slice()).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
}

fn ready(reader: &mut Reader<'_>) -> Option<Ready> {
    let parse = |text: &str| match text {
        "tcp" => Some(Ready::Tcp),
        "line" => Some(Ready::Line),
        path if path.starts_with('/') => Some(Ready::Http(path.to_owned())),
        _ => None,
    };
    let expected = "\"tcp\", \"line\" or a path such as \"/healthz\"";
    reader.parsed("ready", expected, parse).map(|(ready, _)| ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_split_like_in_a_shell() {
        let words = |text| split_command(text).unwrap();
        assert_eq!(
            words("redis-server --save '' -p {port}"),
            ["redis-server", "--save", "", "-p", "{port}"]
        );
        assert_eq!(words(r#"a "b \" c" d\ e 'f\g'"#), ["a", "b \" c", "d e", r"f\g"]);
        assert_eq!(words("  "), [""; 0]);
        assert_eq!(split_command("a 'b"), None);
    }
}
