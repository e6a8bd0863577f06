//! Whole exchanges over an in-memory connection: what is sent, what an answer counts as, and
//! whether the connection lives on.

use drivers::http::answer::BODY_LIMIT;
use record::{FailureKind, Outcome};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http1::peer::{answered, memory, perform};
use crate::http1::stand::{exchange, operation, run};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

#[track_caller]
fn check_failure(text: &str, pieces: &[&[u8]], kind: FailureKind, detail: &str) {
    let (outcome, exchange) = answered(&operation(text), pieces);
    assert_eq!(outcome, Outcome::Failed(kind), "{:?}", exchange.detail);
    assert_eq!(exchange.detail.as_deref(), Some(detail));
}

#[test]
fn a_kept_connection_carries_one_operation_after_the_other() {
    let operation = operation("http = { path = \"/page-{{sequence}}\" }");
    run(async {
        let (mut conversation, mut peer) = memory(1024);
        let mut exchange = exchange(&operation);
        let request = format!(
            "GET /page-0 HTTP/1.1\r\nhost: example.test:8080\r\nuser-agent: proofload/{}\r\n\
             accept: */*\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        for _ in 0..3 {
            let serve = async {
                let seen = peer.read_head().await;
                peer.send(&[OK]).await;
                seen
            };
            let (outcome, seen) =
                tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
            assert_eq!(String::from_utf8_lossy(&seen), request);
            assert_eq!(outcome, Outcome::Succeeded);
            assert!(exchange.reusable);
            assert_eq!(exchange.status, 200);
            assert_eq!(exchange.bytes_sent, request.len() as u64);
            assert_eq!(exchange.bytes_received, OK.len() as u64);
            assert_eq!(exchange.spans.get(2), Some(1), "one tick from start to first byte");
        }
    });
}

