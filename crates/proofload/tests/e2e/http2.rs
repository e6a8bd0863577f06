//! HTTP/2 against third-party servers: many streams on a connection, and a server that closes connections by itself.

use crate::lab::nginx::nginx_listening;
use crate::lab::server::python;
use crate::lab::{Lab, assert_accounting, assert_measured, only_trial};

/// A closed loop of 2 × 10 streams with this many operations.
fn experiment(port: u16, operations: u32) -> String {
    format!(
        "[target]\nurl = \"http://127.0.0.1:{port}\"\n[load]\noperations = {operations}\nconnections = 2\n\
         streams = 10\nwarm_up = \"0s\"\n[[operation]]\nname = \"home\"\nhttp2 = {{ path = \"/\" }}\n\
         expect = {{ status = 200, contains = \"hello\" }}\n"
    )
}

#[test]
fn nginx_answers_every_stream_of_its_connections() {
    let lab = Lab::new();
    let server = "keepalive_requests 1000000; location / { return 200 hello; }";
    let (_nginx, port) = nginx_listening(&lab, "many", server, "http2");
    let file = lab.write("many.toml", &experiment(port, 4_000));
    let (ran, summary) = lab.run(&[file.to_str().expect("a path")]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.total.statuses["200"], 4_000, "{:?}", trial.total.failures);
    assert_eq!(trial.total.spans["connect"].count, 2);
    assert_eq!((trial.load.connections, trial.load.streams), (2, Some(10)));
    assert_eq!(trial.total.bytes_received, 4_000 * 5);
}

#[test]
fn nginx_that_ends_its_connections_loses_nothing_unsaid() {
    let lab = Lab::new();
    let server = "keepalive_requests 100; location / { return 200 hello; }";
    let (_nginx, port) = nginx_listening(&lab, "ending", server, "http2");
    let file = lab.write("ending.toml", &experiment(port, 4_000));
    let (_, summary) = lab.run(&[file.to_str().expect("a path")]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert!(trial.total.spans["connect"].count >= 20, "each connection carries 100");
    assert!(trial.total.succeeded > 3_000, "{:?}", trial.total.failures);
    let kinds: Vec<&str> = trial.total.failures.keys().map(String::as_str).collect();
    assert!(kinds.is_empty() || kinds == ["going_away"], "{:?}", trial.total.failures);
}

/// Python's server takes the request for HTTP/0.9 and answers with a page without a head.
#[test]
fn a_server_of_http1_is_told_with_what_to_do() {
    let lab = Lab::new();
    let (_python, port) = python(&lab.path(""));
    let file = lab.write("old.toml", &experiment(port, 1));
    let ran = lab.proofload(&["check", file.to_str().expect("a path"), "--try"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let told = "the peer answers HTTP/1.1, not HTTP/2: ask it with `http`";
    assert!(ran.stdout.contains(told), "{ran:?}");
}
