//! Bodies of requests, as a recording has them.

use serde_json::Value;
use url::form_urlencoded;

use super::entry::PostData;

/// What a body is.
pub enum RequestBody {
    /// None.
    Nothing,
    /// Names and values, decoded.
    Form(Vec<(String, String)>),
    /// An object or a list, under any type that is JSON.
    Json(Value),
    /// A form of parts.
    Multipart(Vec<Field>),
    /// Anything else.
    Text,
}

/// A part of a form.
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its text, or the name of its file.
    pub content: Content,
    /// The type that it says.
    pub kind: Option<String>,
}

/// What a part has.
pub enum Content {
    /// A text.
    Text(String),
    /// A file of this name.
    File(String),
}

/// What the body is.
pub fn read(posted: &PostData<'_>) -> RequestBody {
    let essence = posted.essence();
    if essence == "multipart/form-data" {
        let fields = match posted.params {
            [] => parts(posted),
            params => params.iter().filter_map(param).collect(),
        };
        if !fields.is_empty() {
            return RequestBody::Multipart(fields);
        }
    }
    if posted.text.is_empty() {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let pair =
            |one: &Value| Some((text(&one["name"])?, text(&one["value"]).unwrap_or_default()));
        let pairs: Vec<_> = posted.params.iter().filter_map(pair).collect();
        return if pairs.is_empty() { RequestBody::Nothing } else { RequestBody::Form(pairs) };
    }
    if essence == "application/x-www-form-urlencoded" {
        let text = without_head(posted.text);
        let is_pair = |part: &str| part.find('=').is_some_and(|at| at > 0);
        let pairs = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        return if text.split('&').all(is_pair) {
            RequestBody::Form(pairs)
        } else {
            RequestBody::Text
        };
    }
    match serde_json::from_str::<Value>(posted.text) {
        Ok(value) if value.is_object() || value.is_array() => RequestBody::Json(value),
        _ => RequestBody::Text,
    }
}

/// The text without the header fields that Firefox writes above some forms.
fn without_head(text: &str) -> &str {
    let head = text.split_once("\r\n\r\n").filter(|(head, _)| head.contains(": "));
    head.map_or(text, |(_, body)| body)
}

fn param(value: &Value) -> Option<Field> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let file = text("fileName").map(Content::File);
    let content = file.unwrap_or_else(|| Content::Text(text("value").unwrap_or_default()));
    Some(Field { name: text("name")?, content, kind: text("contentType") })
}

/// The parts of the text; browsers write the contents of files or leave them out.
fn parts(posted: &PostData<'_>) -> Vec<Field> {
    let boundary = posted.mime.split(';').find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"'))
    });
    let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) else {
        return Vec::new();
    };
    let boundary = format!("--{boundary}");
    posted.text.split(boundary.as_str()).skip(1).filter_map(part).collect()
}

fn part(text: &str) -> Option<Field> {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'))?;
    let (head, body) = text.split_once("\r\n\r\n").or_else(|| text.split_once("\n\n"))?;
    let body = body.strip_suffix('\n').unwrap_or(body);
    let body = body.strip_suffix('\r').unwrap_or(body);
    let field = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let disposition = field("content-disposition")?;
    let content = match parameter(disposition, "filename") {
        Some(file) => Content::File(file),
        None => Content::Text(body.to_owned()),
    };
    let kind = field("content-type").map(str::to_owned);
    Some(Field { name: parameter(disposition, "name")?, content, kind })
}

/// A parameter in quotes, as browsers write it.
fn parameter(text: &str, name: &str) -> Option<String> {
    let (_, value) = text.split_once(&format!("; {name}=\""))?;
    let (value, _) = value.split_once('"')?;
    Some(value.replace("%22", "\"").replace("%0D%0A", " "))
}
