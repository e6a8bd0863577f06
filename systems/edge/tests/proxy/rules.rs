//! RFC 9111 and 5861 as a client and an upstream see them: requests, what the upstream says if it is asked, what is seen.
//!
//! Time is told by the upstream: what has an `Age` of its whole life is stale as it comes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::fixture::{TestProxy, Upstream};

mod errors;

/// A request in short, the upstream's answer in short (empty where it must not be asked), and what is seen: status,
/// `x-cache`, body.
type Step = (&'static str, &'static str, &'static str);
/// What it is about, and the steps.
type Row = (&'static str, &'static [Step]);

/// Walks through the steps; what the upstream was asked, as heads.
fn walk(name: &str, settings: &[(&str, &str)], steps: &[Step]) -> Vec<String> {
    let answers: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let upstream = Upstream::of(&answers);
    let proxy = TestProxy::with(upstream.address, settings);
    for (place, (asked, answered, seen)) in steps.iter().enumerate() {
        if !answered.is_empty() {
            answers.lock().unwrap().push_back((*answered).to_owned());
        }
        let answer = proxy.ask(asked);
        assert_eq!(answer.line(), *seen, "{name}, step {place}: {asked}\n{}", answer.head);
        assert!(answers.lock().unwrap().is_empty(), "{name}, step {place}: it was not asked");
    }
    upstream.asked()
}

fn table(rows: &[Row]) {
    for (name, steps) in rows {
        walk(name, &[], steps);
    }
}

/// As old as it may be when it comes.
const STALE: &str = "200|cache-control: max-age=60|age: 60|etag: \"a\"|=old";

const FRESH: &[Row] = &[
    (
        "max-age",
        &[
            ("GET /", "200|cache-control: max-age=60|=one", "200 miss one"),
            ("GET /", "", "200 hit one"),
            ("GET /", "", "200 hit one"),
        ],
    ),
    (
        "Expires",
        &[
            ("GET /", "200|expires: Fri, 01 Jan 2100 00:00:00 GMT|=one", "200 miss one"),
            ("GET /", "", "200 hit one"),
        ],
    ),
    (
        "Expires in the past",
        &[
            ("GET /", "200|expires: Fri, 01 Jan 2010 00:00:00 GMT|=one", "200 miss one"),
            ("GET /", "200|=two", "200 miss two"),
        ],
    ),
    (
        "s-maxage before max-age",
        &[
            ("GET /", "200|cache-control: max-age=60, s-maxage=0|=one", "200 miss one"),
            ("GET /", "200|cache-control: max-age=0, s-maxage=60|=two", "200 miss two"),
            ("GET /", "", "200 hit two"),
        ],
    ),
    (
        "nothing said",
        &[("GET /", "200|=one", "200 miss one"), ("GET /", "200|=two", "200 miss two")],
    ),
    (
        "another target, another host",
        &[
            ("GET /a", "200|cache-control: max-age=60|=one", "200 miss one"),
            ("GET /a?", "200|cache-control: max-age=60|=two", "200 miss two"),
            ("GET /A", "200|cache-control: max-age=60|=three", "200 miss three"),
            ("GET /a|host: i", "200|cache-control: max-age=60|=four", "200 miss four"),
            ("GET /a|host: H", "", "200 hit one"),
            ("GET http://i/a|host: h", "", "200 hit four"),
        ],
    ),
    (
        "statuses that may be reused",
        &[
            ("GET /a", "404|cache-control: max-age=60|=gone", "404 miss gone"),
            ("GET /a", "", "404 hit gone"),
            ("GET /b", "204|cache-control: max-age=60", "204 miss"),
            ("GET /b", "", "204 hit"),
            ("GET /c", "301|cache-control: max-age=60|location: /d", "301 miss"),
            ("GET /c", "", "301 hit"),
            ("GET /e", "400|cache-control: max-age=60|=bad", "400 miss bad"),
            ("GET /e", "200|=well", "200 miss well"),
        ],
    ),
    ("already old", &[("GET /", STALE, "200 miss old"), ("GET /", "200|=new", "200 miss new")]),
    (
        "a request that wants it anew",
        &[
            ("GET /", "200|cache-control: max-age=60|=one", "200 miss one"),
            ("GET /|cache-control: no-cache", "200|cache-control: max-age=60|=two", "200 miss two"),
            ("GET /", "", "200 hit two"),
            ("GET /|pragma: no-cache", "200|cache-control: max-age=60|=three", "200 miss three"),
            ("GET /|cache-control: only-if-cached", "", "200 hit three"),
            (
                "GET /b|cache-control: only-if-cached",
                "",
                "504 none not in the cache, and the request accepts nothing else (only-if-cached)",
            ),
        ],
    ),
];

#[test]
fn what_is_fresh_is_not_asked_for_again() {
    table(FRESH);
}

const ALONE: &[Row] = &[
    (
        "no-store",
        &[
            ("GET /", "200|cache-control: No-Store, max-age=60|=one", "200 miss one"),
            ("GET /", "200|=two", "200 miss two"),
        ],
    ),
    (
        "no-store of the request",
        &[
            ("GET /|cache-control: no-store", "200|cache-control: max-age=60|=one", "200 pass one"),
            ("GET /", "200|=two", "200 miss two"),
        ],
    ),
    (
        "private",
        &[
            ("GET /", "200|cache-control: private, max-age=60|=one", "200 miss one"),
            ("GET /", "200|=two", "200 miss two"),
        ],
    ),
    (
        "Authorization",
        &[
            (
                "GET /|authorization: Basic YTpi",
                "200|cache-control: max-age=60|=one",
                "200 miss one",
            ),
            (
                "GET /|authorization: Basic YTpi",
                "200|cache-control: max-age=60|=two",
                "200 miss two",
            ),
            ("GET /", "200|=three", "200 miss three"),
        ],
    ),
    (
        "Authorization, and public",
        &[
            (
                "GET /|authorization: Basic YTpi",
                "200|cache-control: max-age=60, public|=one",
                "200 miss one",
            ),
            ("GET /", "", "200 hit one"),
        ],
    ),
    (
        "Set-Cookie",
        &[
            ("GET /", "200|cache-control: max-age=60|set-cookie: a=b|=one", "200 miss one"),
            ("GET /", "200|=two", "200 miss two"),
        ],
    ),
    (
        "Vary",
        &[
            ("GET /|accept: a", "200|cache-control: max-age=60|vary: Accept|=one", "200 miss one"),
            ("GET /|accept: b", "200|cache-control: max-age=60|vary: Accept|=two", "200 miss two"),
            ("GET /", "200|cache-control: max-age=60|vary: Accept|=three", "200 miss three"),
            ("GET /|accept: a", "", "200 hit one"),
            ("GET /|accept: b", "", "200 hit two"),
            ("GET /", "", "200 hit three"),
        ],
    ),
    (
        "Vary by everything",
        &[
            ("GET /", "200|cache-control: max-age=60|vary: *|=one", "200 miss one"),
            ("GET /", "200|=two", "200 miss two"),
        ],
    ),
];

#[test]
fn what_is_for_one_alone_serves_nobody_else() {
    table(ALONE);
}

#[test]
fn what_is_stale_is_asked_about_and_lives_again() {
    let asked = walk(
        "304",
        &[],
        &[
            ("GET /", STALE, "200 miss old"),
            ("GET /", "304|etag: \"a\"|cache-control: max-age=60|x-new: 1", "200 revalidated old"),
            ("GET /", "", "200 hit old"),
        ],
    );
    assert!(asked[1].contains("if-none-match: \"a\"\r\n"), "{}", asked[1]);
    let modified = "last-modified: Sun, 06 Nov 1994 08:49:37 GMT";
    let asked = walk(
        "Last-Modified",
        &[],
        &[
            (
                "GET /",
                "200|cache-control: no-cache|last-modified: Sun, 06 Nov 1994 08:49:37 GMT|=old",
                "200 miss old",
            ),
            ("GET /", "304", "200 revalidated old"),
            ("GET /", "304", "200 revalidated old"),
        ],
    );
    let since = modified.replace("last-modified", "if-modified-since");
    assert!(asked[1].contains(&since) && asked[2].contains(&since), "{asked:?}");
    table(&[
        (
            "changed",
            &[
                ("GET /", STALE, "200 miss old"),
                ("GET /", "200|cache-control: max-age=60|etag: \"b\"|=new", "200 miss new"),
                ("GET /", "", "200 hit new"),
            ],
        ),
        (
            "no longer to be stored",
            &[
                ("GET /", STALE, "200 miss old"),
                ("GET /", "304|etag: \"a\"|cache-control: no-store", "200 revalidated old"),
                ("GET /", "200|=new", "200 miss new"),
            ],
        ),
        (
            "must-revalidate, while fresh",
            &[
                ("GET /", "200|cache-control: must-revalidate, max-age=60|=one", "200 miss one"),
                ("GET /", "", "200 hit one"),
            ],
        ),
    ]);
}

/// A 304 that names another answer than the one that was asked about brings nothing: all of it is asked for.
#[test]
fn a_304_about_something_else_is_not_believed() {
    let answers: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let upstream = Upstream::of(&answers);
    let proxy = TestProxy::before(upstream.address);
    answers.lock().unwrap().extend([STALE.to_owned(), "304|etag: \"b\"".to_owned()]);
    answers.lock().unwrap().push_back("200|cache-control: max-age=60|etag: \"b\"|=new".to_owned());
    assert_eq!(proxy.ask("GET /").line(), "200 miss old");
    assert_eq!(proxy.ask("GET /").line(), "200 miss new");
    assert_eq!(proxy.ask("GET /").line(), "200 hit new");
    assert!(!upstream.asked()[2].contains("if-none-match"));
}

#[test]
fn a_client_that_has_it_is_told_so_from_the_cache() {
    const TAGGED: &str = "200|cache-control: max-age=60|etag: \"a\"|last-modified: Sun, 06 Nov 1994 08:49:37 GMT|=one";
    let asked = walk(
        "conditions",
        &[],
        &[
            // Not stored yet: it is between the client and the upstream.
            ("GET /|if-none-match: \"a\"", "304|etag: \"a\"", "304 miss"),
            ("GET /", TAGGED, "200 miss one"),
            ("GET /|if-none-match: \"x\", W/\"a\"", "", "304 hit"),
            ("GET /|if-none-match: \"x\"", "", "200 hit one"),
            ("GET /|if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT", "", "304 hit"),
            ("GET /|if-modified-since: Sun, 06 Nov 1994 08:49:36 GMT", "", "200 hit one"),
            ("HEAD /|if-none-match: \"a\"", "", "304 hit"),
            // Only the upstream can say.
            ("GET /|if-match: \"x\"", "412|=no", "412 pass no"),
        ],
    );
    assert!(asked[0].contains("if-none-match: \"a\"\r\n"), "{}", asked[0]);
    // What the client has is asked about in the client's place.
    let asked = walk(
        "stale",
        &[],
        &[
            ("GET /", STALE, "200 miss old"),
            (
                "GET /|if-none-match: \"x\"",
                "304|etag: \"a\"|cache-control: max-age=60",
                "200 revalidated old",
            ),
            ("GET /|if-none-match: \"a\"", "", "304 hit"),
        ],
    );
    assert!(asked[1].contains("if-none-match: \"a\"\r\n"), "{}", asked[1]);
}

#[test]
fn the_age_and_the_date_are_those_of_the_answer() {
    let upstream = Upstream::always(
        "200|cache-control: max-age=1000|age: 500|date: Sun, 06 Nov 1994 08:49:37 GMT|=one",
    );
    let proxy = TestProxy::before(upstream.address);
    assert_eq!(proxy.ask("GET /").header("age"), Some("500"));
    let kept = proxy.ask("GET /");
    let age: u64 = kept.header("age").unwrap().parse().unwrap();
    assert!((500..530).contains(&age), "{age}");
    assert_eq!(kept.header("date"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    assert!(kept.header("via").unwrap().starts_with("1.1 edge-proxy-"), "{}", kept.head);
    assert_eq!(kept.header("content-length"), Some("3"));
    // Without a date it is the time when it came, and stays that.
    let proxy = TestProxy::before(Upstream::always("200|cache-control: max-age=1000|=one").address);
    proxy.ask("GET /");
    assert!(proxy.ask("GET /").header("date").is_some_and(|date| date.ends_with(" GMT")));
}

#[test]
fn guessing_is_off_and_can_be_had() {
    const OLD: &str = "200|last-modified: Sun, 06 Nov 1994 08:49:37 GMT|=one";
    walk("off", &[], &[("GET /", OLD, "200 miss one"), ("GET /", "304", "200 revalidated one")]);
    walk(
        "on",
        &[("heuristic", "10%")],
        &[("GET /", OLD, "200 miss one"), ("GET /", "", "200 hit one")],
    );
}

#[test]
fn head_is_answered_by_what_get_brought_and_stores_nothing() {
    table(&[
        (
            "after",
            &[
                ("GET /", "200|cache-control: max-age=60|=one", "200 miss one"),
                ("HEAD /", "", "200 hit"),
            ],
        ),
        (
            "before",
            &[
                ("HEAD /", "200|cache-control: max-age=60|=one", "200 pass"),
                ("GET /", "200|cache-control: max-age=60|=one", "200 miss one"),
            ],
        ),
    ]);
    let proxy = TestProxy::before(Upstream::always("200|cache-control: max-age=60|=one").address);
    proxy.ask("GET /");
    assert_eq!(proxy.ask("HEAD /").header("content-length"), Some("3"));
}

#[test]
fn what_changes_something_makes_the_cache_forget() {
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let change: &'static str = format!("{method} /|=x").leak();
        walk(
            method,
            &[],
            &[
                ("GET /", "200|cache-control: max-age=60|vary: a|=one", "200 miss one"),
                ("GET /|a: b", "200|cache-control: max-age=60|vary: a|=other", "200 miss other"),
                (change, "400|=no", "400 pass no"),
                ("GET /", "", "200 hit one"),
                (change, "204", "204 pass"),
                ("GET /", "200|=two", "200 miss two"),
                ("GET /|a: b", "200|=two", "200 miss two"),
            ],
        );
    }
    walk(
        "what changes nothing",
        &[],
        &[
            ("GET /", "200|cache-control: max-age=60|=one", "200 miss one"),
            ("OPTIONS /", "204", "204 pass"),
            ("GET /", "", "200 hit one"),
        ],
    );
}

#[test]
fn ranges_go_to_the_upstream() {
    let asked = walk(
        "ranges",
        &[],
        &[
            (
                "GET /|range: bytes=0-0",
                "206|cache-control: max-age=60|content-range: bytes 0-0/3|=o",
                "206 pass o",
            ),
            ("GET /", "200|cache-control: max-age=60|=one", "200 miss one"),
            ("GET /|range: bytes=0-0", "206|content-range: bytes 0-0/3|=o", "206 pass o"),
            ("GET /", "", "200 hit one"),
        ],
    );
    assert!(asked[2].contains("range: bytes=0-0\r\n"), "{}", asked[2]);
}

#[test]
fn the_cache_stands_aside_where_it_is_told_to() {
    const ONE: &str = "200|cache-control: max-age=60|=one";
    walk(
        "not unless it is allowed",
        &[],
        &[("GET /", ONE, "200 miss one"), ("GET /|x-cache-bust: 1", "", "200 hit one")],
    );
    walk(
        "by a header",
        &[("cache_bust", "header")],
        &[
            ("GET /", ONE, "200 miss one"),
            ("GET /|x-cache-bust: 1", "200|cache-control: max-age=60|=two", "200 bust two"),
            ("GET /", "", "200 hit one"),
        ],
    );
    walk(
        "always",
        &[("cache_bust", "always")],
        &[("GET /", ONE, "200 bust one"), ("GET /", ONE, "200 bust one")],
    );
    walk(
        "no cache",
        &[("cache", "0")],
        &[("GET /", ONE, "200 pass one"), ("GET /", ONE, "200 pass one")],
    );
    // Stored, it fills the cache, and serves nobody.
    let upstream = Upstream::always(ONE);
    let proxy = TestProxy::with(
        upstream.address,
        &[("cache_bust", "always"), ("cache_bust_stored", "true")],
    );
    assert_eq!(proxy.ask("GET /").line(), "200 bust one");
    assert_eq!(proxy.ask("GET /").line(), "200 bust one");
    assert_eq!((proxy.figure("proxy_stored_total"), proxy.figure("proxy_stored_keys")), (2, 2));
}
