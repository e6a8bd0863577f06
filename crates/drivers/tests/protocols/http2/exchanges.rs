//! Whole exchanges over an in-memory connection: what is sent, what is counted, and what an answer counts as.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use drivers::http2::probe::probe;
use drivers::probe::CheckedExpectation;
use engine::clock::{Clock, Virtual};
use engine::driver::{CompileContext, Driver, Exchange};
use h2::server::Builder;
use http::{HeaderMap, Response};
use plan::diagnostic::{Colour, render};
use record::{FailureKind, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::{spawn_local, yield_now};

use crate::http2::stand::{
    Asked, answer_with, beside, body_of, call, operation, perform, planned, serve, serve_plain,
};

const MS: u64 = 1_000_000;

/// What the peer was asked by an operation: `method uri`, each field, and the body.
fn asked(text: &str) -> Vec<String> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&seen);
    let serve = |_, stream| {
        serve_plain(stream, move |(request, mut respond): Asked| {
            let told = Rc::clone(&told);
            async move {
                let mut lines = vec![format!("{} {}", request.method(), request.uri())];
                let fields = request.headers().iter();
                lines.extend(
                    fields
                        .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text"))),
                );
                lines.push(String::from_utf8(body_of(request).await).expect("text"));
                *told.borrow_mut() = lines;
                respond.send_response(Response::new(()), true).expect("the client listens");
            }
        })
    };
    let outcome = beside(serve, async |mut client| client.perform(&operation(text)).await.0);
    assert_eq!(outcome, Outcome::Succeeded, "{text}");
    seen.take()
}

#[test]
fn a_traced_request_carries_the_ids_of_its_call() {
    let mut planned = planned("http2 = { path = \"/\" }");
    planned.is_traced = true;
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    let operation = drivers::http2::driver::Http2.compile(compile).expect("it compiles");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&seen);
    let serve = |_, stream| {
        serve_plain(stream, move |(request, mut respond): Asked| {
            let value = request.headers().get("traceparent").cloned();
            told.borrow_mut().push(value.map(|value| value.to_str().expect("text").to_owned()));
            respond.send_response(Response::new(()), true).expect("the client listens");
            async {}
        })
    };
    let ids = plan::trace::TraceContext {
        trace_id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736.try_into().expect("not 0"),
        parent_id: 0x00f0_67aa_0ba9_02b7.try_into().expect("not 0"),
    };
    beside(serve, async |mut client| {
        let mut line = client.line();
        for trace in [Some(ids), None] {
            let mut exchange = Exchange::new(client.clock.clone());
            let call = engine::driver::Call { trace, ..call(0) };
            let http2 = drivers::http2::driver::Http2;
            http2.encode(&operation, &mut line, &call);
            let outcome = http2.perform(&operation, &mut line, &mut exchange).await;
            assert_eq!(outcome, Outcome::Succeeded);
        }
    });
    let expected = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert_eq!(seen.take(), [Some(expected.to_owned()), None]);
}

#[test]
fn a_request_says_what_the_table_says() {
    let agent = concat!("user-agent: proofload/", env!("CARGO_PKG_VERSION"));
    assert_eq!(asked("http2 = {}"), ["GET http://example.test:8080/", agent, "accept: */*", ""]);
    assert_eq!(
        asked(
            "http2 = { path = \"/a b-{{sequence}}#x\", header = { X-Id = [\"1\", \"n{{sequence}}\"], \
             Host = \"other:1\", accept = \"text/html\" }, json = { n = \"{{sequence}}\" } }"
        ),
        [
            "POST http://other:1/a%20b-0%23x",
            agent,
            "x-id: 1",
            "x-id: n0",
            "accept: text/html",
            "content-type: application/json",
            "content-length: 9",
            "{\"n\":\"0\"}",
        ]
    );
    let put = asked("http2 = { method = \"PUT\", body = \"hello\" }");
    assert_eq!(put[0], "PUT http://example.test:8080/");
    assert!(put.contains(&"content-length: 5".to_owned()) && put.ends_with(&["hello".to_owned()]));
}

#[test]
fn streams_share_a_connection_and_wait_for_nobody() {
    let serve = |clock: Virtual, stream| {
        serve_plain(stream, move |(_, mut respond): Asked| {
            let clock = clock.clone();
            async move {
                clock.sleep_until(clock.now() + 5 * MS).await;
                let mut send = respond.send_response(Response::new(()), false).unwrap();
                clock.sleep_until(clock.now() + 2 * MS).await;
                send.send_data(Bytes::from_static(b"hello"), true).unwrap();
            }
        })
    };
    let (seen, took) = beside(serve, async |mut client| {
        let operation = Rc::new(operation("http2 = { body = \"four\" }"));
        let lanes: Vec<_> = (0..50)
            .map(|_| {
                let (mut line, operation) = (client.line(), Rc::clone(&operation));
                let mut exchange = Exchange::new(client.clock.clone());
                spawn_local(async move {
                    let outcome = perform(&operation, &mut line, &mut exchange).await;
                    (outcome, exchange)
                })
            })
            .collect();
        let mut seen = Vec::new();
        for lane in lanes {
            seen.push(lane.await.expect("a lane"));
        }
        (seen, client.clock.now())
    });
    assert_eq!((seen.len(), took), (50, 7 * MS), "one after the other would be 50 times as long");
    for (outcome, exchange) in seen {
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert_eq!((exchange.bytes_sent, exchange.bytes_received), (4, 5));
        assert_eq!(exchange.spans.get(2), Some(5 * MS), "first byte");
        assert_eq!((exchange.read_at, exchange.status.code()), (7 * MS, 200));
        assert!(exchange.reusable);
    }
}

