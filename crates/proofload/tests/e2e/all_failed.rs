//! A run in which every operation fails in the same way ends early, and reports the reason and a hint.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use record::summary::Summary;

use crate::lab::server::truth;
use crate::lab::{Lab, Ran, assert_accounting, finding};

/// Much longer than the tests wait.
const LONG: [&str; 4] = ["--rate", "100/s", "--duration", "600s"];

/// A server that answers its n-th request with this status; it ends with the test process.
fn answering(status: impl Fn(u64) -> u16 + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    let (status, asked) = (Arc::new(status), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (status, asked) = (Arc::clone(&status), Arc::clone(&asked));
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                    if line == "\r\n" {
                        let status = status(asked.fetch_add(1, Ordering::Relaxed));
                        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                        if stream.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                    line.clear();
                }
            });
        }
    });
    url
}

/// Runs until the run ends by itself; also returns its claim.
fn ended(lab: &Lab, arguments: &[&str]) -> (Ran, Summary, String) {
    let (ran, summary) = lab.run(arguments);
    assert_eq!(ran.code, 4, "{:?}", summary.verdict);
    let claim = finding(&summary, "all-failed").expect("the run says why it ended").to_owned();
    assert!(finding(&summary, "interrupted").is_none(), "nobody stopped it");
    assert_eq!(summary.verdict.reasons[0], claim);
    assert!(ran.stdout.contains(" failed in the same way ("), "{}", ran.stdout);
    for trial in summary.arms.iter().flat_map(|arm| &arm.trials) {
        assert_accounting(trial);
    }
    (ran, summary, claim)
}

#[test]
fn a_target_that_refuses_everybody_ends_the_run_in_its_warm_up() {
    let lab = Lab::new();
    let url = answering(|_| 401);
    let (_, summary, claim) = ended(&lab, &[&[url.as_str()], &LONG[..]].concat());
    assert!(claim.contains("(status 401, expected 2xx, 3xx)"), "{claim}");
    let advice = &summary.findings.iter().find(|one| one.code == "all-failed").unwrap().advice;
    assert!(advice.contains("correct the credentials") && advice.contains("--keep-going"));
    let trial = &summary.arms[0].trials[0];
    assert_eq!((trial.phases.measure_ns, trial.accounting.planned), (0, 0), "5 s of warm-up");
    let events = lab.read("run/trials/001/events.jsonl");
    assert!(events.contains("\"event\":\"ended_early\",\"reason\":\"all-failed\""), "{events}");
    let again = lab.proofload(&["report", "run"]);
    assert_eq!(again.stdout.contains(" failed in the same way ("), again.code == 0, "{again:?}");
}

#[test]
fn a_run_whose_address_speaks_something_else_ends_in_its_measure_phase() {
    let lab = Lab::new();
    let url = answering(|_| 200).replace("http:", "https:");
    let flags = ["--warm-up", "0s", "--criterion", "failed == 0", "--criterion", "p99 < 1s"];
    let (_, summary, claim) = ended(&lab, &[&[url.as_str()], &LONG[..], &flags].concat());
    assert!(claim.contains("(tls: TLS handshake with 127.0.0.1:"), "{claim}");
    let trial = &summary.arms[0].trials[0];
    assert!(trial.accounting.failed >= 10 && trial.accounting.succeeded == 0);
    assert!(trial.phases.measure_ns < 300_000_000_000, "{:?}", trial.phases);
}

#[test]
fn the_live_view_tells_cause_and_remedy() {
    let lab = Lab::new();
    let url = answering(|_| 404);
    let ran = lab.proofload(&[&["run", url.as_str(), "--out", "run"], &LONG[..]].concat());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("ending the run: all "), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: correct the path"), "{}", ran.stderr);
}