#[test]
fn a_traced_request_carries_the_ids_of_its_call() {
    let mut planned = crate::http1::stand::planned("http = { path = \"/\" }");
    planned.is_traced = true;
    let operation = drivers::http1::compile::operation(&planned).expect("it compiles");
    let ids = plan::trace::TraceContext {
        trace_id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736.try_into().expect("not 0"),
        parent_id: 0x00f0_67aa_0ba9_02b7.try_into().expect("not 0"),
    };
    run(async {
        let (mut conversation, mut peer) = memory(1024);
        for (trace, lines) in [
            (
                Some(ids),
                vec!["traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
            ),
            (None, vec![]),
        ] {
            let call = engine::driver::Call { trace, ..crate::http1::stand::call(0) };
            let mut exchange = exchange(&operation);
            operation.encode(&mut conversation, &call);
            let serve = async {
                let seen = peer.read_head().await;
                peer.send(&[OK]).await;
                String::from_utf8(seen).expect("text")
            };
            let asking = operation.perform(&mut conversation, &mut exchange);
            let (outcome, seen) = tokio::join!(asking, serve);
            assert_eq!(outcome, Outcome::Succeeded);
            let ours: Vec<&str> =
                seen.lines().filter(|line| line.starts_with("traceparent")).collect();
            assert_eq!(ours, lines);
        }
    });
}

#[test]
fn requests_that_follow_a_redirect_have_the_ids_of_their_operation() {
    let mut planned = crate::http1::stand::planned("http = { path = \"/\", follow = 2 }");
    planned.is_traced = true;
    let operation = drivers::http1::compile::operation(&planned).expect("it compiles");
    let ids = plan::trace::TraceContext {
        trace_id: 0xabc_u128.try_into().expect("not 0"),
        parent_id: 0xdef_u64.try_into().expect("not 0"),
    };
    run(async {
        let (mut conversation, mut peer) = memory(1024);
        let call = engine::driver::Call { trace: Some(ids), ..crate::http1::stand::call(0) };
        let mut exchange = exchange(&operation);
        operation.encode(&mut conversation, &call);
        let serve = async {
            let mut seen = Vec::new();
            for answer in [
                &b"HTTP/1.1 302 Found\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n"[..],
                b"HTTP/1.1 307 X\r\nlocation: /c\r\ncontent-length: 0\r\n\r\n",
                OK,
            ] {
                let head = String::from_utf8(peer.read_head().await).expect("text");
                seen.extend(
                    head.lines().find(|line| line.starts_with("traceparent")).map(str::to_owned),
                );
                peer.send(&[answer]).await;
            }
            seen
        };
        let asking = operation.perform(&mut conversation, &mut exchange);
        let (outcome, seen) = tokio::join!(asking, serve);
        assert_eq!(outcome, Outcome::Succeeded);
        let line = format!("traceparent: 00-{:032x}-{:016x}-01", 0xabc, 0xdef);
        assert_eq!(seen, [line.as_str(); 3]);
    });
}

#[test]
fn a_header_of_the_experiment_beside_a_traced_one_is_refused() {
    for text in [
        "http = { header = { Traceparent = \"00-1-2-01\" } }",
        "http = { header = { traceparent = \"{{token}}\" } }",
    ] {
        let mut planned = crate::http1::stand::planned(text);
        assert!(drivers::http1::compile::operation(&planned).is_ok());
        planned.is_traced = true;
        let problems = drivers::http1::compile::operation(&planned).expect_err("it is refused");
        let messages: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
        let expected = "both this operation and `[trace]` set the header `traceparent`";
        assert_eq!(messages, [expected]);
    }
}

#[test]
fn every_cut_of_an_answer_gives_the_same_outcome() {
    let operation =
        operation("http = {}\nexpect = { contains = \"hello\", header = { x = \"y\" } }");
    let answer: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nx: y\r\n\
        transfer-encoding: chunked\r\n\r\n3;e=1\r\nhel\r\n2\r\nlo\r\n0\r\nt: u\r\n\r\n";
    for at in 0..=answer.len() {
        let (first, second) = answer.split_at(at);
        let (outcome, exchange) = answered(&operation, &[first, second]);
        assert_eq!(outcome, Outcome::Succeeded, "cut at {at}: {:?}", exchange.detail);
        assert!(exchange.reusable, "cut at {at}");
        assert_eq!(exchange.bytes_received, answer.len() as u64, "cut at {at}");
    }
    let bytes: Vec<&[u8]> = answer.chunks(1).collect();
    assert_eq!(answered(&operation, &bytes).0, Outcome::Succeeded);
}

#[test]
fn statuses_from_400_are_failures_and_redirects_are_not() {
    let operation = operation("http = {}");
    for (status, outcome) in [
        (204, Outcome::Succeeded),
        (302, Outcome::Succeeded),
        (404, Outcome::Failed(FailureKind::Status)),
        (503, Outcome::Failed(FailureKind::Status)),
    ] {
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        let (seen, exchange) = answered(&operation, &[answer.as_bytes()]);
        assert_eq!((seen, exchange.status.code()), (outcome, status));
        assert!(exchange.reusable, "a complete answer leaves the connection usable: {status}");
    }
    let (_, exchange) = answered(&operation, &[b"HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n"]);
    assert_eq!(exchange.detail.as_deref(), Some("status 500, expected 2xx, 3xx"));
}

#[test]
fn a_peer_that_closes_early_is_closed_and_where() {
    let closed = FailureKind::Closed;
    let prefix = "the peer closed the connection ";
    check_failure("http = {}", &[], closed, &format!("{prefix}before the answer"));
    let head = format!("{prefix}after 11 bytes of the head of the answer");
    check_failure("http = {}", &[b"HTTP/1.1 20"], closed, &head);
    let body = format!("{prefix}after 4 of 10 bytes of the body");
    let lying = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour";
    check_failure("http = {}", &[lying], closed, &body);
    let chunk = format!("{prefix}after 4 bytes of the body, before its end");
    let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nfour";
    check_failure("http = {}", &[cut], closed, &chunk);
}

#[test]
fn garbage_is_malformed_and_said_so() {
    check_failure(
        "http = {}",
        &[b"220 mail.example ESMTP\r\n"],
        FailureKind::Malformed,
        "the head of the answer is not HTTP/1: invalid HTTP version",
    );
    check_failure(
        "http = {}",
        &[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more"],
        FailureKind::Malformed,
        "9 bytes after the end of the answer",
    );
}

#[test]
fn an_endless_head_is_too_large() {
    let field = b"x-filler: 0123456789012345678901234567890123456789\r\n".repeat(20);
    let mut pieces: Vec<&[u8]> = vec![b"HTTP/1.1 200 OK\r\nx: "];
    pieces.resize(2000, &field[10..40]);
    let detail = "the head of the answer is longer than 65536 bytes";
    check_failure("http = {}", &pieces.repeat(2), FailureKind::TooLarge, detail);
    let mut pieces: Vec<&[u8]> = vec![b"HTTP/1.1 200 OK\r\n"];
    pieces.resize(200, &field);
    let detail = "the answer has more than 256 header fields";
    check_failure("http = {}", &pieces, FailureKind::TooLarge, detail);
}

#[test]
fn a_length_that_lies_short_shows_at_the_next_use() {
    let operation = operation("http = {}");
    run(async {
        let (mut conversation, mut peer) = memory(1024);
        let mut exchange = exchange(&operation);
        let serve = async {
            peer.read_head().await;
            peer.send(&[OK]).await;
        };
        let (outcome, ()) =
            tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(outcome, Outcome::Succeeded);
        peer.send(&[b"more"]).await;
        conversation.idle().await;
        let outcome = perform(&operation, &mut conversation, &mut exchange).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::Malformed));
        let detail = "4 bytes came before the request was sent";
        assert_eq!(exchange.detail.as_deref(), Some(detail));
        assert_eq!(exchange.bytes_sent, 0);
        assert!(!exchange.reusable);
    });
}

