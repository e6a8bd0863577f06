//! Where messages end: lengths, chunks, answers without a body, expectations.

use crate::fixture::{TestProxy, header};

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn answers_without_a_body_keep_what_they_say_of_it() {
    // Of a 304 hyper takes the length away, as RFC 9110 8.6 lets it.
    for (method, answer, length) in [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", Some("1234")),
        ("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n", None),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nETag: \"a\"\r\n\r\n", None),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Some("0")),
    ] {
        let proxy = TestProxy::open().await;
        let request = GET.replace("GET", method);
        let seen = proxy.seen(&request, answer).await.text();
        let (head, body) = seen.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "", "{method} {answer:?}");
        assert_eq!(head.lines().next(), answer.lines().next());
        assert_eq!(header(head, "content-length"), length, "{method} {answer:?}: {head}");
        assert_eq!(proxy.counts.completed.get(), 1);
    }
}

#[tokio::test]
async fn chunks_stay_chunks_and_lengths_stay_lengths() {
    let proxy = TestProxy::open().await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\n\r\n";
    let seen = proxy.seen(GET, chunked).await.text();
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    assert_eq!(header(head, "transfer-encoding"), Some("chunked"));
    assert_eq!(body, "2\r\nok\r\n0\r\n\r\n");
    let seen = proxy.seen(GET, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.text();
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        (header(head, "content-length"), header(head, "transfer-encoding")),
        (Some("2"), None)
    );
    assert_eq!(body, "ok");
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_ends_well() {
    let proxy = TestProxy::open().await;
    let seen = proxy.seen(GET, "HTTP/1.0 200 OK\r\n\r\nall of it").await;
    assert!(seen.is_clean);
    assert!(seen.text().ends_with("9\r\nall of it\r\n0\r\n\r\n"), "{}", seen.text());
    assert!(seen.text().contains("via: 1.0 middle\r\n"), "{}", seen.text());
}

#[tokio::test]
async fn a_client_of_http_1_0_gets_no_chunks() {
    let proxy = TestProxy::open().await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let seen = proxy.seen("GET / HTTP/1.0\r\n\r\n", chunked).await;
    assert!(seen.is_clean);
    let text = seen.text();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!((header(head, "transfer-encoding"), body), (None, "ok"));
}

#[tokio::test]
async fn request_bodies_keep_their_framing() {
    for (framing, body, sent) in [
        ("Content-Length: 5", "hello", "hello"),
        ("Content-Length: 0", "", ""),
        (
            "Transfer-Encoding: chunked",
            "5;x\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
        ),
    ] {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let proxy = TestProxy::open().await;
            let request = format!("{method} / HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n{body}");
            let _client = proxy.say(&request).await;
            let mut upstream = proxy.hear().await;
            let head = upstream.head().await.to_lowercase();
            assert!(head.contains(&framing.to_lowercase()), "{method} {framing}: {head}");
            if !sent.is_empty() {
                assert_eq!(upstream.until(sent).await, sent, "{method} {framing}");
            }
        }
    }
}

#[tokio::test]
async fn trailers_are_dropped_and_counted() {
    let proxy = TestProxy::open().await;
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n";
    let request = "GET / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nConnection: close\r\n\r\n";
    let seen = proxy.seen(request, answer).await.text();
    assert!(seen.ends_with("2\r\nok\r\n0\r\n\r\n"), "{seen}");
    assert_eq!(header(&seen, "trailer"), None);
    assert_eq!(proxy.counts.trailers_dropped.get(), 1);
}

#[tokio::test]
async fn a_body_that_waits_for_its_expectation_is_asked_for_by_the_upstream() {
    let proxy = TestProxy::open().await;
    let request = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let mut client = proxy.say(request).await;
    let mut upstream = proxy.hear().await;
    let head = upstream.head().await;
    assert_eq!(header(&head, "expect"), Some("100-continue"));
    upstream.say("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.say("ok").await;
    assert_eq!(upstream.until("ok").await, "ok");
    upstream.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
    assert!(client.head().await.starts_with("HTTP/1.1 201 "));
}

#[tokio::test]
async fn an_expectation_that_fails_is_never_continued() {
    let proxy = TestProxy::open().await;
    let request = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    let seen = proxy.seen(request, answer).await;
    assert_eq!(seen.status(), 413);
    assert!(!seen.text().contains("100 Continue"), "{}", seen.text());
}

#[tokio::test]
async fn an_upstream_that_knows_no_expectation_gets_the_body_after_a_while() {
    let proxy = TestProxy::open().await;
    let request = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let mut client = proxy.say(request).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.say("ok").await;
    upstream.until("ok").await;
}
