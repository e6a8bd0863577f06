//! `[target]`, an operation's own target, and where each operation goes.

use std::path::Path;

use url::Url;

use super::request::Inputs;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Node, Reader, Table, Value};
use crate::target::Target;

/// Reads a `target` table.
pub(super) fn read(table: &Table, inputs: &dyn Inputs, problems: &mut Vec<Diagnostic>) -> Target {
    let mut reader = Reader::new(table);
    let mut target = Target::default();
    if let Some((url, span)) = reader.string("url") {
        target.url = address(url, span, &mut reader);
    }
    let file = |key: &str, reader: &mut Reader<'_>| {
        reader.string(key).map(|(path, _)| inputs.locate(Path::new(path)))
    };
    target.unix_socket = file("unix_socket", &mut reader);
    target.cacert = file("cacert", &mut reader);
    target.cert = file("cert", &mut reader);
    target.key = file("key", &mut reader);
    target.connect_to = reader.string("connect_to").map(|(to, _)| to.to_owned());
    target.insecure = reader.boolean("insecure").unwrap_or(false);
    if target.cert.is_some() != target.key.is_some() {
        let message = "`cert` and `key` belong together";
        reader.problem(Diagnostic::new(table.span, message, "only one of them is here"));
    }
    if target.url.is_empty() && target.unix_socket.is_some() && table.get("url").is_none() {
        target.url = "http://localhost".to_owned();
    }
    problems.extend(reader.finish());
    target
}

/// An operation's `target`: an address that inherits the certificates of `[target]`, or a table.
pub(super) fn own(
    node: &Node,
    shared: Option<&Target>,
    inputs: &dyn Inputs,
    problems: &mut Vec<Diagnostic>,
) -> Option<Target> {
    match &node.value {
        Value::Table(table) => Some(read(table, inputs, problems)),
        Value::String(url) => {
            let empty = Table::default();
            let mut reader = Reader::new(&empty);
            let url = address(url, node.span, &mut reader);
            problems.extend(reader.finish());
            Some(elsewhere(url, shared))
        }
        _ => {
            problems.push(node.unlike("an address such as http://127.0.0.1:8080, or a table"));
            None
        }
    }
}

/// Another address with the certificates of `[target]`.
pub(super) fn elsewhere(url: String, shared: Option<&Target>) -> Target {
    let base = shared.cloned().unwrap_or_default();
    Target { url, connect_to: None, unix_socket: None, ..base }
}

/// The address where a system that we start answers this protocol.
pub(super) fn of_system(protocol: &str) -> Target {
    Target { url: format!("{protocol}://{{system.{protocol}}}"), ..Target::default() }
}

/// Scheme, host and port, without a slash at the end. Placeholders of the launcher are left for
/// it.
fn address(text: &str, span: Span, reader: &mut Reader<'_>) -> String {
    let trimmed = text.trim_end_matches('/');
    if text.contains("{{") {
        let message = format!("unknown placeholder in `{text}`");
        let label = "a target takes {{env.NAME}} and {{factor.NAME}}";
        reader.problem(Diagnostic::new(span, message, label));
    }
    if text.contains('{') {
        return trimmed.to_owned();
    }
    let host = Url::parse(text).ok().filter(Url::has_host);
    match host {
        None => {
            let message =
                format!("expected an address such as http://127.0.0.1:8080, got \"{text}\"");
            reader.problem(Diagnostic::new(span, message, "expected scheme, host and port"));
        }
        Some(url) if !matches!(url.path(), "" | "/") || url.query().is_some() => {
            let message = format!("a target is scheme, host and port, got \"{text}\"");
            let problem = Diagnostic::new(span, message, "has a path");
            let path = &url[url::Position::BeforePath..];
            reader.problem(problem.with_hint(format!("write path = \"{path}\" in the operation")));
        }
        Some(_) => {}
    }
    trimmed.to_owned()
}
