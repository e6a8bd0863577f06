//! What comes before the first operation.

use drivers::nats::driver::Nats;
use engine::clock::{Clock, Virtual};
use engine::driver::Driver;
use record::{FailureKind, Outcome};

use super::stand::{Connected, HELLO, INFO, Server, connect, operation, perform};

const PLAIN: &str = "nats = { publish = \"a\" }";

/// Connects to a server that greets so, hears this and answers so; what came of it, our part of the dialogue, and the
/// status.
fn session(
    text: &str,
    greeting: &'static str,
    heard: String,
    answer: &'static str,
) -> (Option<(FailureKind, String)>, String, String) {
    let operation = operation(text);
    let clock = Virtual::new();
    let runtime = clock.runtime().expect("a runtime");
    runtime.block_on(async move {
        let (near, far) = tokio::io::duplex(4 << 20);
        let server = tokio::task::spawn_local(async move {
            let mut far = Server(far);
            far.spell(greeting).await;
            far.hear(&heard).await;
            far.spell(answer).await;
        });
        let Connected { client, exchange } = connect(&operation, near, &clock).await;
        server.await.expect("the server keeps to its script");
        let turns = exchange.dialogue.iter().flatten();
        let ours: Vec<_> = turns.map(|turn| String::from_utf8_lossy(&turn.text)).collect();
        (client.err(), ours.join("; "), exchange.status.to_string())
    })
}

/// What a client with these credentials sends first.
fn hello(credentials: &str) -> String {
    HELLO.replace("\"name\"", &format!("{credentials},\"name\""))
}

#[test]
fn credentials_come_first_and_are_not_shown() {
    for (settings, credentials, shown) in [
        (
            "user = \"load\", password = \"s3cret\"",
            "\"user\":\"load\",\"pass\":\"s3cret\"",
            "\"user\":\"load\",\"pass\":\"…\"",
        ),
        ("token = \"s3cret\"", "\"auth_token\":\"s3cret\"", "\"auth_token\":\"…\""),
    ] {
        let text = format!("nats = {{ publish = \"a\", {settings} }}");
        let (failed, ours, _) = session(&text, INFO, hello(credentials), "PONG\r\n");
        assert_eq!(failed, None);
        assert!(ours.contains(shown) && !ours.contains("s3cret"), "{ours}");
        assert!(ours.ends_with("; SUB _INBOX.SERVER7.* 1"), "{ours}");
        let refusal = "-ERR 'Authorization Violation: s3cret'\r\n";
        let (failed, ours, status) = session(&text, INFO, hello(credentials), refusal);
        let detail = "Authorization Violation: …".to_owned();
        assert_eq!(
            (failed, status.as_str()),
            (Some((FailureKind::Status, detail)), "authorization")
        );
        assert!(!ours.contains("s3cret"));
    }
}

#[test]
fn a_server_that_numbers_no_connections_and_knows_no_headers_will_do() {
    let operation = operation(PLAIN);
    let clock = Virtual::new();
    clock.runtime().expect("a runtime").block_on(async move {
        let (near, far) = tokio::io::duplex(4096);
        let server = tokio::task::spawn_local(async move {
            let mut far = Server(far);
            far.say("INFO {}\r\n").await;
            let hello = HELLO.replace("true", "false");
            let inbox = format!("SUB _INBOX.p{}t", std::process::id());
            far.hear(&hello[..hello.find("SUB").expect("it is there")]).await;
            far.hear(&inbox).await;
            far.say("PONG\r\n").await;
            far
        });
        let connected = connect(&operation, near, &clock).await;
        assert!(connected.client.is_ok());
        server.await.expect("the server keeps to its script");
    });
}

