//! A run in a real browser while it goes on, and what becomes of the page.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;
use serde_json::json;

use crate::lab::server::{Served, truth};
use crate::lab::{Lab, Ran, repository};

/// What the browser saw.
#[derive(Debug, Deserialize)]
pub struct Viewed {
    pub steps: Vec<Step>,
    pub console: Vec<String>,
}

/// What it saw at one step.
#[derive(Debug, Deserialize)]
pub struct Step {
    pub text: String,
    too_wide: i64,
    pub painted: usize,
}

/// Looks at a page: large and light, then small and dark, as soon as `first` holds, and large again when `last` holds.
pub fn view(lab: &Lab, link: &str, first: &str, last: &str) -> Viewed {
    let steps = json!([
        { "width": 1280, "height": 900, "scheme": "light", "until": first, "picture": "large.png" },
        { "width": 390, "height": 800, "scheme": "dark", "until": "true", "picture": "small.png" },
        { "width": 1280, "height": 900, "scheme": "light", "until": last },
    ]);
    let python = repository(".venv/bin/python");
    assert!(python.exists(), "run scripts/prerequisites, which makes .venv");
    let mut viewer = Command::new(python);
    viewer.arg(repository("crates/proofload/tests/e2e/live_page/viewer.py"));
    viewer.args([link, &steps.to_string()]).current_dir(lab.path(""));
    let ran = Ran::from(viewer.output().expect("python starts"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let viewed: Viewed = serde_json::from_str(&ran.stdout).expect("what it saw");
    for step in &viewed.steps {
        assert!(step.too_wide <= 0, "{} pixels too wide: {step:?}", step.too_wide);
    }
    assert_eq!(viewed.console, [""; 0], "the page has nothing to complain about");
    viewed
}

/// Starts a run that browsers can see; returns its link.
fn start(lab: &Lab, arguments: &[&str]) -> (Served, String) {
    let mut command =
        lab.command(&[arguments, &["--live", "127.0.0.1:0", "--out", "run"]].concat());
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines =
        BufReader::new(child.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    let link = lines.find_map(|line| Some(line.split_once("live at ")?.1.to_owned()));
    thread::spawn(move || lines.for_each(drop));
    (Served { child }, link.expect("the link"))
}

#[test]
fn a_stall_is_seen_while_it_lasts_and_the_page_becomes_the_report() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=freeze", "at=2s", "length=20s", "service=5ms"]);
    let flags = "--rate 100/s --duration 8s --warm-up 0s --timeout 60s --criterion";
    let flags: Vec<&str> = flags.split(' ').chain(["p99 < 1s"]).collect();
    let (mut run, link) = start(&lab, &[&["run", &url], &flags[..]].concat());
    let stalled = "document.querySelector('#last')?.innerText.includes('wait ≥ 2 s')";
    let viewed = view(&lab, &link, stalled, "!document.querySelector('#last')");
    let [large, small, report] = &viewed.steps[..] else { panic!("{viewed:?}") };
    for seen in [large, small] {
        assert!(seen.text.contains("OPEN") && seen.text.contains("≥ "), "{}", seen.text);
        assert!(seen.text.contains("p99 < 1s"), "{}", seen.text);
        assert_eq!(seen.painted, 2, "times and rates");
    }
    assert!(report.text.contains("Percentile spectrum"), "{}", report.text);
    assert!(report.painted >= 3, "{report:?}");
    run.child.wait().expect("it ends");
    assert!(lab.summary("run").is_some());
}

#[test]
fn what_cannot_be_served_is_said_before_anything_is_sent() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=none"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address").to_string();
    let ran = lab.proofload(&["run", &url, "--rate", "10/s", "--duration", "1s", "--live", &taken]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains(&format!("cannot serve the run at {taken}")), "{ran:?}");
    assert!(ran.stderr.contains("--live"), "{ran:?}");
    let ran = lab.proofload(&["run", &url, "--live", "here"]);
    assert!(ran.stderr.contains("127.0.0.1:7070"), "{ran:?}");
}
