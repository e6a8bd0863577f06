//! `from`, `to` and `utf8`: the envelope.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::{Reader, Value};
use plan::template::{Scope, Template};

use crate::smtp::envelope::Envelope;
use crate::table::{one_or_more, template};

/// Who sends unless the experiment says otherwise.
const FROM: &str = "load@client.example";

/// Reads the envelope; `None` where its problems leave none.
pub fn read(reader: &mut Reader<'_>, scope: Scope<'_>) -> Option<Envelope> {
    let utf8 = reader.boolean("utf8").unwrap_or(false);
    let (from, span) = reader.string("from").unwrap_or((FROM, Span::default()));
    let from = address(reader, from, span, utf8, scope);
    let node = reader.node("to");
    let mut to = Vec::new();
    for node in one_or_more(node) {
        match &node.value {
            Value::String(text) => to.extend(address(reader, text, node.span, utf8, scope)),
            _ => reader.problem(node.unlike("an address such as sink@mail.example")),
        }
    }
    match node {
        None => reader.missing("to", "to = \"sink@mail.example\""),
        Some(node) if matches!(&node.value, Value::Array(nodes) if nodes.is_empty()) => {
            reader.problem(node.unlike("at least one address"));
        }
        Some(_) => {}
    }
    Some(Envelope { from: from?, to, utf8 }).filter(|envelope| !envelope.to.is_empty())
}

fn address(
    reader: &mut Reader<'_>,
    text: &str,
    span: Span,
    utf8: bool,
    scope: Scope<'_>,
) -> Option<Template> {
    let refuse = |reader: &mut Reader<'_>, what: &str, label: &str, hint: Option<&str>| {
        let problem = Diagnostic::new(span, format!("address \"{text}\" {what}"), label);
        reader.problem(match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        });
    };
    if text.chars().any(char::is_control) {
        refuse(reader, "holds a control character", "expected one line", None);
        return None;
    }
    if text.contains(['<', '>']) {
        refuse(reader, "has brackets", "expected it without them", None);
        return None;
    }
    if !utf8 && !text.is_ascii() {
        let hint = Some("add utf8 = true");
        refuse(reader, "holds more than ASCII", "for servers with SMTPUTF8", hint);
        return None;
    }
    template(reader, text, span, scope)
}
