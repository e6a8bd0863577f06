//! Randomly framed answers, read by this driver and by hyper: the same status, the same body, the
//! same opinion on whether the connection may be used again.

use drivers::http1::probe::probe;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use record::Outcome;
use tokio::io::{AsyncReadExt, DuplexStream};

use crate::http1::peer::{Peer, memory};
use crate::http1::stand::{call, exchange, operation, run};

/// An answer and how it arrives.
#[derive(Clone)]
struct Script {
    bytes: Vec<u8>,
    /// Offsets between pieces, ascending.
    cuts: Vec<usize>,
    /// Whether the connection ends after the answer.
    closes: bool,
    request_is_head: bool,
}

/// What a client made of it: status, body, and whether it would use the connection again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    status: u16,
    body: Vec<u8>,
    reusable: Option<bool>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bytes, cuts, closes, request_is_head } = self;
        write!(formatter, "\"{}\" {cuts:?} {closes} {request_is_head}", bytes.escape_ascii())
    }
}

impl Script {
    fn pieces(&self) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let mut rest = self.bytes.as_slice();
        for cut in self.cuts.iter().rev() {
            let (first, last) = rest.split_at((*cut).min(rest.len()));
            pieces.push(last);
            rest = first;
        }
        pieces.push(rest);
        pieces.reverse();
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// Sends the answer; keeps the connection open for as long as the other end wants it.
    async fn serve(&self, mut peer: Peer) {
        peer.read_head().await;
        peer.send(&self.pieces()).await;
        if !self.closes {
            let _ = peer.0.read_u8().await;
        }
    }
}

async fn ours(script: &Script) -> Result<Seen, String> {
    let method = if script.request_is_head { "HEAD" } else { "GET" };
    let operation = operation(&format!(
        "http = {{ method = \"{method}\" }}\nexpect = {{ status = [\"2xx\", \"3xx\", \"4xx\", \"5xx\"] }}"
    ));
    let (mut conversation, peer) = memory(4096);
    let mut exchange = exchange(&operation);
    let ask = async {
        operation.encode(&mut conversation, &call(0));
        let seen = probe(&operation, &mut conversation, &mut exchange).await;
        drop(conversation);
        seen
    };
    let (seen, ()) = tokio::join!(ask, script.serve(peer));
    match seen.outcome {
        Outcome::Succeeded => Ok(Seen {
            status: exchange.status.code(),
            body: seen.body,
            reusable: (!script.closes).then_some(exchange.reusable),
        }),
        _ => Err(seen.detail.unwrap_or_default()),
    }
}

async fn hypers(script: &Script) -> Result<Seen, String> {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (seen, ()) = tokio::join!(ask_hyper(script, ours), script.serve(Peer(theirs)));
    seen.map_err(|error| error.to_string())
}

async fn ask_hyper(script: &Script, stream: DuplexStream) -> hyper::Result<Seen> {
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    let method = if script.request_is_head { "HEAD" } else { "GET" };
    let request = hyper::Request::builder().method(method).uri("/").header("host", "example.test");
    let request = request.body(Empty::<Bytes>::new()).expect("a valid request");
    let ask = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes().to_vec();
        let reusable = if script.closes { None } else { Some(sender.ready().await.is_ok()) };
        drop(sender);
        Ok(Seen { status, body, reusable })
    };
    // The connection is driven beside the question, and ends when its sender is gone.
    let (seen, _) = tokio::join!(ask, connection);
    seen
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => proptest::collection::vec(any::<u8>(), 5000..9000),
    ]
}

/// Header fields and the body as they stand on the wire, and whether only the end of the
/// connection ends it.
fn framed() -> impl Strategy<Value = (String, Vec<u8>, bool)> {
    let length =
        body().prop_map(|body| (format!("Content-Length: {}\r\n", body.len()), body, false));
    let twice = body().prop_map(|body| {
        let field = format!("content-length: {}\r\n", body.len());
        (field.repeat(2), body, false)
    });
    let short =
        body().prop_map(|body| (format!("content-length: {}\r\n", body.len() + 3), body, true));
    let open = body().prop_map(|body| (String::new(), body, true));
    let fields = prop_oneof![Just("chunked"), Just("gzip, chunked"), Just("Chunked")];
    let chunked = (fields, chunks())
        .prop_map(|(coding, body)| (format!("transfer-encoding: {coding}\r\n"), body, false));
    let other = body().prop_map(|body| ("transfer-encoding: gzip\r\n".to_owned(), body, true));
    prop_oneof![4 => length, 1 => twice, 1 => short, 2 => open, 4 => chunked, 1 => other]
}

