//! Whether what a client has already is what is stored (RFC 9110 13.1.2 and 13.1.3).

use hyper::header::{
    ETAG, HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};

/// Conditions and ranges that only the upstream answers.
const FOREIGN: [HeaderName; 4] = [RANGE, IF_RANGE, IF_MATCH, IF_UNMODIFIED_SINCE];

/// Whether the request asks for something that no stored answer gives.
pub(super) fn is_foreign(asked: &HeaderMap) -> bool {
    FOREIGN.iter().any(|name| asked.contains_key(name))
}

/// Whether the request is answered with less if the client has the answer already.
pub(super) fn is_conditional(asked: &HeaderMap) -> bool {
    asked.contains_key(IF_NONE_MATCH) || asked.contains_key(IF_MODIFIED_SINCE)
}

/// Whether the client has what is stored: the answer is then 304.
pub(super) fn has_it(asked: &HeaderMap, stored: &HeaderMap) -> bool {
    if asked.contains_key(IF_NONE_MATCH) {
        // The date does not count beside it.
        let own = stored.get(ETAG).and_then(|tag| tag.to_str().ok());
        let mut named = asked.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
        return named.any(|tags| {
            tags.trim() == "*" || own.is_some_and(|own| tags_of(tags).any(|tag| is_same(tag, own)))
        });
    }
    let date = |headers: &HeaderMap, name| {
        let text = headers.get(name)?.to_str().ok()?;
        httpdate::parse_http_date(text).ok()
    };
    match (date(asked, IF_MODIFIED_SINCE), date(stored, LAST_MODIFIED)) {
        (Some(since), Some(modified)) => modified <= since,
        _ => false,
    }
}

/// The weak comparison (RFC 9110 8.8.3.2).
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let opaque = |tag| str::strip_prefix(tag, "W/").unwrap_or(tag);
    opaque(one.trim()) == opaque(other.trim())
}

/// The parts of a list at its commas, but for those within quotes.
fn tags_of(list: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let parts = list.split(move |character: char| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    });
    parts.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_client_that_has_it_is_told_so() {
        let stored = headers(&[(ETAG, "\"a,b\""), (LAST_MODIFIED, THEN)]);
        for (asked, expected) in [
            (vec![(IF_NONE_MATCH, "\"a,b\"")], true),
            (vec![(IF_NONE_MATCH, "\"x\", W/\"a,b\" ,\"y\"")], true),
            (vec![(IF_NONE_MATCH, "*")], true),
            (vec![(IF_NONE_MATCH, "\"a\"")], false),
            (vec![(IF_NONE_MATCH, "a,b")], false),
            (vec![(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, LATER)], false),
            (vec![(IF_MODIFIED_SINCE, THEN)], true),
            (vec![(IF_MODIFIED_SINCE, LATER)], true),
            (vec![(IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT")], false),
            (vec![(IF_MODIFIED_SINCE, "yesterday")], false),
            (vec![], false),
        ] {
            assert_eq!(has_it(&headers(&asked), &stored), expected, "{asked:?}");
        }
        assert!(!has_it(&headers(&[(IF_NONE_MATCH, "\"a\"")]), &HeaderMap::new()));
        assert!(!has_it(&headers(&[(IF_MODIFIED_SINCE, THEN)]), &HeaderMap::new()));
    }

    #[test]
    fn ranges_and_conditions_for_writing_are_the_upstreams() {
        assert!(is_foreign(&headers(&[(RANGE, "bytes=0-1")])));
        assert!(is_foreign(&headers(&[(IF_MATCH, "\"a\"")])));
        assert!(!is_foreign(&headers(&[(IF_NONE_MATCH, "\"a\"")])));
        assert!(is_conditional(&headers(&[(IF_MODIFIED_SINCE, THEN)])));
    }
}
