//! What goes wrong on a stream stays with it; what ends the connection is told to all of them; each has its kind.

use std::rc::Rc;

use bytes::Bytes;
use drivers::http2::driver::Http2;
use engine::clock::Virtual;
use engine::driver::{Driver, Exchange};
use engine::transport::Stream;
use h2::Reason;
use http::Response;
use record::{FailureKind, Outcome};
use tokio::io::DuplexStream;
use tokio::task::spawn_local;

use crate::http2::stand::{Asked, beside, endpoint, operation, perform, say, serve_plain};

/// SETTINGS without settings, which is what a server begins with.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

fn going_away(last_stream: u8, reason: u8) -> [u8; 17] {
    [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, last_stream, 0, 0, 0, reason]
}

/// How one operation ends against this peer, and whether the connection goes on.
fn ended<S: Future<Output = ()> + 'static>(
    serve: impl FnOnce(Virtual, DuplexStream) -> S,
) -> (Outcome, String, bool) {
    let operation = operation("http2 = {}\nexpect = { contains = \"x\" }");
    beside(serve, async |mut client| {
        let (outcome, exchange) = client.perform(&operation).await;
        let goes_on = Http2.outlives_streams(&mut client.connection);
        assert_eq!(goes_on, exchange.reusable);
        (outcome, exchange.detail.unwrap_or_default(), goes_on)
    })
}

/// The same with a peer that resets the stream.
fn reset(reason: Reason) -> (Outcome, String, bool) {
    ended(move |_, stream| {
        serve_plain(
            stream,
            move |(_, mut respond): Asked| async move { respond.send_reset(reason) },
        )
    })
}

/// The same with a peer that says these bytes.
fn exchange_after(bytes: Vec<u8>) -> (Outcome, String, bool) {
    ended(move |_, stream| say(stream, bytes.leak()))
}

#[track_caller]
fn check(seen: (Outcome, String, bool), kind: FailureKind, detail: &str, goes_on: bool) {
    assert_eq!((seen.0, seen.2), (Outcome::Failed(kind), goes_on), "{}", seen.1);
    assert!(seen.1.contains(detail), "{}", seen.1);
}

#[test]
fn a_stream_that_is_refused_or_reset_leaves_the_others_alone() {
    let refused = reset(Reason::REFUSED_STREAM);
    check(refused, FailureKind::StreamRefused, "the peer refused the stream", true);
    let broken = reset(Reason::INTERNAL_ERROR);
    check(broken, FailureKind::StreamReset, "the peer reset the stream", true);
}

#[test]
fn a_line_carries_on_after_a_failure_of_its_stream() {
    let serve = |_, stream| {
        let count = Rc::new(std::cell::Cell::new(0));
        serve_plain(stream, move |(_, mut respond): Asked| {
            let place = count.replace(count.get() + 1);
            async move {
                match place % 2 {
                    0 => respond.send_reset(Reason::REFUSED_STREAM),
                    _ => drop(respond.send_response(Response::new(()), true)),
                }
            }
        })
    };
    let operation = operation("http2 = {}");
    let outcomes = beside(serve, async |mut client| {
        let (mut line, mut exchange) = (client.line(), Exchange::new(client.clock.clone()));
        let mut outcomes = Vec::new();
        for _ in 0..2_000 {
            outcomes.push(perform(&operation, &mut line, &mut exchange).await);
        }
        outcomes
    });
    let refused = Outcome::Failed(FailureKind::StreamRefused);
    assert!(outcomes.chunks(2).all(|pair| pair == [refused, Outcome::Succeeded]));
}

#[test]
fn an_operation_that_a_leaving_peer_did_not_take_up_is_told_so() {
    let left = exchange_after([SETTINGS, &going_away(0, 0)].concat());
    check(left, FailureKind::GoingAway, "the peer is ending the connection", false);
    let calm = exchange_after([SETTINGS, &going_away(0, 11)].concat());
    check(calm, FailureKind::GoingAway, "the peer is ending the connection", false);
}

#[test]
fn what_was_taken_up_is_finished_while_the_connection_ends() {
    let serve = |_, stream| async move {
        let mut connection = h2::server::handshake(stream).await.expect("a client");
        let (_, mut respond) = connection.accept().await.expect("a request").expect("a request");
        connection.graceful_shutdown();
        spawn_local(async move {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            send.send_data(Bytes::from_static(b"x"), true).unwrap();
        });
        assert!(connection.accept().await.is_none(), "no further request");
    };
    let operation = operation("http2 = {}");
    beside(serve, async |mut client| {
        let (mut idle, mut line) = (client.line(), client.line());
        let mut exchange = Exchange::new(client.clock.clone());
        let outcome = perform(&operation, &mut line, &mut exchange).await;
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert!(!exchange.reusable, "the peer has said that it leaves");
        assert!(Http2.open_stream(&mut client.connection).is_none());
        Http2.idle(&mut idle).await;
        let outcome = perform(&operation, &mut idle, &mut exchange).await;
        assert!(matches!(outcome, Outcome::Failed(_)), "nothing is retried elsewhere");
    });
}

