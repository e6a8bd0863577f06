//! Answers that break the rules.

use bytes::Bytes;
use h2::Reason;
use record::{FailureKind, Outcome};

use super::stand::{Answered, GRPC, ITEM, OK, answered, beside, operation, serve_plain};

#[test]
fn what_is_no_answer_of_grpc_is_refused() {
    let add = operation("Add", "max_message = 8");
    let two = [ITEM, ITEM].concat();
    let bare = Answered { trailers: None, ..Answered::ok(ITEM) };
    let head = |head| Answered { head, ..Answered::ok(ITEM) };
    let page = Answered { head: &[("content-type", "text/html")], status: 404, ..bare.clone() };
    for (answer, kind, detail) in [
        (bare.clone(), FailureKind::Malformed, "ended after 1 message without trailers"),
        (
            Answered { body: Vec::new(), ..bare },
            FailureKind::Malformed,
            "without the field grpc-status",
        ),
        (
            Answered::ok(ITEM).with_trailers(&[("x", "y")]),
            FailureKind::Malformed,
            "without the field",
        ),
        (
            Answered::ok(ITEM).with_trailers(&[("grpc-status", "-1")]),
            FailureKind::Malformed,
            "grpc-status is \"-1\"",
        ),
        (Answered::ok(b""), FailureKind::Malformed, "status OK without a message"),
        (Answered::ok(&two), FailureKind::Malformed, "a second message"),
        (Answered::ok(&ITEM[..7]), FailureKind::Malformed, "after 7 of 10 bytes"),
        (Answered::ok(&ITEM[..3]), FailureKind::Malformed, "after 3 of 5 bytes"),
        (Answered::ok(&[ITEM, &[0]].concat()), FailureKind::Malformed, "after 1 of 5 bytes"),
        (Answered::ok(b"\0\0\0\0\x09"), FailureKind::TooLarge, "a message of 9 bytes, at most 8"),
        (
            Answered::ok(b"\0\xff\xff\xff\xff"),
            FailureKind::TooLarge,
            "a message of 4294967295 bytes",
        ),
        (Answered::ok(b"\x01\0\0\0\x01x"), FailureKind::Malformed, "compressed"),
        (page, FailureKind::Malformed, "HTTP status 404 with content-type \"text/html\""),
        (head(&[]), FailureKind::Malformed, "HTTP status 200 with no content-type"),
        (head(&[("content-type", "application/grpc-web")]), FailureKind::Malformed, "grpc-web"),
        (head(&[("content-type", "application/grpc+json")]), FailureKind::Malformed, "+json"),
    ] {
        let shown = format!("{answer:?}");
        let (outcome, exchange) = answered(&add, answer);
        assert_eq!(outcome, Outcome::Failed(kind), "{shown} {:?}", exchange.detail);
        let seen = exchange.detail.unwrap_or_default();
        assert!(seen.contains(detail), "{detail}: {seen}");
        assert!(exchange.reusable, "the connection goes on");
    }
    for kind in ["application/grpc+proto", "application/grpc;x=y", "application/grpc+proto; x=y"] {
        let head = vec![("content-type", kind)].leak();
        let (outcome, _) = answered(&add, Answered { head, ..Answered::ok(ITEM) });
        assert_eq!(outcome, Outcome::Succeeded, "{kind}");
    }
    let proxied = Answered { status: 503, ..Answered::ok(b"") };
    let head = [GRPC, &[("grpc-status", "14")]].concat().leak();
    let (outcome, exchange) = answered(&add, Answered { head, trailers: None, ..proxied });
    assert_eq!(
        (outcome, exchange.status.to_string()),
        (Outcome::Failed(FailureKind::Status), "UNAVAILABLE".into())
    );
}

#[test]
fn a_reset_has_a_kind_and_a_status() {
    let add = operation("Add", "");
    for (reason, kind, status) in [
        (Reason::CANCEL, FailureKind::StreamReset, "CANCELLED"),
        (Reason::REFUSED_STREAM, FailureKind::StreamRefused, "UNAVAILABLE"),
        (Reason::ENHANCE_YOUR_CALM, FailureKind::StreamReset, "RESOURCE_EXHAUSTED"),
        (Reason::INTERNAL_ERROR, FailureKind::StreamReset, "INTERNAL"),
    ] {
        let (outcome, exchange) = beside(
            move |_, stream| {
                serve_plain(stream, move |(_, mut respond)| {
                    respond.send_reset(reason);
                    async {}
                })
            },
            async |mut client| client.perform(&add).await,
        );
        assert_eq!(outcome, Outcome::Failed(kind));
        assert_eq!(exchange.status.to_string(), status);
    }
}

#[test]
fn a_connection_that_ends_within_an_answer_is_closed() {
    let add = operation("Add", "");
    let (outcome, exchange) = beside(
        |_, stream| async move {
            let mut connection = h2::server::handshake(stream).await.expect("a client");
            let (_, mut respond) = connection.accept().await.expect("a call").expect("a call");
            let head = http::Response::builder().header(GRPC[0].0, GRPC[0].1).body(());
            let mut send = respond.send_response(head.unwrap(), false).unwrap();
            send.send_data(Bytes::from_static(&ITEM[..7]), false).unwrap();
            // Until what was said has been written.
            tokio::select! {
                biased;
                _ = connection.accept() => {}
                () = tokio::task::yield_now() => {}
            }
        },
        async |mut client| client.perform(&add).await,
    );
    assert_eq!(outcome, Outcome::Failed(FailureKind::Closed), "{:?}", exchange.detail);
    assert!(!exchange.reusable);
}

#[test]
fn the_head_may_be_long_but_not_too_long() {
    let add = operation("Add", "");
    let trailers = vec![("grpc-status", "0"), ("x", "y".repeat(70_000).leak())].leak();
    let (outcome, _) = answered(&add, Answered::ok(ITEM).with_trailers(trailers));
    assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge));
    assert_eq!(answered(&add, Answered::ok(ITEM).with_trailers(OK)).0, Outcome::Succeeded);
}

#[test]
fn little_that_becomes_much_as_json_is_refused() {
    // Ten bytes a field as it is sent, and 33 as JSON.
    let text = "syntax = 'proto3'; package shop; service Cart { rpc Add(Many) returns (Many); } \
                message Many { repeated Sub subs = 1; } message Sub { string a_rather_long_name = 1; }";
    let planned = crate::planned::planned(
        "grpc",
        &format!(
            "[grpc]\nproto = [{{ name = 'a.proto', content = \"{text}\" }}]\nmethod = 'shop.Cart/Add'\n\
             [expect]\ncontains = 'x'\n"
        ),
    );
    let add = super::stand::compiled(&planned);
    let subs = [0x0a, 0].repeat(1_000_000);
    let length = u32::try_from(subs.len()).unwrap().to_be_bytes();
    let body = [&[0][..], &length, &subs].concat();
    let (outcome, exchange) = answered(&add, Answered::ok(&body));
    assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge), "{:?}", exchange.detail);
}