#[test]
fn a_closed_load_ends_likewise_and_trials_after_it_are_not_executed() {
    let lab = Lab::new();
    let url = answering(|_| 503);
    let file = lab.write(
        "two.toml",
        &format!(
            "title = \"two arms\"\n[factors]\nconnections = [2, 4]\n[design]\nblocks = 2\n[target]\n\
             url = \"{url}\"\n[load]\nduration = \"60s\"\nwarm_up = \"0s\"\n\
             connections = \"{{{{factor.connections}}}}\"\n[[operation]]\nhttp = {{ path = \"/\" }}\n"
        ),
    );
    let (_, summary, _) = ended(&lab, &[file.to_str().expect("a path in UTF-8")]);
    assert_eq!(summary.arms.iter().map(|arm| arm.trials.len()).sum::<usize>(), 1);
}

#[test]
fn a_run_that_ended_so_is_resumed_once_the_cause_is_gone() {
    let lab = Lab::new();
    let gone = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&gone);
    let url = answering(move |_| if seen.load(Ordering::SeqCst) == 0 { 401 } else { 200 });
    let flags = ["--rate", "100/s", "--duration", "2s", "--warm-up", "0s"];
    ended(&lab, &[&[url.as_str()], &flags[..]].concat());
    gone.store(1, Ordering::SeqCst);
    let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    let summary = lab.summary("run").expect("a summary");
    crate::lab::assert_measured(&ran, &summary);
    assert_eq!(finding(&summary, "all-failed"), None);
    assert_eq!(summary.arms[0].trials[0].phases.measure_ns, 2_000_000_000);
}

#[test]
fn a_target_that_fails_at_first_is_not_given_up() {
    let lab = Lab::new();
    // The last of these requests is due within the first half second.
    let url = answering(|asked| if asked < 20 { 503 } else { 200 });
    let flags = ["--rate", "100/s", "--duration", "2s", "--warm-up", "0s"];
    let (_, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(finding(&summary, "all-failed"), None);
    let trial = &summary.arms[0].trials[0];
    assert_eq!((trial.phases.measure_ns, trial.accounting.failed), (2_000_000_000, 20));
}

#[test]
fn failures_of_two_kinds_are_not_the_same() {
    let lab = Lab::new();
    let url = answering(|asked| if asked.is_multiple_of(2) { 401 } else { 500 });
    let flags = ["--rate", "50/s", "--duration", "2s", "--warm-up", "0s"];
    let (_, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(finding(&summary, "all-failed"), None);
    assert_eq!(summary.arms[0].trials[0].phases.measure_ns, 2_000_000_000);
}

#[test]
fn keep_going_carries_out_the_plan() {
    let lab = Lab::new();
    let url = answering(|_| 401);
    let flags = ["--rate", "50/s", "--duration", "2s", "--warm-up", "0s", "--keep-going"];
    let (_, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(finding(&summary, "all-failed"), None);
    let trial = &summary.arms[0].trials[0];
    assert_eq!(trial.phases.measure_ns, 2_000_000_000);
    assert_eq!(trial.accounting.failed, trial.accounting.planned);
    assert!(lab.read("run/plan.json").contains("\"keep_going\": true"));
    let help = lab.proofload(&["run", "--help"]);
    assert!(help.stdout.contains("--keep-going"), "{}", help.stdout);
}

#[test]
fn a_search_for_capacity_ends_where_nothing_works_at_all() {
    let lab = Lab::new();
    let url = answering(|_| 401);
    let flags = ["--criterion", "p90 < 1s", "--from", "50/s", "--trial", "5s", "--longest", "5s"];
    let ran = lab.proofload(&[&["capacity", &url, "--out", "found"], &flags[..]].concat());
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("failed in the same way (status 401"), "{}", ran.stderr);
}

#[test]
fn a_hanging_target_is_waited_for_as_long_as_the_time_out_says() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=hang"]);
    let flags = ["--timeout", "2s", "--warm-up", "0s"];
    let (_, _, claim) = ended(&lab, &[&[url.as_str()], &LONG[..], &flags].concat());
    assert!(claim.contains("(timeout"), "{claim}");
}
