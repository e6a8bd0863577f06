//! What breaks off on one side breaks off on the other.

use crate::fixture::{TestProxy, status, until};

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

#[tokio::test]
async fn an_answer_that_breaks_off_never_ends_well() {
    for (version, answer, says_its_end) in [
        ("1.1", "Content-Length: 10\r\n\r\nhello", true),
        ("1.1", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true),
        ("1.1", "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", true),
        ("1.1", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz", true),
        // Where the end of the connection is the end of the answer, that end must not be a clean one.
        ("1.0", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false),
    ] {
        let proxy = TestProxy::open().await;
        let request = format!("GET / HTTP/{version}\r\nHost: h\r\n\r\n");
        let seen = proxy.seen(&request, &format!("HTTP/1.1 200 OK\r\n{answer}")).await;
        assert!(!seen.text().ends_with("0\r\n\r\n"), "{answer:?}: {}", seen.text());
        assert!(says_its_end || !seen.is_clean, "{answer:?}: {}", seen.text());
        assert_eq!(proxy.counts.broken_off.get(), 1, "{answer:?}");
        assert_eq!(proxy.counts.completed.get(), 0, "{answer:?}");
    }
}

#[tokio::test]
async fn a_client_that_resets_cancels_what_was_not_answered() {
    let proxy = TestProxy::open().await;
    let client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    client.reset();
    assert_eq!(upstream.end().await.text(), "");
    until(|| proxy.counts.cancelled.get() == 1 && proxy.counts.open.get() == 0).await;
}

#[tokio::test]
async fn a_client_that_resets_cancels_what_is_being_answered() {
    let proxy = TestProxy::open().await;
    let mut client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello").await;
    client.until("hello").await;
    client.reset();
    upstream.end().await;
    until(|| proxy.counts.cancelled.get() == 1 && proxy.counts.open.get() == 0).await;
}

/// Whether the reset comes while nothing is to be read, after the client's end, or behind another request.
#[tokio::test]
async fn a_reset_is_noticed_whatever_came_before_it() {
    for (more, shuts) in [("", true), (GET, false), (GET, true)] {
        let proxy = TestProxy::open().await;
        let mut client = proxy.say(GET).await;
        let mut upstream = proxy.hear().await;
        upstream.head().await;
        client.say(more).await;
        if shuts {
            client.shut().await;
        }
        // By the time that another client is answered, what came so far was seen.
        let mut other = proxy.say(GET).await;
        let mut its = proxy.hear().await;
        its.head().await;
        its.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        other.until("ok").await;
        assert_eq!(proxy.counts.cancelled.get(), 0);
        client.reset();
        assert_eq!(upstream.end().await.text(), "");
        until(|| proxy.counts.cancelled.get() == 1 && proxy.counts.open.get() == 1).await;
    }
}

#[tokio::test]
async fn a_client_that_only_sends_no_more_gets_its_whole_answer() {
    let proxy = TestProxy::open().await;
    let body = "x".repeat(4 << 20);
    for request in [GET, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"] {
        let mut client = proxy.say(request).await;
        client.shut().await;
        let mut upstream = proxy.hear().await;
        upstream.head().await;
        upstream.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())).await;
        let (_, seen) = tokio::join!(upstream.say(&body), client.end());
        assert!(seen.is_clean);
        assert!(seen.text().ends_with(&format!("\r\n\r\n{body}")), "{} bytes", seen.bytes.len());
        drop(upstream);
    }
    until(|| proxy.counts.completed.get() == 2).await;
    assert_eq!(proxy.counts.cancelled.get(), 0);
}

#[tokio::test]
async fn all_requests_before_the_clients_end_are_answered() {
    let proxy = TestProxy::open().await;
    let mut client = proxy.say([GET, GET].concat()).await;
    client.shut().await;
    let mut upstream = proxy.hear().await;
    for _ in 0..2 {
        upstream.head().await;
        upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    }
    let seen = client.end().await;
    assert_eq!((seen.text().matches("\r\n\r\nok").count(), seen.is_clean), (2, true));
}

#[tokio::test]
async fn a_client_that_breaks_off_its_body_breaks_off_the_request() {
    let long = format!("{}hello", "x".repeat(50_000));
    for (framing, part) in
        [("Content-Length: 100000", &*long), ("Transfer-Encoding: chunked", "5\r\nhello\r\n")]
    {
        let proxy = TestProxy::open().await;
        let client =
            proxy.say(format!("POST / HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n{part}")).await;
        let mut upstream = proxy.hear().await;
        upstream.head().await;
        upstream.until("hello").await;
        drop(client);
        let rest = upstream.end().await;
        assert!(!rest.text().ends_with("0\r\n\r\n"), "{framing}: {rest:?}");
        until(|| proxy.counts.open.get() == 0).await;
    }
}

/// A short body is had before the upstream is bothered.
#[tokio::test]
async fn a_short_body_that_breaks_off_reaches_nobody() {
    let proxy = TestProxy::open().await;
    drop(proxy.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhello").await);
    until(|| proxy.counts.body_broken.get() + proxy.counts.cancelled.get() == 1).await;
    assert_eq!(proxy.counts.connected.get(), 0);
}

/// A client that is still sending sees the answer, and no reset.
#[tokio::test]
async fn an_answer_before_the_end_of_the_request_is_seen() {
    let proxy = TestProxy::open().await;
    let mut client =
        proxy.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n").await;
    client.say(vec![b'x'; 1 << 20]).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n").await;
    // Not read before all of this was said to whoever has answered already.
    client.say(vec![b'x'; 4 << 20]).await;
    assert_eq!(status(&client.head().await), 413);
    assert!(client.end().await.is_clean);
}
