//! What all formats share of a request: its address, its header fields, and what its body is.

use std::path::{Component, Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plan::target::without_credentials;
use serde_json::Value;
use url::{Position, Url, form_urlencoded};

use crate::credentials::Credentials;
use crate::draft::{Auth, Body, DraftOperation};
use crate::masks::is_masked;
use crate::text::Text;

/// Fields among which the same one is looked for.
const FIELDS_COMPARED: usize = 256;
/// JSON that is deeper stays a text.
const DEPTH_LIMIT: usize = 60;
/// Fields that a client computes for each request anew.
const COMPUTED: [&str; 7] = [
    "content-length",
    "connection",
    "transfer-encoding",
    "keep-alive",
    "upgrade",
    "te",
    "proxy-connection",
];

/// An operation that goes to this address.
///
/// Errors: one sentence; it is no address of http or https
pub fn to(address: &str, credentials: &mut Credentials) -> Result<DraftOperation, String> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let authority = rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end]);
    // A port that is a variable is no port that can be read.
    let masked = is_masked(authority).then(|| format!("{scheme}://{authority}"));
    let read = match &masked {
        Some(_) => format!("{scheme}://unknown{}", &rest[authority.len()..]),
        None => format!("{scheme}://{rest}"),
    };
    let shown = without_credentials(address);
    let url = Url::parse(&read).map_err(|error| format!("{shown:?} is no address: {error}"))?;
    let is_host = url.host_str().is_some_and(|host| !host.is_empty() && !host.contains('{'));
    if !matches!(url.scheme(), "http" | "https") || !is_host || url.port() == Some(0) {
        return Err(format!("{shown:?} is no address of http or https"));
    }
    let query = url
        .query_pairs()
        .map(|(name, value)| (name.clone().into_owned(), credentials.text(&name, &value)));
    let query: Vec<_> = query.collect();
    let password = url.password().unwrap_or_default();
    let has_user = !url.username().is_empty() || !password.is_empty();
    let auth = has_user.then(|| basic_auth(url.username(), password, credentials));
    Ok(DraftOperation {
        name: last_words(url.path()),
        origin: masked.unwrap_or_else(|| url[..Position::BeforePath].replace(&userinfo(&url), "")),
        path: Text::literal(url.path()),
        query,
        auth,
        ..DraftOperation::default()
    })
}

/// User and password; a user without a password is a key.
fn basic_auth(user: &str, password: &str, credentials: &mut Credentials) -> Auth {
    match password.is_empty() {
        true => Auth::Basic(credentials.hide("api_key", user), Text::default()),
        false => Auth::Basic(Text::literal(user), credentials.hide("password", password)),
    }
}

/// User and password as they stand in the address, with their `@`.
fn userinfo(url: &Url) -> String {
    match &url[Position::BeforeUsername..Position::BeforeHost] {
        "" => "\u{0}".to_owned(),
        text => text.to_owned(),
    }
}

/// A name from a path: its last two parts that are words.
pub fn last_words(path: &str) -> String {
    // Percent-encoded letters are no words.
    let mut plain = String::new();
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => {
                letters.nth(1);
                plain.push('_');
            }
            other => plain.push(other),
        }
    }
    let is_word = |part: &&str| {
        !is_masked(part)
            && part.len() < 30
            && part.chars().filter(char::is_ascii_digit).count() * 2 < part.len()
    };
    let words: Vec<&str> =
        plain.split('/').filter(|part| !part.is_empty()).filter(is_word).collect();
    let last = &words[words.len().saturating_sub(2)..];
    if last.is_empty() { "root".to_owned() } else { last.join("_") }
}