#[test]
fn an_idle_connection_that_was_closed_is_noticed() {
    let operation = operation("http = {}");
    run(async {
        let (mut conversation, peer) = memory(1024);
        {
            let idle = std::pin::pin!(conversation.idle());
            let waits = futures_poll_once(idle).await;
            assert!(waits, "idle while the peer is there");
        }
        drop(peer);
        conversation.idle().await;
        let mut exchange = exchange(&operation);
        let outcome = perform(&operation, &mut conversation, &mut exchange).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::Closed));
    });
}

/// Polls once; whether it is still waiting.
async fn futures_poll_once(mut future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(future.as_mut().poll(context).is_pending())
    })
    .await
}

#[test]
fn a_body_that_nobody_needs_is_skipped_in_constant_memory() {
    let operation = operation("http = {}\nexpect = { body_size = \"2GiB\" }");
    run(async {
        let (mut conversation, mut peer) = memory(256 * 1024);
        let mut exchange = exchange(&operation);
        let serve = async {
            peer.read_head().await;
            peer.send(&[b"HTTP/1.1 200 OK\r\ncontent-length: 2147483648\r\n\r\n"]).await;
            let piece = vec![b'x'; 256 * 1024];
            for _ in 0..8192 {
                peer.0.write_all(&piece).await.unwrap();
            }
        };
        let (outcome, ()) =
            tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert_eq!(exchange.bytes_received, 2_147_483_648 + 47);
    });
}

#[test]
fn a_body_that_is_needed_has_a_limit() {
    let body = vec![b'x'; BODY_LIMIT + 1];
    check_failure(
        "http = {}\nexpect = { contains = \"x\" }",
        &[b"HTTP/1.1 200 OK\r\n\r\n", &body],
        FailureKind::TooLarge,
        "the body must be read, but is longer than 16777216 bytes",
    );
}

#[test]
fn a_long_body_is_sent_whole() {
    let body = "0123456789".repeat(100_000);
    let operation = operation(&format!("http = {{ body = \"{body}\" }}"));
    run(async {
        let (mut conversation, mut peer) = memory(1024);
        let mut exchange = exchange(&operation);
        let serve = async {
            let head = peer.read_head().await;
            let mut seen = vec![0; 1_000_000];
            peer.0.read_exact(&mut seen).await.unwrap();
            peer.send(&[OK]).await;
            (head, seen)
        };
        let (outcome, (head, seen)) =
            tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert!(exchange.reusable);
        assert_eq!(exchange.bytes_sent, (head.len() + seen.len()) as u64);
        assert!(String::from_utf8_lossy(&head).ends_with("content-length: 1000000\r\n\r\n"));
        assert!(seen == body.as_bytes());
    });
}

#[test]
fn an_answer_before_the_request_is_out_counts_and_ends_the_connection() {
    let body = "0123456789".repeat(100_000);
    let operation = operation(&format!("http = {{ body = \"{body}\" }}"));
    run(async {
        let (mut conversation, mut peer) = memory(1024);
        let mut exchange = exchange(&operation);
        let serve = async {
            peer.read_head().await;
            peer.send(&[b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n"]).await;
        };
        let (outcome, ()) =
            tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
        assert_eq!(exchange.status, 413);
        assert!(exchange.bytes_sent < 10_000);
        assert!(!exchange.reusable, "nobody knows what the peer reads next");
    });
}

#[test]
fn an_answer_survives_a_peer_that_stops_reading() {
    let body = "0123456789".repeat(100_000);
    let operation = operation(&format!("http = {{ body = \"{body}\" }}"));
    let answer: &[u8] = b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
    let (outcome, exchange) = answered(&operation, &[answer]);
    assert_eq!((outcome, exchange.status.code()), (Outcome::Failed(FailureKind::Status), 413));
    let (outcome, exchange) = answered(&operation, &[]);
    assert_eq!(outcome, Outcome::Failed(FailureKind::Reset), "{:?}", exchange.detail);
}

#[test]
fn the_answer_to_head_has_no_body() {
    let operation = operation("http = { method = \"HEAD\" }");
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n";
    let (outcome, exchange) = answered(&operation, &[head]);
    assert_eq!(outcome, Outcome::Succeeded);
    assert!(exchange.reusable);
}
