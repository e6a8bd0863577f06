//! The operation of an entry.

use std::collections::{HashMap, HashSet};

use url::Url;

use super::body::{self, Content, RequestBody};
use super::entry::{Entry, PostData};
use crate::credentials::{Credentials, is_secret};
use crate::draft::{Body, Draft, DraftOperation, Part, Status};
use crate::request;
use crate::text::Text;

/// Header fields that a browser computes for each request, beside those that begin with `sec-`.
const COMPUTED: [&str; 13] = [
    "cookie",
    "cache-control",
    "pragma",
    "if-none-match",
    "if-modified-since",
    "if-match",
    "if-unmodified-since",
    "if-range",
    "upgrade-insecure-requests",
    "priority",
    "alt-used",
    "x-client-data",
    "expect",
];
/// Around a number in JSON that a placeholder stands for, until it is written without its quotes.
const NUMBER: char = '\u{1}';

/// The operation of the first of these entries, whose answer is that of the last.
///
/// Errors: one sentence; it has no address of http or https
pub fn operation(
    first: &Entry<'_>,
    last: &Entry<'_>,
    known: HashMap<String, Text>,
    draft: &mut Draft,
) -> Result<DraftOperation, String> {
    let numbers = known.iter().filter(|(value, _)| value.parse::<f64>().is_ok());
    let numbers = numbers.map(|(value, text)| {
        let quoted = |text: &str| format!("{NUMBER}{text}{NUMBER}");
        (quoted(value), Text::template(quoted(text.as_str())))
    });
    let numbers: Vec<_> = numbers.collect();
    draft
        .credentials
        .set_known(known.iter().map(|(k, v)| (k.clone(), v.clone())).chain(numbers).collect());
    let credentials = &mut draft.credentials;
    let mut operation = request::to(first.url.as_str(), credentials)?;
    path(&mut operation, &first.url, &known, credentials);
    operation.method = first.method.clone();
    let version = first.version();
    // A recording over HTTP/3 is the same site over HTTP/2.
    operation.is_http2 =
        ["h2", "h3", "http/2", "http/3"].iter().any(|begin| version.starts_with(begin));
    for (name, value) in first.headers() {
        header(&mut operation, name, value, &known, credentials);
    }
    body(&mut operation, first, &known, draft);
    if matches!(last.status, 300..=303 | 305..=599) {
        operation.expect.status = vec![Status::Code(last.status)];
    }
    draft.credentials.set_known(HashMap::new());
    Ok(operation)
}

/// Writes placeholders into the path, and makes the name of the rest.
fn path(
    operation: &mut DraftOperation,
    url: &Url,
    known: &HashMap<String, Text>,
    credentials: &mut Credentials,
) {
    let mut plain = Vec::new();
    let mut parts = Vec::new();
    for part in url.path().split('/') {
        let text = match known.get(part) {
            Some(placeholder) => placeholder.as_str().to_owned(),
            None => credentials.hide_guarded("path", Text::literal(part).as_str()),
        };
        if text == Text::literal(part).as_str() {
            plain.push(part);
        }
        parts.push(text);
    }
    operation.path = Text::template(parts.join("/"));
    operation.name = request::last_words(&plain.join("/"));
}

fn header(
    operation: &mut DraftOperation,
    name: &str,
    value: &str,
    known: &HashMap<String, Text>,
    credentials: &mut Credentials,
) {
    let lower = name.to_ascii_lowercase();
    if COMPUTED.contains(&lower.as_str()) || lower.starts_with("sec-") {
        return;
    }
    if lower == "referer" {
        request::push_header(operation, lower, referer(value, known, credentials));
        return;
    }
    if lower == "authorization"
        && let Some((scheme, credentials)) = value.split_once(' ')
        && !scheme.eq_ignore_ascii_case("bearer")
        && let Some(placeholder) = known.get(credentials)
    {
        let text = format!("{} {}", Text::literal(scheme).as_str(), placeholder.as_str());
        operation.headers.push((lower, Text::template(text)));
        return;
    }
    request::add_header(operation, name, value, credentials);
}

/// The address of the page that a request was sent from, with placeholders where values come from answers.
fn referer(value: &str, known: &HashMap<String, Text>, credentials: &mut Credentials) -> Text {
    let Ok(url) = Url::parse(value) else { return credentials.text("referer", value) };
    let mut text = url.origin().ascii_serialization();
    for part in url.path().split('/').skip(1) {
        text.push('/');
        match known.get(part) {
            Some(placeholder) => text.push_str(placeholder.as_str()),
            None => text.push_str(Text::literal(part).as_str()),
        }
    }
    let mut before = '?';
    for pair in url.query().into_iter().flat_map(|query| query.split('&')) {
        let (name, raw) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = url::form_urlencoded::parse(pair.as_bytes()).next();
        let decoded = decoded.map(|(_, value)| value.into_owned()).unwrap_or_default();
        let is_replaced = known.contains_key(&decoded) || (is_secret(name) && !raw.is_empty());
        let value = match is_replaced {
            true => credentials.text(name, &decoded),
            false => Text::literal(raw),
        };
        text.push_str(&format!("{before}{}", Text::literal(name).as_str()));
        if pair.contains('=') {
            text.push_str(&format!("={}", value.as_str()));
        }
        before = '&';
    }
    Text::template(credentials.hide_guarded("referer", &text))
}

