//! Which answers are stored, how long they serve, and whom (RFC 9111, RFC 9213, RFC 5861).
//!
//! Freshness and what may be stored are `http-cache-semantics`'; it is given those headers alone that count for it, in
//! lower case and one line each. Stricter than the standard: an answer with a cookie serves others only if it says that
//! it is public; `max-stale` of a request is not heeded, which a cache need not.

use std::time::{Duration, SystemTime};

use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use hyper::header::{
    AGE, AUTHORIZATION, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderMap, HeaderValue, LAST_MODIFIED,
    PRAGMA, SET_COOKIE,
};
use hyper::http::request;
use hyper::{Method, Request, Response, StatusCode};

use super::directives::{self, Directives, LONGEST};
use super::targeted;

/// What the settings say of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rules {
    /// The share of the time since its last change that an answer is fresh which says nothing of it.
    pub heuristic: f64,
    /// How long after its freshness an answer that says nothing of it may stand in for an error.
    pub stale_if_error: Duration,
}

/// How long a stored answer serves.
#[derive(Debug, Clone)]
pub(super) struct Life {
    policy: CachePolicy,
    fresh_until: SystemTime,
    /// For when the upstream fails; `None` if it must not.
    stale_until: Option<SystemTime>,
}

impl Life {
    /// Of an answer that came now; `None` if it is not to be stored.
    pub fn of(
        asked: &request::Parts,
        status: StatusCode,
        answered: &HeaderMap,
        rules: &Rules,
        now: SystemTime,
    ) -> Option<Self> {
        if asked.method != Method::GET {
            return None;
        }
        let answered = &*targeted::in_force(answered);
        // The largest share is small enough.
        let options =
            CacheOptions { cache_heuristic: rules.heuristic as f32, ..CacheOptions::default() };
        let answer = slim_answer(status, answered);
        let policy = CachePolicy::new_options(&slim_request(&asked.headers), &answer, now, options);
        if !policy.is_storable() {
            return None;
        }
        let fresh = policy.time_to_live(now).min(LONGEST);
        let said = Directives::of(answered);
        let is_strict =
            said.must_revalidate || said.proxy_revalidate || said.s_maxage || said.no_cache;
        let spare = said.stale_if_error.unwrap_or(rules.stale_if_error).min(LONGEST);
        let is_personal = answered.contains_key(SET_COOKIE);
        let is_useful = has_validator(answered) || said.stale_if_error.is_some();
        if fresh.is_zero() && (is_personal || !is_useful) {
            return None;
        }
        // What was old when it came counts as fresh until then.
        let fresh_until = now + fresh;
        let may_be_stale = !is_strict && !is_personal && !spare.is_zero();
        let stale_until = may_be_stale.then(|| fresh_until + spare);
        Some(Self { policy, fresh_until, stale_until })
    }

    /// Whether it answers this request without asking the upstream.
    pub fn is_fresh_for(&self, asked: &HeaderMap, now: SystemTime) -> bool {
        // Most requests say nothing of it.
        if !asked.contains_key(CACHE_CONTROL) && !asked.contains_key(PRAGMA) {
            return now < self.fresh_until;
        }
        let verdict = self.policy.before_request(&slim_request(asked), now);
        matches!(verdict, BeforeRequest::Fresh(_))
    }

    /// Whether it may stand in for an error of the upstream's.
    pub fn may_stand_in(&self, asked: &HeaderMap, now: SystemTime) -> bool {
        self.stale_until.is_some_and(|until| now < until) && !Directives::of(asked).no_cache
    }

    /// For `Age`, in seconds.
    pub fn age(&self, now: SystemTime) -> u64 {
        self.policy.age(now).min(LONGEST).as_secs()
    }
}

/// Whether the upstream can be asked if an answer is still the same.
pub(super) fn has_validator(answered: &HeaderMap) -> bool {
    answered.contains_key(ETAG) || answered.contains_key(LAST_MODIFIED)
}

/// Whether a status is the upstream's failure, for breakers and for what stands in.
pub(super) fn is_failure(status: StatusCode) -> bool {
    matches!(status.as_u16(), 500..=504 | 408)
}

/// What of a request counts.
fn slim_request(asked: &HeaderMap) -> Request<()> {
    let mut slim = Request::new(());
    let headers = slim.headers_mut();
    take_directives(headers, asked, &["max-stale"]);
    if asked.contains_key(AUTHORIZATION) {
        headers.insert(AUTHORIZATION, HeaderValue::from_static("some"));
    }
    slim
}

/// What of an answer counts.
fn slim_answer(status: StatusCode, answered: &HeaderMap) -> Response<()> {
    let mut slim = Response::new(());
    *slim.status_mut() = status;
    let headers = slim.headers_mut();
    take_directives(headers, answered, &[]);
    for name in [DATE, LAST_MODIFIED] {
        if let Some(value) = answered.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    if answered.contains_key(SET_COOKIE) {
        headers.insert(SET_COOKIE, HeaderValue::from_static("some"));
    }
    let mut expires = answered.get_all(EXPIRES).iter();
    if let Some(value) = expires.next() {
        // Of two it is not known which is meant; what is no date is in the past.
        let is_one = expires.next().is_none();
        let one = if is_one { value.clone() } else { HeaderValue::from_static("0") };
        headers.insert(EXPIRES, one);
    }
    let age = answered.get(AGE).and_then(|age| directives::seconds(age.to_str().ok()?));
    headers.insert(AGE, age.unwrap_or_default().as_secs().into());
    slim
}

fn take_directives(slim: &mut HeaderMap, from: &HeaderMap, unwanted: &[&str]) {
    if let Some(said) = directives::plain(from, unwanted) {
        slim.insert(CACHE_CONTROL, said);
    } else if Directives::of(from).no_cache {
        slim.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    }
}

#[cfg(test)]
mod tests;
