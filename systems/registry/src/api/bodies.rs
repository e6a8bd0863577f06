//! Bodies of requests and answers.
//!
//! Unknown fields are refused: a misspelt `replace` that is silently ignored costs an afternoon.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bus::{Outcome, Status};
use crate::fault::{Code, Fault};
use crate::identity::{Identity, Millis};
use crate::message::Semantics;
use crate::object::Object;
use crate::query::{Page, Query, SortKey};
use crate::service::{Multicast, Quotas, Register, Told};
use filtering::Filter;

/// Wait for acknowledgements unless told otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 5_000;
/// Page of an enumeration unless told otherwise.
const PAGE: usize = 100;

/// Reads a body, which is an object: fields have names, and no order that could stand for them.
///
/// Errors: `INVALID_REQUEST` with the place, or line and column where it is no JSON
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    parse(body).map(|Object(read)| read)
}

/// A document as it stands.
pub(super) fn document(body: &[u8]) -> Result<Value, Fault> {
    parse(body)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Fault> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let at = pointer(error.path());
        Fault::new(Code::InvalidRequest, error.inner().to_string()).at(at)
    })?;
    match reader.end() {
        Ok(()) => Ok(read),
        Err(error) => Err(Fault::new(Code::InvalidRequest, error.to_string())),
    }
}

/// A path of serde as a JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } => format!("{pointer}/{}", escape(key)),
        Segment::Enum { variant } => format!("{pointer}/{}", escape(variant)),
        Segment::Unknown => pointer,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterBody {
    identity: String,
    #[serde(default)]
    metadata: Map<String, Value>,
    ttl_seconds: Option<f64>,
    #[serde(default)]
    replace: bool,
}

