use hyper::header::HeaderName;

use super::*;

const RULES: Rules = Rules { heuristic: 0.0, stale_if_error: Duration::ZERO };
const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// The second that [`THEN`] is.
fn then() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
}

fn headers(lines: &str) -> HeaderMap {
    let lines = lines.split('|').map(str::trim).filter(|line| !line.is_empty());
    let line = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
    };
    lines.map(line).collect()
}

fn request(method: Method, lines: &str) -> request::Parts {
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.headers_mut() = headers(lines);
    request.into_parts().0
}

fn life(asked: &str, status: u16, answered: &str, rules: &Rules) -> Option<Life> {
    let status = StatusCode::from_u16(status).unwrap();
    Life::of(&request(Method::GET, asked), status, &headers(answered), rules, then())
}

/// For how many seconds an answer to a plain request is fresh; `None` if it is not stored.
fn fresh_for(answered: &str) -> Option<u64> {
    let life = life("", 200, answered, &RULES)?;
    let plain = HeaderMap::new();
    let is_fresh = |second| life.is_fresh_for(&plain, then() + Duration::from_secs(second));
    Some((0..100_000).find(|second| !is_fresh(*second)).unwrap_or(u64::MAX))
}

/// The first four are the examples of RFC 9213 3.1.
#[test]
fn what_is_said_to_this_kind_of_cache_comes_first() {
    for (answered, expected) in [
        ("cache-control: max-age=60, s-maxage=120|cdn-cache-control: max-age=600", Some(600)),
        ("cdn-cache-control: max-age=600|cache-control: no-store", Some(600)),
        ("cache-control: no-store", None),
        ("cache-control: no-store|cdn-cache-control: none|etag: \"a\"", Some(0)),
        ("cdn-cache-control: max-age=600|age: 590", Some(10)),
        ("cdn-cache-control: max-age=1|cache-control: max-age=3600", Some(1)),
        ("cdn-cache-control: max-age=0|expires: Sun, 06 Nov 2094 08:49:37 GMT", None),
        ("cdn-cache-control: max-age=600|expires: 0", Some(600)),
        ("cdn-cache-control: max-age=600|pragma: no-cache", Some(600)),
        ("cdn-cache-control: private|cache-control: max-age=60", None),
        ("cdn-cache-control: no-cache|cache-control: max-age=60", None),
        ("cdn-cache-control: no-store, max-age=5|cache-control: max-age=60|etag: \"a\"", None),
        ("cdn-cache-control: public, max-age=60|set-cookie: a=b", Some(60)),
        ("cdn-cache-control: max-age=60|cache-control: public|set-cookie: a=b", None),
        ("cdn-cache-control: max-age=\"600\"|cache-control: max-age=60", None),
        // Not valid: as if it were not there.
        ("cdn-cache-control: max-age=600, &&&&&|cache-control: max-age=60", Some(60)),
        ("cdn-cache-control: max-age=600, &&&&&|cache-control: no-store", None),
        // For others.
        ("example-cache-control: max-age=600|surrogate-control: max-age=600", None),
    ] {
        assert_eq!(fresh_for(answered), expected, "{answered}");
    }
    let spare = "cdn-cache-control: max-age=1, stale-if-error=100|cache-control: must-revalidate";
    let stands = |second| {
        let life = life("", 200, spare, &RULES).unwrap();
        life.may_stand_in(&HeaderMap::new(), then() + Duration::from_secs(second))
    };
    assert!(stands(100) && !stands(101));
}

