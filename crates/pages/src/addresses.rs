//! Where the operations of a run went, for exports with a column for it: from the plan, where it is literal.
//!
//! Not here: addresses with placeholders, of redirects, or of a target file, which differ from one operation to the next.

use judge::run_record::RunRecord;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use record::summary::TrialSummary;
use serde_json::Value;

/// Bytes that stay as they are in names and values of a query.
const KEPT: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Bytes that a request has encoded in its path, beside those beyond ASCII.
const NOT_IN_PATH: AsciiSet = CONTROLS.add(b' ').add(b'#');
/// Keys of a body, with which the method is POST unless it is named.
const BODIES: [&str; 5] = ["body", "body_file", "json", "form", "multipart"];

/// Method and address of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) method: String,
    pub(crate) url: String,
}

/// Those of a trial's operations, in their order; empty where they are not known.
pub(crate) fn of_trial(run: &RunRecord, trial: &TrialSummary) -> Vec<Address> {
    let arm = run
        .summary
        .arms
        .iter()
        .position(|arm| arm.trials.iter().any(|one| one.index == trial.index));
    let name = arm.map(|place| run.summary.arms[place].name.as_str()).unwrap_or_default();
    let arms = run.plan["arms"].as_array().map(Vec::as_slice).unwrap_or_default();
    let arm = arms.iter().find(|one| one["name"] == name).unwrap_or(&Value::Null);
    let planned = arm["operations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let address = |name: &str| {
        let operation = planned.iter().find(|one| one["name"] == name)?;
        of_operation(operation, arm)
    };
    trial.operations.iter().map(|one| address(&one.name).unwrap_or_default()).collect()
}

/// `None` if it cannot be known.
fn of_operation(operation: &Value, arm: &Value) -> Option<Address> {
    if !matches!(operation["protocol"].as_str()?, "http" | "http2")
        || !operation["requests"].is_null()
    {
        return None;
    }
    let target = usize::try_from(operation["target"].as_u64()?).ok()?;
    let origin = literal(arm["targets"].get(target)?["url"].as_str()?)?;
    let table = &operation["table"];
    let path = match (table["url"].as_str(), table["path"].as_str()) {
        (Some(url), _) => {
            let behind = url.split_once("://")?.1;
            behind.find(['/', '?']).map_or("", |at| &behind[at..])
        }
        (None, path) => path.unwrap_or("/"),
    };
    let root = if path.starts_with('/') { "" } else { "/" };
    let path = utf8_percent_encode(literal(path)?, &NOT_IN_PATH);
    let mut url = format!("{}{root}{path}", origin.trim_end_matches('/'));
    for (name, value) in table["query"].as_object().into_iter().flatten() {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let joint = if url.contains('?') { '&' } else { '?' };
            let (name, value) = (encoded(name), encoded(literal(&text)?));
            url.push_str(&format!("{joint}{name}={value}"));
        }
    }
    let has_body = BODIES.iter().any(|key| !table[key].is_null());
    let method = table["method"].as_str().unwrap_or(if has_body { "POST" } else { "GET" });
    Some(Address { method: method.to_owned(), url })
}

/// The text, if it has no placeholder.
fn literal(text: &str) -> Option<&str> {
    (!text.contains("{{")).then_some(text)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &KEPT).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_known_where_it_is_literal() {
        let arm =
            json!({ "targets": [{ "url": "http://h:1" }, { "url": "https://{{env.HOST}}" }] });
        let seen = |table: Value, target: u64| {
            let operation =
                json!({ "protocol": "http", "requests": null, "table": table, "target": target });
            of_operation(&operation, &arm).map(|one| format!("{} {}", one.method, one.url))
        };
        for (table, expected) in [
            (json!({ "path": "/a?b=c" }), "GET http://h:1/a?b=c"),
            (json!({}), "GET http://h:1/"),
            (json!({ "url": "http://h:1/x" }), "GET http://h:1/x"),
            (json!({ "url": "http://h:1?x=a b" }), "GET http://h:1/?x=a%20b"),
            (json!({ "path": "/a#b<\u{e9}>" }), "GET http://h:1/a%23b<%C3%A9>"),
            (
                json!({ "path": "/", "query": { "q": ["1", "a b&"] } }),
                "GET http://h:1/?q=1&q=a%20b%26",
            ),
            (json!({ "path": "/", "json": {} }), "POST http://h:1/"),
            (json!({ "path": "/", "method": "PUT", "body": "x" }), "PUT http://h:1/"),
        ] {
            assert_eq!(seen(table, 0).as_deref(), Some(expected));
        }
        assert_eq!(seen(json!({ "path": "/{{row.id}}" }), 0), None);
        assert_eq!(seen(json!({ "path": "/", "query": { "q": "{{uuid}}" } }), 0), None);
        assert_eq!(seen(json!({ "path": "/" }), 1), None);
        let rows = json!({ "protocol": "http", "requests": "…", "table": {}, "target": [0] });
        assert_eq!(of_operation(&rows, &arm), None);
    }
}
