//! Connections are kept, bounded, known to be good, and queued for.

use std::time::Duration;

use crate::fixture::{Raw, TestProxy, bounds, header, status, until};
use proxying::Bounds;

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn exchange(client: &mut Raw, upstream: &mut Raw) {
    client.say(GET).await;
    answer(client, upstream).await;
}

async fn answer(client: &mut Raw, upstream: &mut Raw) {
    upstream.head().await;
    upstream.say(OK).await;
    assert_eq!(status(&client.until("ok").await), 200);
}

/// A client whose first request was answered, and the kept connection.
async fn kept(proxy: &TestProxy) -> (Raw, Raw) {
    let mut client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    answer(&mut client, &mut upstream).await;
    until(|| proxy.counts.idle.get() == 1).await;
    (client, upstream)
}

#[tokio::test]
async fn a_connection_is_used_again_also_for_another_client() {
    let proxy = TestProxy::open().await;
    let (mut client, mut upstream) = kept(&proxy).await;
    exchange(&mut client, &mut upstream).await;
    let mut other = proxy.say(GET).await;
    answer(&mut other, &mut upstream).await;
    assert_eq!(proxy.counts.connected.get(), 1);
    assert_eq!(proxy.counts.reused.get(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn many_threads_share_one_pool() {
    let proxy = TestProxy::with(Bounds { connections: 4, ..bounds() }).await;
    let upstream = async {
        loop {
            let mut upstream = proxy.hear().await;
            tokio::spawn(async move {
                loop {
                    upstream.head().await;
                    upstream.say(OK).await;
                }
            });
        }
    };
    let clients = async {
        let mut clients = Vec::new();
        for _ in 0..16 {
            clients.push(proxy.say(GET).await);
        }
        for _ in 0..50 {
            for client in &mut clients {
                assert_eq!(status(&client.until("ok").await), 200);
                client.say(GET).await;
            }
        }
    };
    tokio::select! {
        () = upstream => {}
        () = clients => {}
    }
    assert!(proxy.counts.connected.get() <= 4, "{}", proxy.counts.connected.get());
    assert!(proxy.counts.answered.get() >= 800);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_not_used() {
    let proxy = TestProxy::open().await;
    let (mut client, upstream) = kept(&proxy).await;
    drop(upstream);
    until(|| proxy.counts.open.get() == 0).await;
    client.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok").await;
    let mut upstream = proxy.hear().await;
    answer(&mut client, &mut upstream).await;
    assert_eq!(proxy.counts.retried.get(), 0);
}

/// What came while nobody had asked is no answer to what is asked next.
#[tokio::test]
async fn a_kept_connection_that_spoke_unasked_is_not_used() {
    let proxy = TestProxy::open().await;
    let (mut client, mut upstream) = kept(&proxy).await;
    upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad").await;
    until(|| proxy.counts.open.get() == 0).await;
    client.say(GET).await;
    let mut upstream = proxy.hear().await;
    answer(&mut client, &mut upstream).await;
}

/// A client with a request on a kept connection, which its peer then closes after reading it.
async fn lost(proxy: &TestProxy, request: &str) -> Raw {
    let (mut client, mut upstream) = kept(proxy).await;
    client.say(request).await;
    upstream.head().await;
    client
}

#[tokio::test]
async fn what_may_be_sent_twice_is_when_a_kept_connection_was_closed() {
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
        let proxy = TestProxy::open().await;
        let mut client = lost(&proxy, &GET.replace("GET", method)).await;
        let mut upstream = proxy.hear().await;
        assert!(upstream.head().await.starts_with(method));
        upstream.say("HTTP/1.1 204 No Content\r\n\r\n").await;
        assert_eq!(status(&client.head().await), 204, "{method}");
        assert_eq!(proxy.counts.retried.get(), 1);
    }
}

#[tokio::test]
async fn what_may_not_be_sent_twice_is_not() {
    for request in [
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
        "PATCH / HTTP/1.1\r\nHost: h\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok",
    ] {
        let proxy = TestProxy::open().await;
        let mut client = lost(&proxy, request).await;
        assert_eq!(status(&client.head().await), 502, "{request:?}");
        assert_eq!((proxy.counts.retried.get(), proxy.counts.connected.get()), (0, 1));
    }
}

#[tokio::test]
async fn a_second_loss_is_the_last() {
    let proxy = TestProxy::open().await;
    let mut client = lost(&proxy, GET).await;
    proxy.hear().await.head().await;
    assert_eq!(status(&client.head().await), 502);
    assert_eq!((proxy.counts.retried.get(), proxy.counts.connected.get()), (1, 2));
}

#[tokio::test]
async fn an_answer_that_has_begun_is_not_asked_for_again() {
    let proxy = TestProxy::open().await;
    let (mut client, mut upstream) = kept(&proxy).await;
    client.say(GET).await;
    upstream.head().await;
    upstream.say("HTTP/1.1 20").await;
    drop(upstream);
    assert_eq!(status(&client.head().await), 502);
    assert_eq!((proxy.counts.retried.get(), proxy.counts.connected.get()), (0, 1));
}

#[tokio::test]
async fn a_connection_whose_peer_closes_it_is_not_kept() {
    let proxy = TestProxy::open().await;
    let mut client = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok").await;
    client.until("ok").await;
    until(|| proxy.counts.open.get() == 0 && proxy.counts.completed.get() == 1).await;
    client.say(GET).await;
    let mut upstream = proxy.hear().await;
    answer(&mut client, &mut upstream).await;
}

#[tokio::test]
async fn a_connection_is_kept_for_its_time_only() {
    let proxy = TestProxy::with(Bounds { idle: Duration::from_millis(500), ..bounds() }).await;
    let (_client, mut upstream) = kept(&proxy).await;
    assert!(upstream.end().await.is_clean);
    until(|| proxy.counts.idle.get() == 0 && proxy.counts.open.get() == 0).await;
}

#[tokio::test]
async fn beyond_the_bounds_requests_wait_in_turn_and_then_are_turned_away() {
    let proxy = TestProxy::with(Bounds { connections: 1, queue: 1, ..bounds() }).await;
    let mut first = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    let mut second = proxy.say(GET).await;
    until(|| proxy.counts.waiting.get() == 1).await;
    let refused = proxy.say(GET).await.head().await;
    assert_eq!((status(&refused), header(&refused, "retry-after")), (503, Some("1")));
    upstream.say(OK).await;
    first.until("ok").await;
    answer(&mut second, &mut upstream).await;
    assert_eq!((proxy.counts.queue_full.get(), proxy.counts.connected.get()), (1, 1));
}

#[tokio::test]
async fn whoever_waited_long_enough_is_turned_away() {
    let queue_wait = Duration::from_millis(30);
    let proxy = TestProxy::with(Bounds { connections: 1, queue_wait, ..bounds() }).await;
    let _first = proxy.say(GET).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    let refused = proxy.say(GET).await.head().await;
    assert_eq!((status(&refused), header(&refused, "retry-after")), (503, Some("1")));
    assert_eq!((proxy.counts.queue_slow.get(), proxy.counts.waiting.get()), (1, 0));
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_in_order() {
    let proxy = TestProxy::open().await;
    let mut client =
        proxy.say(format!("{}{}", GET.replace("/ ", "/1 "), GET.replace("/ ", "/2 "))).await;
    let mut upstream = proxy.hear().await;
    for number in ["1", "2"] {
        assert!(upstream.head().await.starts_with(&format!("GET /{number} ")));
        upstream.say(format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}")).await;
    }
    client.until("\r\n\r\n1").await;
    client.until("\r\n\r\n2").await;
}
