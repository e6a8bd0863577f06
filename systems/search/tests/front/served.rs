//! What a front tells of itself, what it does to paths, how it queues, and how it stops.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::test_front::{TestFront, echo};
use serde_json::{Value, json};
use serving::options::Options;
use serving::stop::Stop;
use testing::client::{ask, connect, message};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn paths_under_the_prefix_lose_it_and_the_time_is_told_after_the_others() {
    let front = TestFront::before(echo());
    for (asked, got) in [
        ("/_go/v1/matrix/search?a=b", "/v1/matrix/search?a=b"),
        ("/v1/matrix/search", "/v1/matrix/search"),
        ("/_go", "/"),
        ("/_gone", "/_gone"),
        ("/healthz", "/healthz"),
        ("/_front", "/_front"),
    ] {
        let answer = ask(
            front.address,
            &format!(
                "POST {asked} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"
            ),
        );
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(body).unwrap(),
            json!({"target": got, "body": "{}"})
        );
        let timing: Vec<&str> =
            head.lines().filter_map(|line| line.strip_prefix("server-timing: ")).collect();
        let [timing] = timing[..] else { panic!("{head}") };
        let own = timing.strip_prefix("embed;dur=0.1, gateway;dur=0.2, front;dur=").unwrap();
        assert!(own.parse::<f64>().unwrap() > 0.0, "{timing}");
    }
}

#[test]
fn its_own_paths_are_not_passed_on() {
    let front = TestFront::before(echo());
    let get = |path: &str| ask(front.address, &format!("GET {path} HTTP/1.0\r\n\r\n"));
    assert!(get("/_front/healthz").ends_with("\r\n\r\nok\n"));
    assert!(get("/_front/else").starts_with("HTTP/1.0 404 "));
    assert_eq!(front.figure("front_requests_total"), 0);
    // Whoever came before has left a moment after its answer's end: the front waits for its last word, too.
    front.until("front_clients", 1);
    get("/a");
    assert_eq!(front.figure("front_requests_total"), 1);
    assert_eq!(front.figure("front_completed_total"), 1);
}

#[test]
fn every_setting_is_read_back() {
    let given = [
        ("threads", "2"),
        ("connections", "10"),
        ("queue", "7"),
        ("queue_wait", "2s"),
        ("upstream_idle", "3s"),
        ("connect", "4s"),
        ("first_byte", "5s"),
        ("whole", "6s"),
        ("max_connections", "8"),
        ("max_head", "32KiB"),
        ("idle", "9s"),
        ("drain", "1s"),
        ("trust_forwarded", "true"),
        ("cost", "2us"),
        ("slow_share", "20%"),
        ("slow_cost", "70us"),
        ("seed", "3"),
    ];
    let upstream = echo();
    let front = TestFront::with(upstream, &given);
    let mut effective = front.ready["effective"].clone();
    let told = effective.as_object_mut().unwrap();
    assert!(told.remove("open_files").unwrap().is_u64());
    assert_eq!(told.remove("version").unwrap(), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        effective,
        json!({
            "upstream": format!("http://{upstream}"), "threads": 2, "connections_a_thread": 5, "queue_a_thread": 7,
            "queue_wait_ns": 2_000_000_000_u64, "upstream_idle_ns": 3_000_000_000_u64,
            "connect_ns": 4_000_000_000_u64, "first_byte_ns": 5_000_000_000_u64, "whole_ns": 6_000_000_000_u64,
            "max_connections": 8, "max_head_bytes": 32_768, "idle_ns": 9_000_000_000_u64, "drain_ns": 1_000_000_000,
            "trust_forwarded": true, "serial": false, "cost_ns": 2_000, "slow_share": 0.2, "slow_cost_ns": 70_000,
            "seed": 3,
        })
    );
    assert!(ask(front.address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200 "));
}

#[test]
fn bad_settings_are_told_all_at_once() {
    let refused = |options: Options| {
        let (_stopper, stop) = Stop::pair();
        let error =
            search::front::SYSTEM.serve_until(&options, stop, |_| panic!("it serves")).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    };
    let told = refused(
        Options::default()
            .with("upstream", "ftp://a")
            .with("serial", true)
            .with("threads", 2)
            .with("slow_share", "10%")
            .with("colour", "red"),
    );
    for part in [
        "upstream: expected",
        "serial: one request",
        "slow_share: goes with slow_cost",
        "colour: no setting",
    ] {
        assert!(told.contains(part), "{told}");
    }
    for upstream in [
        "",
        "http://",
        "http://user@host:1",
        "http://host:1/path",
        "http://h:0",
        "http://h:99999",
        "https://host:1",
        "host:1",
    ] {
        let told = refused(Options::default().with("upstream", upstream));
        assert!(told.starts_with("upstream: expected where requests go"), "{upstream}: {told}");
    }
}

/// An upstream that is slow to answer, a front that sends it one request at a time.
#[test]
fn a_serial_front_lets_one_request_through_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = TestFront::with(listener.local_addr().unwrap(), &[("serial", "true")]);
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let address = front.address;
            thread::spawn(move || ask(address, "GET / HTTP/1.0\r\n\r\n"))
        })
        .collect();
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(&stream);
    for left in (0..3).rev() {
        message(&mut reader).unwrap();
        front.until("front_waiting", left);
        (&stream).write_all(OK).unwrap();
    }
    for client in clients {
        assert!(client.join().unwrap().ends_with("ok"));
    }
    assert_eq!(front.figure("front_connected_total"), 1);
}

