//! Messages and their answers on an open socket.

use drivers::websocket::driver::WebSocket;
use engine::clock::{Clock, Virtual};
use engine::driver::Driver;
use record::{FailureKind, Outcome};

use super::stand::{Server, frame, over_connection, perform, text};

const MS: u64 = 1_000_000;
const NEXT: &str = "websocket = { path = \"/chat\", body = \"hello {{sequence}}\" }";
const BY_ID: &str =
    "websocket = { json = { id = \"{{sequence}}\" }, answer = { \"$.id\" = \"{{sequence}}\" } }";

#[test]
fn an_operation_ends_with_the_last_byte_of_its_answer() {
    over_connection(
        NEXT,
        async |mut server: Server, clock: Virtual| {
            let head = server.agree(b"").await;
            assert!(head.starts_with("GET /chat HTTP/1.1\r\n"), "{head}");
            assert_eq!(server.hear().await, (0x81, "hello 5".to_owned()));
            clock.sleep_until(clock.now() + 3 * MS).await;
            server.say(&frame(0x01, b"wel")).await;
            server.say(&frame(0x89, b"ping")).await;
            assert_eq!(server.hear().await, (0x8a, "ping".to_owned()), "a pong");
            clock.sleep_until(clock.now() + 4 * MS).await;
            server.spell(&frame(0x80, b"come")).await;
        },
        async |operation, client| {
            let mut client = client.expect("a socket");
            let mut one = client.stream();
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, 5, &mut one).await, Outcome::Succeeded);
            assert_eq!(one.1.read_at - began_at, 7 * MS);
            assert_eq!((one.1.bytes_sent, one.1.bytes_received), (7, 7));
            assert!(one.1.reusable);
        },
    );
}

#[test]
fn answers_are_told_apart_in_any_order_and_others_are_none() {
    over_connection(
        BY_ID,
        async |mut server: Server, _| {
            // What comes with the handshake is read, too.
            server.agree(&text("{\"news\":1}")).await;
            for id in ["1", "2", "3"] {
                assert_eq!(server.hear().await.1, format!("{{\"id\":\"{id}\"}}"));
            }
            for message in ["{\"id\":3}", "{\"id\":9}", "{\"id\":\"1\"}", "id 2", "{\"id\":2}"] {
                server.say(&text(message)).await;
            }
        },
        async |operation, client| {
            let mut client = client.expect("a socket");
            let mut streams = [client.stream(), client.stream(), client.stream()];
            let [first, second, third] = &mut streams;
            let outcomes = tokio::join!(
                perform(&operation, 1, first),
                perform(&operation, 2, second),
                perform(&operation, 3, third)
            );
            let good = Outcome::Succeeded;
            assert_eq!(outcomes, (good, good, good));
            let note = WebSocket.note(&operation);
            assert_eq!(note.as_deref(), Some("3 messages came that answered none of its own"));
        },
    );
}

#[test]
fn the_answer_to_a_message_that_was_given_up_is_not_the_next_ones() {
    over_connection(
        NEXT,
        async |mut server: Server, clock: Virtual| {
            server.agree(b"").await;
            server.hear().await;
            server.hear().await;
            clock.sleep_until(clock.now() + MS).await;
            server.say(&text("late")).await;
            clock.sleep_until(clock.now() + MS).await;
            server.say(&text("in time")).await;
        },
        async |operation, client| {
            let mut client = client.expect("a socket");
            let (mut first, mut second) = (client.stream(), client.stream());
            let given_up = client.clock.sleep_until(client.clock.now() + MS / 2);
            tokio::select! {
                biased;
                _ = perform(&operation, 1, &mut first) => panic!("nothing was said"),
                () = given_up => {}
            }
            drop(first);
            let began_at = client.clock.now();
            assert_eq!(perform(&operation, 2, &mut second).await, Outcome::Succeeded);
            assert!(second.1.read_at - began_at > MS);
            assert_eq!(second.1.bytes_received, 7, "in time");
            assert_eq!(WebSocket.note(&operation), None);
        },
    );
}

#[test]
fn expectations_and_items_read_the_answer() {
    let text_of = "websocket = { body = \"x\" }\nexpect = { json = { \"$.ok\" = true } }\n\
                   items = { n = \"$.n\" }";
    over_connection(
        text_of,
        async |mut server: Server, _| {
            server.agree(b"").await;
            for answer in ["{\"ok\":true,\"n\":4}", "{\"ok\":false}", "{\"ok\":true}"] {
                server.hear().await;
                server.say(&text(answer)).await;
            }
        },
        async |operation, client| {
            let mut one = client.expect("a socket").stream();
            assert_eq!(perform(&operation, 0, &mut one).await, Outcome::Succeeded);
            assert_eq!(one.1.items, [4.0]);
            let outcome = perform(&operation, 1, &mut one).await;
            assert_eq!(outcome, Outcome::Failed(FailureKind::WrongContent));
            assert!(one.1.reusable, "the socket goes on");
            assert_eq!(perform(&operation, 2, &mut one).await, Outcome::Succeeded);
        },
    );
}

#[test]
fn the_code_of_a_close_is_the_status_of_all_that_wait() {
    over_connection(
        NEXT,
        async |mut server: Server, _| {
            server.agree(b"").await;
            server.hear().await;
            server.hear().await;
            server.say(&frame(0x88, b"\x03\xf0policy")).await;
            assert_eq!(server.hear().await.0, 0x88, "the close is answered");
        },
        async |operation, client| {
            let mut client = client.expect("a socket");
            let (mut first, mut second) = (client.stream(), client.stream());
            let outcomes = tokio::join!(
                perform(&operation, 1, &mut first),
                perform(&operation, 2, &mut second)
            );
            let closed = Outcome::Failed(FailureKind::Closed);
            assert_eq!(outcomes, (closed, closed));
            let detail = "the peer closed the socket with code 1008: policy";
            for (_, exchange) in [&first, &second] {
                assert_eq!(exchange.detail.as_deref(), Some(detail));
                assert_eq!(
                    (exchange.status.to_string().as_str(), exchange.reusable),
                    ("1008", false)
                );
            }
            WebSocket.idle(&mut first.0).await;
            assert!(WebSocket.open_stream(&mut client.connection).is_none());
        },
    );
}
