//! Agents in a network namespace of their own, behind a wire that delays packets by 20 ms and drops 1 % of them: TCP
//! sends again, as between machines.
//!
//! Only with `PROOFLOAD_PROOF=1`. It needs /dev/net/tun and the rights of root, or namespaces of users.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::clocks::{Place, assert_bounds_hold};
use super::is_proof;
use crate::lab::brokers::Broker;
use crate::lab::server::{Served, bundled_at};
use crate::lab::{Lab, repository};

/// Set in the process that has a network namespace of its own.
const WITHIN: &str = "PROOFLOAD_TEST_HAS_A_NETWORK";

#[test]
fn a_wire_that_loses_packets_loses_no_window() {
    if !is_proof() {
        return;
    }
    if std::env::var_os(WITHIN).is_some() {
        return over_the_wire();
    }
    let user: &[&str] =
        if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let mut command = Command::new("unshare");
    command.args(user).arg("--net").arg(std::env::current_exe().expect("this program"));
    command.args(["a_wire_that_loses_packets_loses_no_window", "--nocapture"]);
    let status = command.env(WITHIN, "1").status().expect("unshare (Debian: util-linux)");
    assert!(status.success(), "in a network namespace of its own: {status}");
}

/// The wire, and the program that starts others at its far end.
fn wire() -> (Served, Vec<String>) {
    let mut command = Command::new("python3");
    command.arg(repository("crates/proofload/tests/programs/wire.py"));
    let child = command.stdout(Stdio::piped()).spawn();
    let mut served = Served { child: child.expect("python3 starts") };
    let mut line = String::new();
    let stdout = served.child.stdout.take().expect("its stdout");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n", "/dev/net/tun and the rights of root make a wire");
    let network = format!("--net=/proc/{}/ns/net", served.child.id());
    (served, vec!["nsenter".to_owned(), network])
}

fn over_the_wire() {
    let lab = Lab::new();
    let (_wire, by) = wire();
    let nats = Broker::nats_with(&lab, &["-js", "-a", "0.0.0.0"]);
    let (_target, ready) = bundled_at("10.77.0.1:0", "truth", &["mode=none"]);
    let target = format!("http://{}/", ready["listening"]["http"].as_str().expect("its address"));
    let url = nats.url().replace("127.0.0.1", "10.77.0.1");
    let by: Vec<&str> = by.iter().map(String::as_str).collect();
    assert_bounds_hold(&lab, &nats, &Place { nats: &url, target: &target, by: &by });
}
