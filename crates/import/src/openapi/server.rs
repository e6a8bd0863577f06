//! Where the operations are sent: the first of the servers that apply.

use serde_json::Value;

use crate::credentials::Credentials;
use crate::draft::DraftOperation;
use crate::request;

/// The place of a description that names none.
const LOCAL: &str = "http://127.0.0.1:8080";

/// Longer values of variables are left out.
const LONGEST: usize = 1_000;

/// An operation to the first server, and a note if its address is the user's to fill in.
pub(super) fn to(
    servers: Option<&Value>,
    credentials: &mut Credentials,
) -> (DraftOperation, Option<String>) {
    let server = servers.and_then(|servers| servers.get(0));
    let address = server.and_then(|server| server["url"].as_str()).unwrap_or("/");
    let filled = filled(address, server.and_then(|server| server.get("variables")));
    let is_whole = filled.contains("://") && !filled.contains('{');
    if let Some(operation) = is_whole.then(|| request::to(&filled, credentials).ok()).flatten() {
        return (operation, None);
    }
    let note =
        format!("the address of the server {address:?} is yours to fill in: {LOCAL} stands for it");
    let base = format!("/{}", filled.trim_start_matches('/'));
    let is_path = !filled.contains("://") && !filled.contains('{');
    let whole = format!("{LOCAL}{}", if is_path { base.as_str() } else { "/" });
    let local = request::to(&whole, credentials).or_else(|_| request::to(LOCAL, credentials));
    (local.unwrap_or_default(), Some(note))
}

/// The address with the defaults of its variables.
fn filled(address: &str, variables: Option<&Value>) -> String {
    let mut out = address.to_owned();
    for (name, variable) in variables.and_then(Value::as_object).into_iter().flatten() {
        let first = || variable["enum"].get(0).and_then(Value::as_str);
        let value = match &variable["default"] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => first().map(str::to_owned),
        };
        if let Some(value) = value.filter(|value| value.len() <= LONGEST) {
            out = out.replace(&format!("{{{name}}}"), &value);
        }
    }
    out
}
