//! Sessions of a log: the requests of each client in their order, over connections of its own.

use super::target::target;
use crate::lab::{Lab, assert_accounting, only_trial};

/// Client, second and path of each line.
const LOG: [(&str, u64, &str); 8] = [
    ("192.0.2.1", 0, "/a/1"),
    ("192.0.2.2", 0, "/b/1"),
    ("192.0.2.1", 1, "/a/2"),
    ("192.0.2.2", 1, "/b/lost"),
    ("192.0.2.3", 1, "/c/1"),
    ("192.0.2.2", 2, "/b/3"),
    ("192.0.2.1", 3, "/a/3"),
    ("192.0.2.1", 3, "/a/4"),
];

fn log() -> String {
    let line = |(client, second, path): &(&str, u64, &str)| {
        format!(
            "{client} - - [10/Oct/2000:13:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"x\"\n"
        )
    };
    LOG.iter().map(line).collect()
}

#[test]
fn each_client_of_a_log_is_a_session_with_its_requests_in_order() {
    let lab = Lab::new();
    let (address, visits) = target();
    lab.write("access.log", &log());
    let import = ["import", "access.log", "--host", &address, "--sessions", "--out", "replay.toml"];
    let ran = lab.proofload(&import);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("8 requests of 3 sessions in "), "{}", ran.stderr);
    let checked = lab.proofload(&["check", "replay.toml"]);
    let says = "one of 3 sessions of replay.sessions.csv for each, 8 requests together";
    assert!(checked.stdout.contains(says), "{checked:?}");

    // On a busy machine the last request may be due later than the log says, and must not be due after the phase.
    let (ran, summary) = lab.run(&["replay.toml", "--set", "load.duration=8s"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let mut seen = visits.lock().expect("nobody panics with it").clone();
    seen.sort();
    let expected = [
        vec!["/a/1", "/a/2", "/a/3", "/a/4"],
        // A session continues after a failure, as its client did.
        vec!["/b/1", "/b/lost", "/b/3"],
        vec!["/c/1"],
    ];
    assert_eq!(seen, expected, "{ran:?}");
    let whole = &trial.journeys[0].whole;
    assert_eq!((whole.planned, whole.succeeded, whole.failed), (3, 2, 1), "{whole:?}");
    let requests = &trial.operations[0];
    assert_eq!((requests.planned, requests.succeeded, requests.failed), (8, 7, 1));
    // The longest session lasts at least two seconds, whatever its requests take.
    assert!(whole.response_time.max_ns > 2_000_000_000, "{whole:?}");
}

#[test]
fn sessions_can_be_told_by_a_field_and_only_in_logs() {
    let lab = Lab::new();
    let line = |second: u64, user: &str, path: &str| {
        format!("{{\"ts\":{},\"uri\":\"{path}\",\"user\":\"{user}\"}}\n", 1_709_164_800 + second)
    };
    let log = [line(0, "ann", "/1"), line(0, "bob", "/2"), line(1, "ann", "/3")].concat();
    lab.write("access.log", &log);
    let import =
        |field: &str, out: &str| lab.proofload(&["import", "access.log", field, "--out", out]);
    let ran = import("--sessions=user", "users.toml");
    assert!(ran.code == 0 && ran.stderr.starts_with("3 requests of 2 sessions"), "{ran:?}");
    assert_eq!(lab.read("users.requests.txt"), "GET /1\nGET /3\nGET /2\n");
    let ran = import("--sessions", "addresses.toml");
    assert!(ran.code == 2 && ran.stderr.contains("it names no client"), "{ran:?}");
    assert!(!lab.path("addresses.sessions.csv").exists());
    let ran = lab.proofload(&["import", "curl http://127.0.0.1/", "--sessions"]);
    assert!(ran.code == 2 && ran.stderr.contains("--sessions is for logs"), "{ran:?}");
}
