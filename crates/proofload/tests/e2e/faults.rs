//! Bad input and faulty targets: a clear error or a counted failure, never a crash, nothing lost.

use crate::lab::server::{nobody, truth};
use crate::lab::{Lab, assert_accounting, only_trial};

/// Twenty operations against the truth system in this mode; how they failed.
fn failures(settings: &[&str], more: &[&str]) -> (crate::lab::Ran, record::summary::Trial) {
    let lab = Lab::new();
    let (_truth, url) = truth(settings);
    let flags = ["--requests", "20", "--connections", "2", "--warm-up", "0s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..], more].concat());
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    (ran, trial)
}

#[test]
fn each_fault_of_a_target_is_counted_under_its_kind() {
    let cases: [(&[&str], &str); 7] = [
        (&["mode=reset", "share=1"], "reset"),
        (&["mode=half"], "closed"),
        (&["mode=garbage"], "malformed"),
        (&["mode=endless_header"], "too_large"),
        (&["mode=status", "share=1"], "status"),
        (&["mode=hang"], "timeout"),
        (&["mode=lying_length"], "timeout"),
    ];
    for (settings, kind) in cases {
        let (ran, trial) = failures(settings, &["--timeout", "300ms"]);
        assert_eq!(ran.code, 0, "{settings:?}: {}", ran.stderr);
        assert_eq!(trial.accounting.failed, 20, "{settings:?}: {:?}", trial.total);
        assert_eq!(trial.total.failures[kind], 20, "{settings:?}: {:?}", trial.total.failures);
    }
}

#[test]
fn a_body_of_two_gibibytes_is_counted_and_never_kept() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=huge_body"]);
    let flags = ["--requests", "1", "--connections", "1", "--warm-up", "0s", "--timeout", "60s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.succeeded, 1);
    assert!(trial.total.bytes_received > 2 << 30);
}

#[test]
fn nobody_listens() {
    let lab = Lab::new();
    let url = format!("http://{}/", nobody());
    let ran = lab.proofload(&["run", &url, "--rate", "10/s", "--duration", "60s"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("refused") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert!(!lab.path("runs").exists(), "nothing ran, nothing is left");
}

#[test]
fn an_existing_folder_is_not_overwritten() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mine")).expect("a folder");
    lab.write("mine/precious.txt", "precious");
    let (_truth, url) = truth(&["mode=none"]);
    let ran = lab.proofload(&["run", &url, "--requests", "5", "--out", "mine"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("already exists"), "{}", ran.stderr);
    assert_eq!(lab.read("mine/precious.txt"), "precious");
    assert_eq!(std::fs::read_dir(lab.path("mine")).expect("readable").count(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_said_before_the_run() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    // /proc takes no new folders, not even from root.
    let ran = lab.proofload(&["run", &url, "--requests", "5", "--out", "/proc/run"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
}

#[test]
fn a_full_disk_is_a_clear_error() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    std::fs::create_dir(lab.path("full")).expect("a folder");
    // RLIMIT_FSIZE ends every file at 8 KiB, as a full disk would; SIGXFSZ is ignored by the shell's child.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} run {url} --requests 2000 --samples --warm-up 0s --out full/run --quiet",
        crate::lab::PROOFLOAD
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(lab.path(""))
        .output()
        .expect("a shell");
    let ran = crate::lab::Ran::from(output);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write"), "{}", ran.stderr);
}

#[test]
fn too_few_file_descriptors_are_said_before_the_run() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let script = format!(
        "ulimit -n 64; exec {} run {url} --connections 500 --requests 1000 --out r --quiet",
        crate::lab::PROOFLOAD
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(lab.path(""))
        .output()
        .expect("a shell");
    let ran = crate::lab::Ran::from(output);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("file descriptors"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
}

#[test]
fn every_problem_of_a_file_at_once_with_line_and_caret() {
    let lab = Lab::new();
    lab.write(
        "bad.toml",
        "title = \"bad\"\n[target]\nurl = \"http://127.0.0.1:1\"\n[load]\nrate = \"500\"\n\
         duratoin = \"10s\"\n[[operation]]\nname = \"a\"\nweight = \"two\"\nhttp = { path = \"/{{nonsense}}\" }\n",
    );
    let ran = lab.proofload(&["check", "bad.toml"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    for said in ["bad.toml:5:", "bad.toml:6:", "bad.toml:9:", "bad.toml:10:", "duration", "^"] {
        assert!(ran.stderr.contains(said), "{said} is missing:\n{}", ran.stderr);
    }
}

#[test]
fn usage_errors_exit_2() {
    let lab = Lab::new();
    let cases: [&[&str]; 6] = [
        &["run"],
        &["run", "missing.toml"],
        &["run", "http://127.0.0.1:1/", "--rate", "500"],
        &["run", "http://127.0.0.1:1/", "--criterion", "p99 <"],
        &["serve", "truth", "--set", "mode=nonsense"],
        &["report", "nowhere"],
    ];
    for case in cases {
        let ran = lab.proofload(case);
        assert_eq!(ran.code, 2, "{case:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("error"), "{case:?}: {}", ran.stderr);
    }
}

#[test]
fn an_interrupt_leaves_a_whole_record_and_exits_3() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--rate", "500/s", "--duration", "60s", "--warm-up", "0s", "--out", "run"];
    let child = lab.start(&[&["run", url.as_str()], &flags[..]].concat());
    let events = lab.path("run/trials/001/events.jsonl");
    while !std::fs::read_to_string(&events).unwrap_or_default().contains("window_closed") {
        std::thread::yield_now();
    }
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), rustix::process::Signal::INT)
        .expect("interrupts");
    let ran = crate::lab::Ran::from(child.wait_with_output().expect("ends"));
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert!(trial.accounting.succeeded > 0);
    assert!(summary.findings.iter().any(|finding| finding.code == "interrupted"));
}

#[test]
fn a_killed_run_is_readable_up_to_its_last_closed_window() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--rate", "500/s", "--duration", "20s", "--warm-up", "0s", "--out", "run"];
    let mut child = lab.start(&[&["run", url.as_str()], &flags[..]].concat());
    let events = lab.path("run/trials/001/events.jsonl");
    let closed = || {
        let text = std::fs::read_to_string(&events).unwrap_or_default();
        text.matches("window_closed").count()
    };
    while closed() < 5 {
        std::thread::yield_now();
    }
    child.kill().expect("kills");
    child.wait().expect("reaped");
    let ran = lab.proofload(&["report", "run", "--format", "csv"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.lines().count() > 5, "{}", ran.stdout);
}
