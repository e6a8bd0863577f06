//! Bodies of requests and answers.
//!
//! Unknown fields are refused: a silently ignored typo in `replace` would be hard to find.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api_error::{ApiError, Code, invalid_filter};
use crate::bus::{Outcome, Status};
use crate::identity::{Identity, Millis};
use crate::message::Semantics;
use crate::object::JsonObject;
use crate::query::{Page, Query, SortKey};
use crate::service::{Multicast, MulticastResult, Quotas, Register};
use filtering::Filter;

/// Default time to wait for acknowledgements, in milliseconds.
const TIMEOUT_MS: u64 = 5_000;
/// Default size of a page of an enumeration.
const PAGE: usize = 100;

/// Reads a body, which must be an object: fields are identified by name, never by order.
///
/// Errors: `INVALID_REQUEST` with the place, or with line and column if it is not JSON
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    parse(body).map(|JsonObject(read)| read)
}

/// Reads a document without checking it.
pub(super) fn document(body: &[u8]) -> Result<Value, ApiError> {
    parse(body)
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let at = pointer(error.path());
        ApiError::new(Code::InvalidRequest, error.inner().to_string()).at(at)
    })?;
    match reader.end() {
        Ok(()) => Ok(read),
        Err(error) => Err(ApiError::new(Code::InvalidRequest, error.to_string())),
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

/// Parses the body of `register`.
pub(super) fn register(body: &[u8]) -> Result<Register, ApiError> {
    let body: RegisterBody = read(body)?;
    let ttl_ms = body.ttl_seconds.map(|seconds| {
        // A thousand years; a longer time plus the wall clock would not be a valid date.
        const MOST: f64 = 31_556_952_000.0;
        if (0.0..=MOST).contains(&seconds) {
            let ms = (seconds * 1_000.0).round() as u64;
            // The shortest time is a millisecond: 0 would mean for ever.
            Ok(if seconds > 0.0 { ms.max(1) } else { 0 })
        } else {
            let what = format!("ttl_seconds must be 0 (for ever) to {MOST}");
            Err(ApiError::new(Code::InvalidRequest, what).at("/ttl_seconds"))
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

/// Parses the identity in the body of `unregister`.
pub(super) fn unregister(body: &[u8]) -> Result<String, ApiError> {
    read(body).map(|body: UnregisterBody| body.identity)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnsubscribeBody {
    name: String,
}

/// Parses the subscription's name in the body of `unsubscribe`.
pub(super) fn unsubscribe(body: &[u8]) -> Result<String, ApiError> {
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

/// The parsed body of `enumerate`.
pub(super) struct ParsedEnumerate {
    pub query: Query,
    pub has_metadata: bool,
}

/// Parses the body of `enumerate` and checks its limits.
pub(super) fn enumerate(body: &[u8], quotas: &Quotas) -> Result<ParsedEnumerate, ApiError> {
    let body: EnumerateBody = read(body)?;
    let limit = body.limit.unwrap_or(PAGE.min(quotas.max_page));
    if limit == 0 || limit > quotas.max_page {
        let what = format!("limit must be 1 to {}", quotas.max_page);
        return Err(ApiError::new(Code::InvalidRequest, what).at("/limit"));
    }
    let sort_by = body.sort_by.iter().enumerate().map(|(index, text)| sort_key(text, index));
    let query = Query {
        filter: Filter::parse(&body.filter, quotas.filters()).map_err(invalid_filter)?,
        sort_by: sort_by.collect::<Result<_, _>>()?,
        limit,
        cursor: body.cursor,
    };
    Ok(ParsedEnumerate { query, has_metadata: body.include_metadata })
}

/// `metadata.created_at desc`.
fn sort_key(text: &str, index: usize) -> Result<SortKey, ApiError> {
    text.parse().map_err(|error: ApiError| error.at(format!("/sort_by/{index}")))
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

/// The parsed body of `multicast`.
pub(super) struct ParsedMulticast {
    pub multicast: Multicast,
    pub has_statuses: bool,
}

/// Parses the body of `multicast` and checks its limits.
pub(super) fn multicast(body: &[u8], quotas: &Quotas) -> Result<ParsedMulticast, ApiError> {
    let body: MulticastBody = read(body)?;
    let is_text = body.payload.is_some();
    let payload = payload(body.payload, body.payload_base64, quotas.max_payload_bytes)?;
    let default = if is_text { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    let content_type = body.content_type.unwrap_or_else(|| default.to_owned());
    if content_type.len() > 256 || content_type.chars().any(char::is_control) {
        let what = "content_type must have at most 256 bytes and no control characters";
        return Err(ApiError::new(Code::InvalidRequest, what).at("/content_type"));
    }
    if body.timeout_ms == Some(0) {
        // With 0, the deadline would pass before anything is sent.
        let what = "timeout_ms must be at least 1";
        return Err(ApiError::new(Code::InvalidRequest, what).at("/timeout_ms"));
    }
    let multicast = Multicast {
        filter: Filter::parse(&body.filter, quotas.filters()).map_err(invalid_filter)?,
        payload,
        content_type,
        semantics: body.semantics,
        timeout_ms: body.timeout_ms.unwrap_or(TIMEOUT_MS),
    };
    Ok(ParsedMulticast { multicast, has_statuses: body.statuses })
}

/// The payload in either form, with its limit checked.
fn payload(text: Option<String>, encoded: Option<String>, most: u64) -> Result<Bytes, ApiError> {
    let (payload, at) = match (text, encoded) {
        (Some(_), Some(_)) => {
            let what = "give either payload or payload_base64, not both";
            return Err(ApiError::new(Code::InvalidRequest, what).at("/payload_base64"));
        }
        (text, None) => (text.unwrap_or_default().into_bytes(), "/payload"),
        (None, Some(encoded)) => {
            let at = "/payload_base64";
            let bad =
                |error: base64::DecodeError| ApiError::new(Code::InvalidRequest, error.to_string());
            (STANDARD.decode(encoded).map_err(|error| bad(error).at(at))?, at)
        }
    };
    if payload.len() as u64 > most {
        let what = format!("the payload must have at most {most} bytes");
        return Err(ApiError::new(Code::TooLarge, what).at(at));
    }
    Ok(payload.into())
}

/// The answer of `register`.
#[derive(Serialize)]
pub(super) struct RegisterAnswer<'a> {
    identity: &'a str,
    registered_at: Millis,
    expires_at: Option<Millis>,
}

impl<'a> RegisterAnswer<'a> {
    pub fn of(identity: &'a Identity) -> Self {
        Self {
            identity: &identity.name,
            registered_at: identity.registered_at,
            expires_at: identity.expires_at,
        }
    }
}

/// The answer of `enumerate`: as many identities as fit into `most` bytes of JSON, at least one,
/// and a cursor after the last of them.
///
/// Errors: those of [`Page::truncate`]
pub(super) fn listed(
    mut page: Page,
    asked: &ParsedEnumerate,
    most: u64,
) -> Result<Vec<u8>, ApiError> {
    let mut json = format!(r#"{{"total_count":{},"identities":["#, page.total_count).into_bytes();
    let mut fit = 0;
    for identity in &page.identities {
        let before = json.len();
        if fit > 0 {
            json.push(b',');
        }
        write(&mut json, &ListedIdentity::of(identity, asked.has_metadata));
        if fit > 0 && json.len() as u64 > most {
            json.truncate(before);
            break;
        }
        fit += 1;
    }
    page.truncate(&asked.query, fit)?;
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
struct ListedIdentity<'a> {
    #[serde(flatten)]
    registered: RegisterAnswer<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
}

impl<'a> ListedIdentity<'a> {
    fn of(identity: &'a Identity, has_metadata: bool) -> Self {
        let metadata = has_metadata.then_some(&identity.metadata);
        Self { registered: RegisterAnswer::of(identity), metadata }
    }
}

/// The answer of `multicast`.
#[derive(Serialize)]
pub(super) struct MulticastAnswer<'a> {
    message: &'a str,
    target_count: usize,
    delivered_count: usize,
    pending_count: usize,
    failed_count: usize,
    timeout_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    statuses: Option<&'a [Outcome]>,
}

impl<'a> MulticastAnswer<'a> {
    pub fn of(result: &'a MulticastResult, has_statuses: bool) -> Self {
        Self {
            message: &result.message,
            target_count: result.outcomes.len(),
            delivered_count: result.count(Status::Delivered),
            pending_count: result.count(Status::Pending),
            failed_count: result.count(Status::Failed),
            timeout_count: result.count(Status::Timeout),
            statuses: has_statuses.then_some(&result.outcomes),
        }
    }
}
