//! What one client says never changes what another one gets.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::fixture::{TestProxy, Upstream, answer, ask, request};

/// An upstream that repeats what it was asked, and says that it may be stored.
pub fn mirror() -> Upstream {
    Upstream::new(|head, _| {
        let body = head.replace("\r\n", "\n");
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    })
}

/// What upstreams believe of clients, and is in no key.
pub const UNKEYED: [&str; 19] = [
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Forwarded-SSL",
    "Forwarded",
    "X-Host",
    "X-HTTP-Host-Override",
    "X-HTTP-Method",
    "X-HTTP-Method-Override",
    "X-Method-Override",
    "X-Original-Host",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Real-IP",
    "Front-End-Https",
];

#[test]
fn headers_that_are_in_no_key_do_not_reach_the_upstream() {
    let proxy = TestProxy::before(mirror().address);
    for (number, name) in UNKEYED.iter().enumerate() {
        let first = proxy.ask(&format!("GET /{number}|{name}: evil.example"));
        assert!(!first.body.contains("evil"), "{name}: {}", first.body);
        let second = proxy.ask(&format!("GET /{number}"));
        assert_eq!(second.header("x-cache"), Some("hit"), "{name}");
        assert_eq!(second.body, first.body, "{name}");
    }
    // Neither do they where nothing is stored.
    let posted = proxy.ask("POST /|X-Original-URL: /admin|=x");
    assert!(!posted.body.contains("/admin"), "{}", posted.body);
}

/// Answers in the language that is asked for, in a field that `Connection` can name.
fn polyglot(field: &'static str) -> Upstream {
    Upstream::new(move |head, _| {
        let language = if head.contains(field) { "de" } else { "en" };
        answer(&format!("200|cache-control: max-age=60|vary: x-lang|={language}"))
    })
}

/// What selects an answer is what the upstream saw, not what was taken off on the way.
#[test]
fn a_connection_that_names_what_vary_names_changes_nothing_for_others() {
    let proxy = TestProxy::before(polyglot("x-lang: de").address);
    assert_eq!(proxy.ask("GET /|x-lang: de|connection: x-lang").line(), "200 miss en");
    assert_eq!(proxy.ask("GET /|x-lang: de").line(), "200 miss de");
    assert_eq!(proxy.ask("GET /").line(), "200 hit en");
    assert_eq!(proxy.ask("GET /|x-lang: de|connection: X-Lang").line(), "200 hit en");
    assert_eq!(proxy.ask("GET /|x-lang: de").line(), "200 hit de");
}

#[test]
fn a_name_with_another_dash_is_no_way_around() {
    let proxy = TestProxy::before(mirror().address);
    for (number, name) in [
        "X_Forwarded_For",
        "X_Forwarded_Host",
        "X-Forwarded_Proto",
        "X_Forwarded_Port",
        "X_Original_URL",
        "X_HTTP_Method_Override",
        "Front_End_Https",
        "Transfer_Encoding",
        "Content_Length",
    ]
    .into_iter()
    .enumerate()
    {
        let first = proxy.ask(&format!("GET /{number}|{name}: evil|x_own: kept"));
        assert!(!first.body.contains("evil"), "{name}: {}", first.body);
        assert!(first.body.contains("x_own: kept"), "{name}: {}", first.body);
    }
    // An upstream that takes one for the other, and says only that it varies by the other.
    let proxy = TestProxy::before(polyglot("x_lang: de").address);
    assert_eq!(proxy.ask("GET /|x_lang: de").line(), "200 miss de");
    assert_eq!(proxy.ask("GET /").line(), "200 miss en");
    assert_eq!(proxy.ask("GET /|x_lang: de").line(), "200 miss de");
    assert_eq!(proxy.ask("GET /").line(), "200 hit en");
}

/// Links that the upstream makes of it are the same for all.
#[test]
fn a_host_goes_on_as_it_is_kept() {
    let proxy = TestProxy::before(mirror().address);
    let first = proxy.ask("GET /|host: SHOP.Example:80");
    for line in ["\nhost: shop.example:80\n", "\nx-forwarded-host: shop.example:80\n"] {
        assert!(first.body.contains(line), "{}", first.body);
    }
    let second = proxy.ask("GET http://shop.EXAMPLE:80/|host: other");
    assert_eq!((second.header("x-cache"), &second.body), (Some("hit"), &first.body));
}

