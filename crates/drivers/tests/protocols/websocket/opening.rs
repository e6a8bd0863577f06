//! Operations that open a socket.

use engine::clock::{Clock, Virtual};
use record::{FailureKind, Outcome};

use super::stand::{Server, over_connection, perform};

const MS: u64 = 1_000_000;
const OPEN: &str = "websocket = { path = \"/feed/{{sequence}}\" }";

#[test]
fn an_opening_ends_with_the_handshake_and_closes_its_socket() {
    over_connection(
        OPEN,
        async |mut server: Server, clock: Virtual| {
            clock.sleep_until(clock.now() + 3 * MS).await;
            let head = server.agree(b"").await;
            assert!(head.starts_with("GET /feed/7 HTTP/1.1\r\nhost: chat.example\r\n"), "{head}");
            assert_eq!(server.hear().await, (0x88, "\u{3}\u{fffd}".to_owned()), "1000");
        },
        async |operation, client| {
            let mut client = client.expect("a connection");
            let mut one = client.stream();
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, 7, &mut one).await, Outcome::Succeeded);
            assert_eq!(one.1.read_at - began_at, 3 * MS);
            assert_eq!((one.1.status.to_string().as_str(), one.1.reusable), ("101", false));
        },
    );
}

#[track_caller]
fn check(answer: &'static [u8], kind: FailureKind, detail: &'static str) {
    over_connection(
        OPEN,
        async move |mut server: Server, _| {
            server.hear_handshake().await;
            server.say(answer).await;
        },
        async move |operation, client| {
            let mut one = client.expect("a connection").stream();
            let outcome = perform(&operation, 0, &mut one).await;
            let seen = one.1.detail.clone().unwrap_or_default();
            assert_eq!(outcome, Outcome::Failed(kind), "{seen}");
            assert!(seen.contains(detail), "{seen}");
            assert!(!one.1.reusable);
        },
    );
}

#[test]
fn a_handshake_that_is_refused_or_broken_is_a_failure() {
    let refused = b"HTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\nno";
    check(refused, FailureKind::Status, "the server answered 429");
    check(b"", FailureKind::Closed, "within the handshake");
    check(b"HTTP/1.1 101", FailureKind::Closed, "within the handshake");
    check(b"\x00\x01\x02\r\n\r\n", FailureKind::Malformed, "is not HTTP/1");
    check(b"HTTP/1.1 101 x\r\n\r\n", FailureKind::Malformed, "no `upgrade: websocket`");
    let accept = b"HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                   sec-websocket-accept: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n\r\n";
    check(accept, FailureKind::Malformed, "does not belong to the handshake's key");
}

#[test]
fn a_head_without_end_is_bounded() {
    over_connection(
        OPEN,
        async |mut server: Server, _| {
            server.hear_handshake().await;
            server.say(b"HTTP/1.1 101 x\r\nx: ").await;
            for _ in 0..100 {
                server.say(&[b'y'; 1024]).await;
            }
        },
        async |operation, client| {
            let mut one = client.expect("a connection").stream();
            let outcome = perform(&operation, 0, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge));
        },
    );
}
