//! What `Cache-Control` and `Pragma` say, as far as this cache decides by it itself.

use std::time::Duration;

use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderValue, PRAGMA};

/// A longer time is this one (RFC 9111 1.2.2).
pub(super) const LONGEST: Duration = Duration::from_secs(1 << 31);

/// Directives of a message; without arguments where they are not needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Directives {
    pub no_cache: bool,
    pub no_store: bool,
    pub must_revalidate: bool,
    pub proxy_revalidate: bool,
    pub s_maxage: bool,
    pub only_if_cached: bool,
    pub stale_if_error: Option<Duration>,
}

impl Directives {
    /// Reads them. A comma within quotes parts directives as well: what is found too much is only ever stricter.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for directive in directives(headers) {
            let (name, argument) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-cache" => found.no_cache = true,
                "no-store" => found.no_store = true,
                "must-revalidate" => found.must_revalidate = true,
                "proxy-revalidate" => found.proxy_revalidate = true,
                "s-maxage" => found.s_maxage = true,
                "only-if-cached" => found.only_if_cached = true,
                "stale-if-error" => found.stale_if_error = seconds(argument),
                _ => {}
            }
        }
        if !headers.contains_key(CACHE_CONTROL) {
            found.no_cache |= headers.get_all(PRAGMA).iter().any(|pragma| {
                pragma.to_str().is_ok_and(|text| text.to_ascii_lowercase().contains("no-cache"))
            });
        }
        found
    }
}

/// All of a message's `Cache-Control` in one value and in lower case, without those directives that are not wanted.
///
/// What is not text counts as the strictest directive: `no-store`.
pub(super) fn plain(headers: &HeaderMap, unwanted: &[&str]) -> Option<HeaderValue> {
    let is_text = headers.get_all(CACHE_CONTROL).iter().all(|value| value.to_str().is_ok());
    if !is_text {
        return Some(HeaderValue::from_static("no-store"));
    }
    let wanted = |directive: &&str| {
        let name = directive.split('=').next().unwrap_or_default().trim();
        !name.is_empty() && !unwanted.iter().any(|unwanted| name.eq_ignore_ascii_case(unwanted))
    };
    let all: Vec<&str> = directives(headers).filter(wanted).map(str::trim).collect();
    let text = all.join(", ").to_ascii_lowercase();
    HeaderValue::try_from(text).ok().filter(|value| !value.is_empty())
}

/// Delta-seconds; `None` if it is no number.
pub(super) fn seconds(text: &str) -> Option<Duration> {
    let digits = text.trim().trim_matches('"');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Too many digits for a number are a large one.
    is_number.then(|| digits.parse().map_or(LONGEST, Duration::from_secs).min(LONGEST))
}

fn directives(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let values = values.iter().map(|value| (CACHE_CONTROL, value.parse().unwrap()));
        values.collect()
    }

    #[test]
    fn names_are_read_in_any_case_and_from_any_line() {
        let found =
            Directives::of(&headers(&["Max-Age=1, NO-STORE", "s-maxage=2,\tstale-IF-error=30"]));
        let expected = Directives {
            no_store: true,
            s_maxage: true,
            stale_if_error: Some(Duration::from_secs(30)),
            ..Directives::default()
        };
        assert_eq!(found, expected);
        assert!(Directives::of(&headers(&["no-cache=\"set-cookie, a\""])).no_cache);
        assert_eq!(Directives::of(&headers(&["no-cached, xno-store"])), Directives::default());
    }

    #[test]
    fn pragma_counts_where_nothing_else_is_said() {
        let mut headers = HeaderMap::new();
        headers.insert(PRAGMA, HeaderValue::from_static("No-Cache"));
        assert!(Directives::of(&headers).no_cache);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3"));
        assert!(!Directives::of(&headers).no_cache);
    }

    #[test]
    fn one_value_in_lower_case_holds_all_that_is_wanted() {
        let many = headers(&["Public,, MAX-AGE=\"3\"", "Max-Stale=5"]);
        assert_eq!(plain(&many, &["max-stale"]).unwrap(), "public, max-age=\"3\"");
        assert_eq!(plain(&headers(&["max-stale"]), &["max-stale"]), None);
        let mut strange = HeaderMap::new();
        strange.insert(CACHE_CONTROL, HeaderValue::from_bytes(b"public, \xff").unwrap());
        assert_eq!(plain(&strange, &[]).unwrap(), "no-store");
    }

    #[test]
    fn times_have_an_end() {
        assert_eq!(seconds("7"), Some(Duration::from_secs(7)));
        assert_eq!(seconds("\"7\""), Some(Duration::from_secs(7)));
        assert_eq!(seconds("99999999999999999999999"), Some(LONGEST));
        assert_eq!(seconds("18446744073709551615"), Some(LONGEST));
        assert_eq!([seconds(""), seconds("-1"), seconds("1.5"), seconds("x")], [None; 4]);
    }
}
