//! The `expect` table, the paths of `items`, and captures.

use std::ops::RangeInclusive;

use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Entry, Node, Reader, Value};
use plan::journey::{Capture, CaptureSource};
use plan::operation::Operation;
use plan::template::Scope;
use plan::units::parse_size;

use super::{fields, stream};
use crate::capture::Captures;
use crate::expect::expectations::Expectations;
use crate::expect::json::Path;
use crate::expect::pattern::Pattern;
use crate::expect::rule::{AnswerRule, shown};
use crate::http::stream::rules::StreamRules;
use crate::table::{no_captures, one_or_more, statuses, template};

/// Reads the operation's expectations and items, adding to `problems`. `stream`: what its answers are, if streams.
pub fn read(
    planned: &Operation,
    stream: Option<StreamRules>,
    problems: &mut Vec<Diagnostic>,
) -> Expectations {
    let mut expectation = Expectations { stream, ..Expectations::default() };
    if let Some(table) = &planned.expect {
        let mut reader = Reader::new(table);
        if let Some(statuses) = statuses(&mut reader) {
            expectation.statuses = statuses;
        }
        for entry in entries(&mut reader, "header") {
            expectation.rules.extend(field(&mut reader, entry));
        }
        expectation.rules.extend(of_body(&mut reader, planned.scope()));
        let hint = "or say that they are: http = { stream = \"sse\" }";
        stream::expect(&mut reader, expectation.stream.as_mut(), hint);
        problems.extend(reader.finish());
    }
    match &mut expectation.stream {
        Some(stream) => {
            stream.statuses = expectation.statuses.clone();
            stream.items = stream::items(planned, problems);
        }
        // What is wrong with `stream` has been said.
        None if stream::is_stream(&planned.table) => {}
        None => expectation.items = paths(planned, problems),
    }
    expectation.captures = Captures::compile(&planned.captures, problems);
    let of_json = |capture: &&Capture| matches!(capture.source, CaptureSource::Json(_));
    for capture in planned.captures.iter().filter(of_json).filter(|_| expectation.stream.is_some())
    {
        let what = format!("`{}` cannot be captured by JSONPath from a stream", capture.name);
        let problem = Diagnostic::new(capture.span, what, "its body is not JSON");
        problems.push(problem.with_hint("use `matches`, or read a number with `items`"));
    }
    expectation
}

/// What is expected of a body alone, and the paths of items, for protocols whose answers have nothing else; adding to
/// `problems`.
pub fn of_body_alone(
    planned: &Operation,
    problems: &mut Vec<Diagnostic>,
) -> (Vec<AnswerRule>, Vec<Path>) {
    let mut rules = Vec::new();
    if let Some(table) = &planned.expect {
        let mut reader = Reader::new(table);
        rules = of_body(&mut reader, planned.scope());
        problems.extend(reader.finish());
    }
    no_captures(planned, problems);
    (rules, paths(planned, problems))
}

/// The paths of the operation's items, adding to `problems`.
pub(crate) fn paths(planned: &Operation, problems: &mut Vec<Diagnostic>) -> Vec<Path> {
    let mut paths = Vec::new();
    for item in &planned.items {
        if item.counts_events {
            let what = format!("item `{}` counts events, but the answer is no stream", item.name);
            problems.push(Diagnostic::new(item.span, what, "expected a path such as \"$.count\""));
            continue;
        }
        match Path::compile(&item.path) {
            Ok(path) => paths.push(path),
            Err(error) => problems.push(not_a_path(&item.path, item.span, &error)),
        }
    }
    paths
}

