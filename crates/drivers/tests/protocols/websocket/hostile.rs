//! Servers that break the rules.

use record::{FailureKind, Outcome};

use super::stand::{Server, frame, over_connection, perform, text};

/// What the server says in place of an answer, and how that is counted.
#[track_caller]
fn check(said: Vec<u8>, kind: FailureKind) {
    over_connection(
        "websocket = { body = \"x\", answer = \"never\" }",
        async move |mut server: Server, _| {
            server.agree(b"").await;
            server.hear().await;
            server.say(&said).await;
        },
        async move |operation, client| {
            let mut one = client.expect("a socket").stream();
            let outcome = perform(&operation, 0, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(kind), "{:?}", one.1.detail);
            assert!(!one.1.reusable);
        },
    );
}

#[test]
fn broken_frames_end_the_socket() {
    let malformed = FailureKind::Malformed;
    check(vec![0x81, 0x81, 1, 2, 3, 4, 5], malformed); // masked by the server
    check(frame(0xc1, b"compressed"), malformed); // an extension that nobody agreed to
    check(frame(0x83, b"x"), malformed); // an opcode that does not exist
    check(frame(0x80, b"x"), malformed); // goes on with nothing
    check([frame(0x01, b"x"), frame(0x81, b"y")].concat(), malformed); // begins within another
    check(frame(0x09, b"x"), malformed); // a ping in pieces
    check(frame(0x88, b"x"), malformed); // half a code
    check(frame(0x88, b"\x03\xee"), malformed); // 1006, which is never sent
    check(frame(0x81, b"\xff\xfe"), malformed); // no UTF-8
    check([&[0x89, 126, 1, 0][..], &[b'x'; 256]].concat(), malformed); // a long ping
    check([&[0x89, 127, 0, 0, 0, 0, 0, 16, 0, 0][..], &[b'x'; 99]].concat(), malformed); // of 1 MiB
    check([&[0x81, 126, 0, 5][..], b"hello"].concat(), malformed); // a length in too many bytes
}

#[test]
fn lengths_beyond_the_limit_are_refused_before_they_are_read() {
    let large = FailureKind::TooLarge;
    check([&[0x82, 127][..], &(1u64 << 62).to_be_bytes()].concat(), large);
    check([&[0x82, 127][..], &u64::MAX.to_be_bytes()].concat(), large);
}

#[test]
fn a_connection_that_ends_without_a_close_is_closed() {
    check(Vec::new(), FailureKind::Closed);
    check(text("unasked"), FailureKind::Closed);
    check(vec![0x81, 100, b'h'], FailureKind::Closed);
    check(frame(0x01, b"a message that goes on"), FailureKind::Closed);
}

#[test]
fn fragments_without_end_are_bounded() {
    over_connection(
        "websocket = { body = \"x\" }",
        async |mut server: Server, _| {
            server.agree(b"").await;
            server.hear().await;
            let piece = [&[0x00, 127][..], &(1u64 << 20).to_be_bytes(), &[b'x'; 1 << 20]].concat();
            server.say(&frame(0x02, b"x")).await;
            for _ in 0..17 {
                server.say(&piece).await;
            }
        },
        async |operation, client| {
            let mut one = client.expect("a socket").stream();
            let outcome = perform(&operation, 0, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge));
        },
    );
}

#[test]
fn pings_whose_pongs_nobody_reads_are_bounded() {
    over_connection(
        "websocket = { body = \"x\" }",
        async |mut server: Server, _| {
            server.agree(b"").await;
            server.hear().await;
            // More than the pipe holds, both ways.
            for _ in 0..4000 {
                server.say(&frame(0x89, &[b'p'; 125])).await;
            }
        },
        async |operation, client| {
            let mut one = client.expect("a socket").stream();
            let outcome = perform(&operation, 0, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::Malformed));
            let detail = one.1.detail.expect("a detail");
            assert!(detail.contains("pings"), "{detail}");
        },
    );
}
