//! Commands and replies on an open connection.

use engine::clock::{Clock, Virtual};
use engine::driver::Driver;
use record::{FailureKind, Outcome};

use super::stand::{Server, over_connection, perform};
use drivers::redis::driver::Redis;
use drivers::redis::operation::Operation;

const MS: u64 = 1_000_000;
const GET: &str = "redis = { command = [\"GET\", \"a\"] }";

#[test]
fn an_operation_ends_with_the_last_byte_of_its_reply() {
    over_connection(
        GET,
        async |mut server: Server, clock: Virtual| {
            server.hear(&["GET", "a"]).await;
            clock.sleep_until(clock.now() + 3 * MS).await;
            server.say("$5\r\nhe").await;
            clock.sleep_until(clock.now() + 4 * MS).await;
            server.say("llo\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, &mut one).await, Outcome::Succeeded);
            let exchange = &one.1;
            assert_eq!(exchange.read_at - began_at, 7 * MS);
            assert_eq!(exchange.spans.get(2), Some(3 * MS));
            assert_eq!((exchange.bytes_sent, exchange.bytes_received), (20, 11));
            assert!(!exchange.status.is_some());
        },
    );
}

#[test]
fn an_error_is_a_status_by_name_and_the_connection_goes_on() {
    over_connection(
        GET,
        async |mut server, _| {
            for error in ["-WRONGTYPE Operation against a key\r\n", "!12\r\nOOM too much\r\n"] {
                server.hear(&["GET", "a"]).await;
                server.spell(error).await;
            }
            server.hear(&["GET", "a"]).await;
            server.say("$-1\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            for (name, detail) in
                [("WRONGTYPE", "WRONGTYPE Operation against a key"), ("OOM", "OOM too much")]
            {
                let outcome = perform(&operation, &mut one).await;
                assert_eq!(outcome, Outcome::Failed(FailureKind::Status));
                assert_eq!(one.1.status.to_string(), name);
                assert_eq!((one.1.detail.as_deref(), one.1.reusable), (Some(detail), true));
            }
            assert_eq!(perform(&operation, &mut one).await, Outcome::Succeeded);
        },
    );
}

#[test]
fn several_operations_are_under_way_and_replies_come_in_order() {
    over_connection(
        "redis = { command = [\"GET\", \"a\"] }\nexpect = { contains = \"1\" }",
        async |mut server, _| {
            for _ in 0..3 {
                server.hear(&["GET", "a"]).await;
            }
            server.say(">2\r\n+invalidate\r\n*1\r\n+a\r\n").await;
            server.spell("$1\r\n1\r\n:2\r\n>1\r\n+x\r\n$2\r\n11\r\n").await;
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
            assert_eq!(outcomes, (Outcome::Succeeded, wrong, Outcome::Succeeded));
            assert_eq!(client.connection.pushes(), 2);
            assert!(streams[1].1.reusable);
        },
    );
}

#[test]
fn the_reply_to_an_operation_that_was_given_up_is_skipped() {
    over_connection(
        "redis = { command = [\"GET\", \"a\"] }\nexpect = { contains = \"second\" }",
        async |mut server, clock| {
            server.hear(&["GET", "a"]).await;
            clock.sleep_until(clock.now() + 5 * MS).await;
            server.hear(&["GET", "a"]).await;
            server.say("+first\r\n+second\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            tokio::select! {
                biased;
                outcome = perform(&operation, &mut one) => panic!("{outcome:?}"),
                () = client.clock.sleep_until(client.clock.now() + MS) => {}
            }
            drop(one);
            assert!(Redis.outlives_streams(&mut client.connection));
            let outcome = perform(&operation, &mut client.stream()).await;
            assert_eq!(outcome, Outcome::Succeeded);
        },
    );
}

#[test]
fn expectations_and_numbers_read_the_text_of_the_reply() {
    over_connection(
        "redis = { command = [\"GET\", \"a\"] }\n\
         expect = { body_size = 11, matches = \"^.n\", json = { \"$.n\" = 12 } }\n\
         items = { n = \"$.n\" }",
        async |mut server, _| {
            server.hear(&["GET", "a"]).await;
            server.say("$11\r\n {\"n\" : 12}\r\n").await;
            server.hear(&["GET", "a"]).await;
            server.say("_\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            let outcome = perform(&operation, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
            assert_eq!(one.1.items, [12.0]);
            let detail = one.1.detail.take().expect("what was seen");
            assert!(detail.starts_with("expected body matches"), "{detail}");
            perform(&operation, &mut one).await;
            let detail = one.1.detail.take().expect("what was seen");
            assert!(detail.contains("0 bytes") && detail.contains("no JSON"), "{detail}");
        },
    );
}

#[test]
fn what_is_no_reply_ends_the_connection_for_all_of_its_streams() {
    for (said, kind) in [
        ("HTTP/1.1 400\r\n", FailureKind::Malformed),
        ("$-2\r\n", FailureKind::Malformed),
        ("$16777217\r\n", FailureKind::TooLarge),
        ("$5\r\nhe", FailureKind::Closed),
    ] {
        over_connection(
            GET,
            move |mut server: Server, _| async move {
                server.hear(&["GET", "a"]).await;
                server.hear(&["GET", "a"]).await;
                server.say(said).await;
            },
            async move |operation: Operation, mut client| {
                let (mut first, mut second) = (client.stream(), client.stream());
                let outcomes =
                    tokio::join!(perform(&operation, &mut first), perform(&operation, &mut second));
                assert_eq!(outcomes, (Outcome::Failed(kind), Outcome::Failed(kind)), "{said:?}");
                assert!(!first.1.reusable && !Redis.outlives_streams(&mut client.connection));
                assert!(Redis.open_stream(&mut client.connection).is_none());
                assert_eq!(perform(&operation, &mut first).await, Outcome::Failed(kind));
            },
        );
    }
}

#[test]
fn an_idle_stream_survives_push_messages_and_ends_with_the_connection() {
    over_connection(
        GET,
        async |mut server, clock| {
            server.say(">1\r\n+x\r\n").await;
            clock.sleep_until(clock.now() + 5 * MS).await;
        },
        async |_, mut client| {
            let mut one = client.stream();
            let began_at = client.clock.now();
            Redis.idle(&mut one.0).await;
            assert_eq!(client.clock.now() - began_at, 5 * MS);
            assert_eq!(client.connection.pushes(), 1);
        },
    );
    over_connection(
        GET,
        async |mut server: Server, clock: Virtual| {
            clock.sleep_until(clock.now() + MS).await;
            server.say("+unasked\r\n").await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            Redis.idle(&mut one.0).await;
            let outcome = perform(&operation, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::Malformed));
        },
    );
}
