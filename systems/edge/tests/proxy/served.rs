//! What a proxy tells of itself, what it is told, how it sheds, and how it stops.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;

use crate::fixture::{TestProxy, Upstream, answer, connect, message, request};
use serde_json::{Value, json};
use serving::options::Options;
use serving::stop::Stop;

#[test]
fn its_own_paths_are_not_passed_on() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    assert_eq!(proxy.ask("GET /_proxy/healthz").body, "ok\n");
    assert_eq!(proxy.ask("GET /_proxy/else").status, 404);
    assert_eq!(proxy.ask("POST /_proxy/healthz|=x").status, 404);
    assert_eq!(upstream.times(), 0);
    // Those of the upstream are.
    assert_eq!(proxy.ask("GET /healthz").line(), "200 miss one");
    assert_eq!(proxy.ask("GET /_proxy").line(), "200 miss one");
    assert_eq!(proxy.ask("GET /healthz").line(), "200 hit one");
    for (cache, count) in [("miss", 2), ("hit", 1), ("stale", 0), ("none", 0)] {
        assert_eq!(proxy.figure(&format!("proxy_answers_total{{cache=\"{cache}\"}}")), count);
    }
    assert_eq!((proxy.figure("proxy_stored_total"), proxy.figure("proxy_stored_keys")), (2, 2));
    assert!((1..5_000).contains(&proxy.figure("proxy_stored_bytes")));
    assert_eq!(proxy.figure("proxy_upstream_completed_total"), 2);
    assert_eq!(proxy.figure("proxy_under_way"), 0);
}

#[test]
fn every_setting_is_read_back() {
    let given = [
        ("threads", "2"),
        ("in_flight", "100"),
        ("cache", "1MiB"),
        ("cache_object", "64KiB"),
        ("heuristic", "10%"),
        ("stale_if_error", "2m"),
        ("collapse", "3s"),
        ("cache_bust", "header"),
        ("cache_bust_stored", "true"),
        ("breaker_errors", "7"),
        ("breaker_window", "8s"),
        ("breaker_pause", "9s"),
        ("breaker_probes", "2"),
        ("routes", "/a, /b"),
        ("access_log", "stderr"),
        ("connections", "10"),
        ("queue", "7"),
        ("queue_wait", "2s"),
        ("upstream_idle", "3s"),
        ("connect", "4s"),
        ("first_byte", "5s"),
        ("whole", "6s"),
        ("max_connections", "8"),
        ("max_head", "32KiB"),
        ("streams", "10"),
        ("idle", "9s"),
        ("read", "7s"),
        ("drain", "1s"),
    ];
    let upstream = Upstream::always("200|=one");
    let proxy = TestProxy::with(upstream.address, &given);
    let mut effective = proxy.ready["effective"].clone();
    let told = effective.as_object_mut().unwrap();
    assert!(told.remove("open_files").unwrap().is_u64());
    assert_eq!(told.remove("version").unwrap(), env!("CARGO_PKG_VERSION"));
    let seconds = |seconds: u64| seconds * 1_000_000_000;
    assert_eq!(
        effective,
        json!({
            "upstream": format!("http://{}", upstream.address), "threads": 2, "in_flight": 100,
            "cache_bytes": 1 << 20, "cache_object_bytes": 64 << 10, "heuristic": 0.1,
            "stale_if_error_ns": seconds(120), "collapse_ns": seconds(3),
            "cache_bust": "header", "cache_bust_stored": true,
            "breaker_errors": 7, "breaker_window_ns": seconds(8), "breaker_pause_ns": seconds(9), "breaker_probes": 2,
            "routes": ["/a", "/b"], "access_log": "stderr",
            "cast_to": [], "cast_messages": 0, "cast_bytes": 0, "cast_blocking": false,
            "connections": 10, "queue": 7, "queue_wait_ns": seconds(2), "upstream_idle_ns": seconds(3),
            "connect_ns": seconds(4), "first_byte_ns": seconds(5), "whole_ns": seconds(6),
            "max_connections": 8, "max_head_bytes": 32_768, "idle_ns": seconds(9), "drain_ns": seconds(1),
            "streams": 10, "cert": null, "read_ns": seconds(7),
        })
    );
    assert_eq!(proxy.ready["system"], "proxy");
    assert_eq!(proxy.ask("GET /").line(), "200 miss one");
}

