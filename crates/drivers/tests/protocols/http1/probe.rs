//! One operation shown whole, and the driver that can be any protocol.

use plan::document::Table;
use std::io::Write;

use drivers::probe::{CheckedExpectation, Probe};
use drivers::{AnyDriver, AnyOperation, protocol_names};
use engine::driver::{CompileContext, Driver, Exchange};
use engine::transport::{Address, Endpoint, Stream};
use record::{FailureKind, Outcome};

use crate::http1::peer::Peer;
use crate::http1::stand::{Ticks, call, planned, run};

/// Performs an operation by way of `AnyDriver`, against a peer with one answer.
fn probe(text: &str, answer: &[u8]) -> (Probe, Exchange<Ticks>) {
    let driver = AnyDriver::of([("http", &Table::default())]).expect("http is in the list");
    let planned = planned(text);
    let compiled =
        driver.compile(CompileContext { operation: &planned, targets: &[], wall_clock: "" });
    let operation: AnyOperation = compiled.expect("it compiles");
    let endpoint = Endpoint {
        authority: "example.test".into(),
        address: Address::Memory("example".into()),
        tls: None,
        upgrade: None,
        is_web: true,
    };
    run(async {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let mut exchange = Exchange::new(Ticks::default());
        exchange.clear(planned.items.len());
        let connected =
            driver.connect(&operation, &endpoint, Stream::Memory(ours), &mut exchange).await;
        let mut connection = connected.unwrap_or_else(|error| panic!("{error:?}")).connection;
        let mut stream = driver.open_stream(&mut connection).expect("the one stream");
        assert!(driver.open_stream(&mut connection).is_none(), "there is no second stream");
        let serve = async move {
            let mut peer = Peer(theirs);
            peer.read_head().await;
            peer.send(&[answer]).await;
        };
        driver.encode(&operation, &mut stream, &call(0));
        let (seen, ()) = tokio::join!(driver.probe(&operation, &mut stream, &mut exchange), serve);
        (seen, exchange)
    })
}

#[test]
fn the_list_names_its_protocols() {
    assert!(
        protocol_names().starts_with(&["http", "http2"]),
        "whole requests of a file go to the first"
    );
    assert!(AnyDriver::of([("gopher", &Table::default())]).is_err());
    let driver = AnyDriver::of([("http", &Table::default())]).expect("http is in the list");
    assert_eq!(driver.span_names(), ["first_byte", "redirects"]);
}

#[test]
fn everything_sent_received_and_expected_is_shown() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(br#"{"total":3,"results":[1,2,3],"name":"x"}"#).unwrap();
    let body = gzip.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer = [head.as_bytes(), &body].concat();
    let text = "http = { path = \"/a\", header = { accept-encoding = \"gzip\" } }\n\
                expect = { json = { \"$.results.length()\" = 4, \"$.name\" = \"x\" } }\n\
                items = { total = \"$.total\", missing = \"$.missing\" }";
    let (probe, exchange) = probe(text, &answer);
    assert!(probe.request.starts_with(b"GET /a HTTP/1.1\r\nhost: example.test\r\n"));
    assert_eq!(probe.head, head.as_bytes());
    assert_eq!(probe.body, br#"{"total":3,"results":[1,2,3],"name":"x"}"#);
    assert!(!probe.is_truncated);
    assert_eq!(probe.outcome, Outcome::Failed(FailureKind::WrongContent));
    assert_eq!(probe.detail.as_deref(), Some("expected $.results.length() is 4, got 3"));
    let check = |text: &str, holds, seen: &str| CheckedExpectation {
        text: text.into(),
        holds,
        seen: seen.into(),
    };
    assert_eq!(
        probe.checks,
        [
            check("status is 2xx, 3xx", true, "200"),
            check("$.results.length() is 4", false, "3"),
            check("$.name is \"x\"", true, "\"x\""),
            check("item $.total is a number", true, "3"),
            check("item $.missing is a number", false, "absent"),
        ]
    );
    assert_eq!(exchange.items[0], 3.0);
    assert!(exchange.items[1].is_nan());
    assert!(exchange.reusable);
}

#[test]
fn no_answer_is_shown_as_what_failed() {
    let (probe, _) = probe("http = {}", b"");
    assert_eq!(probe.outcome, Outcome::Failed(FailureKind::Closed));
    assert_eq!((probe.head.len(), probe.body.len(), probe.checks.len()), (0, 0, 0));
    let detail = "the peer closed the connection before the answer";
    assert_eq!(probe.detail.as_deref(), Some(detail));
}
