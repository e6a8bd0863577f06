//! Faults below HTTP, as a raw socket sees them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Reply, TestOrigin};

fn origin(keys: Value) -> TestOrigin {
    let mut stage = json!({"at": 0, "status": 200, "latency": 0});
    for (key, value) in keys.as_object().unwrap() {
        stage[key] = value.clone();
    }
    TestOrigin::with(json!({"random_content": "100kb", "stages": [stage]}))
}

/// All bytes until the end, and how it ended.
fn all(mut stream: TcpStream) -> (Vec<u8>, Result<(), ErrorKind>) {
    let mut bytes = Vec::new();
    let mut room = [0; 4_096];
    loop {
        match stream.read(&mut room) {
            Ok(0) => return (bytes, Ok(())),
            Ok(read) => bytes.extend(&room[..read]),
            Err(error) => return (bytes, Err(error.kind())),
        }
    }
}

/// Bytes of the body that came, of the 102,400 that were announced.
fn body(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
    assert!(head.contains("content-length: 102400"), "{head}");
    body.len()
}

#[test]
fn a_reset_is_a_reset_and_not_a_byte_comes_before() {
    let origin = origin(json!({"fault": "reset"}));
    let (bytes, end) = all(origin.sent("GET", "/", ""));
    assert_eq!((bytes.len(), end), (0, Err(ErrorKind::ConnectionReset)));
    assert_eq!(origin.admin("current_count"), r#"{"reset":1,"total_requests":1}"#);
}

#[test]
fn a_close_is_an_end_without_an_answer() {
    let origin = origin(json!({"fault": "close"}));
    assert_eq!(all(origin.sent("GET", "/", "")), (Vec::new(), Ok(())));
    assert_eq!(all(origin.sent("POST", "/", "with a body")), (Vec::new(), Ok(())));
    assert_eq!(origin.admin("current_count"), r#"{"close":2,"total_requests":2}"#);
}

#[test]
fn a_close_in_the_body_comes_after_just_so_many_bytes() {
    for (after, sent) in [("0b", 0), ("1b", 1), ("40kb", 40_960), ("5mb", 102_399)] {
        let origin = origin(json!({"fault": "close", "after": after}));
        let (bytes, end) = all(origin.sent("GET", "/", ""));
        assert_eq!((body(&bytes), end), (sent, Ok(())), "{after}");
        assert_eq!(origin.admin("current_count"), r#"{"200":1,"total_requests":1}"#);
    }
}

#[test]
fn a_reset_in_the_body_comes_after_its_head() {
    let origin = origin(json!({"fault": "reset", "after": "1kb"}));
    let mut stream = origin.sent("GET", "/", "");
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    assert_eq!(all(stream).1, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_hang_sends_nothing_and_ends_when_the_client_does() {
    let origin = origin(json!({"fault": "hang"}));
    let mut stream = origin.sent("GET", "/", "");
    eventually(&origin, r#"{"hang":1,"total_requests":1}"#);
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let kind = stream.read(&mut [0]).unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind}");
    drop(stream);
    // Of this question alone a connection is left.
    let begun = Instant::now();
    while !origin.get("/metrics").text().contains("\nhttp_connections 1\n") {
        assert!(begun.elapsed() < super::PATIENCE, "the connection stays");
    }
}

#[test]
fn a_hang_in_the_body_sends_what_comes_before() {
    let origin = origin(json!({"fault": "hang", "after": "1kb"}));
    let mut stream = origin.sent("GET", "/", "");
    let mut bytes = Vec::new();
    let mut room = [0; 4_096];
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") || body(&bytes) < 1_024 {
        let read = stream.read(&mut room).unwrap();
        assert!(read > 0, "it ended");
        bytes.extend(&room[..read]);
    }
    assert_eq!(body(&bytes), 1_024);
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(stream.read(&mut room).is_err());
}

#[test]
fn an_answer_without_a_body_meets_its_fault_before_its_head() {
    let origin = origin(json!({"status": 304, "fault": "close", "after": "1kb"}));
    assert_eq!(all(origin.sent("GET", "/", "")), (Vec::new(), Ok(())));
}

#[test]
fn answers_before_the_fault_on_the_same_connection_are_whole() {
    let origin = TestOrigin::with(json!([
        {"route": "/whole", "body": "whole", "stages": [{"at": 0, "status": 200, "latency": 0}]},
        {"route": "/cut", "body": "x", "stages": [
            {"at": 0, "status": 200, "latency": 0, "fault": "close"},
        ]},
    ]));
    let mut stream = origin.connect();
    let two = b"GET /whole HTTP/1.1\r\nhost: a\r\n\r\nGET /cut HTTP/1.1\r\nhost: a\r\n\r\n";
    stream.write_all(two).unwrap();
    let (bytes, end) = all(stream);
    let (reply, rest) = Reply::parse(&bytes);
    assert_eq!((reply.text().as_str(), rest.len(), end), ("whole", 0, Ok(())));
}

#[test]
fn a_body_held_back_takes_its_time_and_comes_whole() {
    let origin = origin(json!({"bandwidth": "500kb/s"}));
    let begun = Instant::now();
    let reply = origin.get("/");
    assert_eq!(reply.body.len(), 102_400);
    assert!(begun.elapsed() >= Duration::from_millis(200), "{:?}", begun.elapsed());
}

#[test]
fn a_stop_ends_what_hangs_once_its_time_is_over() {
    let stage = json!({"at": 0, "status": 200, "latency": 0, "fault": "hang"});
    let recipe = json!({"body": "x", "stages": [stage]}).to_string();
    let options = serving::options::Options::default();
    let origin = TestOrigin::start(options.with("recipe", recipe).with("drain", "50ms"));
    let mut stream = origin.sent("GET", "/", "");
    eventually(&origin, r#"{"hang":1,"total_requests":1}"#);
    drop(origin);
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
}

fn eventually(origin: &TestOrigin, count: &str) {
    let begun = Instant::now();
    while origin.admin("current_count") != count {
        assert!(begun.elapsed() < super::PATIENCE, "{}", origin.admin("current_count"));
    }
}