#[test]
fn who_may_only_publish_can_publish() {
    let publish = operation(PLAIN);
    let clock = Virtual::new();
    clock.runtime().expect("a runtime").block_on(async move {
        let (near, far) = tokio::io::duplex(4096);
        let times = clock.clone();
        let server = tokio::task::spawn_local(async move {
            let mut far = Server(far);
            far.say(INFO).await;
            far.hear(HELLO).await;
            far.say("-ERR 'Permissions Violation for Subscription to \"_INBOX.SERVER7.*\"'\r\n")
                .await;
            far.say("PONG\r\n").await;
            far.hear("PUB a 0\r\n\r\nPING\r\n").await;
            far.say("PONG\r\n").await;
            times.sleep_until(times.now() + 1).await;
        });
        let mut client = connect(&publish, near, &clock).await.client.expect("a session");
        let mut one = client.stream();
        let request = operation("nats = { request = \"a\" }");
        assert_eq!(perform(&request, &mut one).await, Outcome::Failed(FailureKind::Status));
        assert_eq!((one.1.status.to_string().as_str(), one.1.reusable), ("permissions", true));
        assert_eq!(perform(&publish, &mut one).await, Outcome::Succeeded);
        assert!(Nats.outlives_streams(&mut client.connection));
        server.await.expect("the server keeps to its script");
    });
}

#[test]
fn tls_is_insisted_on_and_never_follows_bytes_in_the_clear() {
    let always = "nats = { publish = \"a\", token = \"s3cret\", tls = \"always\" }";
    let (failed, ..) = session(always, INFO, String::new(), "");
    let detail = "the server does not offer TLS".to_owned();
    assert_eq!(failed, Some((FailureKind::WrongContent, detail)));
    let offer = "INFO {\"tls_available\":true}\r\nPING\r\n";
    for (text, kind) in [(always, FailureKind::Malformed), (PLAIN, FailureKind::Malformed)] {
        let operation = operation(text);
        let clock = Virtual::new();
        clock.runtime().expect("a runtime").block_on(async move {
            let (near, far) = tokio::io::duplex(4096);
            Server(far).say(offer).await;
            let failed = connect(&operation, near, &clock).await.client.err();
            assert_eq!(failed.map(|(kind, _)| kind), Some(kind));
        });
    }
    let never = "nats = { publish = \"a\", tls = \"never\" }";
    let plain = "INFO {\"tls_available\":true,\"server_id\":\"NSERVER\",\"client_id\":7,\"headers\":true}\r\n";
    assert_eq!(session(never, plain, HELLO.to_owned(), "PONG\r\n").0, None);
    // A pipe in memory cannot be upgraded, so this shows that it was tried.
    let (failed, ..) = session(PLAIN, plain, String::new(), "");
    assert_eq!(failed.map(|(kind, _)| kind), Some(FailureKind::Tls));
}

#[test]
fn a_server_that_closes_or_speaks_something_else_is_no_server() {
    for (greeting, kind, status) in [
        ("", FailureKind::Closed, "0"),
        ("INFO {", FailureKind::Closed, "0"),
        ("HTTP/1.1 400 Bad Request\r\n", FailureKind::Malformed, "0"),
        ("220 mail.example\r\n", FailureKind::Malformed, "0"),
        ("PING\r\n", FailureKind::Malformed, "0"),
        ("INFO 5\r\n", FailureKind::Malformed, "0"),
        ("-ERR 'maximum connections exceeded'\r\n", FailureKind::Status, "max_connections"),
    ] {
        let (failed, _, seen) = session(PLAIN, greeting, String::new(), "");
        assert_eq!(failed.map(|(kind, _)| kind), Some(kind), "{greeting}");
        assert_eq!(seen, status, "{greeting}");
    }
    let endless = Box::leak(format!("INFO {{\"a\":\"{}", "x".repeat(1 << 20)).into_boxed_str());
    let (failed, ..) = session(PLAIN, endless, String::new(), "");
    assert_eq!(failed.map(|(kind, _)| kind), Some(FailureKind::TooLarge));
    for (answer, kind) in [
        ("", FailureKind::Closed),
        ("PONG", FailureKind::Closed),
        ("+OK\r\nMSG\r\n", FailureKind::Malformed),
    ] {
        let (failed, ..) = session(PLAIN, INFO, HELLO.to_owned(), answer);
        assert_eq!(failed.map(|(kind, _)| kind), Some(kind), "{answer}");
    }
}