#[test]
fn bad_settings_are_told_all_at_once() {
    let refused = |options: Options| {
        let (_stopper, stop) = Stop::pair();
        let error =
            edge::proxy::SYSTEM.serve_until(&options, stop, |_| panic!("it serves")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    };
    let told = refused(
        Options::default()
            .with("upstream", "https://a:1")
            .with("cache", "1KiB")
            .with("cache_object", "2KiB")
            .with("cache_bust", "sometimes")
            .with("cache_bust_stored", true)
            .with("routes", "a,/b")
            .with("collapse", 5)
            .with("cast_messages", 10)
            .with("streams", 0)
            .with("key", "/nowhere/at/all")
            .with("colour", "red"),
    );
    for part in [
        "upstream: expected where requests go",
        "cache_object: must not be larger than `cache`",
        "cache_bust: expected one of off, header, always",
        "cache_bust_stored: needs cache_bust",
        "routes: expected prefixes",
        "collapse: expected a time such as 1ms",
        "cast_messages: needs cast_to",
        "streams: expected a whole number from 1 to 65536",
        "key: without `cert` it proves nothing",
        "colour: no setting of proxy",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    for upstream in [
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://127.0.0.1:http",
        "http://user@127.0.0.1:80",
        "http://h:80/path",
        "http://:80",
        "http://[h]:80",
    ] {
        let told = refused(Options::default().with("upstream", upstream));
        assert!(told.contains(&format!("got \"{upstream}\"")), "{told}");
    }
    let log =
        Options::default().with("upstream", "http://h:1").with("access_log", "/nowhere/at/all");
    let (_stopper, stop) = Stop::pair();
    let error = edge::proxy::SYSTEM.serve_until(&log, stop, |_| panic!("it serves")).unwrap_err();
    assert_eq!(error.exit_code(), 4);
    assert!(error.to_string().starts_with("cannot open the access log"), "{error}");
}

#[test]
fn beyond_the_most_requests_are_turned_away() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = TestProxy::with(listener.local_addr().unwrap(), &[("in_flight", "1")]);
    let mut first = connect(proxy.address);
    first.write_all(request("GET /").as_bytes()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    let refused = proxy.ask("GET /");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    // Its place is taken until the last byte of its answer.
    let head = answer("200|cache-control: max-age=60|content-length: 5|==hell");
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(proxy.ask("GET /").status, 503);
    stream.write_all(b"o").unwrap();
    let mut text = String::new();
    first.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("hello"), "{text}");
    proxy.until("proxy_under_way", 0);
    assert_eq!(proxy.ask("GET /").line(), "200 hit hello");
    assert_eq!(proxy.figure("proxy_shed_total"), 2);
}

#[test]
fn each_answer_is_a_line_of_the_log() {
    let path = std::env::temp_dir().join(format!("edge-access-{}", std::process::id()));
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::with(upstream.address, &[("access_log", path.to_str().unwrap())]);
    proxy.ask("GET /a?b");
    proxy.ask("GET /a?b");
    proxy.ask("HEAD /a?b");
    proxy.ask("POST /c|=x");
    proxy.until("proxy_under_way", 0);
    proxy.stopped();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["client"], "127.0.0.1");
        let part = |key: &str| line[key].to_string();
        ["method", "target", "status", "cache", "bytes", "whole"].map(part).join(" ")
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    let expected = [
        "\"GET\" \"/a?b\" 200 \"hit\" 3 true",
        "\"GET\" \"/a?b\" 200 \"miss\" 3 true",
        "\"HEAD\" \"/a?b\" 200 \"hit\" 0 true",
        "\"POST\" \"/c\" 200 \"pass\" 3 true",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_is_under_way_is_answered_before_it_stops() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for threads in ["1", "3"] {
        let mut proxy = TestProxy::with(listener.local_addr().unwrap(), &[("threads", threads)]);
        let mut idle = connect(proxy.address);
        let mut client = connect(proxy.address);
        client.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
        proxy.stop();
        // That nobody else is served any more shows that the stop has arrived.
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        stream.write_all(answer("200|=ok").as_bytes()).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("ok"), "{text}");
        proxy.stopped();
    }
}

