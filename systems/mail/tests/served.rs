//! The whole server as it is started: what it reports, what it counts, and how it stops.

#![expect(clippy::unwrap_used, reason = "all of it is tests, where a panic is the message")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use nonce::Nonce;
use serde_json::{Value, json};
use serving::options::Options;
use serving::stop::Stop;
use testing::{TestSystem, client};
use timer::monotonic;

/// SHA-256 of `abc` and CR LF, as `sha256sum` says.
const DIGEST: &str = "552bab6864c7a7b69a502ed1854b9245c0e1a30f008aaa0b281da62585fdb025";

fn start(options: Options) -> TestSystem {
    TestSystem::start(&mail::SYSTEM, options)
}

/// The JSON of an answer of the API.
fn get(server: &TestSystem, path: &str) -> Value {
    let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    let answer = client::ask(server.address("http"), &request);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| body.into())
}

/// Reads the greeting, then sends each line and reads its reply; returns the codes.
fn converse(stream: &TcpStream, said: &[&str]) -> Vec<String> {
    let mut reader = BufReader::new(stream);
    let mut reply = || loop {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "the connection ended");
        if !line[3..].starts_with('-') {
            break line[..3].to_owned();
        }
    };
    let mut codes = vec![reply()];
    for text in said {
        (&*stream).write_all(text.as_bytes()).unwrap();
        codes.push(reply());
    }
    codes
}

fn send(server: &TestSystem, content: &str) {
    let stream = client::connect(server.address("smtp"));
    let content = format!("{content}.\r\n");
    let said =
        ["EHLO c.example\r\n", "MAIL FROM:<a@x>\r\n", "RCPT TO:<b@y>\r\n", "RCPT TO:<c@z>\r\n"];
    let codes = converse(&stream, &[&said[..], &["DATA\r\n", &content, "QUIT\r\n"]].concat());
    assert_eq!(codes, ["220", "250", "250", "250", "250", "354", "250", "221"]);
}

fn marked(index: u64, body: &str) -> String {
    let mut nonce = Vec::new();
    Nonce { trial: 1, index, check: 0, sent_at: monotonic() }.render(&mut nonce);
    let nonce = String::from_utf8(nonce).unwrap();
    format!("X-Proofload-Nonce: {nonce}\r\nX-Proofload-Digest: sha256={DIGEST}\r\n\r\n{body}\r\n")
}

#[test]
fn what_a_load_sends_is_observed() {
    for store in ["memory", "discard"] {
        let server = start(Options::default().with("store", store));
        send(&server, &marked(0, "abc"));
        send(&server, &marked(1, "abd"));
        send(&server, "Subject: a stranger\r\n\r\n");
        let observed = get(&server, "/observed");
        let count = |name: &str| observed[name].as_u64().unwrap();
        assert_eq!((count("received"), count("duplicates"), count("unexpected")), (2, 0, 1));
        let detail = &observed["detail"];
        assert_eq!((&detail["intact"], &detail["damaged"]), (&json!(1), &json!(1)), "{store}");
        assert_eq!((&detail["messages"], &detail["recipients"]), (&json!(3), &json!(6)));
        assert!(observed["delivery_time"].is_string());
        let metrics = get(&server, "/metrics");
        let metrics = metrics.as_str().unwrap();
        for line in ["mail_messages_total 3", "mail_messages_accepted_total 3"] {
            assert!(metrics.contains(&format!("\n{line}\n")), "{metrics}");
        }
        server.stopped();
    }
}

#[test]
fn settings_are_told_under_their_names_as_they_were_set() {
    let folder = std::env::temp_dir().join(format!("mail-served-{}", std::process::id()));
    let set = [
        ("store", json!("maildir")),
        ("path", json!(folder)),
        ("store_messages", json!(7)),
        ("hostname", json!("sink.example")),
        ("greeting", json!("no ESMTP today")),
        ("tls", json!("starttls")),
        ("min_tls", json!("1.3")),
        ("auth", json!("optional")),
        ("auth_in_clear", json!(true)),
        ("backlog", json!(10)),
        ("threads", json!(2)),
        ("max_connections", json!(50)),
        ("max_recipients", json!(3)),
        ("max_errors", json!(4)),
    ];
    let with_units = [
        ("max_message", "1MiB", "max_message", 1 << 20),
        ("max_memory", "2MiB", "max_memory", 2 << 20),
        ("max_command", "600B", "max_command", 600),
        ("max_line", "500B", "max_line", 500),
        ("command_timeout", "1s", "command_timeout_ns", 1_000_000_000),
        ("data_timeout", "2s", "data_timeout_ns", 2_000_000_000),
        ("session_timeout", "3s", "session_timeout_ns", 3_000_000_000),
        ("write_timeout", "4s", "write_timeout_ns", 4_000_000_000_u64),
        ("drain", "5ms", "drain_ns", 5_000_000),
    ];
    let options = Options::default().with("users", json!({ "ada": "secret" }));
    let options = options.with("smtps", "127.0.0.1:0");
    let given = set.iter().cloned();
    let given = given.chain(with_units.map(|(name, value, ..)| (name, json!(value))));
    let options = given.fold(options, |options, (name, value)| options.with(name, value));
    let server = start(options);
    let effective = &server.ready["effective"];
    for (name, value) in &set {
        assert_eq!(&effective[*name], value, "{name}");
    }
    for (_, _, name, value) in with_units {
        assert_eq!(effective[name], value, "{name}");
    }
    assert!(!server.ready.to_string().contains("secret"));
    assert_eq!(server.ready["system"], "mail");
    for name in ["smtp", "smtps", "http"] {
        TcpStream::connect(server.address(name)).unwrap();
    }
    server.stopped();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_waiting_api_request_does_not_delay_the_stop() {
    let server = start(Options::default());
    let mut waiting = client::connect(server.address("http"));
    write!(waiting, "GET /messages?wait=60s HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n")
        .unwrap();
    // A reply on another connection shows that the first one is being read by now.
    assert_eq!(get(&server, "/counts")["messages"], 0);
    server.stopped();
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.is_empty() || answer.contains("{\"messages\":[]}"), "{answer}");
}

#[test]
fn bad_settings_and_places_that_cannot_be_had_are_told_apart() {
    let refused = |options: Options| {
        let (_stopper, stop) = Stop::pair();
        mail::SYSTEM
            .serve_until(&options, stop, |_| panic!("it is not ready"))
            .unwrap_err()
            .exit_code()
    };
    assert_eq!(refused(Options::default().with("store", "paper")), 2);
    assert_eq!(refused(Options::default().with("stoer", "memory")), 2);
    let nowhere = Options::default().with("store", "maildir").with("path", "/proc/mail");
    assert_eq!(refused(nowhere), 4);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    assert_eq!(refused(Options::default().with("http", taken)), 4);
}
