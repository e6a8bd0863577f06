//! Under what an answer is stored: the host and the whole target, and what of the request its `Vary` names.
//!
//! Whatever else a request says must not change the answer that others get. All of it is judged as it goes on: what
//! belongs to the client's connection is off before anything is looked at. What is known to change answers in common
//! frameworks and is in no key is taken off as well ([`UNKEYED`]); `X-Forwarded-*` and `Forwarded` are replaced by what is
//! known here, and an answer that varies by them is not stored.

use std::sync::Arc;

use hyper::Uri;
use hyper::header::{FORWARDED, HOST, HeaderMap, HeaderName, HeaderValue, VARY, VIA};
use hyper::http::request;

/// Request headers that upstreams believe, that no proxy before this one is trusted to set, and that are in no key.
pub(super) static UNKEYED: [HeaderName; 15] = [
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-prefix"),
    HeaderName::from_static("x-forwarded-scheme"),
    HeaderName::from_static("x-forwarded-server"),
    HeaderName::from_static("x-forwarded-ssl"),
    HeaderName::from_static("x-host"),
    HeaderName::from_static("x-http-host-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-method-override"),
    HeaderName::from_static("x-original-host"),
    HeaderName::from_static("x-original-url"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-rewrite-url"),
    HeaderName::from_static("front-end-https"),
];

/// Request headers that this proxy sets for the upstream: what a client says of them is not what the upstream saw.
static SET_HERE: [HeaderName; 5] = [
    FORWARDED,
    VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
];

/// Host and target. Clones share them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(Arc<str>);

impl Key {
    /// The key of a request that was stripped: its host and its target as they are sent to the upstream, byte for byte.
    pub fn of(uri: &Uri, headers: &HeaderMap) -> Self {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        // No host has a slash, and every target but `*` begins with one.
        Self(format!("{host}{target}").into())
    }

    /// One that no request has, and that is of no other number.
    pub fn busted(number: u64) -> Self {
        Self(format!("cache-bust.{number} ").into())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// What a stored answer's request said in those headers that its `Vary` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selection(Vec<(HeaderName, Vec<HeaderValue>)>);

impl Selection {
    /// What selects this answer to this request; `None` if no later request can be known to select it.
    pub fn of(asked: &HeaderMap, answered: &HeaderMap) -> Option<Self> {
        let mut names = Vec::new();
        for value in answered.get_all(VARY) {
            for name in value.to_str().ok()?.split(',').map(str::trim) {
                if !name.is_empty() {
                    names.push(HeaderName::try_from(name).ok()?);
                }
            }
        }
        names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        let is_ours = |name: &HeaderName| {
            name.as_str() == "*" || SET_HERE.contains(name) || UNKEYED.contains(name)
        };
        if names.iter().any(is_ours) {
            return None;
        }
        if names.iter().any(|name| has_twin(asked, name)) {
            return None;
        }
        let said = |name: HeaderName| {
            let values = asked.get_all(&name).iter().cloned().collect();
            (name, values)
        };
        Some(Self(names.into_iter().map(said).collect()))
    }

    /// Whether a request says the same.
    pub fn is_of(&self, asked: &HeaderMap) -> bool {
        let says = |(name, values): &(HeaderName, Vec<HeaderValue>)| {
            asked.get_all(name).iter().eq(values) && !has_twin(asked, name)
        };
        self.0.iter().all(says)
    }

    /// Roughly the bytes that it takes.
    pub fn size(&self) -> usize {
        let values =
            |values: &[HeaderValue]| values.iter().map(|value| value.len() + 40).sum::<usize>();
        self.0.iter().map(|(name, said)| name.as_str().len() + 40 + values(said)).sum()
    }
}

/// Whether a request says something in a field that some upstreams take for this one, and some do not.
fn has_twin(asked: &HeaderMap, name: &HeaderName) -> bool {
    let dashed = |name: &HeaderName| name.as_str().replace('_', "-");
    let is_near =
        |other: &&HeaderName| *other != name && other.as_str().len() == name.as_str().len();
    asked.keys().filter(is_near).any(|other| dashed(other) == dashed(name))
}

/// Takes off what must not reach the upstream, and makes of the rest what does.
pub(super) fn strip(asked: &mut request::Parts) {
    proxying::settle(asked);
    proxying::drop_fields(&mut asked.headers, |name| UNKEYED.contains(name));
    proxying::drop_twins(&mut asked.headers, |name| UNKEYED.iter().any(|known| known == name));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn key(uri: &str, host: &str) -> Key {
        Key::of(&uri.parse().unwrap(), &headers(&[("host", host)]))
    }

    #[test]
    fn a_key_is_the_host_and_every_byte_of_the_target() {
        assert_eq!(key("/a?b", "h:80"), key("/a?b", "h:80"));
        for (one, other) in [
            (key("/a", "h"), key("/a", "i")),
            (key("/a?b", "h"), key("/a?c", "h")),
            (key("/a", "h"), key("/a?", "h")),
            (key("/a", "h"), key("/A", "h")),
            (key("/a%2Fb", "h"), key("/a/b", "h")),
            (key("/b", "h"), key("/h/b", "")),
            (Key::busted(1), Key::busted(2)),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn what_vary_names_selects_whoever_says_the_same() {
        let asked = headers(&[("accept-language", "de"), ("accept-language", "en"), ("dnt", "1")]);
        let varied = headers(&[("vary", "Accept-Language , x-a,"), ("vary", "X-A")]);
        let selection = Selection::of(&asked, &varied).unwrap();
        assert!(selection.is_of(&asked));
        assert!(selection.is_of(&headers(&[("accept-language", "de"), ("accept-language", "en")])));
        for other in [
            headers(&[("accept-language", "de")]),
            headers(&[("accept-language", "de"), ("accept-language", "fr")]),
            headers(&[("accept-language", "de"), ("accept-language", "en"), ("x-a", "")]),
            HeaderMap::new(),
        ] {
            assert!(!selection.is_of(&other), "{other:?}");
        }
        assert_eq!(Selection::of(&asked, &HeaderMap::new()), Some(Selection(Vec::new())));
    }

    /// The proxy cannot know whether the upstream takes `x_a` for `x-a`.
    #[test]
    fn a_twin_of_what_vary_names_selects_nothing() {
        let varied = headers(&[("vary", "x-a")]);
        let selection = Selection::of(&headers(&[("x-a", "1")]), &varied).unwrap();
        for asked in [headers(&[("x_a", "1")]), headers(&[("x-a", "1"), ("x_a", "1")])] {
            assert_eq!(Selection::of(&asked, &varied), None);
            assert!(!selection.is_of(&asked), "{asked:?}");
        }
        assert!(selection.is_of(&headers(&[("x-a", "1"), ("x-b", "1"), ("y_a", "2")])));
    }

    #[test]
    fn a_request_is_stripped_to_what_goes_on() {
        let mut asked = hyper::Request::new(()).into_parts().0;
        asked.uri = "http://Shop.Example:80?q".parse().unwrap();
        asked.headers = headers(&[
            ("host", "other"),
            ("connection", "x-lang, close"),
            ("x-lang", "de"),
            ("te", "trailers"),
            ("x_forwarded_host", "evil"),
            ("x-original_url", "/evil"),
            ("x_host", "evil"),
            ("transfer_encoding", "chunked"),
            ("x_own", "1"),
        ]);
        strip(&mut asked);
        assert_eq!(asked.headers, headers(&[("host", "shop.example:80"), ("x_own", "1")]));
        assert_eq!(asked.uri, "/?q");
        assert_eq!(Key::of(&asked.uri, &asked.headers), key("/?q", "shop.example:80"));
    }

    #[test]
    fn what_varies_by_more_than_a_client_says_is_nobodys() {
        for vary in ["*", "accept, *", "X-Forwarded-For", "forwarded", "x-original-url", "a b"] {
            assert_eq!(
                Selection::of(&HeaderMap::new(), &headers(&[("vary", vary)])),
                None,
                "{vary}"
            );
        }
    }
}
