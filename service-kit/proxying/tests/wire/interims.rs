//! Interim answers of the upstream, and who gets them.

use crate::fixture::{TestProxy, patiently, until};

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const HINTS: &str =
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX-Own: 1\r\nConnection: x-own\r\n\r\n";
const SEEN_HINTS: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\nvia: 1.1 middle\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn a_client_has_hints_before_there_is_an_answer() {
    let proxy = TestProxy::open().await;
    let mut client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say(HINTS).await;
    assert_eq!(client.head().await, SEEN_HINTS);
    upstream.say(OK).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(client.end().await.text(), "ok");
    assert_eq!(proxy.counts.interims.get(), 1);
}

/// Every one of them, in turn, however they come; `100 Continue` as well where nobody was waiting for it.
#[tokio::test]
async fn all_interim_answers_come_before_the_answer() {
    let processing = "HTTP/1.1 102 Processing\r\n\r\n";
    let unknown = "HTTP/1.1 199 Whatever\r\n\r\n";
    let proceed = "HTTP/1.1 100 Continue\r\n\r\n";
    let answers = [processing, HINTS, unknown, proceed, OK].concat();
    let text = TestProxy::open().await.seen(GET, &answers).await.text();
    let heads: Vec<&str> = text.split_inclusive("\r\n\r\n").collect();
    let via = "via: 1.1 middle\r\n\r\n";
    assert_eq!(heads[0], format!("HTTP/1.1 102 Processing\r\n{via}"));
    assert_eq!(heads[1], SEEN_HINTS);
    assert_eq!(heads[2], format!("HTTP/1.1 199 \r\n{via}"));
    assert_eq!(heads[3], format!("HTTP/1.1 100 Continue\r\n{via}"));
    assert!(heads[4].starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(heads[5..], ["ok"]);
}

#[tokio::test]
async fn a_client_of_http_1_0_gets_none() {
    let proxy = TestProxy::open().await;
    let seen = proxy.seen("GET / HTTP/1.0\r\n\r\n", &[HINTS, OK].concat()).await;
    assert!(seen.text().starts_with("HTTP/1.0 200 OK\r\n"), "{}", seen.text());
    assert_eq!(proxy.counts.interims.get(), 0);
}

/// The answer before it may still be on its way when the next request is taken up.
#[tokio::test]
async fn interim_answers_stay_between_the_messages() {
    let proxy = TestProxy::open().await;
    let requests = ["GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", GET].concat();
    let mut client = proxy.say(requests).await;
    let mut upstream = proxy.hear().await;
    // More than fits into the buffers of the kernel.
    let long = "x".repeat(16 << 20);
    let whole = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}", long.len());
    let hints = HINTS.repeat(3);
    let upstream = async {
        upstream.head().await;
        upstream.say(whole).await;
        upstream.head().await;
        upstream.say([&hints, OK].concat()).await;
    };
    let client = async {
        client.head().await;
        let mut body = vec![0; long.len()];
        patiently(tokio::io::AsyncReadExt::read_exact(&mut client.0, &mut body)).await.unwrap();
        assert!(body.iter().all(|byte| *byte == b'x'));
        client.end().await.text()
    };
    let ((), rest) = tokio::join!(upstream, client);
    assert!(rest.starts_with(&format!("{}HTTP/1.1 200 OK\r\n", SEEN_HINTS.repeat(3))), "{rest}");
}

#[tokio::test]
async fn hints_come_while_a_body_is_passed_on() {
    let proxy = TestProxy::open().await;
    let length = "Content-Length: 100000";
    let mut client = proxy.say(format!("POST / HTTP/1.1\r\nHost: h\r\n{length}\r\n\r\n")).await;
    client.say("x".repeat(50_000)).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say(HINTS).await;
    assert_eq!(client.head().await, SEEN_HINTS);
    client.say(format!("{}y", "x".repeat(49_999))).await;
    upstream.until("y").await;
    upstream.say(OK).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
}

/// That which the client waits for is said once, by whoever reads its body; others are passed on.
#[tokio::test]
async fn an_expectation_is_met_once() {
    let proxy = TestProxy::open().await;
    let request = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let mut client = proxy.say(request).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say(HINTS).await;
    assert_eq!(client.head().await, SEEN_HINTS);
    upstream.say("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.say("ok").await;
    upstream.until("ok").await;
    upstream.say(OK).await;
    assert!(client.head().await.starts_with("HTTP/1.1 200 OK\r\n"));
}

/// An upstream that says nothing else is too late all the same, and holds nothing but a few of them.
#[tokio::test]
async fn a_flood_of_interim_answers_has_an_end() {
    let bounds = proxying::Bounds {
        first_byte: std::time::Duration::from_millis(300),
        ..crate::fixture::bounds()
    };
    let proxy = TestProxy::with(bounds).await;
    let mut client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    let flood = async {
        use tokio::io::AsyncWriteExt;
        while upstream.0.write_all(HINTS.as_bytes()).await.is_ok() {}
    };
    let ((), seen) = tokio::join!(flood, client.end());
    let text = seen.text();
    assert!(text.starts_with(SEEN_HINTS));
    assert!(text.contains("\r\n\r\nHTTP/1.1 504 "), "{}", &text[text.len() - 300..]);
    until(|| proxy.counts.open.get() == 0).await;
}
