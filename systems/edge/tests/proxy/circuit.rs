//! The breaker, seen from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::fixture::{PATIENCE, TestProxy, Upstream, answer};

/// An upstream whose `/bad` fails until it is mended.
fn patient() -> (Upstream, Arc<AtomicBool>) {
    let is_mended = Arc::new(AtomicBool::new(false));
    let mended = Arc::clone(&is_mended);
    let upstream = Upstream::new(move |head, _| {
        let is_bad = head.contains(" /bad") && !mended.load(Ordering::SeqCst);
        answer(if is_bad { "503|=no" } else { "200|=well" })
    });
    (upstream, is_mended)
}

const STATE: &str = "proxy_breaker_state{route=\"/bad\"}";

#[test]
fn a_route_that_fails_too_often_is_left_alone_and_no_other() {
    let (upstream, _) = patient();
    let settings = [("breaker_errors", "3"), ("breaker_pause", "60s")];
    let proxy = TestProxy::with(upstream.address, &settings);
    for _ in 0..3 {
        assert_eq!(proxy.ask("GET /bad/a").line(), "503 miss no");
    }
    assert_eq!(proxy.figure(STATE), 2);
    let refused = proxy.ask("POST /bad/b|=x");
    assert_eq!((refused.status, refused.header("x-cache")), (503, Some("none")));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(upstream.times(), 3);
    assert_eq!(proxy.ask("GET /well").line(), "200 miss well");
    assert_eq!(proxy.figure("proxy_breaker_refused_total"), 1);
    assert_eq!(proxy.figure("proxy_breaker_errors{route=\"/bad\"}"), 3);
}

#[test]
fn it_closes_when_the_upstream_is_mended() {
    let (upstream, is_mended) = patient();
    let settings = [("breaker_errors", "1"), ("breaker_pause", "50ms"), ("breaker_probes", "2")];
    let proxy = TestProxy::with(upstream.address, &settings);
    assert_eq!(proxy.ask("GET /bad").status, 503);
    is_mended.store(true, Ordering::SeqCst);
    let end = Instant::now() + PATIENCE;
    while proxy.figure(STATE) != 0 {
        assert!(Instant::now() < end, "it does not close");
        proxy.ask("GET /bad");
    }
    assert_eq!(proxy.ask("GET /bad").line(), "200 miss well");
}

#[test]
fn what_is_stored_stands_in_while_it_is_open() {
    let upstream = Upstream::new(|head, _| match head {
        head if head.contains(" /bad/stored ") && !head.contains("if-none-match") => {
            answer("200|cache-control: max-age=60|age: 60|etag: \"a\"|=old")
        }
        head if head.contains(" /bad/fresh ") => answer("200|cache-control: max-age=60|=fresh"),
        _ => answer("503|=no"),
    });
    let settings = [("breaker_errors", "1"), ("breaker_pause", "60s")];
    let proxy = TestProxy::with(upstream.address, &settings);
    proxy.ask("GET /bad/stored");
    proxy.ask("GET /bad/fresh");
    assert_eq!(proxy.ask("GET /bad").status, 503);
    let times = upstream.times();
    assert_eq!(proxy.ask("GET /bad/stored").line(), "200 stale old");
    assert_eq!(proxy.ask("GET /bad/fresh").line(), "200 hit fresh");
    assert_eq!(proxy.ask("GET /bad/other").header("x-cache"), Some("none"));
    assert_eq!(upstream.times(), times);
}

#[test]
fn what_cannot_be_reached_counts_and_what_clients_do_wrong_does_not() {
    let nobody = ([127, 0, 0, 1], 1).into();
    let settings = [("breaker_errors", "2"), ("breaker_pause", "60s")];
    let proxy = TestProxy::with(nobody, &settings);
    for strange in ["GET /bad|host: h|host: i", "GET /bad|expect: a miracle"] {
        for _ in 0..3 {
            assert!(matches!(proxy.ask(strange).status, 400 | 417), "{strange}");
        }
    }
    assert_eq!(proxy.ask("GET /bad").status, 502);
    assert_eq!(proxy.ask("GET /bad").status, 502);
    assert_eq!(proxy.ask("GET /bad").status, 503);
    assert_eq!(proxy.figure(STATE), 2);
}

#[test]
fn routes_can_be_named_and_breakers_be_had_without() {
    let (upstream, _) = patient();
    let settings =
        [("breaker_errors", "1"), ("breaker_pause", "60s"), ("routes", "/bad/one, /bad/two")];
    let proxy = TestProxy::with(upstream.address, &settings);
    assert_eq!(proxy.ask("GET /bad/one/a").line(), "503 miss no");
    assert_eq!(proxy.ask("GET /bad/one/b").header("x-cache"), Some("none"));
    assert_eq!(proxy.ask("GET /bad/two").line(), "503 miss no");
    assert_eq!(proxy.figure("proxy_breaker_state{route=\"/bad/one\"}"), 2);
    let proxy = TestProxy::with(upstream.address, &[("breaker_errors", "0")]);
    for _ in 0..5 {
        assert_eq!(proxy.ask("GET /bad").line(), "503 miss no");
    }
}
