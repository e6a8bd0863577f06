//! Where a payload comes from, and the headers and the route that it is served with.

use std::ops::Range;

use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use proxying::authority;
use serde_json::{Map, Value};

use super::notation::{self, Bad};
use super::reader::{Reader, given};
use super::{EVERYWHERE, Piece, Source};

/// Bytes of a header's value.
const LONGEST_VALUE: usize = 16_384;
/// Headers of a recipe.
const MOST_HEADERS: usize = 100;
/// Bytes of a route.
const LONGEST_ROUTE: usize = 4_096;
/// Headers that say where a message ends, which only the server knows.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// The source that takes precedence; all that are given must make sense.
pub(super) fn read(reader: &mut Reader, at: &str, fields: &Map<String, Value>) -> Option<Source> {
    let origin = reader.text(at, fields, "origin").map(|text| origin(reader, at, text));
    let body = reader.text(at, fields, "body").map(|text| body(reader, at, text));
    let random = given(fields, "random_content").map(|value| {
        let at = format!("{at}.random_content");
        let size = bounded(reader, &at, notation::size_in(value))?;
        Some(Source::Pieces(vec![Piece::Random(size)]))
    });
    let keys = ["origin", "body", "random_content"];
    if keys.iter().all(|key| given(fields, key).is_none()) {
        reader.wrong(at, "needs one of origin, body and random_content");
    }
    // One that is given and wrong has been told already.
    origin.or(body).or(random).flatten()
}

fn origin(reader: &mut Reader, at: &str, text: &str) -> Option<Source> {
    let is_host =
        |uri: &Uri| uri.authority().is_some_and(|it| authority::split(it.as_str()).is_some());
    let uri = text.parse::<Uri>().ok().filter(is_host);
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    if uri.is_none() {
        reader.expected(
            format!("{at}.origin"),
            "an address such as http://host/path",
            &text.into(),
        );
    }
    uri.map(Source::Origin)
}

/// Texts, and the random content between them that `<<SIZE>>` stands for.
fn body(reader: &mut Reader, at: &str, text: &str) -> Option<Source> {
    let at = format!("{at}.body");
    let mut pieces = Vec::new();
    let (mut from, mut is_well) = (0, true);
    for tag in tags(text) {
        let size = bounded(reader, &at, notation::size(&text[tag.start + 2..tag.end - 2]));
        is_well &= size.is_some();
        let before = Piece::Text(text[from..tag.start].to_owned());
        pieces.extend([before, Piece::Random(size.unwrap_or(0))]);
        from = tag.end;
    }
    pieces.push(Piece::Text(text[from..].to_owned()));
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
    if !is_well {
        return None;
    }
    bounded(reader, &at, Ok(length(&pieces)))?;
    Some(Source::Pieces(pieces))
}

/// Bytes that pieces come to.
fn length(pieces: &[Piece]) -> u64 {
    pieces.iter().map(Piece::length).fold(0, u64::saturating_add)
}

/// Where a text has `<<…>>`, as the regular expression `<<(.+?)>>` finds them: something is inside,
/// and all of it on one line.
fn tags(text: &str) -> Vec<Range<usize>> {
    let mut tags = Vec::new();
    let mut begun = 0;
    for line in text.split_inclusive('\n') {
        let end = begun + line.strip_suffix('\n').unwrap_or(line).len();
        let mut from = begun;
        while let Some(open) = text[from..end].find("<<") {
            let inside = from + open + 2;
            // At least one character is inside, which may be a `>`.
            let first = text[inside..end].chars().next().map_or(0, char::len_utf8);
            let Some(close) = text[inside + first..end].find(">>") else { break };
            let close = inside + first + close + 2;
            tags.push(from + open..close);
            from = close;
        }
        begun += line.len();
    }
    tags
}

/// A size that a payload may have.
fn bounded(reader: &mut Reader, at: &str, size: Result<u64, Bad>) -> Option<u64> {
    match size {
        Ok(size) if size <= reader.most_payload => Some(size),
        Ok(_) | Err(Bad::Large) => {
            reader.wrong(at, format!("a payload may have {} bytes", reader.most_payload));
            None
        }
        Err(bad) => {
            reader.wrong(at, bad.size());
            None
        }
    }
}

/// The headers that can be sent; all others are problems.
pub(super) fn headers(
    reader: &mut Reader,
    at: &str,
    fields: &Map<String, Value>,
) -> Vec<(HeaderName, HeaderValue)> {
    let Some(value) = given(fields, "headers") else { return Vec::new() };
    let at = format!("{at}.headers");
    let Some(all) = reader.object(&at, value, "headers") else { return Vec::new() };
    if all.len() > MOST_HEADERS {
        reader.wrong(at, format!("there may be {MOST_HEADERS}, not {}", all.len()));
        return Vec::new();
    }
    all.iter().filter_map(|(name, value)| header(reader, &at, name, value)).collect()
}

fn header(
    reader: &mut Reader,
    at: &str,
    name: &str,
    value: &Value,
) -> Option<(HeaderName, HeaderValue)> {
    let at = format!("{at}.{name}");
    let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    let read = HeaderName::from_bytes(name.as_bytes()).ok().filter(|_| is_lower);
    if read.is_none() {
        reader.wrong(at, "must be a valid header name in lower case");
        return None;
    }
    if FRAMING.contains(&name) {
        reader.wrong(at, "the server sets this header itself; leave it out");
        return None;
    }
    let text = value.as_str().filter(|text| text.len() <= LONGEST_VALUE);
    let text = text.and_then(|text| HeaderValue::from_str(text).ok());
    if text.is_none() {
        reader.expected(at, "a string that a header can hold", value);
    }
    read.zip(text)
}

/// The route; `None` if it is wrong.
pub(super) fn route(reader: &mut Reader, at: &str, fields: &Map<String, Value>) -> Option<String> {
    if given(fields, "route").is_none() {
        return Some(EVERYWHERE.to_owned());
    }
    let route = reader.text(at, fields, "route")?;
    let is_path = route.starts_with('/')
        && route.len() <= LONGEST_ROUTE
        && route.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#');
    if !is_path {
        let what = "a path such as /news, or with /news* all that begins so";
        reader.expected(format!("{at}.route"), what, &route.into());
    } else if route == "/_admin" || route.starts_with("/_admin/") {
        reader.wrong(format!("{at}.route"), "paths under /_admin cannot be simulated");
        return None;
    }
    is_path.then(|| route.to_owned())
}
