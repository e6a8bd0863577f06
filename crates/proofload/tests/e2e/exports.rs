//! Files for a CI and for scripts of k6, read by others: a published schema of JUnit's XML, and a reporter of k6.

use std::process::Command;

use rustix::process::Signal;

use crate::lab::server::truth;
use crate::lab::{Lab, Ran, assert_measured, repository};

const VALIDATE: &str = r#"
import sys, xmlschema
from xml.etree import ElementTree
xmlschema.XMLSchema(sys.argv[1]).validate(sys.argv[2])
suite = ElementTree.parse(sys.argv[2]).getroot()[0]
print(suite.get("tests"), suite.get("failures"), suite.get("errors"))
"#;

fn validated(lab: &Lab, file: &str) -> String {
    let python = repository(".venv/bin/python");
    assert!(python.exists(), "run scripts/prerequisites, which makes .venv");
    let schema = repository("crates/proofload/tests/e2e/schemas/junit-10.xsd");
    let ran = Command::new(python).args(["-c", VALIDATE]).arg(schema).arg(lab.path(file)).output();
    let ran = Ran::from(ran.expect("python"));
    assert_eq!(ran.code, 0, "{ran:?}\n{}", lab.read(file));
    ran.stdout.trim().to_owned()
}

/// So slow that a busy machine spoils no run.
fn slow() -> (crate::lab::server::Served, String) {
    truth(&["mode=constant", "service=200ms"])
}

/// Runs with `--export junit=…`.
fn tested(lab: &Lab, url: &str, name: &str, criterion: &str) -> (i32, String) {
    let export = format!("junit={name}.xml");
    let flags = ["--rate", "200/s", "--duration", "1s", "--criterion", criterion, "--quiet"];
    let ran =
        lab.proofload(&[&["run", url, "--out", name, "--export", &export], &flags[..]].concat());
    (ran.code, validated(lab, &format!("{name}.xml")))
}

#[test]
fn a_ci_reads_runs_that_pass_fail_and_cannot_decide() {
    let lab = Lab::new();
    let (_target, url) = slow();
    assert_eq!(tested(&lab, &url, "pass", "failed == 0"), (0, "2 0 0".to_owned()));
    assert_eq!(tested(&lab, &url, "fail", "p50 < 1us"), (1, "2 2 0".to_owned()));
    assert_eq!(tested(&lab, &url, "short", "p99.99 < 10s"), (3, "2 0 2".to_owned()));
    let flags = ["run", &url, "--rate", "200/s", "--duration", "1m", "--criterion", "failed == 0"];
    let run = lab.start(&[&flags[..], &["--quiet", "--out", "run"]].concat());
    run.await_windows(&lab, 1);
    run.signal(Signal::INT);
    assert_eq!(run.finish().code, 3);
    let interrupted = lab.proofload(&["report", "run", "--format", "junit"]);
    lab.write("run.xml", &interrupted.stdout);
    let counts = validated(&lab, "run.xml");
    assert!(counts.starts_with("2 0 ") && !counts.ends_with('0'), "{counts}");
}

