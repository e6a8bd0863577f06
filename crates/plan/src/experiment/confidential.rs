//! Values that no output may show: header values with credentials, and names made from the
//! environment.

use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Table, Value};
use crate::secret::{Secrets, is_authorising, variable};

/// Tables of protocols that hold header fields, and texts of theirs that no output may show.
const HEADERS: [&str; 2] = ["header", "metadata"];
const SECRET: [&str; 2] = ["password", "token"];

/// Notes credentials in headers that are written out in the file.
pub(super) fn headers(root: &Table, secrets: &mut Secrets) {
    let settings = tables(root, "operation").flat_map(|table| &table.entries);
    let fields = settings
        .filter_map(|entry| as_table(&entry.node.value))
        .flat_map(|table| HEADERS.iter().filter_map(|key| table.get(key)))
        .filter_map(|header| as_table(&header.node.value))
        .flat_map(|header| &header.entries);
    for field in fields.filter(|field| is_authorising(&field.key)) {
        let Some(value) = field.node.as_str() else { continue };
        if is_new(value, secrets) {
            secrets.add_header(&field.key, value);
        }
    }
}

/// Notes passwords and tokens that are written out in the file.
pub(super) fn credentials(root: &Table, secrets: &mut Secrets) {
    let settings = tables(root, "operation").flat_map(|table| &table.entries);
    let auths = settings.filter_map(|entry| as_table(&entry.node.value)?.get("auth"));
    for auth in auths.filter_map(|auth| as_table(&auth.node.value)) {
        let pair = auth.get("basic").and_then(|basic| as_table(&basic.node.value));
        let passwords = [Some(auth), pair].into_iter().flatten();
        for password in passwords.filter_map(|table| table.get("password")) {
            add("password", password, secrets);
        }
        auth.get("bearer").iter().for_each(|token| add("authorization", token, secrets));
    }
    let settings = tables(root, "operation").flat_map(|table| &table.entries);
    for table in settings.filter_map(|entry| as_table(&entry.node.value)) {
        let texts = SECRET.iter().filter_map(|key| table.get(key));
        texts.for_each(|text| add(&text.key, text, secrets));
    }
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
