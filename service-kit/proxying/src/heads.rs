//! What an intermediary does to heads (RFC 9110 7.6, RFC 9112, RFC 7239), and which heads it refuses.

use hyper::body::{Body, Bytes};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, Entry, FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};
use hyper::http::{request, response};
use hyper::{Method, Request, StatusCode, Uri, Version};

use crate::authority;
use crate::client::Client;
use crate::failure::Failure;
use crate::multiplex;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

/// Fields of one connection alone, besides those that `Connection` names.
static HOP_BY_HOP: [HeaderName; 9] = [
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    PROXY_CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    CONNECTION,
];

/// An extension of an answer that has no length and does not come in chunks: it ends with its connection, so that a
/// cache cannot tell whether it is complete.
#[derive(Debug, Clone, Copy)]
pub struct UntilClose;

/// What stays the same for every head.
#[derive(Debug, Clone)]
pub(crate) struct Intermediary {
    /// The upstream's name, for `Host` where a client names none.
    pub host: HeaderValue,
    /// `Via`, for what came in HTTP/1.1.
    pub via: HeaderValue,
    /// `Via`, for what came in HTTP/1.0.
    pub via_old: HeaderValue,
    /// `Via`, for what came by HTTP/2.
    pub via_multiplexed: HeaderValue,
    /// Whether a client's `Forwarded` fields are passed on.
    pub trusts_clients: bool,
}

impl Intermediary {
    /// `Via`, for what came so.
    fn via(&self, version: Version) -> &HeaderValue {
        match version {
            Version::HTTP_10 => &self.via_old,
            Version::HTTP_2 => &self.via_multiplexed,
            _ => &self.via,
        }
    }
}

/// Refuses a client's request whose head can be understood in two ways or not at all, as
/// [`forward`](crate::Proxy::forward) does; for callers that answer some requests without forwarding them.
///
/// Errors: [`Failure::Refused`]
pub fn check<B: Body>(client: &Client, request: &Request<B>) -> Result<(), Failure> {
    let refused = |status, reason| Err(Failure::Refused(status, reason));
    let headers = request.headers();
    if *request.method() == Method::CONNECT {
        return refused(StatusCode::NOT_IMPLEMENTED, "tunnels are not offered");
    }
    let (uri, version) = (request.uri(), request.version());
    let is_multiplexed = version == Version::HTTP_2;
    let needs_host = version == Version::HTTP_11 || is_multiplexed && uri.authority().is_none();
    let frames = if is_multiplexed { multiplex::check(request) } else { Ok(()) };
    let sound = frames
        .and_then(|()| host(headers, needs_host))
        .and_then(|()| target(client, request.method(), uri))
        .and_then(|()| framing(headers));
    if let Err(reason) = sound {
        return refused(StatusCode::BAD_REQUEST, reason);
    }
    if let Some(coding) = headers.get(TRANSFER_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"chunked")
    {
        return refused(StatusCode::NOT_IMPLEMENTED, "chunked is the only transfer coding");
    }
    match headers.get(EXPECT) {
        Some(expected) if !expected.as_bytes().eq_ignore_ascii_case(b"100-continue") => {
            refused(StatusCode::EXPECTATION_FAILED, "100-continue is the only expectation")
        }
        _ => Ok(()),
    }
}

/// Refuses an invalid `Host`, and a missing one where it is `needed` (RFC 9112 3.2).
fn host(headers: &HeaderMap, needed: bool) -> Result<(), &'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    let is_host = |host: &HeaderValue| host.to_str().ok().and_then(authority::split).is_some();
    match (hosts.next(), hosts.next()) {
        (None, _) if !needed => Ok(()),
        (Some(host), None) if is_host(host) => Ok(()),
        (Some(_), None) => Err("a Host is a name or an address, and after a colon a port"),
        _ => Err("a request has one Host"),
    }
}