fn body(
    operation: &mut DraftOperation,
    entry: &Entry<'_>,
    known: &HashMap<String, Text>,
    draft: &mut Draft,
) {
    let posted = entry.post_data();
    let credentials = &mut draft.credentials;
    let kind_at = operation.headers.iter().position(|(name, _)| name == "content-type");
    if kind_at.is_none() && !posted.mime.is_empty() && !posted.text.is_empty() {
        operation.headers.push(("content-type".to_owned(), Text::literal(posted.mime)));
    }
    let is_written = match body::read(&posted) {
        RequestBody::Nothing => {
            if posted.size > 0 {
                let what = format!("the body of {} was not recorded", operation.name);
                draft.note(None, what);
            }
            false
        }
        RequestBody::Form(pairs) => {
            let hidden = pairs.into_iter().map(|(name, value)| {
                let value = credentials.text(&name, &value);
                (name, value)
            });
            operation.body = Body::Form(hidden.collect());
            true
        }
        RequestBody::Multipart(fields) => {
            multipart(operation, fields, draft);
            true
        }
        RequestBody::Json(value) => json(operation, &posted, value, known, credentials),
        RequestBody::Text => {
            request::set_body(operation, posted.text, credentials);
            if let Body::Text(text) = &operation.body {
                let hidden = credentials.hide_guarded("body", text.as_str());
                operation.body = Body::Text(Text::template(hidden));
            }
            false
        }
    };
    if is_written {
        operation.headers.retain(|(name, _)| name != "content-type");
    }
}

/// Whether the body says its type by itself.
fn json(
    operation: &mut DraftOperation,
    posted: &PostData<'_>,
    value: serde_json::Value,
    known: &HashMap<String, Text>,
    credentials: &mut Credentials,
) -> bool {
    let mut has_number = false;
    let marked = marked(value.clone(), known, &mut has_number);
    let hidden = credentials.json("", marked);
    if posted.essence() == "application/json" && !has_number && !request::has_null(&value) {
        operation.body = Body::Json(hidden);
        return true;
    }
    let text = match hidden == value {
        // As it was sent, with its blanks and the order of its keys.
        true => Text::literal(posted.text).as_str().to_owned(),
        false => {
            let text = hidden.to_string();
            text.replace("\"\\u0001", "").replace("\\u0001\"", "")
        }
    };
    operation.body = Body::Text(Text::template(credentials.hide_guarded("body", &text)));
    false
}

/// The value with marks around numbers that have placeholders.
fn marked(
    value: serde_json::Value,
    known: &HashMap<String, Text>,
    has_number: &mut bool,
) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) if known.contains_key(&number.to_string()) => {
            *has_number = true;
            Value::String(format!("{NUMBER}{number}{NUMBER}"))
        }
        Value::Array(values) => {
            values.into_iter().map(|one| marked(one, known, has_number)).collect()
        }
        Value::Object(entries) => {
            let entries = entries.into_iter();
            entries.map(|(key, one)| (key, marked(one, known, has_number))).collect()
        }
        other => other,
    }
}

fn multipart(operation: &mut DraftOperation, fields: Vec<body::Field>, draft: &mut Draft) {
    let mut names = HashSet::new();
    let mut parts = Vec::new();
    for field in fields {
        if !names.insert(field.name.clone()) {
            let what = format!("a further part {} of {}", field.name, operation.name);
            draft.note(None, format!("{what} is left out: a name has one part"));
            continue;
        }
        let part = match field.content {
            Content::Text(text) => Part::Text(draft.credentials.text(&field.name, &text)),
            Content::File(file) if file.is_empty() => {
                let what = format!("the part {} of {}", field.name, operation.name);
                draft.note(None, format!("{what} is left out: no file was chosen"));
                continue;
            }
            Content::File(file) => {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(&file).to_owned();
                let what = format!("{} sends the file {name}", operation.name);
                draft.note(None, format!("{what}; put it beside the experiment"));
                Part::File(name, field.kind)
            }
        };
        parts.push((field.name, part));
    }
    operation.body = Body::Multipart(parts);
}