#[test]
fn a_peer_that_closes_is_noticed_by_the_idle_and_the_busy() {
    let closed = ended(|_, stream| async move { drop(stream) });
    check(closed, FailureKind::Closed, "the connection failed", false);
    let serve = |_, stream| async move {
        let mut connection = h2::server::handshake(stream).await.expect("a client");
        let _asked = connection.accept().await.expect("a request").expect("a request");
    };
    let operation = operation("http2 = {}");
    beside(serve, async |mut client| {
        let mut idle = client.line();
        let (outcome, exchange) = client.perform(&operation).await;
        let kinds = [FailureKind::Closed, FailureKind::GoingAway].map(Outcome::Failed);
        assert!(kinds.contains(&outcome), "{outcome:?}: {:?}", exchange.detail);
        Http2.idle(&mut idle).await;
    });
}

#[test]
fn a_server_of_http1_is_told_as_one() {
    // The second as Python's server does.
    for old in [
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n",
        "<!DOCTYPE HTML>\n<html lang=\"en\">\n",
    ] {
        let told = "the peer answers HTTP/1.1, not HTTP/2: ask it with `http`";
        check(exchange_after(old.as_bytes().to_vec()), FailureKind::Malformed, told, false);
    }
    let garbage = exchange_after(b"220 mail.example ESMTP ready and waiting\r\n".to_vec());
    check(garbage, FailureKind::Malformed, "the peer broke a rule of the connection", false);
}

/// The end of an operation whose answer has these fields and this body.
fn answered(fields: Vec<(String, String)>, body: &'static [u8]) -> (Outcome, String, bool) {
    ended(move |_, stream| {
        serve_plain(stream, move |(_, mut respond): Asked| {
            let fields = fields.clone();
            async move {
                let mut head = Response::builder();
                for (name, value) in fields {
                    head = head.header(name, value);
                }
                let head = head.body(()).expect("a head");
                // The client may have seen enough of it.
                let Ok(mut send) = respond.send_response(head, false) else { return };
                let _ = send.send_data(Bytes::from_static(body), true);
            }
        })
    })
}

#[test]
fn heads_and_bodies_beyond_the_limits_are_too_large() {
    let many = (0..257).map(|place| (format!("x-{place}"), "y".to_owned())).collect();
    let kind = FailureKind::TooLarge;
    check(answered(many, b"x"), kind, "the answer has more than 256 header fields", true);
    let long = (0..20).map(|place| (format!("x-{place}"), "y".repeat(5_000))).collect();
    check(answered(long, b"x"), kind, "the head of the answer is longer than 65536 bytes", true);
    let huge = vec![b'x'; 16 * 1024 * 1024 + 1].leak();
    check(answered(Vec::new(), huge), kind, "the body must be read", true);
}

#[test]
fn a_length_that_lies_is_malformed() {
    let lies = vec![("content-length".to_owned(), "10".to_owned())];
    check(answered(lies, b"four"), FailureKind::Malformed, "a rule of the stream", true);
}

#[test]
fn what_cannot_be_said_is_not_sent() {
    let operation = operation("http2 = { path = \"/{{bytes 70KiB}}\" }");
    let serve = |_, stream| serve_plain(stream, |_: Asked| async { panic!("nothing is sent") });
    let (outcome, exchange) = beside(serve, async |mut client| client.perform(&operation).await);
    assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge));
    let detail = exchange.detail.unwrap_or_default();
    assert!(detail.starts_with("the request cannot be sent: path: "), "{detail}");
    assert!(exchange.reusable);
}

#[test]
fn connecting_waits_for_nothing_that_the_peer_says() {
    let clock = Virtual::new();
    let (ours, _theirs) = tokio::io::duplex(1024);
    let mut exchange = Exchange::new(clock.clone());
    clock.runtime().expect("a runtime").block_on(async {
        let stream = Stream::Memory(ours);
        let operation = operation("http2 = {}");
        let connected = Http2.connect(&operation, &endpoint(), stream, &mut exchange).await;
        assert!(connected.is_ok());
    });
}
