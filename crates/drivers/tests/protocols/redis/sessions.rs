//! What comes before the first command.

use engine::clock::Virtual;
use record::FailureKind;

use super::stand::{Server, WELCOME, connect, operation};

const AUTH: &str =
    "redis = { command = [\"PING\"], user = \"load\", password = \"s3cret\", db = 2 }";

/// Connects to a server that hears and says this; what came of it, our part of the dialogue, and the status.
fn session(
    text: &str,
    script: &[(&[&str], &str)],
) -> (Option<(FailureKind, String)>, String, String) {
    let owned = |(words, reply): &(&[&str], &str)| {
        (words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), (*reply).to_owned())
    };
    let script: Vec<_> = script.iter().map(owned).collect();
    let operation = operation(text);
    let clock = Virtual::new();
    let runtime = clock.runtime().expect("a runtime");
    runtime.block_on(async move {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let server = tokio::task::spawn_local(async move {
            let mut far = Server(far);
            for (words, reply) in script {
                far.hear(&words.iter().map(String::as_str).collect::<Vec<_>>()).await;
                far.spell(&reply).await;
            }
        });
        let connected = connect(&operation, near, &clock).await;
        server.await.expect("the server keeps to its script");
        let turns = connected.exchange.dialogue.iter().flatten();
        let ours: Vec<_> = turns.map(|turn| String::from_utf8_lossy(&turn.text)).collect();
        let status = connected.exchange.status.to_string();
        (connected.client.err(), ours.join("; "), status)
    })
}

#[test]
fn credentials_and_database_come_first_and_the_password_is_not_shown() {
    let hello = &["HELLO", "3", "AUTH", "load", "s3cret"];
    let script = &[(&hello[..], WELCOME), (&["SELECT", "2"], "+OK\r\n")];
    let seen = session(AUTH, script);
    assert_eq!(seen, (None, "HELLO 3 AUTH load …; SELECT 2".into(), "0".into()));
}

#[test]
fn a_server_without_resp3_is_spoken_to_in_resp2() {
    let hello = &["HELLO", "3", "AUTH", "load", "s3cret"];
    let unknown = "-ERR unknown command `HELLO`, with args beginning with: `3`, `s3cret`\r\n";
    let script = &[
        (&hello[..], unknown),
        (&["AUTH", "load", "s3cret"], "+OK\r\n"),
        (&["SELECT", "2"], "+OK\r\n"),
    ];
    let (failed, ours, _) = session(AUTH, script);
    assert_eq!((failed, ours.as_str()), (None, "HELLO 3 AUTH load …; AUTH …; SELECT 2"));
}

#[test]
fn a_refusal_has_its_name_and_never_the_password() {
    let hello = &["HELLO", "3", "AUTH", "load", "s3cret"];
    let (failed, _, status) = session(AUTH, &[(hello, "-WRONGPASS invalid s3cret pair\r\n")]);
    let detail = "HELLO: WRONGPASS invalid … pair".to_owned();
    assert_eq!((failed, status.as_str()), (Some((FailureKind::Status, detail)), "WRONGPASS"));
    let (failed, _, status) = session(
        "redis = { command = [\"PING\"] }",
        &[(
            &["HELLO", "3"],
            "-NOAUTH HELLO must be called with the client already authenticated\r\n",
        )],
    );
    assert!(failed.is_some_and(|(kind, _)| kind == FailureKind::Status));
    assert_eq!(status, "NOAUTH");
}

#[test]
fn a_server_that_closes_or_speaks_something_else_is_no_server() {
    let plain = "redis = { command = [\"PING\"] }";
    let (failed, ..) = session(plain, &[(&["HELLO", "3"], "")]);
    assert_eq!(failed.map(|(kind, _)| kind), Some(FailureKind::Closed));
    let (failed, ..) = session(plain, &[(&["HELLO", "3"], "220 mail.example\r\n")]);
    assert_eq!(failed.map(|(kind, _)| kind), Some(FailureKind::Malformed));
}
