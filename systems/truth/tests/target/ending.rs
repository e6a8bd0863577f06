//! Stopping, limits on connections, and starts that fail.

use std::io::{Read, Write};
use std::net::TcpStream;

use serving::options::Options;
use truth::Truth;

use crate::running::{Running, mode, read_answer, read_to_end};

#[test]
fn a_stop_finishes_what_is_in_flight_and_closes_what_is_idle() {
    let mut target = Running::start(mode("constant").with("service", "150ms").with("drain", "10m"));
    let mut idle = target.connect();
    let mut busy = target.connect();
    busy.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    while target.report("")["received"] == 0 {}
    target.stop();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert!(read_to_end(&mut busy).0.starts_with("HTTP/1.1 200 OK\r\n"));
    target.join();
    assert!(TcpStream::connect(target.http).is_err());
}

#[test]
fn a_drain_does_not_wait_for_a_hang_nor_beyond_its_bound() {
    let mut target = Running::start(mode("hang").with("drain", "10m"));
    target.connect().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut stream = target.connect();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    while target.report("")["received"] != 2 {}
    target.stop();
    target.join();
    let long = mode("constant").with("service", "10m").with("drain", "1ms");
    let mut target = Running::start(long);
    stream = target.connect();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    while target.report("")["received"] == 0 {}
    target.stop();
    target.join();
}

#[test]
fn a_connection_too_many_is_closed() {
    let target = Running::start(mode("none").with("max_connections", 1));
    let mut first = target.connect();
    first.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    read_answer(&mut first);
    let mut second = target.connect();
    assert_eq!(second.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn an_idle_connection_is_closed_in_time() {
    let target = Running::start(mode("none").with("idle", "1ms"));
    let mut stream = target.connect();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert!(target.control("GET /metrics").contains("truth_connections_timed_out_total"));
}

#[test]
fn half_a_head_is_not_waited_for_beyond_the_read_limit() {
    let target = Running::start(mode("none").with("read", "1ms"));
    let mut stream = target.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nhost:").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(target.report("")["received"], 0);
}

#[test]
fn bad_settings_end_with_code_two_and_one_line() {
    let options = Options::default().with("mode", "mm1").with("rate", "fast").with("at", "1s");
    let error = Truth::bind(&options).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let line = error.to_string();
    assert!(line.contains("rate: expected a rate such as 1000/s, got \"fast\"; at: no setting"));
    assert!(!line.contains('\n'));
}

#[test]
fn a_taken_address_ends_with_code_four() {
    let target = Running::start(mode("none"));
    let options = Options { listen: target.http, ..Options::default() };
    assert_eq!(Truth::bind(&options).unwrap_err().exit_code(), 4);
}