/// Refuses a target that is none of a path, an address of what the client speaks, and the `*` of `OPTIONS` (RFC 9112 3.2).
fn target(client: &Client, method: &Method, uri: &Uri) -> Result<(), &'static str> {
    if uri.path() == "*" && *method != Method::OPTIONS {
        return Err("OPTIONS alone is about *");
    }
    match (uri.scheme_str(), uri.authority()) {
        (None, None) => Ok(()),
        (Some(scheme), Some(host)) if scheme == client.scheme => authority::split(host.as_str())
            .map(drop)
            .ok_or("an address has a name or an address of a host, and after a colon a port"),
        _ if client.scheme == "https" => {
            Err("a target is a path, or an address that begins with https://")
        }
        _ => Err("a target is a path, or an address that begins with http://"),
    }
}

/// Refuses a message whose head gives its length in two ways.
fn framing(headers: &HeaderMap) -> Result<(), &'static str> {
    let one = |name| headers.get_all(name).iter().nth(1).is_none();
    if !one(CONTENT_LENGTH) || !one(TRANSFER_ENCODING) {
        return Err("a message says its length once");
    }
    if headers.contains_key(CONTENT_LENGTH) && headers.contains_key(TRANSFER_ENCODING) {
        return Err("a message has a Content-Length or a Transfer-Encoding, not both");
    }
    Ok(())
}

/// Turns a head that passed [`check`] into the one that is forwarded, apart from what depends on the client, as
/// [`forward`](crate::Proxy::forward) does; for callers that judge a request by what the upstream will see. It drops the
/// fields of the client's connection and their twins (see [`drop_twins`]), makes the target a path, and sets `Host` in
/// lower case (RFC 9112 3.2.2). A head that came by HTTP/2 is as HTTP/1.1 has it, apart from its version.
pub fn settle(parts: &mut request::Parts) {
    let headers = &mut parts.headers;
    let is_chunked = headers.contains_key(TRANSFER_ENCODING);
    drop_hop_by_hop(headers);
    // Set again even where hyper would not expect a body: a GET may have one.
    if is_chunked {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    drop_twins(headers, |name| {
        let known = [CONTENT_LENGTH, FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO];
        known.iter().chain(&HOP_BY_HOP).any(|known| known == name)
    });
    if parts.version == Version::HTTP_2 {
        multiplex::join_cookies(headers);
    }
    let host = match parts.uri.authority() {
        Some(authority) => Some(authority.as_str().as_bytes()),
        None => headers.get(HOST).map(HeaderValue::as_bytes),
    };
    let host = host.and_then(|host| HeaderValue::from_bytes(&host.to_ascii_lowercase()).ok());
    if let Some(host) = host {
        headers.insert(HOST, host);
    }
    if parts.uri.authority().is_some() {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let path = match path.starts_with('/') || path == "*" {
            true => Uri::try_from(path),
            // There may be a query alone.
            false => Uri::try_from(format!("/{path}")),
        };
        parts.uri = path.unwrap_or_default();
    }
}

/// Drops fields that many upstreams would confuse with others: CGI and its successors hand fields on as variables, and
/// make one of `a_b` and `a-b`.
pub fn drop_twins(headers: &mut HeaderMap, is_meant: impl Fn(&str) -> bool) {
    drop_fields(headers, |name| {
        name.as_str().contains('_') && is_meant(&name.as_str().replace('_', "-"))
    });
}

/// Takes off each field of these names, in one look at those that are there: a head has fewer than there are names.
pub fn drop_fields(headers: &mut HeaderMap, is_meant: impl Fn(&HeaderName) -> bool) {
    let found: Vec<HeaderName> = headers.keys().filter(|name| is_meant(name)).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

/// Makes a request's head that of the next hop; whether its body waits for `100 Continue`.
pub(crate) fn outgoing(
    parts: &mut request::Parts,
    client: &Client,
    intermediary: &Intermediary,
) -> bool {
    settle(parts);
    let via = intermediary.via(parts.version);
    let expects = parts.headers.contains_key(EXPECT) && parts.version == Version::HTTP_11;
    let headers = &mut parts.headers;
    if !expects {
        headers.remove(EXPECT);
    }
    let host = headers.get(HOST).cloned();
    if host.is_none() {
        headers.insert(HOST, intermediary.host.clone());
    }
    if intermediary.trusts_clients {
        append(headers, FORWARDED_FOR, &client.address);
        append(headers, FORWARDED, &client.forwarded);
    } else {
        headers.insert(FORWARDED_FOR, client.address.clone());
        headers.insert(FORWARDED, client.forwarded.clone());
    }
    if !intermediary.trusts_clients || !headers.contains_key(FORWARDED_PROTO) {
        headers.insert(FORWARDED_PROTO, client.protocol.clone());
    }
    if !intermediary.trusts_clients || !headers.contains_key(FORWARDED_HOST) {
        match host {
            Some(host) => headers.insert(FORWARDED_HOST, host),
            None => headers.remove(FORWARDED_HOST),
        };
    }
    append(headers, VIA, via);
    parts.version = Version::HTTP_11;
    expects
}

/// Whether an intermediary with this one's name already passed the message on: a loop.
pub(crate) fn has_passed(headers: &HeaderMap, intermediary: &Intermediary) -> bool {
    let own = intermediary.via.to_str().ok().and_then(received_by);
    let passed = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
    own.is_some() && passed.flat_map(|value| value.split(',')).any(|hop| received_by(hop) == own)
}

/// The name in one of the entries of `Via`, behind the protocol.
fn received_by(hop: &str) -> Option<&str> {
    hop.split_whitespace().nth(1)
}

/// Makes an answer's head that of the next hop.
///
/// Errors: a head that must not be passed on, and why
pub(crate) fn incoming(
    parts: &mut response::Parts,
    intermediary: &Intermediary,
) -> Result<(), &'static str> {
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err("it switches the protocol, which no request asked for");
    }
    framing(&parts.headers)?;
    if let Some(coding) = parts.headers.get(TRANSFER_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"chunked")
    {
        return Err("chunked is the only transfer coding");
    }
    let says = |name| parts.headers.contains_key(name);
    if !says(CONTENT_LENGTH) && !says(TRANSFER_ENCODING) {
        parts.extensions.insert(UntilClose);
    }
    drop_hop_by_hop(&mut parts.headers);
    append(&mut parts.headers, VIA, intermediary.via(parts.version));
    parts.version = Version::HTTP_11;
    Ok(())
}

