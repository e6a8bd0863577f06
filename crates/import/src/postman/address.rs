//! The address of a request.

use serde_json::Value;
use url::form_urlencoded;

use super::variables::Variables;
use crate::braces::{Piece, pieces};
use crate::draft::{Draft, DraftOperation};
use crate::request;
use crate::text::Text;

/// The place of a request whose address is a variable without value.
const LOCAL: &str = "http://127.0.0.1:8080";

/// An operation that goes to an address of Postman: a text, or a table of its parts.
///
/// Errors: one sentence; it is no address of http or https
pub(super) fn to(
    url: &Value,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Result<DraftOperation, String> {
    let raw = match url {
        Value::String(text) => text.clone(),
        _ => url["raw"].as_str().map_or_else(|| built(url), str::to_owned),
    };
    let raw = raw.trim();
    let raw = outside_variables(raw, '#').map_or(raw, |at| &raw[..at]);
    let at = outside_variables(raw, '?').unwrap_or(raw.len());
    let base = variables.expanded(&raw[..at]);
    let in_raw = raw[at..].trim_start_matches('?').to_owned();
    // A variable may bring a query of its own.
    let (base, of_base) = match outside_variables(&base, '?') {
        Some(at) => (base[..at].to_owned(), base[at + 1..].to_owned()),
        None => (base, String::new()),
    };
    let start = base.find("://").map_or(0, |at| at + 3);
    let end = outside_variables(&base[start..], '/').map_or(base.len(), |at| start + at);
    let mut operation = origin(&base[..end], variables, draft)?;
    let path = filled(&base[end..], url, variables, draft);
    operation.path = Text::template(if path.is_empty() { "/".to_owned() } else { path });
    add_query(&mut operation, &of_base, variables, draft);
    match url["query"].as_array() {
        Some(pairs) => {
            for pair in pairs.iter().filter(|pair| pair["disabled"] != true) {
                let key = pair["key"].as_str().unwrap_or_default();
                let value = decoded(pair["value"].as_str().unwrap_or_default());
                push(&mut operation, (key.to_owned(), value), variables, draft);
            }
        }
        None => add_query(&mut operation, &in_raw, variables, draft),
    }
    Ok(operation)
}

/// Where a letter stands outside of variables.
fn outside_variables(text: &str, letter: char) -> Option<usize> {
    let mut at = 0;
    for piece in pieces(text) {
        // A variable begins where the next two braces do.
        match piece {
            Piece::Literal(literal) => {
                if let Some(found) = literal.find(letter) {
                    return Some(at + found);
                }
                at += literal.len();
            }
            Piece::Variable(_) => at += text[at..].find("}}").map_or(0, |end| end + 2),
        }
    }
    None
}

/// An address from its parts.
fn built(url: &Value) -> String {
    let list = |key: &str, between: &str| match &url[key] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part = |one: &Value| {
                one.as_str().or_else(|| one["value"].as_str()).unwrap_or_default().to_owned()
            };
            parts.iter().map(part).collect::<Vec<_>>().join(between)
        }
        _ => String::new(),
    };
    let host = list("host", ".");
    let scheme = url["protocol"].as_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let port = url["port"].as_str().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}{host}{port}/{}", list("path", "/").trim_start_matches('/'))
}

/// The operation without its path; an address with variables is the user's to fill in.
fn origin(
    text: &str,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Result<DraftOperation, String> {
    // User and password stand in no message.
    let place = text.rsplit('@').next().unwrap_or_default();
    if !text.contains("{{") {
        let is_open = place == text;
        let no_address = |error| match is_open {
            true => error,
            false => format!("{place:?} is no address of http or https"),
        };
        return request::to(text, &mut draft.credentials).map_err(no_address);
    }
    let known = place.to_owned();
    if !variables.noted.contains(&known) {
        draft.note(None, format!("the address {place} is yours to fill in: {LOCAL} stands for it"));
        variables.noted.push(known);
    }
    request::to(LOCAL, &mut draft.credentials)
}

/// The path with its variables, `:name` among them.
fn filled(path: &str, url: &Value, variables: &mut Variables, draft: &mut Draft) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        let value = segment.strip_prefix(':').filter(|name| !name.is_empty()).map(|name| {
            let own = url["variable"].as_array().into_iter().flatten();
            let mut own = own.filter(|one| one["key"] == name || one["id"] == name);
            match own.next().map(|one| &one["value"]) {
                Some(Value::String(value)) if !value.is_empty() => value.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => format!("{{{{{name}}}}}"),
            }
        });
        let source = value.clone().unwrap_or_else(|| segment.to_owned());
        let mut out = String::new();
        for piece in pieces(&variables.expanded(&source)) {
            match piece {
                Piece::Literal(text) => out.push_str(&request::encoded(text, value.is_some())),
                Piece::Variable(name) => {
                    let name = name.trim();
                    let text = variables.text("", &format!("{{{{{name}}}}}"), draft);
                    out.push_str(text.as_str());
                }
            }
        }
        segments.push(out);
    }
    segments.join("/")
}

fn add_query(
    operation: &mut DraftOperation,
    query: &str,
    variables: &mut Variables,
    draft: &mut Draft,
) {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        push(operation, (decoded(name), decoded(value)), variables, draft);
    }
}

fn push(
    operation: &mut DraftOperation,
    (name, value): (String, String),
    variables: &mut Variables,
    draft: &mut Draft,
) {
    let name = variables.expanded(&name);
    let value = variables.text(&name, &value, draft);
    operation.query.push((name, value));
}

/// A text without percent-encoding; `+` stays what it is.
fn decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let safe = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(safe.as_bytes())
        .next()
        .map_or_else(String::new, |(name, _)| name.into_owned())
}