#[test]
fn what_is_not_valid_is_refused_and_makes_nothing_forgotten() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    assert_eq!(proxy.ask("GET /").line(), "200 miss one");
    for strange in [
        "GET /|host: h@h",
        "GET /|host:",
        "GET /|host: h/",
        "GET /|host: h:99999",
        "GET http://user@h/",
        "GET http://h:99999/",
        "GET https://h/",
        "GET h:80",
        "GET *",
        "DELETE http://user@h/",
    ] {
        let seen = proxy.ask(strange);
        assert_eq!((seen.status, seen.header("x-cache")), (400, Some("none")), "{strange}");
    }
    assert_eq!(proxy.ask("GET /").line(), "200 hit one");
    assert_eq!(upstream.times(), 1);
}

/// Before itself, here by way of a hop that knows nothing of it; before another of its kind it may stand.
#[test]
fn a_proxy_that_is_its_own_upstream_says_so() {
    let own: Arc<OnceLock<SocketAddr>> = Arc::default();
    let back = Arc::clone(&own);
    let hop = Upstream::new(move |head, _| {
        let last = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        ask(*back.get().unwrap(), &last)
    });
    let proxy = TestProxy::before(hop.address);
    own.set(proxy.address).unwrap();
    for method in ["GET", "POST"] {
        let seen = proxy.ask(&format!("{method} /|via: 1.1 edge-proxy, 1.1 edge-proxy-00000000"));
        assert_eq!(seen.status, 508, "{}", seen.body);
        assert!(seen.body.starts_with("loop: "), "{}", seen.body);
    }
    assert_eq!(hop.times(), 2);
    let behind = TestProxy::before(Upstream::always("200|=one").address);
    assert_eq!(TestProxy::before(behind.address).ask("GET /").body, "one");
}

#[test]
fn what_varies_by_what_the_proxy_says_is_not_stored() {
    for vary in ["X-Forwarded-For", "accept, x-forwarded-host", "Forwarded", "X-Original-URL"] {
        let short: &'static str = format!("200|cache-control: max-age=60|vary: {vary}|=one").leak();
        let upstream = Upstream::always(short);
        let proxy = TestProxy::before(upstream.address);
        proxy.ask("GET /");
        assert_eq!(proxy.ask("GET /").header("x-cache"), Some("miss"), "{vary}");
    }
}

#[test]
fn a_request_that_can_be_understood_in_two_ways_is_refused_also_where_an_answer_is_stored() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    assert_eq!(proxy.ask("GET /").line(), "200 miss one");
    for strange in [
        "GET /|host: h|host: evil",
        "GET /|transfer-encoding: chunked|content-length: 0|==0\r\n\r\n",
        "GET /|content-length: 0|content-length: 5",
        "GET /|transfer-encoding: gzip, chunked|==0\r\n\r\n",
        "GET /|x: a\r\n folded: b\r\ntransfer-encoding : chunked",
    ] {
        let status = proxy.ask(strange).status;
        assert!(status == 400 || status == 501, "{strange}: {status}");
    }
    let unnamed = ask(proxy.address, "GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert!(unnamed.starts_with("HTTP/1.1 400 "), "{unnamed}");
    assert_eq!(proxy.ask("GET /").line(), "200 hit one");
    assert_eq!(upstream.times(), 1);
}

/// What a body says is in no key: neither is such an answer stored, nor a stored one given.
#[test]
fn a_get_with_a_body_is_passed_on() {
    let upstream =
        Upstream::new(|_, body| answer(&format!("200|cache-control: max-age=60|={body}.")));
    let proxy = TestProxy::before(upstream.address);
    assert_eq!(proxy.ask("GET /|=evil").line(), "200 pass evil.");
    assert_eq!(proxy.ask("GET /").line(), "200 miss .");
    assert_eq!(proxy.ask("GET /|=evil").line(), "200 pass evil.");
    assert_eq!(proxy.ask("GET /").line(), "200 hit .");
}

