//! Calls with more than one message.

use bytes::Bytes;
use engine::clock::{Clock, Virtual};
use plan::operation::Item;
use record::{FailureKind, Outcome};

use super::stand::{
    Answered, Client, GRPC, ITEM, OK, answered, beside, compiled, fields, operation, planned,
    serve_plain,
};
use drivers::grpc::operation::Operation;

const MS: u64 = 1_000_000;

fn list(rest: &str) -> Operation {
    let mut planned = planned("List", &format!("stream = true\n{rest}"));
    let span = planned.table.span;
    let item = |name: &str, path: &str, counts_events| Item {
        name: name.to_owned(),
        path: path.to_owned(),
        counts_events,
        span,
    };
    planned.items = vec![item("events", "", true), item("count", "$.count", false)];
    compiled(&planned)
}

/// A peer that sends messages at these milliseconds, and then does `end`.
fn timed<T>(
    at: &'static [u64],
    end: impl Fn(&mut h2::SendStream<Bytes>) + Clone + 'static,
    client: impl AsyncFnOnce(Client) -> T,
) -> T {
    beside(
        move |clock: Virtual, stream| {
            serve_plain(stream, move |(_, mut respond)| {
                let (clock, end) = (clock.clone(), end.clone());
                async move {
                    let began_at = clock.now();
                    let head = http::Response::builder().header(GRPC[0].0, GRPC[0].1).body(());
                    let mut send =
                        respond.send_response(head.expect("a head"), false).expect("a client");
                    for ms in at {
                        clock.sleep_until(began_at + ms * MS).await;
                        send.send_data(Bytes::from_static(ITEM), false).expect("a client");
                    }
                    end(&mut send);
                }
            })
        },
        client,
    )
}

fn end_well(send: &mut h2::SendStream<Bytes>) {
    send.send_trailers(fields(OK)).expect("the client listens");
}

#[test]
fn messages_of_a_stream_are_counted_and_timed() {
    let list = list("");
    timed(&[5, 7, 11], end_well, async |mut client| {
        let (outcome, exchange) = client.perform(&list).await;
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert_eq!(exchange.items, [3.0, 2.0]);
        let span = |place| exchange.spans.get(place);
        assert_eq!(span(2), Some(0), "first_byte");
        assert_eq!((span(3), span(4)), (Some(5 * MS), Some(11 * MS)), "first_event, last_event");
        assert_eq!((span(6), span(7)), (Some(4 * MS), Some(3 * MS)), "longest_gap, mean_gap");
    });
}

#[test]
fn a_stream_that_is_late_or_short_is_a_failure() {
    let slow = list("[expect]\nwithin = { gap = '3ms' }");
    let few = list("[expect]\nevents = '4..'");
    timed(&[5, 7, 11], end_well, async |mut client| {
        let (outcome, exchange) = client.perform(&slow).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::TooSlow));
        assert_eq!(exchange.detail.as_deref(), Some("gap 4.00 ms, expected at most 3.00 ms"));
        let (outcome, exchange) = client.perform(&few).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
        assert_eq!(exchange.detail.as_deref(), Some("3 events, expected at least 4"));
    });
}

#[test]
fn a_stream_that_breaks_off_is_cut_short_and_one_with_a_status_is_not() {
    let list = list("");
    let reset = |send: &mut h2::SendStream<Bytes>| send.send_reset(h2::Reason::INTERNAL_ERROR);
    timed(&[1, 2], reset, async |mut client| {
        let (outcome, exchange) = client.perform(&list).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::CutShort));
        assert!(exchange.detail.expect("why").starts_with("after "));
    });
    let refuse = |send: &mut h2::SendStream<Bytes>| {
        send.send_trailers(fields(&[("grpc-status", "8"), ("grpc-message", "enough")])).unwrap();
    };
    timed(&[1, 2], refuse, async |mut client| {
        let (outcome, exchange) = client.perform(&list).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
        assert_eq!(exchange.detail.as_deref(), Some("RESOURCE_EXHAUSTED: enough"));
        assert_eq!(exchange.spans.get(4), Some(2 * MS), "last_event");
    });
}

#[test]
fn messages_need_not_be_whole_in_their_frames() {
    let list = list("[expect]\nevents = 3\nmatches = '(?s)\"a\".*\\n.*\"a\"'");
    let body = ITEM.repeat(3);
    let (outcome, exchange) = answered(&list, Answered::ok(&body));
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    let (outcome, _) = answered(&list, Answered::ok(&body[..body.len() - 1]));
    assert_eq!(outcome, Outcome::Failed(FailureKind::Malformed));
    let (outcome, _) = answered(&list, Answered::ok(b""));
    assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent), "no event");
}

#[test]
fn a_list_of_messages_is_one_body() {
    let put = operation("Put", "messages = [{ id = 'a', count = 2 }, { id = '{{sequence}}' }]");
    let (outcome, exchange) = answered(&put, Answered::ok(ITEM));
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert_eq!(exchange.bytes_sent, 10 + 8);
    let nothing = operation("Put", "messages = []");
    let (outcome, exchange) = answered(&nothing, Answered::ok(ITEM));
    assert_eq!((outcome, exchange.bytes_sent), (Outcome::Succeeded, 0));
}