/// Expectations of a body, for every protocol.
pub(crate) fn of_body(reader: &mut Reader<'_>, scope: Scope<'_>) -> Vec<AnswerRule> {
    let mut rules = Vec::new();
    rules.extend(read_size(reader));
    for (text, span) in texts(reader, "contains") {
        let template = template(reader, text, span, scope);
        rules.extend(template.map(|template| AnswerRule::Contains(text.to_owned(), template)));
    }
    for (text, span) in texts(reader, "matches") {
        match Pattern::compile(text) {
            Ok(pattern) => rules.push(AnswerRule::Matches(pattern)),
            Err(error) => {
                let what = format!("regular expression {:?}: {error}", shown(text));
                reader.problem(Diagnostic::new(span, what, "expected a regular expression"));
            }
        }
    }
    for entry in entries(reader, "json") {
        match Path::compile(&entry.key) {
            Ok(path) => rules.extend(json(reader, path, &entry.node, scope)),
            Err(error) => reader.problem(not_a_path(&entry.key, entry.key_span, &error)),
        }
    }
    rules
}

fn entries<'a>(reader: &mut Reader<'a>, key: &'static str) -> &'a [Entry] {
    reader.table(key).map_or(&[], |table| table.entries.as_slice())
}

pub(crate) fn not_a_path(text: &str, span: Span, error: &str) -> Diagnostic {
    let what = format!("JSON path {:?}: {error}", shown(text));
    Diagnostic::new(span, what, "expected a path such as $.results[0].id")
}

/// A value as it stands, or a text with placeholders in it.
fn json(reader: &mut Reader<'_>, path: Path, node: &Node, scope: Scope<'_>) -> Option<AnswerRule> {
    if let Value::String(text) = &node.value {
        let template = template(reader, text, node.span, scope)?;
        return Some(match template.literal() {
            Some(literal) => AnswerRule::Json(path, literal.into()),
            None => AnswerRule::JsonReads(path, text.clone(), template),
        });
    }
    Some(AnswerRule::Json(path, node.to_json()))
}

/// `name = "value"`, or `name = { contains = "text" }`.
fn field(reader: &mut Reader<'_>, entry: &Entry) -> Option<AnswerRule> {
    if let Err(what) = fields::check_name(&entry.key) {
        reader.problem(Diagnostic::new(entry.key_span, what, "expected the name of a field"));
        return None;
    }
    match &entry.node.value {
        Value::String(value) => Some(AnswerRule::FieldIs(entry.key.clone(), value.clone())),
        Value::Table(table) => {
            let mut inner = Reader::new(table);
            let contains = inner.string("contains");
            inner.finish().into_iter().for_each(|problem| reader.problem(problem));
            contains.map(|(text, _)| AnswerRule::FieldContains(entry.key.clone(), text.to_owned()))
        }
        _ => {
            reader.problem(entry.node.unlike("text or { contains = \"…\" }"));
            None
        }
    }
}

/// A text or a list of texts.
fn texts<'a>(reader: &mut Reader<'a>, key: &'static str) -> Vec<(&'a str, Span)> {
    let mut texts = Vec::new();
    for node in one_or_more(reader.node(key)) {
        match &node.value {
            Value::String(text) => texts.push((text.as_str(), node.span)),
            _ => reader.problem(node.unlike("text")),
        }
    }
    texts
}

/// `body_size`: `1024`, `"1KiB"`, `"1KiB..2KiB"`, `"1KiB.."` or `"..2KiB"`, both ends included.
fn read_size(reader: &mut Reader<'_>) -> Option<AnswerRule> {
    let node = reader.node("body_size")?;
    let range = match &node.value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok().map(|bytes| bytes..=bytes),
        Value::String(text) => range(text, parse_size),
        _ => None,
    };
    if range.is_none() {
        reader.problem(node.unlike("a size such as 300, \"1KiB\" or \"1KiB..2KiB\""));
    }
    range.map(AnswerRule::Size)
}

/// One number, or both ends of a range; an open end is the least or the greatest there is.
pub(super) fn range(
    text: &str,
    parse: impl Fn(&str) -> Option<u64>,
) -> Option<RangeInclusive<u64>> {
    let Some((low, high)) = text.split_once("..") else {
        return parse(text).map(|one| one..=one);
    };
    let low = if low.is_empty() { 0 } else { parse(low)? };
    let high = if high.is_empty() { u64::MAX } else { parse(high)? };
    (low <= high).then_some(low..=high)
}
