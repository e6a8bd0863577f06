//! What an origin does not put up with.

use std::io::{Read, Write};

use serde_json::json;
use serving::error::ServeError;
use serving::options::Options;

use super::{Reply, TestOrigin, recipe};

fn origin(key: &str, value: &str) -> TestOrigin {
    let recipe = recipe("/*", "x", 200).to_string();
    TestOrigin::start(Options::default().with("recipe", recipe).with(key, value))
}

#[test]
fn bodies_have_a_bound() {
    let origin = origin("max_body", "1KiB");
    let large = "x".repeat(1_025);
    let reply = origin.ask("POST", "/", &large);
    assert_eq!((reply.status, reply.text().as_str()), (413, "body too large"));
    let reply = origin.ask("POST", "/_admin/add_recipe", &large);
    assert_eq!((reply.status, &reply.json()["path"]), (413, &json!("$")));
    assert_eq!(origin.ask("POST", "/", &large[1..]).text(), "x");
}

#[test]
fn payloads_and_routes_have_bounds() {
    let with_payload_limit = origin("max_payload", "1KiB");
    let reply = with_payload_limit.add(&json!({"random_content": "2kb"}));
    assert_eq!(reply.json()["error"], "$.random_content: a payload may have 1024 bytes");
    let reply = origin("max_payloads", "4B").add(&json!({"random_content": "4b", "route": "/a"}));
    assert_eq!(reply.json()["error"], "$: all payloads may have 4 bytes, not 5");
    let reply = origin("max_payloads", "4B").add(&json!({"random_content": "9b", "route": "/a"}));
    assert_eq!(reply.json()["error"], "$: all payloads may have 4 bytes");
    let reply = origin("max_routes", "1").add(&recipe("/a", "x", 200));
    assert_eq!(reply.json()["error"], "$: there may be 1 routes, not 2");
}

#[test]
fn a_connection_too_many_is_closed() {
    let origin = origin("max_connections", "1");
    let mut first = origin.connect();
    first.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    first.read_exact(&mut [0; 12]).unwrap();
    let second = origin.connect().read(&mut [0]);
    assert!(matches!(second, Ok(0) | Err(_)), "{second:?}");
}

#[test]
fn requests_that_could_be_read_in_two_ways_are_refused() {
    let origin = origin("threads", "2");
    for head in [
        "GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        "GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nhost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\rb\r\n\r\n",
    ] {
        let mut stream = origin.connect();
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(Reply::read(stream).status, 400, "{head:?}");
    }
}

#[test]
fn a_slow_head_is_not_waited_for() {
    let origin = origin("idle", "50ms");
    for begun in ["", "GET / HT", "PRI * HT"] {
        let mut stream = origin.connect();
        stream.write_all(begun.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let told = String::from_utf8_lossy(&bytes);
        assert!(!bytes.starts_with(b"HTTP/1.1 200"), "{begun}: {told}");
    }
}

#[test]
fn a_start_says_what_stands_in_its_way() {
    let start = |options: Options| {
        let (_, stop) = serving::stop::Stop::pair();
        edge::origin::SYSTEM.serve_until(&options, stop, |_| panic!("it is ready")).unwrap_err()
    };
    let bad = start(Options::default().with("recipe", "{}"));
    assert_eq!(bad.exit_code(), 2);
    // Nobody listens there.
    let recipe = json!({"origin": "http://127.0.0.1:1/"}).to_string();
    let unreachable = start(Options::default().with("recipe", recipe));
    assert_eq!(unreachable.exit_code(), 4);
    assert!(matches!(unreachable, ServeError::Stopped { .. }), "{unreachable}");
    assert!(unreachable.to_string().contains("$.origin: http://"), "{unreachable}");
}