fn chunks() -> impl Strategy<Value = Vec<u8>> {
    let extension = prop_oneof![Just(""), Just(";a=b"), Just(" ;x"), Just(";q=\"1 2\"")];
    let chunk = (proptest::collection::vec(any::<u8>(), 1..300), extension, 0_usize..3);
    let trailers = prop_oneof![3 => Just(""), 1 => Just("x: y\r\n"), 1 => Just("x: y\r\nz:\r\n")];
    (proptest::collection::vec(chunk, 0..6), trailers).prop_map(|(chunks, trailers)| {
        let mut bytes = Vec::new();
        for (data, extension, zeros) in chunks {
            let size = format!("{}{:X}{extension}\r\n", "0".repeat(zeros), data.len());
            bytes.extend_from_slice(size.as_bytes());
            bytes.extend_from_slice(&data);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
        bytes
    })
}

fn script() -> impl Strategy<Value = Script> {
    let interim = prop_oneof![3 => Just(""), 1 => Just("HTTP/1.1 100 Continue\r\n\r\n")];
    let version = prop_oneof![3 => Just("1.1"), 1 => Just("1.0")];
    let status = prop_oneof![4 => Just(200), 1 => Just(204), 1 => Just(304), 1 => Just(404)];
    let connection = prop_oneof![
        3 => Just(""),
        1 => Just("Connection: close\r\n"),
        1 => Just("connection: keep-alive\r\n"),
        1 => Just("Connection: Keep-Alive, x\r\n"),
    ];
    let head = (interim, version, status, connection);
    let cuts = proptest::collection::vec(0_usize..400, 0..6);
    (head, framed(), cuts, proptest::bool::weighted(0.1), any::<bool>()).prop_map(
        |(
            (interim, version, status, connection),
            (fields, body, by_close),
            mut cuts,
            is_head,
            closes,
        )| {
            let bodiless = is_head || status == 204 || status == 304;
            let head = format!("{interim}HTTP/{version} {status} X\r\n{connection}{fields}\r\n");
            let mut bytes = head.into_bytes();
            if !bodiless {
                bytes.extend_from_slice(&body);
            }
            cuts.sort_unstable();
            let closes = closes || (by_close && !bodiless);
            Script { bytes, cuts, closes, request_is_head: is_head }
        },
    )
}

/// The same cases in every run.
fn runner() -> TestRunner {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn well_framed_answers_mean_the_same() {
    let result = runner().run(&script(), |script| {
        let (ours, hypers) = run(async { (ours(&script).await, hypers(&script).await) });
        match (&ours, &hypers) {
            (Ok(ours), Ok(hypers)) => prop_assert_eq!(ours, hypers),
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "ours: {:?}, hyper's: {:?}", ours, hypers),
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn answers_with_a_wrong_byte_mean_the_same() {
    let wrong = prop_oneof![
        Just(b'\r'),
        Just(b'\n'),
        Just(b' '),
        Just(b';'),
        Just(b':'),
        Just(b','),
        Just(b'0'),
        Just(b'f'),
        Just(b'G'),
        Just(b'-'),
        Just(0),
        Just(0x7f),
    ];
    let damaged =
        (script(), any::<prop::sample::Index>(), wrong).prop_map(|(mut script, at, byte)| {
            let at = at.index(script.bytes.len());
            script.bytes[at] = byte;
            script.closes = true;
            script
        });
    let result = runner().run(&damaged, |script| {
        let (ours, hypers) = run(async { (ours(&script).await, hypers(&script).await) });
        match (&ours, &hypers) {
            (Ok(ours), Ok(hypers)) => prop_assert_eq!(ours, hypers),
            (Err(_), Err(_)) => {}
            (Err(ours), Ok(_)) if is_ours_alone(ours) => {}
            _ => prop_assert!(false, "ours: {:?}, hyper's: {:?}", ours, hypers),
        }
        Ok(())
    });
    result.unwrap();
}

/// Rules that hyper does not have: nothing may follow an answer that nobody asked for, and a bare
/// LF ends no trailer.
fn is_ours_alone(fault: &str) -> bool {
    fault.ends_with("after the end of the answer") || fault == "a trailer with the byte 0x0a"
}