#[test]
fn what_is_under_way_is_answered_before_it_stops() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for threads in ["1", "3"] {
        let mut front = TestFront::with(listener.local_addr().unwrap(), &[("threads", threads)]);
        let mut idle = connect(front.address);
        let mut client = connect(front.address);
        client.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
        front.stop();
        // That nobody else is served any more shows that the stop has arrived.
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        stream.write_all(OK).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok"), "{answer}");
        front.stopped();
    }
}

#[test]
fn more_clients_than_may_be_are_turned_away() {
    let front = TestFront::with(echo(), &[("max_connections", "1")]);
    let mut first = connect(front.address);
    first.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    message(&mut BufReader::new(&first)).unwrap();
    // Closed without a word; what was said on it may make that a reset.
    assert!(matches!(connect(front.address).read(&mut [0]), Ok(0) | Err(_)));
    drop(first);
    // Its place is free a moment later, and whoever comes before is turned away as well.
    let mut text = String::new();
    while !text.starts_with("HTTP/1.0 200 ") {
        text.clear();
        let mut stream = connect(front.address);
        let _ = stream.write_all(b"GET /_front/metrics HTTP/1.0\r\n\r\n");
        let _ = stream.read_to_string(&mut text);
    }
    let turned_away = text.lines().find_map(|line| line.strip_prefix("front_turned_away_total "));
    assert_ne!(turned_away.unwrap(), "0");
}

#[test]
fn heads_beyond_the_limit_stop_at_the_front() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let front = TestFront::with(listener.local_addr().unwrap(), &[("max_head", "8KiB")]);
    let long = "x".repeat(20_000);
    let answer = ask(front.address, &format!("GET / HTTP/1.1\r\nHost: h\r\nX: {long}\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(front.figure("front_requests_total"), 0);
    let address = front.address;
    let client = thread::spawn(move || ask(address, "GET / HTTP/1.0\r\n\r\n"));
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    // The front may hang up before it has all of it.
    let _ = stream
        .write_all(format!("HTTP/1.1 200 OK\r\nX: {long}\r\nContent-Length: 0\r\n\r\n").as_bytes());
    assert!(client.join().unwrap().starts_with("HTTP/1.0 502 "));
}

/// A thousand clients that send one byte of a body each, and then nothing, are in nobody's way.
#[test]
fn slow_uploads_starve_nobody() {
    let front = TestFront::before(echo());
    let framings = ["Content-Length: 2", "Content-Length: 1000000", "Transfer-Encoding: chunked"];
    let slow: Vec<_> = (0..999)
        .map(|number| {
            let framing = framings[number % framings.len()];
            let byte = if framing.ends_with("chunked") { "1\r\nx\r\n" } else { "x" };
            let mut client = connect(front.address);
            let head = format!("POST / HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n{byte}");
            client.write_all(head.as_bytes()).unwrap();
            client
        })
        .collect();
    front.until("front_requests_total", slow.len() as u64);
    for _ in 0..100 {
        let answer = ask(
            front.address,
            "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        );
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    assert_eq!(front.figure("front_waiting"), 0);
}