/// An interim answer as the next hop gets it. It has no body, so no field describes one.
pub(crate) fn interim(
    status: StatusCode,
    mut headers: HeaderMap,
    intermediary: &Intermediary,
) -> Bytes {
    drop_hop_by_hop(&mut headers);
    headers.remove(CONTENT_LENGTH);
    append(&mut headers, VIA, &intermediary.via);
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in &headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}

/// Adds a value after those that are there.
fn append(headers: &mut HeaderMap, name: HeaderName, value: &HeaderValue) {
    match headers.entry(name) {
        Entry::Vacant(place) => {
            place.insert(value.clone());
        }
        Entry::Occupied(mut place) => {
            place.append(value.clone());
        }
    }
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        for name in named(headers) {
            headers.remove(name);
        }
    }
    drop_fields(headers, |name| HOP_BY_HOP.contains(name));
}

/// What `Connection` names, but for what frames and routes the message, which no sender can take back.
fn named(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let words = values.flat_map(|value| value.split(',')).map(str::trim);
    let words = words.filter(|word| {
        !word.eq_ignore_ascii_case("close") && !word.eq_ignore_ascii_case("keep-alive")
    });
    let names = words.filter_map(|word| HeaderName::try_from(word).ok());
    names.filter(|name| *name != CONTENT_LENGTH && *name != HOST).collect()
}