#[test]
fn expectations_items_and_told_times_are_those_of_http() {
    let answer = answer_with(
        &[("content-type", "application/json"), ("server-timing", "embed;dur=0.012, x;dur=1")],
        b"{\"total\":3,\"name\":\"x\"}",
    );
    let answer = Rc::new(answer);
    let text = "http2 = { server_timing = [\"gateway\", \"embed\"] }\n\
                expect = { header = { content-type = { contains = \"json\" } }, json = { \"$.name\" = \"y\" } }\n\
                items = { total = \"$.total\" }";
    let serve = |_, stream| {
        serve_plain(stream, move |asked| {
            let answer = Rc::clone(&answer);
            async move { answer(asked) }
        })
    };
    let (outcome, exchange) =
        beside(serve, async |mut client| client.perform(&operation(text)).await);
    assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
    assert_eq!(exchange.detail.as_deref(), Some("expected $.name is \"y\", got \"x\""));
    assert_eq!(exchange.items, [3.0]);
    assert_eq!([3, 4].map(|place| exchange.spans.get(place)), [None, Some(12_000)]);
    assert!(exchange.reusable, "the answer was complete");
}

#[test]
fn a_long_answer_comes_through_the_windows_and_is_given_back() {
    const PIECE: usize = 256 * 1024;
    let serve = |_, stream| {
        serve_plain(stream, move |(_, mut respond): Asked| async move {
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            for left in (0..160).rev() {
                send.reserve_capacity(PIECE);
                let mut free = 0;
                while free < PIECE {
                    let more = std::future::poll_fn(|context| send.poll_capacity(context)).await;
                    free = more.expect("the stream goes on").expect("the client reads");
                }
                send.send_data(Bytes::from(vec![b'x'; PIECE]), left == 0).unwrap();
            }
        })
    };
    let operation = operation("http2 = {}\nexpect = { body_size = \"40MiB\" }");
    let seen = beside(serve, async |mut client| {
        let first = client.perform(&operation).await;
        [first, client.perform(&operation).await]
    });
    for (outcome, exchange) in seen {
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert_eq!(exchange.bytes_received, 160 * PIECE as u64);
    }
}

#[test]
fn a_tiny_window_of_the_peer_only_takes_longer() {
    let mut builder = Builder::new();
    builder.initial_window_size(10).max_concurrent_streams(2);
    let serve = |_, stream| {
        serve(builder, stream, move |(request, mut respond): Asked| async move {
            let length = body_of(request).await.len();
            assert_eq!(length, 10_000);
            respond.send_response(Response::new(()), true).expect("the client listens");
        })
    };
    let operation = operation(&format!("http2 = {{ body = \"{}\" }}", "0123456789".repeat(1_000)));
    let (outcome, exchange) = beside(serve, async |mut client| client.perform(&operation).await);
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!(exchange.bytes_sent, 10_000);
}

/// An answer counts though its peer takes no more of the request (RFC 9113 section 8.1).
#[test]
fn an_answer_before_the_whole_request_counts_as_what_it_says() {
    let serve = |_, stream| {
        serve_plain(stream, |(_, mut respond): Asked| async move {
            let head = Response::builder().status(413).body(()).unwrap();
            let mut send = respond.send_response(head, false).unwrap();
            send.send_data(Bytes::from_static(b"too long"), true).unwrap();
            // The request is dropped unread: once the answer is out, the stream is reset with `NO_ERROR`.
        })
    };
    // More than the 65,535 bytes that a peer takes before it has said anything.
    let body = "0123456789".repeat(20_000);
    let long = operation(&format!("http2 = {{ body = \"{body}\" }}\nexpect = {{ status = 413 }}"));
    let (outcome, exchange) = beside(serve, async |mut client| client.perform(&long).await);
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!((exchange.status.code(), exchange.bytes_received), (413, 8));
    assert!(exchange.reusable, "the connection is none the worse");
}

/// Reads frames until a stream is opened.
async fn opened(stream: &mut DuplexStream) {
    const HEADERS: u8 = 1;
    stream.read_exact(&mut [0; 24]).await.expect("what a client begins with");
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut content = vec![0; length as usize];
        stream.read_exact(&mut content).await.expect("what is in it");
        if head[3] == HEADERS {
            return;
        }
    }
}