#[test]
fn more_clients_than_may_be_are_turned_away() {
    let proxy = TestProxy::with(Upstream::always("200|=one").address, &[("max_connections", "1")]);
    let mut first = connect(proxy.address);
    first.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    message(&mut BufReader::new(&first)).unwrap();
    // Closed without a word; what was said on it may make that a reset.
    assert!(matches!(connect(proxy.address).read(&mut [0]), Ok(0) | Err(_)));
    drop(first);
    // Its place is free a moment later.
    let mut text = String::new();
    while !text.starts_with("HTTP/1.0 200 ") {
        text.clear();
        let mut stream = connect(proxy.address);
        let _ = stream.write_all(b"GET /_proxy/metrics HTTP/1.0\r\n\r\n");
        let _ = stream.read_to_string(&mut text);
    }
    let turned_away = text.lines().find_map(|line| line.strip_prefix("proxy_turned_away_total "));
    assert_ne!(turned_away.unwrap(), "0");
}

/// Clients that begin a head and never end it: one that does not is answered, and they are closed in their time.
#[test]
fn heads_that_do_not_end_hold_nobody_up() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::with(upstream.address, &[("idle", "1s")]);
    let slow: Vec<_> = (0..200)
        .map(|_| {
            let mut client = connect(proxy.address);
            client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\nx-a: ").unwrap();
            client
        })
        .collect();
    assert_eq!(proxy.ask("GET /").line(), "200 miss one");
    assert_eq!(proxy.ask("GET /").line(), "200 hit one");
    for mut client in slow {
        let mut text = Vec::new();
        let _ = client.read_to_end(&mut text);
    }
    proxy.until("proxy_clients", 1);
    let flood = "x: y\r\n".repeat(100_000);
    let mut client = connect(proxy.address);
    // It need not hear all of it.
    let _ = client.write_all(format!("GET / HTTP/1.1\r\nhost: h\r\n{flood}\r\n").as_bytes());
    let mut text = Vec::new();
    let _ = client.read_to_end(&mut text);
    assert!(!text.starts_with(b"HTTP/1.1 200 "));
    assert_eq!(proxy.ask("GET /").line(), "200 hit one");
    assert_eq!(upstream.times(), 1);
}

/// What is no head to hyper is answered by it, and nobody here knows.
#[test]
fn heads_that_are_none_and_those_with_too_many_fields() {
    let fields =
        |count: usize| (0..count).map(|number| format!("|x-{number}: 1")).collect::<String>();
    // With its length.
    let answers =
        [answer(&format!("200{}|=one", fields(99))), answer(&format!("200{}", fields(100)))];
    let upstream =
        Upstream::new(move |head, _| answers[usize::from(head.contains("/more"))].clone());
    let proxy = TestProxy::before(upstream.address);
    // With `Host` and `Connection`.
    assert_eq!(proxy.ask(&format!("GET /{}", fields(98))).line(), "200 miss one");
    assert_eq!(proxy.ask("GET /more").status, 502);
    for (short, status) in [(format!("GET /{}", fields(99)), 431), ("GET /|x : 1".to_owned(), 400)]
    {
        let seen = proxy.ask(&short);
        assert_eq!((seen.status, seen.header("x-cache")), (status, None), "{short}");
    }
    assert_eq!(proxy.figure("proxy_answers_total{cache=\"none\"}"), 1);
}

/// Kept by what it says to this cache alone, and given as it came.
#[test]
fn what_is_said_to_this_cache_goes_on_with_the_answer() {
    let upstream =
        Upstream::always("200|cache-control: no-store|cdn-cache-control: max-age=60, MAX|=one");
    let proxy = TestProxy::before(upstream.address);
    assert_eq!([proxy.ask("GET /").line(), proxy.ask("GET /").line()], ["200 miss one"; 2]);
    let upstream =
        Upstream::always("200|cache-control: no-store|cdn-cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    for line in ["200 miss one", "200 hit one"] {
        let seen = proxy.ask("GET /");
        assert_eq!(seen.line(), line);
        assert_eq!(seen.header("cache-control"), Some("no-store"));
        assert_eq!(seen.header("cdn-cache-control"), Some("max-age=60"));
    }
}
