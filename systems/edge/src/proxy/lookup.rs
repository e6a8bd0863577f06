//! A request that the cache may answer: what it is looked up by, and what is sent to the upstream.

use http_body_util::{Either, Empty};
use hyper::body::Body;
use hyper::header::{
    AUTHORIZATION, ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use hyper::http::request;
use hyper::{Method, Request};

use super::condition;
use super::directives::Directives;
use super::key::Key;
use super::outgoing::Sent;
use super::policy;
use super::settings::{Bust, Caching};
use super::store::Stored;
use super::tally::CacheStatus;

/// A request that says with it that the cache is to stand aside, where the settings let it.
const CACHE_BUST: HeaderName = HeaderName::from_static("x-cache-bust");

/// A request that the cache may answer; it has no body.
#[derive(Debug)]
pub(super) struct Lookup {
    pub parts: request::Parts,
    pub key: Key,
    /// The status of its answer if that comes from the upstream.
    pub how: CacheStatus,
    /// Whether its answer may be stored at all.
    pub may_store: bool,
    /// Whether it wants what is stored, or nothing.
    pub only_if_cached: bool,
}

/// Whether a request can be answered by what is stored, or its answer stored for others.
pub(super) fn is_cacheable(parts: &request::Parts, body: &impl Body, caching: &Caching) -> bool {
    matches!(parts.method, Method::GET | Method::HEAD)
        && body.is_end_stream()
        && caching.most > 0
        && !condition::is_foreign(&parts.headers)
        && !Directives::of(&parts.headers).no_store
}

impl Lookup {
    /// Reads a request; `number` is unique.
    pub fn new(mut parts: request::Parts, caching: &Caching, number: impl FnOnce() -> u64) -> Self {
        // What hyper put there belongs to the client's connection.
        parts.extensions.clear();
        let is_get = parts.method == Method::GET;
        let only_if_cached = Directives::of(&parts.headers).only_if_cached;
        let stands_aside = match caching.bust {
            Bust::Off => false,
            Bust::Header => parts.headers.contains_key(CACHE_BUST),
            Bust::Always => true,
        };
        if stands_aside {
            let may_store = is_get && caching.stores_busted;
            let key = Key::busted(number());
            return Self { parts, key, how: CacheStatus::Bust, may_store, only_if_cached };
        }
        let key = Key::of(&parts.uri, &parts.headers);
        let how = if is_get { CacheStatus::Miss } else { CacheStatus::Pass };
        Self { parts, key, how, may_store: is_get, only_if_cached }
    }

    /// What the upstream can be asked about: whether this is still the same.
    pub fn known<'a>(&self, found: Option<&'a Stored>) -> Option<&'a Stored> {
        found.filter(|stored| self.may_store && policy::has_validator(&stored.headers))
    }

    /// Whether it asks for itself alone: others could not use its answer, or could not know that they may.
    pub fn is_alone(&self, found: Option<&Stored>) -> bool {
        let headers = &self.parts.headers;
        self.how != CacheStatus::Miss
            || headers.contains_key(AUTHORIZATION)
            || condition::is_conditional(headers) && self.known(found).is_none()
    }

    /// The request for the upstream; about what is known, whether it is still the same.
    pub fn request(&self, known: Option<&Stored>) -> Request<Sent> {
        let mut request = Request::new(Either::Right(Empty::new()));
        request.method_mut().clone_from(&self.parts.method);
        request.uri_mut().clone_from(&self.parts.uri);
        *request.version_mut() = self.parts.version;
        request.headers_mut().clone_from(&self.parts.headers);
        if let Some(stored) = known {
            for (condition, validator) in
                [(IF_NONE_MATCH, ETAG), (IF_MODIFIED_SINCE, LAST_MODIFIED)]
            {
                match stored.headers.get(validator) {
                    Some(value) => drop(request.headers_mut().insert(condition, value.clone())),
                    None => drop(request.headers_mut().remove(condition)),
                }
            }
        }
        request
    }
}
