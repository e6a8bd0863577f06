//! Calls that are answered with one message.

use std::cell::RefCell;
use std::rc::Rc;

use engine::clock::{Clock, Virtual};
use record::{FailureKind, Outcome};

use super::stand::{Answered, GRPC, ITEM, OK, answered, beside, operation, serve_plain};
use crate::http2::stand::body_of;

const MS: u64 = 1_000_000;

#[test]
fn a_call_is_sent_as_the_protocol_says() {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let keep = Rc::clone(&heard);
    let add = operation(
        "Add",
        "message = { id = 'a{{sequence}}', count = 2 }\ndeadline = '1500ms'\n\
         metadata = { x-call = '{{sequence}}', x-user = ['a', 'b'] }",
    );
    let (outcome, exchange) = beside(
        move |_, stream| {
            serve_plain(stream, move |(request, respond)| {
                let keep = Rc::clone(&keep);
                async move {
                    let (head, body) = request.into_parts();
                    let body = body_of(http::Request::new(body)).await;
                    keep.borrow_mut().push((head, body));
                    Answered::ok(ITEM).send(respond);
                }
            })
        },
        async |mut client| client.perform(&add).await,
    );
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!(exchange.status.to_string(), "OK");
    let heard = heard.borrow();
    let (head, body) = &heard[0];
    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/shop.Cart/Add"));
    let field = |name: &str| {
        let values = head.headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect::<Vec<_>>().join("|")
    };
    assert_eq!(field("content-type"), "application/grpc");
    assert_eq!((field("te"), field("grpc-timeout")), ("trailers".into(), "1500000u".into()));
    assert_eq!((field("x-call"), field("x-user")), ("7".into(), "a|b".into()));
    assert_eq!(field("grpc-accept-encoding"), "identity");
    assert!(field("user-agent").starts_with("proofload/"));
    assert_eq!(body, b"\0\0\0\0\x06\x0a\x02a7\x10\x02");
    assert_eq!((exchange.bytes_sent, exchange.bytes_received), (11, 10));
}

#[test]
fn statuses_are_counted_by_name() {
    let add = operation("Add", "");
    for (trailers, status, detail) in [
        (
            &[("grpc-status", "5"), ("grpc-message", "no cart %C3%A4%0a%1b")][..],
            "NOT_FOUND",
            "NOT_FOUND: no cart ä \u{fffd}",
        ),
        (&[("grpc-status", "4")], "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"),
        (&[("grpc-status", "99"), ("grpc-message", "x")], "99", "99: x"),
    ] {
        // In trailers, and in a head that is all there is.
        let whole = Answered::ok(ITEM).with_trailers(trailers);
        let alone = Answered {
            head: [GRPC, trailers].concat().leak(),
            trailers: None,
            ..Answered::ok(b"")
        };
        for answer in [whole, alone] {
            let (outcome, exchange) = answered(&add, answer);
            assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
            assert_eq!(exchange.status.to_string(), status);
            assert_eq!(exchange.detail.as_deref(), Some(detail));
            assert!(exchange.reusable);
        }
    }
}

#[test]
fn another_status_can_be_what_is_expected() {
    let trailers = &[("grpc-status", "5")];
    let add = operation("Add", "[expect]\nstatus = ['NOT_FOUND', 'OK']");
    for answer in [Answered::ok(ITEM), Answered::ok(b"").with_trailers(trailers)] {
        assert_eq!(answered(&add, answer).0, Outcome::Succeeded);
    }
    let add = operation("Add", "[expect]\nstatus = 'NOT_FOUND'");
    let (outcome, exchange) = answered(&add, Answered::ok(ITEM));
    assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
    assert_eq!(exchange.detail.as_deref(), Some("OK, expected NOT_FOUND"));
}

#[test]
fn rules_and_items_read_the_answer_as_json() {
    let add = operation(
        "Add",
        "[expect]\njson = { '$.id' = 'a' }\ncontains = '\"count\":2'\nbody_size = 5\n[items]\ncount = '$.count'",
    );
    let (outcome, exchange) = answered(&add, Answered::ok(ITEM));
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!(exchange.items, [2.0]);
    let (outcome, exchange) = answered(&add, Answered::ok(b"\0\0\0\0\0"));
    assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
    assert_eq!(exchange.items, [0.0], "a default value is there");
    let (outcome, exchange) = answered(&add, Answered::ok(b"\0\0\0\0\x01\xff"));
    assert_eq!(outcome, Outcome::Failed(FailureKind::Malformed));
    assert!(exchange.detail.expect("why").starts_with("the message is not a valid shop.Item: "));
    let blind = operation("Add", "");
    assert_eq!(answered(&blind, Answered::ok(b"\0\0\0\0\x01\xff")).0, Outcome::Succeeded);
}

#[test]
fn a_call_ends_with_its_trailers() {
    let add = operation("Add", "");
    beside(
        |clock: Virtual, stream| {
            serve_plain(stream, move |(_, mut respond)| {
                let clock = clock.clone();
                async move {
                    let sleep = async |ms| clock.sleep_until(clock.now() + ms * MS).await;
                    sleep(3).await;
                    let head = http::Response::builder().header(GRPC[0].0, GRPC[0].1).body(());
                    let mut send = respond.send_response(head.unwrap(), false).unwrap();
                    sleep(4).await;
                    send.send_data(bytes::Bytes::from_static(ITEM), false).unwrap();
                    sleep(5).await;
                    send.send_trailers(super::stand::fields(OK)).unwrap();
                }
            })
        },
        async |mut client| {
            let began_at = client.clock.now();
            let (outcome, exchange) = client.perform(&add).await;
            assert_eq!(outcome, Outcome::Succeeded);
            assert_eq!(exchange.spans.get(2), Some(3 * MS));
            assert_eq!(exchange.read_at - began_at, 12 * MS);
        },
    );
}

#[test]
fn a_probe_shows_messages_as_json() {
    let add = operation(
        "Add",
        "message = { id = 'a', count = 2 }\nmetadata = { x-user = 'me', authorization = 's3cret' }",
    );
    let probe = beside(
        |_, stream| {
            serve_plain(stream, |asked| {
                let trailers = &[("grpc-status", "0"), ("x-took", "5")];
                Answered::ok(ITEM).with_trailers(trailers).send(asked.1);
                async {}
            })
        },
        async |mut client| client.probe(&add).await,
    );
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        text(&probe.request),
        "shop.Cart/Add\r\nx-user: me\r\nauthorization: (hidden)\r\n\r\n{\"id\":\"a\",\"count\":2}"
    );
    assert_eq!(text(&probe.head), "OK\r\nx-took: 5\r\n");
    assert_eq!(text(&probe.body), "{\"id\":\"a\",\"count\":2}");
    assert_eq!(probe.checks.len(), 1);
    assert!(probe.checks[0].holds && probe.checks[0].text == "status is OK");
}
