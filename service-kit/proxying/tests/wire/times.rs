//! What takes too long fails, each in its own way.

use std::time::Duration;

use crate::fixture::{Raw, TestProxy, bounds, serve, status, until};
use proxying::Bounds;
use socket2::{Domain, Socket, Type};
use tokio::net::TcpStream;

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
/// For what is to be too late.
const SHORT: Duration = Duration::from_millis(300);
/// For what must happen before something is too late, also on a busy machine.
const ENOUGH: Duration = Duration::from_millis(1500);

#[tokio::test]
async fn an_upstream_that_does_not_listen_is_a_bad_gateway() {
    let proxy = TestProxy::open().await;
    let TestProxy { address, counts, upstream } = proxy;
    drop(upstream);
    let mut client = Raw(TcpStream::connect(address).await.unwrap());
    client.say(GET).await;
    assert_eq!(status(&client.head().await), 502);
    assert_eq!(counts.connect_failed.get(), 1);
}

/// A full backlog: the kernel leaves what else would connect without an answer.
#[tokio::test]
async fn an_upstream_that_does_not_accept_is_too_late() {
    let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    full.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    full.listen(0).unwrap();
    let address = full.local_addr().unwrap().as_socket().unwrap();
    let mut held = Vec::new();
    while let Ok(connected) = tokio::time::timeout(SHORT, TcpStream::connect(address)).await {
        held.push(connected.unwrap());
    }
    let never = Duration::from_secs(3600);
    for (connect, whole) in [(SHORT, never), (never, SHORT)] {
        let (address, counts) = serve(address, Bounds { connect, whole, ..bounds() }, false).await;
        let mut client = Raw(TcpStream::connect(address).await.unwrap());
        client.say(GET).await;
        assert_eq!(status(&client.head().await), 504);
        assert_eq!(counts.connect_slow.get(), 1);
    }
}

#[tokio::test]
async fn an_upstream_that_says_nothing_is_too_late() {
    for said in ["", "HTTP/1.1 200 OK\r\nContent-Le"] {
        let proxy = TestProxy::with(Bounds { first_byte: SHORT, ..bounds() }).await;
        let mut client = proxy.say(GET).await;
        let mut upstream = proxy.hear().await;
        upstream.head().await;
        upstream.say(said).await;
        assert_eq!(status(&client.head().await), 504, "{said:?}");
        assert_eq!(proxy.counts.first_byte_slow.get(), 1);
        upstream.end().await;
        until(|| proxy.counts.open.get() == 0).await;
    }
}

#[tokio::test]
async fn the_whole_has_its_time_before_the_head() {
    let proxy = TestProxy::with(Bounds { whole: ENOUGH, ..bounds() }).await;
    let mut client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    assert_eq!(status(&client.head().await), 504);
    assert_eq!(proxy.counts.whole_slow.get(), 1);
    upstream.end().await;
}

#[tokio::test]
async fn the_whole_has_its_time_after_the_head() {
    for reads in [true, false] {
        let proxy = TestProxy::with(Bounds { whole: ENOUGH, ..bounds() }).await;
        let mut client = proxy.say(GET).await;
        let mut upstream = proxy.hear().await;
        upstream.head().await;
        upstream.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
        if reads {
            let seen = client.end().await;
            assert!(seen.text().ends_with("hello\r\n"), "{}", seen.text());
        } else {
            // As much as it takes for the client's buffers to be full, and then some.
            let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
            while tokio::io::AsyncWriteExt::write_all(&mut upstream.0, piece.as_bytes())
                .await
                .is_ok()
            {}
        }
        until(|| proxy.counts.open.get() == 0).await;
        until(|| reads == (proxy.counts.broken_off.get() == 1)).await;
        assert_eq!(proxy.counts.completed.get(), 0);
    }
}

#[tokio::test]
async fn a_client_that_does_not_send_its_body_is_too_late() {
    for (framing, part) in [
        ("Content-Length: 100", "hello"),
        ("Content-Length: 100000", "hello"),
        ("Transfer-Encoding: chunked", ""),
    ] {
        let proxy = TestProxy::with(Bounds { first_byte: SHORT, ..bounds() }).await;
        let mut client =
            proxy.say(format!("POST / HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n{part}")).await;
        assert_eq!(status(&client.head().await), 408, "{framing}");
        assert_eq!(proxy.counts.body_slow.get(), 1, "{framing}");
    }
}

/// Time counts from the last movement of the body, so that a long upload is no late answer.
#[tokio::test]
async fn an_upload_that_moves_is_not_too_late() {
    let proxy = TestProxy::with(Bounds { first_byte: ENOUGH, ..bounds() }).await;
    let mut client =
        proxy.say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    let begun = std::time::Instant::now();
    while begun.elapsed() < 2 * ENOUGH {
        client.say("1\r\nx\r\n").await;
        upstream.until("x\r\n").await;
    }
    client.say("0\r\n\r\n").await;
    upstream.until("0\r\n\r\n").await;
    upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&client.head().await), 200);
}