#[test]
fn answers_are_fresh_as_long_as_they_say() {
    for (answered, expected) in [
        // 4.2.1: s-maxage before max-age before Expires.
        ("cache-control: max-age=60", Some(60)),
        ("cache-control: max-age=60, s-maxage=10", Some(10)),
        ("cache-control: s-maxage=10|cache-control: MAX-AGE=60", Some(10)),
        (
            "cache-control: max-age=60|date: Sun, 06 Nov 1994 08:49:37 GMT|expires: Sun, 06 Nov 1994 08:49:40 GMT",
            Some(60),
        ),
        ("date: Sun, 06 Nov 1994 08:49:37 GMT|expires: Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
        ("cache-control: max-age=\"60\"", Some(60)),
        // 4.2.3: what it has spent elsewhere counts.
        ("cache-control: max-age=60|age: 50", Some(10)),
        ("cache-control: max-age=60|age: 60", None),
        ("cache-control: max-age=60|age: 60|etag: \"a\"", Some(0)),
        ("cache-control: max-age=60|age: 18446744073709551615|etag: \"a\"", Some(0)),
        ("cache-control: max-age=60|age: x", Some(60)),
        // What is no date, and what lies in the past, is stale (5.3).
        ("expires: 0|etag: \"a\"", Some(0)),
        (
            "expires: Sun, 06 Nov 1994 08:50:37 GMT|expires: Sun, 06 Nov 1994 08:51:37 GMT|etag: \"a\"",
            Some(0),
        ),
        ("date: Sun, 06 Nov 1994 08:49:37 GMT|expires: Sun, 06 Nov 1994 08:49:37 GMT", None),
        ("cache-control: max-age=nonsense|etag: \"a\"", Some(0)),
        ("cache-control: max-age=-5|etag: \"a\"", Some(0)),
        // 3: what must not be stored, in whatever case it is said.
        ("cache-control: no-store, max-age=60", None),
        ("cache-control: No-Store|cache-control: max-age=60", None),
        ("cache-control: private, max-age=60", None),
        ("cache-control: PRIVATE=\"x\", max-age=60", None),
        // 5.2.2.4: stored, and never used unasked.
        ("cache-control: no-cache, max-age=60|etag: \"a\"", Some(0)),
        ("cache-control: No-Cache, max-age=60|etag: \"a\"", Some(0)),
        ("pragma: No-Cache|etag: \"a\"", Some(0)),
        // Of no use to anybody later.
        ("", None),
        ("etag: \"a\"", Some(0)),
        // 7.3: a cookie is for one client, unless all may have it.
        ("cache-control: max-age=60|set-cookie: a=b", None),
        ("cache-control: max-age=60|set-cookie: a=b|etag: \"a\"", None),
        ("cache-control: public, max-age=60|set-cookie: a=b", Some(60)),
        ("cache-control: must-revalidate, max-age=60", Some(60)),
    ] {
        assert_eq!(fresh_for(answered), expected, "{answered}");
    }
}

#[test]
fn statuses_and_methods_that_nobody_may_reuse_are_not_stored() {
    let answered = "cache-control: max-age=60";
    for (status, is_stored) in [
        (200, true),
        (203, true),
        (204, true),
        (301, true),
        (302, true),
        (404, true),
        (410, true),
        (206, false),
        (304, false),
        (400, false),
        (500, false),
        (503, false),
    ] {
        assert_eq!(life("", status, answered, &RULES).is_some(), is_stored, "{status}");
    }
    // Those that are not cacheable unless they say so.
    assert!(life("", 302, "etag: \"a\"", &RULES).is_none());
    for method in [Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let asked = request(method, "");
        let stored = Life::of(&asked, StatusCode::OK, &headers(answered), &RULES, then());
        assert!(stored.is_none(), "{}", asked.method);
    }
}

#[test]
fn what_was_asked_with_credentials_is_stored_if_it_says_that_it_may_be() {
    for (answered, is_stored) in [
        ("cache-control: max-age=60", false),
        ("cache-control: max-age=60, public", true),
        ("cache-control: s-maxage=60", true),
        ("cache-control: max-age=60, must-revalidate", true),
    ] {
        let stored = life("authorization: Basic YTpi", 200, answered, &RULES);
        assert_eq!(stored.is_some(), is_stored, "{answered}");
    }
    assert!(life("cache-control: No-Store", 200, "cache-control: max-age=60", &RULES).is_none());
}

#[test]
fn a_request_may_want_it_fresher() {
    let life = life("", 200, "cache-control: max-age=60", &RULES).unwrap();
    for (asked, second, is_fresh) in [
        ("", 59, true),
        ("", 60, false),
        ("cache-control: no-cache", 0, false),
        ("cache-control: NO-CACHE", 0, false),
        ("pragma: no-cache", 0, false),
        ("cache-control: max-age=10", 10, true),
        ("cache-control: max-age=10", 11, false),
        ("cache-control: max-age=0", 1, false),
        ("cache-control: min-fresh=20", 40, true),
        ("cache-control: min-fresh=20", 41, false),
        ("cache-control: max-age=18446744073709551615", 59, true),
        // Not heeded, also where it would be allowed.
        ("cache-control: max-stale", 61, false),
        ("cache-control: only-if-cached", 59, true),
    ] {
        let now = then() + Duration::from_secs(second);
        assert_eq!(life.is_fresh_for(&headers(asked), now), is_fresh, "{asked} at {second} s");
    }
    assert_eq!(life.age(then() + Duration::from_secs(7)), 7);
}

#[test]
fn the_age_goes_on_from_what_the_answer_had() {
    let life = life("", 200, "cache-control: max-age=60|age: 50", &RULES).unwrap();
    assert_eq!(life.age(then() + Duration::from_secs(3)), 53);
}

#[test]
fn guessing_is_off_unless_asked_for() {
    let answered = format!("date: {THEN}|last-modified: Sun, 06 Nov 1994 08:48:37 GMT");
    let guessing = Rules { heuristic: 0.1, ..RULES };
    for (rules, fresh) in [(RULES, 0), (guessing, 6)] {
        let life = life("", 200, &answered, &rules).unwrap();
        let is_fresh = |second: u64| {
            life.is_fresh_for(&HeaderMap::new(), then() + Duration::from_secs(second))
        };
        assert_eq!((0..100).find(|second| !is_fresh(*second)), Some(fresh));
    }
    // What says how long it is fresh is not guessed about.
    let said = life("", 200, &format!("{answered}|cache-control: max-age=1"), &guessing).unwrap();
    assert!(!said.is_fresh_for(&HeaderMap::new(), then() + Duration::from_secs(1)));
}

#[test]
fn what_is_stale_stands_in_for_errors_within_its_bound() {
    let spare = Rules { stale_if_error: Duration::from_secs(100), ..RULES };
    for (answered, rules, until) in [
        ("cache-control: max-age=60", RULES, None),
        ("cache-control: max-age=60", spare, Some(160)),
        ("cache-control: max-age=60, stale-if-error=5", RULES, Some(65)),
        ("cache-control: max-age=60, stale-if-error=5", spare, Some(65)),
        ("cache-control: max-age=60, stale-if-error=0", spare, None),
        ("cache-control: max-age=60, Must-Revalidate, stale-if-error=5", spare, None),
        ("cache-control: max-age=60, proxy-revalidate|etag: \"a\"", spare, None),
        // 5.2.2.10: as proxy-revalidate.
        ("cache-control: s-maxage=60", spare, None),
        ("cache-control: max-age=60, no-cache|etag: \"a\"", spare, None),
        ("cache-control: max-age=60, public|set-cookie: a=b", spare, None),
        ("cache-control: max-age=0, stale-if-error=5", RULES, Some(5)),
    ] {
        let life = life("", 200, answered, &rules).unwrap();
        let plain = HeaderMap::new();
        let may = |second| life.may_stand_in(&plain, then() + Duration::from_secs(second));
        match until {
            None => assert!(!may(0) && !may(61), "{answered}"),
            Some(until) => assert!(may(0) && may(until - 1) && !may(until), "{answered}"),
        }
        assert!(!life.may_stand_in(&headers("cache-control: no-cache"), then()), "{answered}");
    }
}

#[test]
fn failures_are_those_of_the_upstream() {
    let failures = (100..600).filter(|code| is_failure(StatusCode::from_u16(*code).unwrap()));
    assert_eq!(failures.collect::<Vec<_>>(), [408, 500, 501, 502, 503, 504]);
}
