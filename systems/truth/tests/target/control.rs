//! The paths beside the load.

use std::io::Write;

use serde_json::{Value, json};

use crate::running::{Running, mode, read_answer};

#[test]
fn control_paths_answer_on_the_load_address_and_are_no_arrivals() {
    let target = Running::start(mode("status"));
    assert!(target.get("/healthz").ends_with("\r\n\r\nok\n"));
    assert!(target.get("/metrics").contains("# TYPE truth_requests_total counter\n"));
    assert!(target.get("/truth/nothing").starts_with("HTTP/1.1 404 "));
    assert!(target.get("/truth/reset").starts_with("HTTP/1.1 405 "));
    assert!(target.get("/truth/report?rate=x").starts_with("HTTP/1.1 400 "));
    assert_eq!(target.report("")["received"], 0);
    assert!(target.get("/load").starts_with("HTTP/1.1 500 "));
    assert_eq!(target.report("")["received"], 1);
}

#[test]
fn a_connection_may_carry_load_and_control() {
    let target = Running::start(mode("none"));
    let mut stream = target.connect();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\nGET /truth/report HTTP/1.1\r\n\r\n").unwrap();
    read_answer(&mut stream);
    let report = read_answer(&mut stream);
    let body: Value = serde_json::from_str(report.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["received"], 1);
}

#[test]
fn arrivals_are_listed_in_order_and_bounded() {
    let target = Running::start(mode("none").with("max_stamps", 2));
    let mut stream = target.connect();
    for _ in 0..3 {
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        read_answer(&mut stream);
    }
    let chunked = target.control("GET /truth/arrivals");
    let stamps: Vec<u64> = chunked.lines().filter_map(|line| line.parse().ok()).collect();
    let long: Vec<u64> = stamps.into_iter().filter(|stamp| *stamp > 1_000_000).collect();
    let report = target.report("");
    assert_eq!(long.len(), 2);
    assert!(long[0] <= long[1]);
    assert_eq!((&report["received"], &report["stamped"]), (&json!(3), &json!(2)));
    assert_eq!(report["first_ns"], long[0]);
}

#[test]
fn the_ready_line_tells_the_configuration_in_force() {
    let target = Running::start(mode("mm1").with("rate", "250/s").with("idle", "7s"));
    let effective = &target.ready["effective"];
    assert_eq!(target.ready["system"], "truth");
    assert_eq!(effective["mode"], "mm1");
    assert_eq!(effective["timing"], json!({"mm1": {"rate": 250.0}}));
    assert_eq!(effective["limits"]["idle_ns"], 7_000_000_000_u64);
    assert!(effective["backlog"].as_i64().unwrap() > 0);
}
