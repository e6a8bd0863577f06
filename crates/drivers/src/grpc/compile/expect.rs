//! The `expect` table, the paths of `items`, and captures.

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader};
use plan::journey::CaptureSource;
use plan::operation::Operation;

use super::STREAM;
use crate::capture::Captures;
use crate::expect::expectations::Expectations;
use crate::grpc::code::Code;
use crate::http::compile::{expect, stream};
use crate::http::stream::rules::StreamRules;
use crate::table::one_or_more;

/// The statuses that mean success, and the other expectations, adding to `problems`.
pub fn read(
    planned: &Operation,
    mut rules: Option<StreamRules>,
    problems: &mut Vec<Diagnostic>,
) -> (Vec<Code>, Expectations) {
    let mut expectations = Expectations::default();
    let mut codes = Vec::new();
    if let Some(table) = &planned.expect {
        let mut reader = Reader::new(table);
        for node in one_or_more(reader.node("status")) {
            match code(node) {
                Ok(code) => codes.push(code),
                Err(problem) => reader.problem(problem),
            }
        }
        expectations.rules = expect::of_body(&mut reader, planned.scope());
        let hint = "or say that the method answers with one: grpc = { stream = true }";
        stream::expect(&mut reader, rules.as_mut(), hint);
        problems.extend(reader.finish());
    }
    if codes.is_empty() {
        codes.push(Code::OK);
    }
    match &mut rules {
        Some(rules) => rules.items = stream::items(planned, problems),
        // What is wrong with it has been said.
        None if planned.table.get(STREAM).is_some() => {}
        None => expectations.items = expect::paths(planned, problems),
    }
    for capture in &planned.captures {
        let what = match &capture.source {
            CaptureSource::Cookie(_) => "a call has no cookies",
            CaptureSource::Json(_) if rules.is_some() => "a stream of messages is not one JSON",
            _ => continue,
        };
        let message = format!("`{}` cannot be captured: {what}", capture.name);
        problems.push(Diagnostic::new(capture.span, message, "remove this"));
    }
    expectations.captures = Captures::compile(&planned.captures, problems);
    expectations.stream = rules;
    (codes, expectations)
}

fn code(node: &Node) -> Result<Code, Diagnostic> {
    let Some(name) = node.as_str() else {
        return Err(node.unlike("the name of a status such as \"NOT_FOUND\""));
    };
    Code::named(name).ok_or_else(|| Diagnostic::unknown("status", name, node.span, Code::names()))
}
