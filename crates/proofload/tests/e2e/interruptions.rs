//! Runs that end early: what an interrupted and a killed run leave behind.

use record::summary::Judgement;
use rustix::process::Signal;

use crate::lab::process::Running;
use crate::lab::server::truth;
use crate::lab::terminal::Terminal;
use crate::lab::{Lab, assert_accounting, finding, only_trial};

/// Under 30 s, windows last 100 ms.
const LONG: [&str; 8] = ["--rate", "500/s", "--duration", "29s", "--warm-up", "0s", "--out", "run"];

/// A long run that has closed five windows.
fn begun(lab: &Lab, url: &str) -> Running {
    let running = lab.start(&[&["run", url], &LONG[..]].concat());
    running.await_windows(lab, 5);
    running
}

#[test]
fn an_interrupt_leaves_a_whole_record_and_exits_3() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let lab = Lab::new();
        let (_truth, url) = truth(&["mode=none"]);
        let running = begun(&lab, &url);
        running.signal(signal);
        let ran = running.finish();
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stdout.contains("Response time"), "the report of what was measured");
        let summary = lab.summary("run").expect("a summary");
        let trial = only_trial(&summary);
        assert_accounting(trial);
        assert!(trial.accounting.succeeded > 0);
        assert_eq!(trial.accounting.abandoned, 0, "what was in flight was waited for");
        assert!(
            finding(&summary, "interrupted").is_some(),
            "{signal:?}: {summary:?}\n{}",
            ran.stderr
        );
        assert!(lab.read("run/report.html").contains("was stopped"));
    }
}

#[test]
fn a_run_whose_terminal_is_closed_leaves_its_report() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let terminal = Terminal::open();
    let running = terminal.start(&lab, &[], &[&["run", &url], &LONG[..]].concat());
    running.await_windows(&lab, 5);
    drop(terminal);
    let ran = running.finish();
    assert_eq!(ran.code, 3);
    let summary = lab.summary("run").expect("a summary");
    assert_accounting(only_trial(&summary));
    assert!(finding(&summary, "interrupted").is_some(), "{summary:?}");
    for page in ["run/report.html", "run/report.md"] {
        assert!(lab.read(page).contains("was stopped"), "{page}");
    }
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let terminal = Terminal::open();
    let load = ["--rate", "500/s", "--duration", "2s", "--warm-up", "0s", "--out", "run"];
    let running = terminal.start(&lab, &["nohup"], &[&["run", &url], &load[..]].concat());
    running.await_windows(&lab, 2);
    drop(terminal);
    let ran = running.finish();
    let summary = lab.summary("run").expect("a summary");
    crate::lab::assert_measured(&ran, &summary);
    assert_eq!(finding(&summary, "interrupted"), None);
    // The target got no request.
    assert!(ran.code == 3 || summary.verdict.result == Judgement::Measured);
    assert!(lab.read("run/report.html").contains("Response time"));
    assert!(lab.read("nohup.out").contains("run/report.html"));
}

/// Under `nohup`, runs continue after the terminal closes.
#[test]
fn a_hangup_that_was_ignored_from_the_start_ends_nothing() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let script = format!(
        "trap '' HUP; exec \"$PROOFLOAD\" run {url} --rate 500/s --duration 2s --warm-up 0s --out run"
    );
    let running = lab.start_in_shell(&script);
    running.await_windows(&lab, 2);
    running.signal(Signal::HUP);
    let ran = running.finish();
    let summary = lab.summary("run").expect("a summary");
    crate::lab::assert_measured(&ran, &summary);
    assert_eq!(finding(&summary, "interrupted"), None);
    assert_eq!(only_trial(&summary).phases.measure_ns, 2_000_000_000, "it was carried out");
}

#[test]
fn a_second_interrupt_gives_up_what_is_in_flight() {
    let lab = Lab::new();
    // A fifth of the requests never get an answer, and only the second interrupt ends the wait before the hour is
    // over.
    let (_truth, url) = truth(&["mode=hang", "share=0.2"]);
    let flags = ["--timeout", "1h", "--quiet"];
    let running = lab.start(&[&["run", &url], &LONG[..], &flags].concat());
    running.await_events(&lab, "progress", 2);
    running.signal(Signal::INT);
    running.await_events(&lab, "interrupted", 1);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert!(trial.accounting.abandoned > 0, "{:?}", trial.accounting);
}

#[test]
fn a_killed_run_is_readable_up_to_its_last_closed_window() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let running = begun(&lab, &url);
    running.signal(Signal::KILL);
    running.finish();
    assert!(lab.summary("run").is_none(), "it was killed in time");

    let csv = lab.proofload(&["report", "run", "--format", "csv"]);
    assert_eq!(csv.code, 0, "{}", csv.stderr);
    let windows: Vec<&str> = csv.stdout.lines().filter(|line| line.contains(",all,")).collect();
    assert!(windows.len() >= 5, "{}", csv.stdout);
    for (format, holds) in [("hlog", ".response_time"), ("hgrm", "#[Mean")] {
        let made = lab.proofload(&["report", "run", "--format", format]);
        assert_eq!(made.code, 0, "{format}: {}", made.stderr);
        assert!(made.stdout.contains(holds), "{format}: {}", made.stdout);
    }
    for format in ["text", "markdown", "html", "json", "jtl"] {
        let made = lab.proofload(&["report", "run", "--format", format]);
        assert_eq!(made.code, 2, "{format}: {}", made.stderr);
        assert!(made.stdout.is_empty(), "{format}: {}", made.stdout);
        assert!(made.stderr.contains("did not finish"), "{format}: {}", made.stderr);
        assert!(made.stderr.contains("csv, hgrm, hlog"), "{format}: {}", made.stderr);
    }
}

#[test]
fn a_stop_while_something_starts_is_no_failure_to_run() {
    let lab = Lab::new();
    // A service that never becomes ready: it uses its port only as a number.
    let file = lab.write(
        "never-ready.toml",
        "title = \"never ready\"\n\
         [[service]]\nname = \"sleeper\"\ncommand = \"sleep {port}\"\nready = \"tcp\"\n\
         [target]\nurl = \"http://{sleeper}\"\n[load]\nrate = \"10/s\"\nduration = \"1s\"\n\
         [[operation]]\nhttp = { path = \"/\" }\n",
    );
    let file = file.to_str().expect("a path in UTF-8");
    let running = lab.start(&["run", file, "--out", "run"]);
    running.await_events(&lab, "phase_entered", 1);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    let claim = "the run was stopped: 0 of 1 planned trials were executed";
    assert_eq!(finding(&summary, "interrupted"), Some(claim));
    assert!(lab.read("run/report.html").contains(claim));
}