#[test]
fn a_part_is_never_kept_as_the_whole() {
    // Also if the upstream pays no heed to the range, or calls the part a whole.
    for status in ["200", "206"] {
        let short = format!("{status}|cache-control: max-age=60|content-range: bytes 0-0/3|=o");
        let upstream = Upstream::new(move |head, _| {
            let is_part = head.contains("range:");
            answer(if is_part { &short } else { "200|cache-control: max-age=60|=one" })
        });
        let proxy = TestProxy::before(upstream.address);
        assert_eq!(proxy.ask("GET /|range: bytes=0-0").body, "o");
        assert_eq!(proxy.ask("GET /").line(), "200 miss one");
        assert_eq!(proxy.ask("GET /|range: bytes=0-0").body, "o");
        assert_eq!(proxy.ask("GET /").line(), "200 hit one");
    }
    // A part that nobody asked for is not stored either.
    let upstream = Upstream::always("206|cache-control: max-age=60|content-range: bytes 0-0/3|=o");
    let proxy = TestProxy::before(upstream.address);
    proxy.ask("GET /");
    assert_eq!(proxy.ask("GET /").line(), "206 miss o");
}

/// A header that the upstream chokes on: its refusal is for whoever sent that.
#[test]
fn an_error_that_one_client_brought_about_is_not_stored() {
    for status in ["400", "413", "414|x: y", "431", "500", "503"] {
        let short = format!("{status}|cache-control: max-age=60|=refused");
        let upstream = Upstream::new(move |head, _| {
            let is_strange = head.contains("x-strange");
            answer(if is_strange { &short } else { "200|=well" })
        });
        let proxy = TestProxy::before(upstream.address);
        let is_default = status.starts_with("414");
        assert_eq!(proxy.ask("GET /|x-strange: 1").body, "refused");
        // 414 is about the target alone, which is the key, and may be stored.
        let expected = if is_default { "refused" } else { "well" };
        assert_eq!(proxy.ask("GET /").body, expected, "{status}");
    }
}

/// Whoever varies without end takes no more than a bounded part of the cache.
#[test]
fn variants_without_end_are_bounded() {
    let upstream = Upstream::always("200|cache-control: max-age=60|vary: x-any|=one");
    let proxy = TestProxy::before(upstream.address);
    for number in 0..100 {
        proxy.ask(&format!("GET /|x-any: {number}"));
    }
    assert_eq!(proxy.figure("proxy_stored_keys"), 1);
    assert!(proxy.figure("proxy_stored_bytes") < 16 * 2048);
    assert_eq!(proxy.ask("GET /|x-any: 99").line(), "200 hit one");
    assert_eq!(proxy.ask("GET /|x-any: 0").line(), "200 miss one");
}

#[test]
fn nobody_changes_the_protocol() {
    let upstream = mirror();
    let proxy = TestProxy::before(upstream.address);
    let asked = ask(
        proxy.address,
        "GET /a HTTP/1.1\r\nhost: h\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n",
    );
    assert!(asked.starts_with("HTTP/1.1 200 "), "{asked}");
    assert!(!upstream.asked()[0].contains("upgrade"), "{}", upstream.asked()[0]);
    let proxy =
        TestProxy::before(Upstream::always("101|upgrade: websocket|connection: upgrade").address);
    assert_eq!(proxy.ask("GET /").status, 502);
    let tunnel =
        ask(proxy.address, "CONNECT h:1 HTTP/1.1\r\nhost: h:1\r\nconnection: close\r\n\r\n");
    assert!(tunnel.starts_with("HTTP/1.1 501 "), "{tunnel}");
}

/// Two requests in one breath, the second within the body of the first: it is no request.
#[test]
fn what_is_hidden_in_a_body_is_not_a_request() {
    let times = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&times);
    let upstream = Upstream::new(move |_, body| {
        counted.fetch_add(1, Ordering::SeqCst);
        answer(&format!("200|={}", body.len()))
    });
    let proxy = TestProxy::before(upstream.address);
    let hidden = request("GET /admin");
    let seen = proxy.ask(&format!("POST /|={hidden}"));
    assert_eq!(seen.body, hidden.len().to_string());
    assert_eq!(times.load(Ordering::SeqCst), 1);
}