#[test]
fn a_reporter_of_k6_reads_a_run() {
    let lab = Lab::new();
    // Times that differ by more than the width of a bucket: those of one length may be contradicted (R02).
    let (_target, url) = truth(&["mode=bimodal", "fast=130ms", "slow=270ms", "share=0.3"]);
    let flags = ["--rate", "200/s", "--duration", "1s", "--criterion", "p50 < 10s"];
    let exports = ["--export", "k6-data=data.json", "--export", "k6=k6.json"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..], &exports].concat());
    assert_measured(&ran, &summary);
    let script = "require('k6-html-reporter').generateSummaryReport({ jsonFile: process.argv[1], output: process.argv[2] })";
    let mut node = Command::new("node");
    node.args(["-e", script]).args([lab.path("data.json"), lab.path("page")]);
    let ran =
        Ran::from(node.env("NODE_PATH", repository(".node/node_modules")).output().expect("node"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = lab.read("page/report.html");
    let started = summary.arms[0].trials[0].accounting.started.to_string();
    for text in ["iteration_duration", "p50 &lt; 10s", started.as_str()] {
        assert!(page.contains(text), "{text} is not in\n{page}");
    }
    let exported: serde_json::Value = serde_json::from_str(&lab.read("k6.json")).expect("JSON");
    assert_eq!(exported["metrics"]["iteration_duration"]["thresholds"]["p50 < 10s"], false);
    // Our own audit reads files of k6, too, and finds no contradiction.
    let audited = lab.proofload(&["audit", "k6.json"]);
    assert_eq!(audited.code, 0, "{audited:?}");
}

#[test]
fn exports_are_refused_before_the_run() {
    let lab = Lab::new();
    for (given, says) in [
        ("junit", "FORMAT=FILE"),
        ("junit=", "FORMAT=FILE"),
        ("junit=-", "proofload report RUN --format junit"),
        ("juint=x", "no format is called \"juint\""),
        ("jtl=x", "proofload report"),
        ("junit=nowhere/x.xml", "cannot write nowhere/x.xml"),
    ] {
        let ran = lab.proofload(&["run", "http://127.0.0.1:1/", "--export", given]);
        assert!(matches!(ran.code, 2 | 4) && ran.stderr.contains(says), "{given}: {ran:?}");
    }
    lab.write("own.toml", "[target]\nurl = \"http://127.0.0.1:1/\"\n[load]\nrate = \"1/s\"\n");
    for exports in [&["junit=./own.toml"][..], &["junit=a.xml", "k6=./a.xml"]] {
        let exports = exports.iter().flat_map(|export| ["--export", export]);
        let exports: Vec<&str> = ["run", "own.toml"].into_iter().chain(exports).collect();
        let ran = lab.proofload(&exports);
        assert_eq!(ran.code, 2, "{exports:?}: {ran:?}");
        assert!(ran.stderr.contains("cannot write ./"), "{exports:?}: {ran:?}");
    }
    assert!(!lab.path("runs").exists());
}

/// The script of `action.yml`, as a runner performs it.
#[test]
fn the_action_reports_and_ends_as_the_run_did() {
    let lab = Lab::new();
    let (_target, url) = slow();
    let action = std::fs::read_to_string(repository("action.yml")).expect("it is there");
    let (_, script) = action.split_once("      run: |\n").expect("one script");
    let script: String = script.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    lab.write("script.sh", &script);
    for (name, criterion, undecided, code, says) in [
        ("pass", "failed==0", "fail", 0, "::notice title="),
        ("fail", "p50<1us", "warn", 1, "::error title="),
        ("short", "p99.99<10s", "fail", 3, "::warning title="),
        ("warned", "p99.99<10s", "warn", 0, "::warning title="),
    ] {
        let flags = format!("--rate 200/s --duration 1s --criterion {criterion}");
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "script.sh"]);
        bash.current_dir(lab.path("")).env("PROOFLOAD", crate::lab::PROOFLOAD);
        bash.envs([("EXPERIMENT", url.as_str()), ("FLAGS", &flags), ("OUT", name)]);
        bash.env("UNDECIDED", undecided).env("GITHUB_OUTPUT", lab.path("output"));
        bash.env("GITHUB_STEP_SUMMARY", lab.path(&format!("{name}.md")));
        let ran = Ran::from(bash.output().expect("bash"));
        assert_eq!(ran.code, code, "{name}: {ran:?}");
        let last = ran.stdout.lines().find(|line| line.starts_with("::")).unwrap_or_default();
        assert!(last.starts_with(says), "{name}: {ran:?}");
        assert!(lab.read(&format!("{name}.md")).starts_with("# "), "{name}");
    }
    assert_eq!(lab.read("output"), "exit-code=0\nexit-code=1\nexit-code=3\nexit-code=3\n");
}
