//! Every behaviour does to a client what the README says.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::running::{Running, mode, read_answer, read_to_end};

const GET: &str = "GET / HTTP/1.1\r\nhost: t\r\n\r\n";

fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn a_refused_connection_ends_without_a_byte() {
    let target = Running::start(mode("refuse"));
    let (answer, _error) = target.ask(GET);
    assert_eq!(answer, "");
    assert_eq!(target.report("")["received"], 0);
    assert!(target.control("GET /metrics").contains("truth_connections_refused_total 1\n"));
}

#[test]
fn a_share_of_connections_is_refused_by_the_seed() {
    let target = Running::start(mode("refuse").with("share", "50%"));
    let request = "GET / HTTP/1.1\r\nconnection: close\r\n\r\n";
    let served = (0..60).filter(|_| target.ask(request).0.starts_with("HTTP/1.1 200")).count();
    assert!((10..=50).contains(&served), "{served} of 60");
    assert_eq!(target.report("")["received"], served);
}

#[test]
fn a_listener_can_be_closed_so_that_the_kernel_refuses() {
    let refuse = mode("refuse").with("share", 0).with("close_listener_after", 1);
    let target = Running::start(refuse);
    let mut first = target.connect();
    first.write_all(GET.as_bytes()).unwrap();
    assert!(read_answer(&mut first).starts_with("HTTP/1.1 200 OK"));
    let refused = TcpStream::connect(target.http).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(target.control("GET /healthz"), "ok\n");
}

#[test]
fn a_reset_is_a_reset() {
    let target = Running::start(mode("reset"));
    let (answer, error) = target.ask(GET);
    assert_eq!((answer.as_str(), error), ("", Some(ErrorKind::ConnectionReset)));
    assert_eq!(target.report("")["received"], 1);
}

#[test]
fn a_slow_body_comes_whole() {
    let slow = mode("slow_body").with("over", "20ms").with("pieces", 4).with("body", "10B");
    let target = Running::start(slow);
    let started = std::time::Instant::now();
    assert_eq!(body_of(&target.get("/")), "xxxxxxxxxx");
    assert!(started.elapsed().as_millis() >= 20);
}

#[test]
fn a_status_is_told_and_the_connection_kept() {
    let target = Running::start(mode("status").with("code", 503));
    let mut stream = target.connect();
    for _ in 0..2 {
        stream.write_all(GET.as_bytes()).unwrap();
        assert!(read_answer(&mut stream).starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
    }
}

#[test]
fn a_share_spares_the_others() {
    let target = Running::start(mode("status").with("share", "50%"));
    let mut stream = target.connect();
    let failed = (0..200)
        .filter(|_| {
            stream.write_all(GET.as_bytes()).unwrap();
            read_answer(&mut stream).starts_with("HTTP/1.1 500")
        })
        .count();
    assert!((60..=140).contains(&failed), "{failed} of 200");
}

#[test]
fn garbage_is_no_http() {
    let target = Running::start(mode("garbage"));
    let (answer, _error) = target.ask(GET);
    assert!(answer.contains("not HTTP at all") && !answer.starts_with("HTTP/"), "{answer:?}");
}

#[test]
fn a_hang_lasts_until_the_client_leaves() {
    let target = Running::start(mode("hang"));
    let mut stream = target.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    while target.report("")["received"] == 0 {}
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(stream);
    // Gone are the load's connection and, when it is looked at, all but the one that looks.
    while !target.control("GET /metrics").contains("truth_connections 1\n") {}
}

#[test]
fn half_a_body_then_the_end() {
    let target = Running::start(mode("half").with("body", "300KB"));
    let (answer, error) = target.ask(GET);
    assert!(answer.contains("content-length: 300000\r\n"));
    assert_eq!((body_of(&answer).len(), error), (150_000, None));
}

#[test]
fn header_lines_never_end() {
    let target = Running::start(mode("endless_header"));
    let mut stream = target.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    let mut some = vec![0; 4 << 20];
    stream.read_exact(&mut some).unwrap();
    let text = String::from_utf8(some).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\nx-endless: "));
    assert!(!text.contains("\r\n\r\n"));
}

#[test]
fn a_length_lies_in_either_direction() {
    let target = Running::start(mode("lying_length").with("body", "10B"));
    let answer = target.get("/");
    assert!(answer.contains("content-length: 10\r\n"));
    assert!(body_of(&answer).len() > 10);
    let target = Running::start(mode("lying_length").with("body", "10B").with("lie", "more"));
    let answer = target.get("/");
    assert!(!answer.contains("content-length: 10\r\n"));
    assert_eq!(body_of(&answer).len(), 10);
}

#[test]
fn a_huge_body_is_streamed_whole() {
    let target = Running::start(mode("huge_body").with("body", "40MiB"));
    let mut stream = target.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    let bytes = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert!(bytes > 40 << 20);
    assert_eq!(target.report("")["received"], 1);
}

#[test]
fn a_huge_body_can_be_left() {
    let target = Running::start(mode("huge_body"));
    let mut stream = target.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    let mut some = vec![0; 1 << 20];
    stream.read_exact(&mut some).unwrap();
    assert!(String::from_utf8_lossy(&some).contains("content-length: 2147483648\r\n"));
    drop(stream);
    while !target.control("GET /metrics").contains("truth_connections 1\n") {}
}

#[test]
fn chunks_carry_the_body() {
    let target = Running::start(mode("chunked").with("body", "10B").with("pieces", 3));
    let answer = target.get("/");
    assert!(answer.contains("transfer-encoding: chunked\r\n"));
    assert_eq!(body_of(&answer), "4\r\nxxxx\r\n3\r\nxxx\r\n3\r\nxxx\r\n0\r\n\r\n");
}

#[test]
fn close_ends_each_connection_and_says_so() {
    let target = Running::start(mode("close"));
    let (answer, error) = target.ask(GET);
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert_eq!(error, None);
}

#[test]
fn a_head_request_gets_the_head_only() {
    let target = Running::start(mode("none").with("body", "1KiB"));
    let (answer, _) = target.ask("HEAD / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert!(answer.contains("content-length: 1024\r\n"));
    assert_eq!(body_of(&answer), "");
}

#[test]
fn requests_beyond_the_limits_are_refused_and_are_no_arrivals() {
    let limits = mode("none").with("max_head", "512B").with("max_body", "4B");
    let target = Running::start(limits);
    let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(600));
    for (request, status) in [
        (long.as_str(), "431"),
        (&format!("{long}\r\n\r\n"), "431"),
        ("POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\n", "413"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", "501"),
        ("nonsense\r\n\r\n", "400"),
    ] {
        let mut stream = target.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let (answer, _) = read_to_end(&mut stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.20}: {answer}");
    }
    assert_eq!(target.report("")["received"], 0);
}

#[test]
fn a_waiting_client_is_told_to_go_on() {
    let target = Running::start(mode("none"));
    let mut stream = target.connect();
    let head = "POST / HTTP/1.1\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"ab").unwrap();
    assert!(read_answer(&mut stream).starts_with("HTTP/1.1 200 OK"));
}
