//! Bodies stream both ways, held back where nobody reads.

use std::io::ErrorKind;

use crate::fixture::{Raw, TestProxy, patiently, status, until};
use tokio::io::AsyncReadExt;

/// Each byte arrives before the next one is sent: nothing waits to be more.
#[tokio::test]
async fn byte_by_byte_in_both_directions() {
    let proxy = TestProxy::open().await;
    let mut client =
        proxy.say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    for byte in "hello".chars() {
        client.say(format!("1\r\n{byte}\r\n")).await;
        assert_eq!(upstream.until("\r\n").await, "1\r\n");
        assert_eq!(upstream.until("\r\n").await, format!("{byte}\r\n"));
    }
    client.say("0\r\n\r\n").await;
    upstream.until("0\r\n\r\n").await;
    for byte in "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".bytes() {
        upstream.say([byte]).await;
        tokio::task::yield_now().await;
    }
    client.head().await;
    for byte in ["w", "o", "r", "l", "d"] {
        upstream.say(byte).await;
        assert_eq!(client.until(byte).await, byte);
    }
    assert_eq!(proxy.counts.bytes_up.get(), 5);
    assert_eq!(proxy.counts.bytes_down.get(), 5);
}

/// An answer may begin before the request has ended, and both go on.
#[tokio::test]
async fn both_directions_at_a_time() {
    let proxy = TestProxy::open().await;
    let mut client =
        proxy.say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    assert_eq!(status(&client.head().await), 200);
    for _ in 0..3 {
        client.say("4\r\nping\r\n").await;
        upstream.until("ping\r\n").await;
        upstream.say("4\r\npong\r\n").await;
        client.until("pong\r\n").await;
    }
    client.say("0\r\n\r\n").await;
    upstream.until("0\r\n\r\n").await;
    upstream.say("0\r\n\r\n").await;
    client.until("0\r\n\r\n").await;
    until(|| proxy.counts.completed.get() == 1).await;
}

const LENGTH: usize = 100 << 20;

/// The most that this process ever held in memory, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

async fn write(to: &mut Raw, length: usize) {
    let piece = vec![b'x'; 64 << 10];
    let mut left = length;
    while left > 0 {
        let part = &piece[..piece.len().min(left)];
        to.say(part).await;
        left -= part.len();
    }
}

async fn read(from: &mut Raw, length: usize) {
    let mut buffer = vec![0; 64 << 10];
    let mut left = length;
    while left > 0 {
        let count = patiently(from.0.read(&mut buffer)).await.unwrap();
        assert!(count > 0 && buffer[..count].iter().all(|byte| *byte == b'x'));
        left -= count;
    }
}

#[tokio::test]
async fn a_large_body_each_way_is_never_held_whole() {
    let proxy = TestProxy::open().await;
    let head = format!("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {LENGTH}\r\n\r\n");
    let mut client = proxy.say(head).await;
    let (mut upstream, ()) = tokio::join!(
        async {
            let mut upstream = proxy.hear().await;
            upstream.head().await;
            read(&mut upstream, LENGTH).await;
            upstream
        },
        write(&mut client, LENGTH),
    );
    upstream.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n")).await;
    client.head().await;
    tokio::join!(write(&mut upstream, LENGTH), read(&mut client, LENGTH));
    assert!(peak() < LENGTH, "{} bytes were held", peak());
}

/// Whoever does not read stops the other side: what is under way is bounded.
#[tokio::test]
async fn a_client_that_does_not_read_stops_the_upstream() {
    let proxy = TestProxy::open().await;
    let mut client = proxy.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n").await;
    let mut upstream = proxy.hear().await;
    upstream.head().await;
    upstream.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n")).await;
    client.head().await;
    let piece = vec![b'x'; 64 << 10];
    let mut sent = 0;
    // As long as the proxy moves anything, the upstream may write; then it may not, for good.
    loop {
        let seen = proxy.counts.bytes_down.get();
        match upstream.0.try_write(&piece) {
            Ok(written) => sent += written,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                let can_write = tokio::time::timeout(
                    std::time::Duration::from_millis(200),
                    upstream.0.writable(),
                );
                if can_write.await.is_err() && seen == proxy.counts.bytes_down.get() {
                    break;
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    // The kernel's buffers on both sides are most of it.
    assert!(sent < LENGTH / 2, "{sent} bytes are under way");
    tokio::join!(write(&mut upstream, LENGTH - sent), read(&mut client, LENGTH));
    assert_eq!(proxy.counts.bytes_down.get(), LENGTH as u64);
}