/// Adds a header field. Credentials are hidden; a field that is computed for each request is left out.
pub fn add_header(
    operation: &mut DraftOperation,
    name: &str,
    value: &str,
    credentials: &mut Credentials,
) {
    let lower = name.to_ascii_lowercase();
    // Fields of HTTP/2 that are no header fields.
    let is_own_host = lower == "host" && operation.origin.ends_with(&format!("://{value}"));
    if COMPUTED.contains(&lower.as_str()) || lower.starts_with(':') || is_own_host {
        return;
    }
    if lower == "authorization" {
        let (scheme, sent) = value.split_once(' ').unwrap_or(("", value));
        match (scheme.to_ascii_lowercase().as_str(), basic(sent)) {
            ("bearer", _) => {
                operation.auth = Some(Auth::Bearer(credentials.hide("token", sent)));
                return;
            }
            ("basic", Some((user, password))) => {
                operation.auth = Some(basic_auth(&user, &password, credentials));
                return;
            }
            _ => {}
        }
    }
    let value = match lower.as_str() {
        // An address may have credentials in its query.
        "referer" | "origin" => credentials.hidden(value),
        _ => credentials.text(name, value),
    };
    push_header(operation, lower, value);
}

/// Adds a field unless the same is there: recordings may have each twice, as the page asked for it and as it went out.
pub(crate) fn push_header(operation: &mut DraftOperation, name: String, value: Text) {
    let field = (name, value);
    let mut last = operation.headers.iter().rev().take(FIELDS_COMPARED);
    if !last.any(|known| *known == field) {
        operation.headers.push(field);
    }
}

/// Whether a client computes the field of this name for each request anew.
pub fn is_computed(name: &str) -> bool {
    COMPUTED.contains(&name.to_ascii_lowercase().as_str())
}

/// Whether this can be the name of a header field.
pub fn is_field_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

/// Whether a path stays in the folder that it is relative to.
pub fn is_within(path: &str) -> bool {
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && Path::new(path).components().all(is_below)
}

/// A text as it can stand in a path: other characters are percent-encoded, `/` among them if it is a `segment`.
pub fn encoded(text: &str, segment: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'/' if segment => out.push_str("%2F"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            _ if b"/-._~!$&'()*+,;=:@".contains(&byte) => out.push(char::from(byte)),
            b'%' if !segment => out.push('%'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn basic(credentials: &str) -> Option<(String, String)> {
    let text = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Sets the body: JSON and forms as such if they are sent as what they are, else as the text. The field `content-type`
/// goes if the body says the same.
pub fn set_body(operation: &mut DraftOperation, text: &str, credentials: &mut Credentials) {
    let kind = operation.headers.iter().position(|(name, _)| name == "content-type");
    let essence = kind.map(|at| operation.headers[at].1.as_str());
    let essence =
        essence.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let form = form(text);
    let (body, says) = match essence.as_deref() {
        Some("application/json") => match serde_json::from_str::<Value>(text) {
            // TOML has no null, and JSON of a number or a text alone is a text as well.
            Ok(value)
                if (value.is_object() || value.is_array())
                    && !has_null(&value)
                    && !is_deeper(&value, DEPTH_LIMIT) =>
            {
                (Body::Json(credentials.json("", value)), true)
            }
            _ => (Body::Text(credentials.hidden(text)), false),
        },
        Some("application/x-www-form-urlencoded") if form.is_some() => {
            let pairs = form.unwrap_or_default().into_iter();
            let pairs = pairs.map(|(name, value)| {
                let value = credentials.text(&name, &value);
                (name, value)
            });
            (Body::Form(pairs.collect()), true)
        }
        _ => (Body::Text(credentials.hidden(text)), false),
    };
    operation.body = body;
    if let Some(at) = kind.filter(|_| says) {
        operation.headers.remove(at);
    }
}

fn is_deeper(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(values) => most == 0 || values.iter().any(|one| is_deeper(one, most - 1)),
        Value::Object(entries) => most == 0 || entries.values().any(|one| is_deeper(one, most - 1)),
        _ => false,
    }
}

/// The pairs of a form, if it is one that is written from them again as it was.
fn form(text: &str) -> Option<Vec<(String, String)>> {
    let pairs: Vec<(String, String)> =
        form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let is_pair = |part: &str| part.find('=').is_some_and(|at| at > 0);
    (!pairs.is_empty() && text.split('&').all(is_pair)).then_some(pairs)
}

/// Whether TOML could not hold the value.
pub fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(entries) => entries.values().any(has_null),
        Value::Number(number) => number.is_u64() && !number.is_i64(),
        _ => false,
    }
}
