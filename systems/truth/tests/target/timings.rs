//! Answers come when they are due and never before.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::running::{Running, mode, read_answer};

/// `count` requests one after the other on one connection; how long each took.
fn times_of(target: &Running, count: usize) -> Vec<Duration> {
    let mut stream = target.connect();
    (0..count)
        .map(|_| {
            let started = Instant::now();
            stream.write_all(b"GET / HTTP/1.1\r\nhost: t\r\n\r\n").unwrap();
            assert!(read_answer(&mut stream).starts_with("HTTP/1.1 200 OK\r\n"));
            started.elapsed()
        })
        .collect()
}

#[test]
fn a_constant_service_is_never_shorter_than_told() {
    let target = Running::start(mode("constant").with("service", "3ms"));
    let took = times_of(&target, 10);
    assert!(took.iter().all(|took| *took >= Duration::from_millis(3)), "{took:?}");
    let report = target.report("");
    assert_eq!(report["received"], 10);
    assert_eq!(report["true_response_ns"]["min"], 3_000_000);
    assert_eq!(report["true_response_ns"]["max"], 3_000_000);
}

#[test]
fn none_is_due_on_arrival() {
    let target = Running::start(mode("none"));
    times_of(&target, 100);
    let report = target.report("rate=1000");
    assert_eq!(report["true_response_ns"]["max"], 0);
    assert_eq!(report["answer_lateness_ns"]["count"], 100);
    assert_eq!(report["schedule_error_ns"]["count"], 100);
}

#[test]
fn a_queue_serves_requests_that_came_together_one_by_one() {
    let target = Running::start(mode("md1").with("rate", "500/s"));
    let started = Instant::now();
    let mut streams: Vec<_> = (0..4).map(|_| target.connect()).collect();
    for stream in &mut streams {
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    }
    for stream in &mut streams {
        read_answer(stream);
    }
    assert!(started.elapsed() >= Duration::from_millis(8));
    let report = target.report("");
    assert_eq!(report["service_ns"]["min"], 2_000_000);
    assert_eq!(report["service_ns"]["max"], 2_000_000);
}

#[test]
fn an_exponential_queue_repeats_itself_after_a_reset() {
    let target = Running::start(mode("mm1").with("rate", "20000/s").with("seed", 7));
    times_of(&target, 50);
    let first = target.report("")["service_ns"].clone();
    target.control("POST /truth/reset");
    assert_eq!(target.report("")["received"], 0);
    times_of(&target, 50);
    assert_eq!(target.report("")["service_ns"], first);
}

#[test]
fn a_freeze_begins_with_the_first_request() {
    let freeze = mode("freeze").with("at", "0").with("length", "40ms").with("service", "0");
    let target = Running::start(freeze);
    assert!(times_of(&target, 1)[0] >= Duration::from_millis(40));
    assert_eq!(target.report("")["true_response_ns"]["max"], 40_000_000);
    times_of(&target, 3);
    assert_eq!(target.report("skip=1")["true_response_ns"]["max"], 0);
}

#[test]
fn bimodal_and_leak_take_the_times_they_drew() {
    let bimodal = mode("bimodal").with("share", "100%").with("slow", "2ms").with("fast", "0");
    let target = Running::start(bimodal);
    assert!(times_of(&target, 2).iter().all(|took| *took >= Duration::from_millis(2)));
    let leak = mode("leak").with("service", "1ms").with("growth", "500us");
    let target = Running::start(leak);
    let took = times_of(&target, 5);
    assert!(took[4] >= Duration::from_millis(3), "{took:?}");
    assert_eq!(target.report("")["true_response_ns"]["max"], 3_000_000);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let target = Running::start(mode("constant").with("service", "1ms"));
    let mut stream = target.connect();
    let request = "POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc";
    stream.write_all(request.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        read_answer(&mut stream);
    }
    assert_eq!(target.report("")["received"], 3);
}
