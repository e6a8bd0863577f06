//! A visit that a browser recorded, imported and performed.

use std::process::Command;

use super::admin::{groups, site};
use super::application::node;
use crate::lab::{Lab, Ran, assert_accounting, only_trial};

/// Where Chromium is.
fn chromium() -> String {
    let found = Command::new("sh").args(["-c", "command -v chromium"]).output();
    String::from_utf8(found.expect("a shell").stdout).expect("a path").trim().to_owned()
}

#[test]
fn a_recorded_visit_to_the_admin_of_django_becomes_a_journey() {
    let lab = Lab::new();
    let admin = site(&lab);
    let mut recording = node(&lab, "record.js");
    recording.args([&admin.url, "visit.har"]).env("CHROMIUM", chromium());
    let recorded = Ran::from(recording.output().expect("node"));
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert_eq!(groups(&lab).len(), 1, "the one that the browser added");
    let ran = lab.proofload(&["import", "visit.har", "--out", "visit.toml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = lab.read("visit.toml");
    assert!(!text.contains("engine"), "the password: {text}");
    // What the browser typed once must differ from visit to visit.
    let name = text.split("name = \"recorded ").nth(1).and_then(|rest| rest.split('"').next());
    let text = text.replace(&format!("recorded {}", name.expect("the group")), "{{token}}");
    lab.write("visit.toml", &text);
    let load = ["--set", "load.rate=2/s", "--set", "load.duration=5s", "--set", "load.warm_up=0s"];
    let run = [&["run", "visit.toml", "--out", "run", "--quiet"], &load[..]].concat();
    let ran = Ran::from(lab.command(&run).env("PASSWORD", "engine").output().expect("it starts"));
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let journey = &trial.journeys[0].whole;
    assert!(journey.succeeded > 0 && journey.failed == 0, "{text}\n{}{}", ran.stdout, ran.stderr);
    assert_eq!(groups(&lab).len() as u64, 1 + journey.succeeded, "a group for each visit");
}
