//! Values that no output may show: header values with credentials, and names made from the
//! environment.

use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Table, Value};
use crate::secret::{Secrets, is_authorising, variable};

/// Tables of protocols that hold header fields, and texts of theirs that no output may show.
const HEADERS: [&str; 2] = ["header", "metadata"];
const SECRET: [&str; 2] = ["password", "token"];

/// Notes credentials that are written out in the tables of these protocols.
pub(super) fn credentials(root: &Table, protocols: &[&str], secrets: &mut Secrets) {
    let settings = tables(root, "operation").flat_map(|table| &table.entries);
    let spoken = settings.filter(|entry| protocols.contains(&entry.key.as_str()));
    for table in spoken.filter_map(|entry| as_table(&entry.node.value)) {
        let fields = HEADERS.iter().filter_map(|key| as_table(&table.get(key)?.node.value));
        for field in fields.flat_map(|header| &header.entries) {
            header(field, secrets);
        }
        let auth = table.get("auth").and_then(|auth| as_table(&auth.node.value));
        auth.iter().for_each(|auth| authorization(auth, secrets));
        let texts = SECRET.iter().filter_map(|key| table.get(key));
        texts.for_each(|text| add(&text.key, text, secrets));
    }
}

fn header(field: &Entry, secrets: &mut Secrets) {
    let value = field.node.as_str().filter(|_| is_authorising(&field.key));
    if let Some(value) = value.filter(|value| is_new(value, secrets)) {
        secrets.add_header(&field.key, value);
    }
}

fn authorization(auth: &Table, secrets: &mut Secrets) {
    let pair = auth.get("basic").and_then(|basic| as_table(&basic.node.value));
    let passwords = [Some(auth), pair].into_iter().flatten();
    for password in passwords.filter_map(|table| table.get("password")) {
        add("password", password, secrets);
    }
    auth.get("bearer").iter().for_each(|token| add("authorization", token, secrets));
}

fn add(name: &str, entry: &Entry, secrets: &mut Secrets) {
    if let Some(value) = entry.node.as_str().filter(|value| is_new(value, secrets)) {
        secrets.add_value(&variable(name), value);
    }
}

/// Skips templates, which have no value yet, and variables of the environment, which are already
/// secret.
fn is_new(value: &str, secrets: &Secrets) -> bool {
    !value.contains("{{") && secrets.redact(value) == value
}

/// Refuses names made from the environment, because every output and many file names contain them.
pub(super) fn names(root: &Table, problems: &mut Vec<Diagnostic>) {
    for kind in ["operation", "journey", "service", "observer"] {
        for entry in tables(root, kind).filter_map(|table| table.get("name")) {
            if entry.node.as_str().is_some_and(|name| name.contains("{{env.")) {
                let message = "a name appears in every output, so it cannot use {{env.…}}";
                let problem =
                    Diagnostic::new(entry.node.span, message, "taken from the environment");
                problems.push(problem.with_hint("write the name out"));
            }
        }
    }
}

/// The tables of a list of tables.
fn tables<'a>(root: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    let items = match root.get(key).map(|entry| &entry.node.value) {
        Some(Value::Array(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|item| as_table(&item.value))
}

fn as_table(value: &Value) -> Option<&Table> {
    match value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}
