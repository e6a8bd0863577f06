//! `CDN-Cache-Control` (RFC 9213): what an answer tells a cache like this one, and no other.
//!
//! Where it is valid and says anything, this cache takes its directives for those of the answer, and `Cache-Control`,
//! `Expires` and `Pragma` for nothing. It goes on to clients as it came, with all the others.

use std::borrow::Cow;

use hyper::header::{CACHE_CONTROL, EXPIRES, HeaderMap, HeaderName, HeaderValue, PRAGMA};

use super::dictionary::{self, Value};
use super::directives::LONGEST;

const CDN_CACHE_CONTROL: HeaderName = HeaderName::from_static("cdn-cache-control");
/// Directives whose value is a number of seconds.
const TIMES: [&str; 4] = ["max-age", "s-maxage", "stale-if-error", "stale-while-revalidate"];
/// Directives that may name fields; this cache has them mean the whole answer.
const OF_FIELDS: [&str; 2] = ["no-cache", "private"];

/// The headers of an answer with those directives in `Cache-Control` that count here.
pub(super) fn in_force(answered: &HeaderMap) -> Cow<'_, HeaderMap> {
    let Some(members) = members(answered) else { return Cow::Borrowed(answered) };
    let directives: Vec<String> =
        members.iter().filter_map(|(name, value)| directive(name, value)).collect();
    let mut headers = answered.clone();
    for name in [CACHE_CONTROL, EXPIRES, PRAGMA] {
        headers.remove(name);
    }
    if let Ok(value) = HeaderValue::try_from(directives.join(", "))
        && !value.is_empty()
    {
        headers.insert(CACHE_CONTROL, value);
    }
    Cow::Owned(headers)
}

/// What the field says; `None` where it is not there, empty or not valid (RFC 9213 2.1).
fn members(answered: &HeaderMap) -> Option<Vec<(String, Value)>> {
    // Most answers say nothing of it.
    if !answered.contains_key(CDN_CACHE_CONTROL) {
        return None;
    }
    let lines: Result<Vec<&str>, _> =
        answered.get_all(CDN_CACHE_CONTROL).iter().map(HeaderValue::to_str).collect();
    dictionary::parse(&lines.ok()?.join(",")).filter(|members| !members.is_empty())
}

/// A member as `Cache-Control` says it; `None` where its value is of a type that the directive has not.
fn directive(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Integer(seconds) if TIMES.contains(&name) => {
            let seconds = u64::try_from(*seconds).ok()?.min(LONGEST.as_secs());
            Some(format!("{name}={seconds}"))
        }
        Value::Boolean(true) if !TIMES.contains(&name) => Some(name.to_owned()),
        Value::String(_) if OF_FIELDS.contains(&name) => Some(name.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What counts of an answer with these lines of the field, beside `Cache-Control: max-age=7`.
    fn counts(lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=7"));
        headers.insert(EXPIRES, HeaderValue::from_static("0"));
        headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        for line in lines {
            headers.append(CDN_CACHE_CONTROL, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        let in_force = in_force(&headers);
        let is_targeted = !in_force.contains_key(EXPIRES);
        assert_eq!(is_targeted, !in_force.contains_key(PRAGMA));
        assert_eq!(in_force.get_all(CDN_CACHE_CONTROL).iter().count(), lines.len());
        let said = in_force.get(CACHE_CONTROL).map_or("", |value| value.to_str().unwrap());
        format!("{}{said}", if is_targeted { "cdn: " } else { "" })
    }

    #[test]
    fn a_valid_field_that_says_anything_is_all_that_counts() {
        for (line, expected) in [
            ("max-age=600", "cdn: max-age=600"),
            ("no-store", "cdn: no-store"),
            ("none", "cdn: none"),
            ("private, no-cache=\"set-cookie\"", "cdn: private, no-cache"),
            (
                "max-age=60;a=1, s-maxage=5, must-revalidate",
                "cdn: max-age=60, s-maxage=5, must-revalidate",
            ),
            ("max-age=99999999999", "cdn: max-age=2147483648"),
            ("foobar, max-age=3600", "cdn: foobar, max-age=3600"),
            // Values of a type that the directive has not are not taken for another one.
            ("max-age=\"60\"", "cdn: "),
            ("max-age=60.0", "cdn: "),
            ("max-age=-1, public", "cdn: public"),
            ("max-age", "cdn: "),
            ("no-store=?0", "cdn: "),
            ("no-store=1, x=(a b)", "cdn: "),
        ] {
            assert_eq!(counts(&[line]), expected, "{line}");
        }
        assert_eq!(counts(&["max-age=60", "public"]), "cdn: max-age=60, public");
    }

    #[test]
    fn what_is_not_valid_or_empty_is_as_if_it_were_not_there() {
        for line in [
            "",
            " ",
            "max-age=10000, &&&&&",
            "max-age =100",
            "max-age= 100",
            "Max-Age=1",
            "max-age=60,",
        ] {
            assert_eq!(counts(&[line]), "max-age=7", "{line:?}");
        }
        assert_eq!(counts(&["max-age=60", "MAX"]), "max-age=7");
        assert_eq!(counts(&["max-age=60, a=\u{fc}"]), "max-age=7");
        assert_eq!(counts(&[]), "max-age=7");
    }
}
