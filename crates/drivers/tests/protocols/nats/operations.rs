//! Operations and their answers on an open connection.

use drivers::nats::driver::Nats;
use engine::clock::{Clock, Virtual};
use engine::driver::Driver;
use record::{FailureKind, Outcome};

use super::stand::{INBOX, Server, operation, over_connection, perform};

const MS: u64 = 1_000_000;
const PUBLISH: &str = "nats = { publish = \"a\", payload = \"hi\" }";
const REQUEST: &str = "nats = { request = \"ask\" }";
const STORE: &str = "nats = { jetstream = \"a\", payload = \"hi\" }";

/// A request with this token.
fn ask(token: &str) -> String {
    format!("PUB ask {INBOX}{token} 0\r\n\r\n")
}

/// A reply to it.
fn reply(token: &str, payload: &str) -> String {
    format!("MSG {INBOX}{token} 1 {}\r\n{payload}\r\n", payload.len())
}

/// A reply with headers and no payload.
fn headers(token: &str, headers: &str) -> String {
    let length = headers.len();
    format!("HMSG {INBOX}{token} 1 {length} {length}\r\n{headers}\r\n")
}

#[test]
fn a_publication_ends_when_the_server_has_read_it() {
    over_connection(
        "nats = { publish = \"a\", payload = \"hi\", header = { k = \"v\" } }",
        async |mut server: Server, clock: Virtual| {
            server.hear("HPUB a 18 20\r\nNATS/1.0\r\nk: v\r\n\r\nhi\r\nPING\r\n").await;
            clock.sleep_until(clock.now() + 3 * MS).await;
            server.spell("+OK\r\nPONG\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, &mut one).await, Outcome::Succeeded);
            let exchange = &one.1;
            assert_eq!(exchange.read_at - began_at, 3 * MS);
            assert_eq!((exchange.bytes_sent, exchange.bytes_received), (36, 0));
            assert!(exchange.spans.get(2).is_none() && !exchange.status.is_some());
        },
    );
}

#[test]
fn a_request_ends_with_the_last_byte_of_its_reply() {
    over_connection(
        REQUEST,
        async |mut server: Server, clock: Virtual| {
            server.hear(&ask("0-1")).await;
            clock.sleep_until(clock.now() + 3 * MS).await;
            server.say("PING\r\nMSG _INBOX.SERVER7.0-1 1 5\r\nhe").await;
            clock.sleep_until(clock.now() + 4 * MS).await;
            server.say("llo\r\n").await;
            server.hear("PONG\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, &mut one).await, Outcome::Succeeded);
            let exchange = &one.1;
            assert_eq!(exchange.read_at - began_at, 7 * MS);
            assert_eq!(exchange.spans.get(2), Some(3 * MS));
            assert_eq!(exchange.bytes_received, reply("0-1", "hello").len() as u64);
            assert_eq!(one.0.reply(), (&b""[..], &b"hello"[..]));
        },
    );
}

#[test]
fn replies_in_any_order_reach_their_requests() {
    over_connection(
        "nats = { request = \"ask\" }\nexpect = { contains = \"yes\" }\nitems = { n = \"$.n\" }",
        async |mut server: Server, clock: Virtual| {
            for token in ["0-1", "1-2", "2-3"] {
                server.hear(&ask(token)).await;
            }
            server.say(reply("2-3", "{\"n\": 3, \"yes\": 1}")).await;
            server.say(reply("0-1", "no") + &reply("2-3", "a second reply")).await;
            server.say(headers("1-2", "NATS/1.0\r\nyes: no\r\n\r\n")).await;
            clock.sleep_until(clock.now() + MS).await;
        },
        async |operation, mut client| {
            let mut streams = [client.stream(), client.stream(), client.stream()];
            let [first, second, third] = &mut streams;
            let outcomes = tokio::join!(
                perform(&operation, first),
                perform(&operation, second),
                perform(&operation, third)
            );
            let wrong = Outcome::Failed(FailureKind::WrongContent);
            assert_eq!(outcomes, (wrong, wrong, Outcome::Succeeded));
            assert_eq!(streams[2].1.items, [3.0]);
            assert!(streams[0].1.reusable);
        },
    );
}

#[test]
fn who_does_not_answer_is_told_by_name() {
    over_connection(
        REQUEST,
        async |mut server: Server, clock: Virtual| {
            for (token, said) in [
                ("0-1", "NATS/1.0 503\r\n\r\n"),
                ("0-2", "NATS/1.0 408 Request Timeout\r\n\r\n"),
                (
                    "0-3",
                    "NATS/1.0\r\nNats-Service-Error: no such\r\nNats-Service-Error-Code: 400\r\n\r\n",
                ),
            ] {
                server.hear(&ask(token)).await;
                server.say(headers(token, said)).await;
            }
            clock.sleep_until(clock.now() + MS).await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            for (name, detail) in [
                ("no_responders", "no responders for the subject"),
                ("408", "408 Request Timeout"),
                ("400", "no such"),
            ] {
                let outcome = perform(&operation, &mut one).await;
                assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
                assert_eq!(one.1.status.to_string(), name);
                assert_eq!((one.1.detail.as_deref(), one.1.reusable), (Some(detail), true));
            }
        },
    );
}

#[test]
fn jetstream_acknowledges_or_refuses() {
    over_connection(
        STORE,
        async |mut server, _| {
            for (token, said) in [
                ("0-1", "{\"stream\":\"S\",\"seq\":1}"),
                (
                    "0-2",
                    "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"maximum messages exceeded\"}}",
                ),
                ("0-3", "hello"),
            ] {
                server.hear(&format!("PUB a {INBOX}{token} 2\r\nhi\r\n")).await;
                server.spell(&reply(token, said)).await;
            }
        },
        async |operation, mut client| {
            let mut one = client.stream();
            assert_eq!(perform(&operation, &mut one).await, Outcome::Succeeded);
            let outcome = perform(&operation, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
            assert_eq!(one.1.status.to_string(), "JS10077");
            assert_eq!(one.1.detail.as_deref(), Some("maximum messages exceeded"));
            let outcome = perform(&operation, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
        },
    );
}

#[test]
fn a_refusal_belongs_to_the_publication_before_it() {
    over_connection(
        PUBLISH,
        async |mut server: Server, clock: Virtual| {
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            // Those that leave together share a `PING`.
            server.hear("PUB a 2\r\nhi\r\nPUB a 2\r\nhi\r\nPING\r\n").await;
            server.say("PONG\r\n-ERR 'Permissions Violation for Publish to \"a\"'\r\n").await;
            server.say("PONG\r\n").await;
            clock.sleep_until(clock.now() + MS).await;
        },
        async |operation, mut client| {
            let mut streams = [client.stream(), client.stream(), client.stream()];
            let [first, second, third] = &mut streams;
            let outcomes = tokio::join!(
                perform(&operation, first),
                perform(&operation, second),
                perform(&operation, third)
            );
            let refused = Outcome::Failed(FailureKind::Status);
            assert_eq!(outcomes, (Outcome::Succeeded, refused, Outcome::Succeeded));
            assert_eq!(streams[1].1.status.to_string(), "permissions");
            assert!(streams[1].1.reusable);
        },
    );
}

#[test]
fn copies_leave_together_and_end_with_one_pong() {
    over_connection(
        "nats = { publish = \"a\", payload = \"hi\", copies = 3 }",
        async |mut server: Server, clock: Virtual| {
            let three = "PUB a 2\r\nhi\r\n".repeat(3) + "PING\r\n";
            server.hear(&three).await;
            clock.sleep_until(clock.now() + 3 * MS).await;
            server.say("PONG\r\n").await;
            // All copies of the second one are refused, and only some of the first one's.
            let refusals =
                |count| "-ERR 'Permissions Violation for Publish to \"a\"'\r\n".repeat(count);
            server.hear(&three).await;
            server.hear(&("PUB a 2\r\nhi\r\n".repeat(6) + "PING\r\n")).await;
            server.say(refusals(2) + "PONG\r\n" + &refusals(3) + "PONG\r\n").await;
        },
        async |operation, mut client| {
            let mut streams = [client.stream(), client.stream(), client.stream()];
            let [first, second, third] = &mut streams;
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, first).await, Outcome::Succeeded);
            assert_eq!((first.1.read_at - began_at, first.1.bytes_sent), (3 * MS, 39));
            let outcomes = tokio::join!(
                perform(&operation, first),
                perform(&operation, second),
                perform(&operation, third)
            );
            let refused = Outcome::Failed(FailureKind::Status);
            assert_eq!(outcomes, (refused, refused, Outcome::Succeeded));
        },
    );
}

#[test]
fn copies_of_too_many_bytes_are_not_sent() {
    over_connection(
        "nats = { publish = \"a\", payload = \"{{bytes 900B}}\", copies = 20000 }",
        async |_server: Server, clock: Virtual| clock.sleep_until(clock.now() + MS).await,
        async |operation, mut client| {
            let mut one = client.stream();
            let outcome = perform(&operation, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::TooLarge));
            let detail = "20000 copies of 913 bytes each are more than 1048576 bytes";
            assert_eq!(one.1.detail.as_deref(), Some(detail));
        },
    );
}

#[test]
fn publications_after_answers_that_came_together_share_a_ping() {
    over_connection(
        PUBLISH,
        async |mut server: Server, _| {
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            server.say("PONG\r\nPONG\r\n").await;
            server.hear("PUB a 2\r\nhi\r\nPUB a 2\r\nhi\r\nPING\r\n").await;
            server.say("-ERR 'Permissions Violation for Publish to \"a\"'\r\n").await;
            server.say("-ERR 'Permissions Violation for Publish to \"a\"'\r\n").await;
            server.say("PONG\r\n").await;
        },
        async |operation, mut client| {
            let mut streams = [client.stream(), client.stream()];
            for expected in [Outcome::Succeeded, Outcome::Failed(FailureKind::Status)] {
                let [first, second] = &mut streams;
                let outcomes =
                    tokio::join!(perform(&operation, first), perform(&operation, second));
                assert_eq!(outcomes, (expected, expected));
            }
        },
    );
}

#[test]
fn a_refusal_finds_the_request_with_its_subject() {
    over_connection(
        PUBLISH,
        async |mut server, _| {
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            server.hear(&ask("1-1")).await;
            server.hear("PUB other _INBOX.SERVER7.2-2 0\r\n\r\n").await;
            server.say("-ERR 'Permissions Violation for Publish to \"other\"'\r\n").await;
            server.say("PONG\r\n").await;
            server.say(reply("1-1", "")).await;
        },
        async |publish, mut client| {
            let [request, other] = [REQUEST, "nats = { request = \"other\" }"].map(operation);
            let mut streams = [client.stream(), client.stream(), client.stream()];
            let [first, second, third] = &mut streams;
            let outcomes = tokio::join!(
                perform(&publish, first),
                perform(&request, second),
                perform(&other, third)
            );
            let refused = Outcome::Failed(FailureKind::Status);
            assert_eq!(outcomes, (Outcome::Succeeded, Outcome::Succeeded, refused));
        },
    );
}

#[test]
fn the_answers_to_operations_that_were_given_up_are_skipped() {
    over_connection(
        REQUEST,
        async |mut server, clock| {
            server.hear(&ask("0-1")).await;
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            clock.sleep_until(clock.now() + 5 * MS).await;
            server.hear(&ask("0-2")).await;
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            server.say(reply("0-1", "late")).await;
            server
                .say("-ERR 'Permissions Violation for Publish to \"a\"'\r\nPONG\r\nPONG\r\n")
                .await;
            server.say(reply("0-2", "in time")).await;
        },
        async |request, mut client| {
            let publish = operation(PUBLISH);
            let (mut asks, mut publishes) = (client.stream(), client.stream());
            tokio::select! {
                biased;
                outcome = perform(&request, &mut asks) => panic!("{outcome:?}"),
                outcome = perform(&publish, &mut publishes) => panic!("{outcome:?}"),
                () = client.clock.sleep_until(client.clock.now() + MS) => {}
            }
            drop((asks, publishes));
            assert!(Nats.outlives_streams(&mut client.connection));
            let (mut asks, mut publishes) = (client.stream(), client.stream());
            let outcomes =
                tokio::join!(perform(&request, &mut asks), perform(&publish, &mut publishes));
            // The refusal came before the first `PONG`: it is that of the publication that was given up.
            assert_eq!(outcomes, (Outcome::Succeeded, Outcome::Succeeded));
            assert_eq!(asks.0.reply().1, b"in time");
            assert_eq!(client.connection.unasked(), 0);
        },
    );
}

#[test]
fn what_cannot_be_sent_is_not_sent() {
    let long = format!("nats = {{ publish = \"a\", payload = \"{}\" }}", "x".repeat(1001));
    over_connection(
        PUBLISH,
        async |mut server, _| {
            server.hear("PUB a 2\r\nhi\r\nPING\r\n").await;
            server.say("INFO {\"max_payload\":2000}\r\nPONG\r\n").await;
            server.hear("PUB a 1001\r\n").await;
            server.say("PONG\r\n").await;
        },
        async move |short, mut client| {
            let mut one = client.stream();
            let long = operation(&long);
            for (text, name) in [
                ("nats = { publish = \"a.{{sequence}} b\" }", "invalid_subject"),
                (
                    "nats = { publish = \"a\", header = { k = \"{{sequence}}\\r\\nPING\" } }",
                    "invalid_header",
                ),
            ] {
                let outcome = perform(&operation(text), &mut one).await;
                assert_eq!(outcome, Outcome::Failed(FailureKind::Status), "{text}");
                assert_eq!((one.1.status.to_string().as_str(), one.1.bytes_sent), (name, 0));
            }
            let outcome = perform(&long, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
            assert_eq!(one.1.status.to_string(), "max_payload");
            let detail = one.1.detail.as_deref();
            assert_eq!(detail, Some("1001 bytes are more than max_payload of the server, 1000"));
            assert!(one.1.reusable);
            assert_eq!(perform(&short, &mut one).await, Outcome::Succeeded);
            assert_eq!(perform(&long, &mut one).await, Outcome::Succeeded);
            // The last `INFO` knows no headers.
            let headers = operation("nats = { publish = \"a\", header = { k = \"v\" } }");
            assert_eq!(perform(&headers, &mut one).await, Outcome::Failed(FailureKind::Status));
            assert_eq!(one.1.status.to_string(), "headers");
        },
    );
}

#[test]
fn an_idle_stream_answers_pings_and_ends_with_the_connection() {
    over_connection(
        PUBLISH,
        async |mut server, clock| {
            server.say("PING\r\nMSG stray 9 2\r\nhi\r\nMSG _INBOX.SERVER7.x 1 0\r\n\r\n").await;
            server.hear("PONG\r\n").await;
            server.say("-ERR 'Permissions Violation for Subscription to \"x\"'\r\n").await;
            clock.sleep_until(clock.now() + 5 * MS).await;
        },
        async |_, mut client| {
            let mut one = client.stream();
            let began_at = client.clock.now();
            Nats.idle(&mut one.0).await;
            assert_eq!(client.clock.now() - began_at, 5 * MS);
            assert_eq!(client.connection.unasked(), 3);
        },
    );
}
