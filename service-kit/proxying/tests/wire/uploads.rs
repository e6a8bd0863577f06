//! Clients that are slow to send leave the upstream to the others.

use crate::fixture::{Raw, TestProxy, bounds, status, until};
use proxying::Bounds;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A request that is there as a whole is worked on at once, or this waits for ever.
async fn is_served(proxy: &TestProxy, request: &str) {
    let mut client = proxy.say(request).await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say(OK.replace("200 OK", "200 OK\r\nConnection: close")).await;
    assert_eq!(status(&client.until("ok").await), 200);
}

/// However long they say that their bodies are, as long as little of it has come.
#[tokio::test]
async fn bodies_that_have_only_begun_take_no_connection() {
    let proxy = TestProxy::with(Bounds { connections: 2, queue: 0, ..bounds() }).await;
    let mut slow = Vec::new();
    for length in [2, 16 << 10, 100_000].repeat(30) {
        let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\nx");
        slow.push(proxy.say(head).await);
    }
    until(|| proxy.counts.requests.get() == 90).await;
    assert_eq!(proxy.counts.connected.get(), 0);
    is_served(&proxy, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello").await;
    // Neither are those turned away that are slow.
    let mut one = slow.swap_remove(0);
    one.say("y").await;
    let mut upstream = proxy.hear().await;
    upstream.until("xy").await;
    upstream.say(OK).await;
    assert_eq!(status(&one.until("ok").await), 200);
    assert_eq!(proxy.counts.queue_full.get(), 0);
}

/// A body of unknown length is passed on at once, since its client may wait for a word: but only so many at a time.
#[tokio::test]
async fn bodies_passed_on_as_they_come_leave_connections_to_others() {
    let proxy = TestProxy::with(Bounds { connections: 4, queue: 3, ..bounds() }).await;
    let begun = async || {
        let client = proxy.say(CHUNKED).await;
        let mut upstream = proxy.hear().await;
        upstream.head().await;
        (client, upstream)
    };
    let mut uploads = [begun().await, begun().await];
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(proxy.say(CHUNKED).await);
    }
    until(|| proxy.counts.uploads_waiting.get() == 3).await;
    assert_eq!(status(&proxy.say(CHUNKED).await.head().await), 503);
    is_served(&proxy, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").await;
    assert_eq!(proxy.counts.waiting.get(), 0);
    // A body that has come makes room for the next one, though its answer is still awaited.
    let (client, upstream): &mut (Raw, Raw) = &mut uploads[0];
    client.say("2\r\nhi\r\n0\r\n\r\n").await;
    upstream.until("0\r\n\r\n").await;
    proxy.hear().await.head().await;
    until(|| proxy.counts.uploads_waiting.get() == 2).await;
    upstream.say(OK).await;
    assert_eq!(status(&client.until("ok").await), 200);
}
