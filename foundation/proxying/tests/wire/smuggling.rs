//! Requests and answers that can be understood in two ways.

use crate::house::{Ending, House, header};

/// The status that a client gets for a request that must not reach the upstream.
async fn refused(request: &str) -> u16 {
    let house = House::open().await;
    let seen: Ending = house.say(request).await.end().await;
    assert_eq!(house.counts.connected.get(), 0, "{request:?} reached the upstream");
    // Nothing behind it is taken for a second request.
    assert_eq!(seen.text().matches("HTTP/1.1 ").count(), 1, "{}", seen.text());
    seen.status()
}

#[tokio::test]
async fn requests_that_can_be_read_in_two_ways_are_refused() {
    let post = |rest: &str| format!("POST / HTTP/1.1\r\nHost: h\r\n{rest}");
    for (rest, status) in [
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
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

/// RFC 9112 6.3: whoever does not refuse both goes by the chunks, takes the length away, and closes afterwards.
#[tokio::test]
async fn of_a_length_and_chunks_only_the_chunks_go_on_and_nothing_after_them() {
    for lines in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    ] {
        let house = House::open().await;
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
        let request = format!("POST / HTTP/1.1\r\nHost: h\r\n{lines}\r\n0\r\n\r\n{smuggled}");
        let mut client = house.say(&request).await;
        let mut upstream = house.hear().await;
        let head = upstream.head().await;
        assert_eq!(header(&head, "content-length"), None, "{head}");
        upstream.until("0\r\n\r\n").await;
        upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let seen = client.end().await;
        assert_eq!(seen.text().matches("HTTP/1.1 ").count(), 1, "{}", seen.text());
        assert_eq!(house.counts.requests.get(), 1);
    }
}

#[tokio::test]
async fn a_length_said_twice_alike_goes_on_once() {
    let house = House::open().await;
    let request = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok";
    let _client = house.say(request).await;
    let head = house.hear().await.head().await;
    assert_eq!(head.matches("content-length: 2\r\n").count(), 1, "{head}");
}

#[tokio::test]
async fn a_broken_chunk_breaks_the_request() {
    for chunk in ["-1\r\n", "fffffffffffffffff\r\n", "5\nhello\r\n", "5\r\nhelloX\r\n0\r\n\r\n"] {
        let house = House::open().await;
        let request =
            format!("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let mut client = house.say(&request).await;
        let mut upstream = house.hear().await;
        let sent = upstream.end().await.text();
        assert!(!sent.ends_with("0\r\n\r\n"), "{chunk:?} ended well: {sent:?}");
        assert_eq!(client.end().await.status(), 400, "{chunk:?}");
        assert_eq!(house.counts.body_broken.get(), 1);
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
        let house = House::open().await;
        let request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
        let seen = house.seen(request, answer).await;
        assert_eq!(seen.status(), 502, "{answer:?}: {}", seen.text());
        assert_eq!(house.counts.upstream_broken.get(), 1, "{answer:?}");
        assert_eq!(house.counts.retried.get(), 0, "{answer:?}");
    }
}
