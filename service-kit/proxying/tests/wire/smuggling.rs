//! Requests and answers that can be understood in two ways.

use crate::fixture::{Ending, TestProxy};

/// The status that a client gets for a request that must not reach the upstream.
async fn refused(request: &str) -> u16 {
    let proxy = TestProxy::open().await;
    let seen: Ending = proxy.say(request).await.end().await;
    assert_eq!(proxy.counts.connected.get(), 0, "{request:?} reached the upstream");
    // Nothing behind it is taken for a second request.
    assert_eq!(seen.text().matches("HTTP/1.").count(), 1, "{}", seen.text());
    seen.status()
}

#[tokio::test]
async fn requests_that_can_be_read_in_two_ways_are_refused() {
    let post = |rest: &str| format!("POST / HTTP/1.1\r\nHost: h\r\n{rest}");
    for (rest, status) in [
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
        ("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
        (
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
            400,
        ),
        ("Content-Length: 5, 6\r\n\r\nhello!", 400),
        ("Content-Length: +5\r\n\r\nhello", 400),
        ("Content-Length: 5\r\n\tfolded\r\n\r\nhello", 400),
        ("X-Fold: a\r\n b\r\nContent-Length: 0\r\n\r\n", 400),
        ("Content-Length : 5\r\n\r\nhello", 400),
        ("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n", 501),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
            400,
        ),
        ("Host: other\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 400),
        ("Expect: 200-ok\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 417),
        ("X: a\0b\r\nContent-Length: 0\r\n\r\n", 400),
    ] {
        assert_eq!(refused(&post(rest)).await, status, "{rest:?}");
    }
    assert_eq!(refused("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").await, 400);
    assert_eq!(
        refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").await,
        400
    );
    assert_eq!(refused("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await, 501);
}

#[tokio::test]
async fn requests_that_are_not_valid_are_refused_and_not_mended() {
    for (line, host) in [
        ("GET h:80", "h"),
        ("GET h", "h"),
        ("GET *", "h"),
        ("GET https://h/", "h"),
        ("GET ftp://h/", "h"),
        ("GET http://user@h/", "h"),
        ("GET http://user:word@h/", "h"),
        ("GET http://h:99999/", "h"),
        ("GET http://h:0/", "h"),
        // Though the target is what counts.
        ("GET http://h/", "h h"),
        ("GET /", ""),
        ("GET /", "user@h"),
        ("GET /", "h/path"),
        ("GET /", "h, i"),
        ("GET /", "h:http"),
        ("GET /", "h:99999"),
        ("GET /", "::1"),
        ("GET /", "[h]"),
        ("GET /", "\u{e4}"),
    ] {
        let request = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(refused(&request).await, 400, "{line}, {host}");
    }
    let old = "GET / HTTP/1.0\r\nHost: user@h\r\n\r\n";
    assert_eq!(refused(old).await, 400);
}

#[tokio::test]
async fn a_broken_chunk_breaks_the_request() {
    for chunk in ["-1\r\n", "fffffffffffffffff\r\n", "5\nhello\r\n", "5\r\nhelloX\r\n0\r\n\r\n"] {
        let proxy = TestProxy::open().await;
        let request =
            format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let mut client = proxy.say(&request).await;
        let mut upstream = proxy.hear().await;
        let sent = upstream.end().await.text();
        assert!(!sent.ends_with("0\r\n\r\n"), "{chunk:?} ended well: {sent:?}");
        assert_eq!(client.end().await.status(), 400, "{chunk:?}");
        assert_eq!(proxy.counts.body_broken.get(), 1);
    }
}

#[tokio::test]
async fn answers_that_are_none_are_not_passed_on() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Len",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\0\0\0\0\0\0\0\0",
        "",
    ] {
        let proxy = TestProxy::open().await;
        let request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
        let seen = proxy.seen(request, answer).await;
        assert_eq!(seen.status(), 502, "{answer:?}: {}", seen.text());
        assert_eq!(proxy.counts.upstream_broken.get(), 1, "{answer:?}");
        assert_eq!(proxy.counts.retried.get(), 0, "{answer:?}");
    }
}

/// What is refused may come after what is not, on the same connection and in the same segment.
#[tokio::test]
async fn the_second_of_two_requests_is_refused_as_well() {
    let proxy = TestProxy::open().await;
    let first =
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let second = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let mut client = proxy.say(format!("{first}{second}")).await;
    let mut upstream = proxy.hear().await;
    upstream.until("ok\r\n0\r\n\r\n").await;
    upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 "));
    assert!(client.head().await.starts_with("HTTP/1.1 400 "));
    assert_eq!(proxy.counts.requests.get(), 1);
}