/// What `register` asks for.
pub(super) fn register(body: &[u8]) -> Result<Register, Fault> {
    let body: RegisterBody = read(body)?;
    let ttl_ms = body.ttl_seconds.map(|seconds| {
        // A thousand years; beyond it the sum with the wall clock would be no date.
        const MOST: f64 = 31_556_952_000.0;
        if (0.0..=MOST).contains(&seconds) {
            let ms = (seconds * 1_000.0).round() as u64;
            // The shortest is a millisecond: rounded down to 0 it would last for ever.
            Ok(if seconds > 0.0 { ms.max(1) } else { 0 })
        } else {
            let what = format!("a time to live is 0 (for ever) to {MOST} seconds");
            Err(Fault::new(Code::InvalidRequest, what).at("/ttl_seconds"))
        }
    });
    Ok(Register {
        identity: body.identity,
        metadata: body.metadata,
        ttl_ms: ttl_ms.transpose()?,
        replace: body.replace,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnregisterBody {
    identity: String,
}

/// Whom `unregister` names.
pub(super) fn unregister(body: &[u8]) -> Result<String, Fault> {
    read(body).map(|body: UnregisterBody| body.identity)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnsubscribeBody {
    name: String,
}

/// Which subscription's name `unsubscribe` takes out.
pub(super) fn unsubscribe(body: &[u8]) -> Result<String, Fault> {
    read(body).map(|body: UnsubscribeBody| body.name)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnumerateBody {
    #[serde(default)]
    filter: Value,
    limit: Option<usize>,
    cursor: Option<String>,
    #[serde(default)]
    sort_by: Vec<String>,
    #[serde(default = "yes")]
    include_metadata: bool,
}

fn yes() -> bool {
    true
}

/// What `enumerate` asks for.
pub(super) struct Enumerate {
    pub query: Query,
    pub has_metadata: bool,
}

/// What `enumerate` asks for, within the bounds.
pub(super) fn enumerate(body: &[u8], quotas: &Quotas) -> Result<Enumerate, Fault> {
    let body: EnumerateBody = read(body)?;
    let limit = body.limit.unwrap_or(PAGE.min(quotas.max_page));
    if limit == 0 || limit > quotas.max_page {
        let what = format!("a page has 1 to {} identities", quotas.max_page);
        return Err(Fault::new(Code::InvalidRequest, what).at("/limit"));
    }
    let sort_by = body.sort_by.iter().enumerate().map(|(place, text)| sort_key(text, place));
    let query = Query {
        filter: Filter::parse(&body.filter, quotas.filters())?,
        sort_by: sort_by.collect::<Result<_, _>>()?,
        limit,
        cursor: body.cursor,
    };
    Ok(Enumerate { query, has_metadata: body.include_metadata })
}

/// `metadata.created_at desc`.
fn sort_key(text: &str, place: usize) -> Result<SortKey, Fault> {
    text.parse().map_err(|fault: Fault| fault.at(format!("/sort_by/{place}")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MulticastBody {
    #[serde(default)]
    filter: Value,
    payload: Option<String>,
    payload_base64: Option<String>,
    content_type: Option<String>,
    #[serde(default)]
    semantics: Semantics,
    timeout_ms: Option<u64>,
    #[serde(default)]
    statuses: bool,
}

/// What `multicast` asks for.
pub(super) struct MulticastAsked {
    pub multicast: Multicast,
    pub has_statuses: bool,
}

/// What `multicast` asks for, within the bounds.
pub(super) fn multicast(body: &[u8], quotas: &Quotas) -> Result<MulticastAsked, Fault> {
    let body: MulticastBody = read(body)?;
    let is_text = body.payload.is_some();
    let payload = payload(body.payload, body.payload_base64, quotas.max_payload_bytes)?;
    let default = if is_text { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    let content_type = body.content_type.unwrap_or_else(|| default.to_owned());
    if content_type.len() > 256 || content_type.chars().any(char::is_control) {
        let what = "a content type has at most 256 bytes and no control characters";
        return Err(Fault::new(Code::InvalidRequest, what).at("/content_type"));
    }
    if body.timeout_ms == Some(0) {
        // Its deadline would be over before anything is sent.
        let what = "a multicast waits at least 1 millisecond";
        return Err(Fault::new(Code::InvalidRequest, what).at("/timeout_ms"));
    }
    let multicast = Multicast {
        filter: Filter::parse(&body.filter, quotas.filters())?,
        payload,
        content_type,
        semantics: body.semantics,
        timeout_ms: body.timeout_ms.unwrap_or(TIMEOUT_MS),
    };
    Ok(MulticastAsked { multicast, has_statuses: body.statuses })
}

/// The payload in whichever form it is given, within its bound.
fn payload(text: Option<String>, encoded: Option<String>, most: u64) -> Result<Bytes, Fault> {
    let (payload, at) = match (text, encoded) {
        (Some(_), Some(_)) => {
            let what = "payload and payload_base64 exclude each other";
            return Err(Fault::new(Code::InvalidRequest, what).at("/payload_base64"));
        }
        (text, None) => (text.unwrap_or_default().into_bytes(), "/payload"),
        (None, Some(encoded)) => {
            let at = "/payload_base64";
            let bad =
                |error: base64::DecodeError| Fault::new(Code::InvalidRequest, error.to_string());
            (STANDARD.decode(encoded).map_err(|error| bad(error).at(at))?, at)
        }
    };
    if payload.len() as u64 > most {
        let what = format!("a payload has at most {most} bytes");
        return Err(Fault::new(Code::TooLarge, what).at(at));
    }
    Ok(payload.into())
}

/// The answer of `register`.
#[derive(Serialize)]
pub(super) struct Registered<'a> {
    identity: &'a str,
    registered_at: Millis,
    expires_at: Option<Millis>,
}

impl<'a> Registered<'a> {
    pub fn of(identity: &'a Identity) -> Self {
        Self {
            identity: &identity.name,
            registered_at: identity.registered_at,
            expires_at: identity.expires_at,
        }
    }
}

/// The answer of `enumerate`: of a page as many as `most` bytes of JSON hold, one at least, and the
/// cursor behind the last of them.
///
/// Errors: those of [`Page::cut`]
pub(super) fn listed(mut page: Page, asked: &Enumerate, most: u64) -> Result<Vec<u8>, Fault> {
    let mut json = format!(r#"{{"total_count":{},"identities":["#, page.total_count).into_bytes();
    let mut fit = 0;
    for identity in &page.identities {
        let before = json.len();
        if fit > 0 {
            json.push(b',');
        }
        write(&mut json, &ListedOne::of(identity, asked.has_metadata));
        if fit > 0 && json.len() as u64 > most {
            json.truncate(before);
            break;
        }
        fit += 1;
    }
    page.cut(&asked.query, fit)?;
    json.push(b']');
    if let Some(cursor) = &page.next_cursor {
        json.extend(br#","next_cursor":"#);
        write(&mut json, cursor);
    }
    json.push(b'}');
    Ok(json)
}

/// Appends JSON.
pub(super) fn write(to: &mut Vec<u8>, body: &impl Serialize) {
    serde_json::to_writer(to, body).expect("strings, numbers and JSON values always serialize");
}

#[derive(Serialize)]
struct ListedOne<'a> {
    #[serde(flatten)]
    registered: Registered<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
}

impl<'a> ListedOne<'a> {
    fn of(identity: &'a Identity, has_metadata: bool) -> Self {
        let metadata = has_metadata.then_some(&identity.metadata);
        Self { registered: Registered::of(identity), metadata }
    }
}

/// The answer of `multicast`.
#[derive(Serialize)]
pub(super) struct Sent<'a> {
    message: &'a str,
    target_count: usize,
    delivered_count: usize,
    pending_count: usize,
    failed_count: usize,
    timeout_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    statuses: Option<&'a [Outcome]>,
}

impl<'a> Sent<'a> {
    pub fn of(told: &'a Told, has_statuses: bool) -> Self {
        Self {
            message: &told.message,
            target_count: told.outcomes.len(),
            delivered_count: told.count(Status::Delivered),
            pending_count: told.count(Status::Pending),
            failed_count: told.count(Status::Failed),
            timeout_count: told.count(Status::Timeout),
            statuses: has_statuses.then_some(&told.outcomes),
        }
    }
}
