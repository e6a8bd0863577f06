//! What a server must not do, and what then ends.

use drivers::nats::driver::Nats;
use drivers::nats::operation::Operation;
use engine::clock::{Clock, Virtual};
use engine::driver::Driver;
use record::{FailureKind, Outcome};
use tokio::io::AsyncWriteExt;

use super::stand::{INBOX, INFO, Server, over_connection, perform};

const REQUEST: &str = "nats = { request = \"ask\" }";

/// Two requests under way when the server says this and closes: both fail so, with this status.
#[track_caller]
fn check(said: impl Into<Vec<u8>>, kind: FailureKind, status: &'static str) {
    let said = said.into();
    let shown = String::from_utf8_lossy(&said[..said.len().min(60)]).into_owned();
    over_connection(
        REQUEST,
        move |mut server: Server, _| async move {
            for token in ["0-1", "1-2"] {
                server.hear(&format!("PUB ask {INBOX}{token} 0\r\n\r\n")).await;
            }
            // A client that has seen enough goes away.
            let _ = server.0.write_all(&said).await;
        },
        async move |operation: Operation, mut client| {
            let (mut first, mut second) = (client.stream(), client.stream());
            let outcomes =
                tokio::join!(perform(&operation, &mut first), perform(&operation, &mut second));
            assert_eq!(outcomes, (Outcome::Failed(kind), Outcome::Failed(kind)), "{shown:?}");
            assert_eq!(first.1.status.to_string(), status, "{shown:?}");
            assert!(!first.1.reusable && !Nats.outlives_streams(&mut client.connection));
            assert!(Nats.open_stream(&mut client.connection).is_none());
            assert_eq!(perform(&operation, &mut first).await, Outcome::Failed(kind), "{shown:?}");
        },
    );
}

#[test]
fn what_is_no_answer_ends_the_connection_for_all_of_its_streams() {
    for said in [
        "HTTP/1.1 400 Bad Request\r\n",
        "PONG\r\n",
        "INFO {\r\n",
        "PING\n",
        "MSG _INBOX.SERVER7.0-1 1 -1\r\n",
        "MSG _INBOX.SERVER7.0-1 1 2\r\nabcd\r\n",
        "MSG _INBOX.SERVER7.0-1 1\r\n",
        "HMSG _INBOX.SERVER7.0-1 1 20 12\r\nNATS/1.0\r\n\r\n\r\n",
        "HMSG _INBOX.SERVER7.0-1 1 12 12\r\nHTTP/1.0\r\n\r\n\r\n",
    ] {
        check(said, FailureKind::Malformed, "0");
    }
    for said in ["MSG x 1 9223372036854775808\r\n", "MSG x 1 16777217\r\n"] {
        check(said, FailureKind::TooLarge, "0");
    }
    for said in ["", "MSG _INBOX.SERVER7.0-1 1 5\r\nhe", "PON", "INFO {\"a\":"] {
        check(said, FailureKind::Closed, "0");
    }
}

#[test]
fn an_error_of_the_server_ends_the_connection_under_its_name() {
    for (error, name) in [
        ("Slow Consumer", "slow_consumer"),
        ("Stale Connection", "stale_connection"),
        ("Maximum Payload Violation", "max_payload"),
        ("Authorization Violation", "authorization"),
        ("An Error That Nobody Knows Yet", "error"),
    ] {
        check(format!("-ERR '{error}'\r\n"), FailureKind::Status, name);
    }
}

#[test]
fn lines_and_floods_without_end_are_bounded() {
    check(vec![b'M'; 10], FailureKind::Malformed, "0");
    check([b"-ERR ".to_vec(), vec![b'x'; 5000]].concat(), FailureKind::TooLarge, "0");
    check([b"INFO ".to_vec(), vec![b'{'; 1 << 21]].concat(), FailureKind::TooLarge, "0");
    // A server that wants answers and does not read them: 64 KiB fit into the pipe.
    check(b"PING\r\n".repeat(200_000), FailureKind::TooLarge, "0");
    let flood = [INFO.as_bytes().repeat(20_000), b"MSG x 5 0\r\n\r\n".repeat(20_000)].concat();
    check(flood, FailureKind::Closed, "0");
}

#[test]
fn messages_that_no_one_asked_for_are_no_replies() {
    over_connection(
        REQUEST,
        async |mut server: Server, clock: Virtual| {
            server.hear(&format!("PUB ask {INBOX}0-1 0\r\n\r\n")).await;
            for (subject, sid) in [
                ("_INBOX.SERVER7.0-1", "2"),
                ("_INBOX.SERVER7.0-1", "18446744073709551617"),
                ("_INBOX.SERVER7.", "1"),
                ("_INBOX.SERVER7.0", "1"),
                ("_INBOX.SERVER7.-1", "1"),
                ("_INBOX.SERVER8.0-1", "1"),
                ("ask", "1"),
            ] {
                server.say(format!("MSG {subject} {sid} 5\r\nwrong\r\n")).await;
            }
            for token in ["0-2", "5-1", "99999999999999999999-1", "0-0"] {
                server.say(format!("MSG {INBOX}{token} 1 5\r\nwrong\r\n")).await;
            }
            clock.sleep_until(clock.now() + 1).await;
            server.say(format!("MSG {INBOX}0-1 1 5\r\nright\r\n")).await;
        },
        async |operation, mut client| {
            let mut one = client.stream();
            assert_eq!(perform(&operation, &mut one).await, Outcome::Succeeded);
            assert_eq!(one.0.reply().1, b"right");
            assert_eq!(client.connection.unasked(), 7);
        },
    );
}