/// h2 sends none as a server: its frames are written by hand.
#[test]
fn interim_answers_are_passed_over() {
    let serve = |clock: Virtual, mut stream: DuplexStream| async move {
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        stream.write_all(&settings).await.expect("the client listens");
        opened(&mut stream).await;
        // HEADERS of stream 1, the head's end, and `:status: 103` and `link: </a>` as literals.
        let hints = b"\0\0\x10\x01\x04\0\0\0\x01\x08\x03103\0\x04link\x04</a>";
        stream.write_all(hints).await.expect("the client listens");
        clock.sleep_until(clock.now() + 5 * MS).await;
        // The same of the answer, which has no body: `:status: 200`.
        stream.write_all(b"\0\0\x01\x01\x05\0\0\0\x01\x88").await.expect("the client listens");
        // There until the client has read it.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    };
    let plain = operation("http2 = {}");
    let (outcome, exchange) = beside(serve, async |mut client| client.perform(&plain).await);
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!((exchange.status.code(), exchange.bytes_received), (200, 0));
    assert_eq!(exchange.read_at - exchange.started_at, 5 * MS, "the first byte is the answer's");
}

#[test]
fn trailers_and_answers_without_a_body_end_an_operation() {
    let serve = |_, stream| {
        serve_plain(stream, move |(request, mut respond): Asked| async move {
            if request.method() == "HEAD" {
                let head = Response::builder().header("content-length", "10").body(()).unwrap();
                respond.send_response(head, true).unwrap();
            } else {
                let mut send = respond.send_response(Response::new(()), false).unwrap();
                send.send_data(Bytes::from_static(b"hello"), false).unwrap();
                yield_now().await;
                send.send_trailers(HeaderMap::new()).unwrap();
            }
        })
    };
    let (head, get) = (operation("http2 = { method = \"HEAD\" }"), operation("http2 = {}"));
    let seen =
        beside(serve, async |mut client| [client.perform(&head).await, client.perform(&get).await]);
    let seen = seen.map(|(outcome, exchange)| (outcome, exchange.bytes_received));
    assert_eq!(seen, [(Outcome::Succeeded, 0), (Outcome::Succeeded, 5)]);
}

#[test]
fn everything_sent_received_and_expected_is_shown() {
    let answer = Rc::new(answer_with(&[("x", "y")], b"hello"));
    let serve = |_, stream| {
        serve_plain(stream, move |asked| {
            let answer = Rc::clone(&answer);
            async move { answer(asked) }
        })
    };
    let operation = operation(
        "http2 = { path = \"/a\", body = \"b\" }\nexpect = { header = { x = \"z\" }, contains = \"hell\" }",
    );
    let probe = beside(serve, async |mut client| {
        let (mut line, mut exchange) = (client.line(), Exchange::new(client.clock.clone()));
        operation.meaning.encode(&mut line, &call(0));
        probe(&operation, &mut line, &mut exchange).await
    });
    let request = String::from_utf8(probe.request).unwrap();
    let begins = ":method: POST\r\n:scheme: http\r\n:authority: example.test:8080\r\n:path: /a\r\n";
    assert!(request.starts_with(begins) && request.ends_with("\r\n\r\nb"), "{request}");
    assert_eq!(probe.head, b":status: 200\r\nx: y\r\n\r\n");
    assert_eq!(probe.body, b"hello");
    assert_eq!(probe.outcome, Outcome::Failed(FailureKind::WrongContent));
    let check = |text: &str, holds, seen: &str| CheckedExpectation {
        text: text.into(),
        holds,
        seen: seen.into(),
    };
    assert_eq!(
        probe.checks,
        [
            check("status is 2xx, 3xx", true, "200"),
            check("header x is \"z\"", false, "y"),
            check("body contains \"hell\"", true, "hello"),
        ]
    );
}

#[test]
fn what_http2_has_no_place_for_is_told_with_its_place() {
    let text = "[http2]\npth = \"/\"\n[http2.header]\nConnection = \"close\"\nte = \"gzip\"\n\
                host = \"a b\"\nTransfer-Encoding = \"chunked\"\nx = \"y\"\n";
    let planned = planned(text);
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    let problems = drivers::http2::driver::Http2.compile(compile).expect_err("it has problems");
    let shown = render("x.toml", text, &problems, Colour::Off);
    for (what, place) in [
        ("unknown key `pth`", "x.toml:2:1"),
        ("header Connection has no place in HTTP/2", "x.toml:4:1"),
        ("header te has no place in HTTP/2", "x.toml:5:1"),
        ("header host is not host and port", "x.toml:6:9"),
        ("header Transfer-Encoding is computed from the body", "x.toml:7:1"),
    ] {
        assert!(shown.contains(what) && shown.contains(place), "{what} at {place}\n{shown}");
    }
    assert_eq!(problems.len(), 5, "{shown}");
}
