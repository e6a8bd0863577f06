//! Searches that end early: stopped by the user, killed, or without a system or target.

use record::summary::{Capacity, CapacityEnding, StepResult, Summary};
use rustix::process::Signal;
use serde_json::Value;

use super::{SLOW, TWO_TRIALS, decided, experiment, served};
use crate::lab::process::Running;
use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD, Ran, assert_accounting, finding};

#[test]
fn an_interrupted_search_leaves_a_whole_record_and_exits_3() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--criterion", "p99 < 1s", "--trial", "20s", "--warm-up", "0s", "--out", "run"];
    let running = lab.start(&[&["capacity", &url], &flags[..]].concat());
    running.await_windows(&lab, 3);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    let capacity = summary.capacity.as_ref().expect("what is known");
    assert_eq!(capacity.ending, CapacityEnding::Stopped);
    assert_eq!((capacity.low, capacity.high), (None, None), "the trial had not ended");
    assert_eq!(capacity.steps.len(), 1);
    assert_eq!(capacity.steps[0].result, StepResult::Stopped);
    assert_eq!(summary.run.title, format!("Capacity of {}", host(&url)));
    assert!(finding(&summary, "interrupted").is_some(), "{:?}", summary.findings);
    assert!(ran.stdout.contains("NOT BRACKETED"), "{}", ran.stdout);
}

fn host(url: &str) -> &str {
    url.trim_start_matches("http://").trim_end_matches('/')
}

#[test]
fn a_killed_search_is_readable_up_to_its_last_trial() {
    let lab = Lab::new();
    lab.write("own.toml", &experiment("none", 1, "p99 < 1s").replace(", rate = \"1/s\"", ""));
    // Enough operations for the first trial to pass with any arrivals.
    let flags = ["--from", "300/s", "--trial", "1s", "--longest", "3s", "--out", "run"];
    let running = lab.start(&[&["capacity", "own.toml"], &flags[..]].concat());
    running.await_in(&lab, &lab.path("run/trials"), || lab.path("run/trials/002").is_dir());
    running.signal(Signal::KILL);
    running.finish();
    let summary = lab.summary("run").expect("the summary of the first trial");
    let capacity = summary.capacity.as_ref().expect("what is known");
    assert_eq!(capacity.ending, CapacityEnding::Stopped);
    assert!(!capacity.steps.is_empty());
    let page = lab.proofload(&["report", "run"]);
    assert_eq!(page.code, 0, "{}", page.stderr);
    assert!(page.stdout.contains("the search was stopped"), "{}", page.stdout);
}

/// Waits until the hysteresis trial has an event of this name.
fn await_climb(running: &Running, lab: &Lab, name: &str) {
    let plan = || {
        // It may be half written just now.
        let text = std::fs::read_to_string(lab.path("run/plan.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    };
    running.await_in(lab, &lab.path("run"), || plan().to_string().contains("rate=stairs"));
    let trials = plan()["trials"].as_array().map_or(0, Vec::len);
    let folder = lab.path(&format!("run/trials/{trials:03}"));
    let name = format!("\"event\":\"{name}\"");
    running.await_in(lab, &folder, || {
        std::fs::read_to_string(folder.join("events.jsonl")).is_ok_and(|text| text.contains(&name))
    });
}

/// The low end is the first rate, unless a busy machine spoiled its trial.
fn assert_first(capacity: &Capacity) {
    let first = capacity.steps.first().expect("a step");
    let is_shown = first.result == StepResult::Pass;
    assert!(is_shown || first.result == StepResult::Invalid, "{first:?}");
    assert_eq!((capacity.low, capacity.high), (is_shown.then_some(200.0), None));
}

/// Checks the record and the pages of a search that ended early.
fn assert_cut_short(
    lab: &Lab,
    ran: &Ran,
    code: i32,
    ending: CapacityEnding,
) -> (Summary, Capacity) {
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    let capacity = summary.capacity.clone().expect("an answer");
    assert_eq!((ran.code, capacity.ending), (code, ending), "{ran:?}");
    assert_eq!(judge::verdict::exit(&summary) as i32, code);
    let found = &summary.findings[0];
    for page in ["report.md", "report.html"] {
        assert!(lab.read(&format!("run/{page}")).contains(&found.code), "{page}");
    }
    assert!(ran.stdout.contains("NOT BRACKETED") && ran.stdout.contains(&found.code), "{ran:?}");
    (summary, capacity)
}

#[test]
fn a_search_interrupted_on_the_way_up_and_down_exits_3_with_its_interval() {
    // While the system starts, and while the trial measures.
    for event in ["phase_entered", "window_closed"] {
        let lab = Lab::new();
        lab.write("own.toml", &served());
        let running = lab.start(&[&TWO_TRIALS[..], &["--descend"]].concat());
        await_climb(&running, &lab, event);
        running.signal(Signal::INT);
        let ran = running.finish();
        let (summary, capacity) = assert_cut_short(&lab, &ran, 3, CapacityEnding::Stopped);
        assert_eq!((capacity.low, capacity.high), (Some(200.0), Some(400.0)));
        assert_eq!(capacity.stairs, None);
        assert!(finding(&summary, "interrupted").is_some(), "{:?}", summary.findings);
        if event == "window_closed" {
            let stairs = summary.arms.iter().find(|arm| arm.name == "rate=stairs");
            assert_accounting(&stairs.expect("what was measured stays in the record").trials[0]);
        }
    }
}

#[test]
fn a_search_interrupted_between_trials_exits_3() {
    let lab = Lab::new();
    let (_truth, url) = truth(&SLOW);
    lab.write("own.toml", &decided(&format!("[target]\nurl = \"{url}\"")));
    let running = lab.start(&TWO_TRIALS);
    running.await_in(&lab, &lab.path("run"), || steps(&lab) == 1);
    running.signal(Signal::INT);
    let ran = running.finish();
    let (summary, capacity) = assert_cut_short(&lab, &ran, 3, CapacityEnding::Stopped);
    assert_first(&capacity);
    assert!(finding(&summary, "interrupted").is_some(), "{:?}", summary.findings);
}

/// Steps in the current summary.
fn steps(lab: &Lab) -> usize {
    // It may be half written just now.
    let text = std::fs::read_to_string(lab.path("run/summary.json")).unwrap_or_default();
    let summary: Option<Summary> = serde_json::from_str(&text).ok();
    summary.and_then(|summary| summary.capacity).map_or(0, |capacity| capacity.steps.len())
}

#[test]
fn a_system_that_does_not_start_again_ends_the_search_with_a_report_and_exits_4() {
    for known in [1, 0] {
        let lab = Lab::new();
        let flag = lab.path("flag");
        let started =
            format!("test -e {0} && {{ echo no licence >&2; exit 7; }}; touch {0}", flag.display());
        if known == 0 {
            lab.write("flag", "");
        }
        let [mode, service] = SLOW;
        let system = format!(
            "[system]\ncommand = \"sh -c '{started}; exec {PROOFLOAD} serve truth --listen 127.0.0.1:{{port}} \
             --set {mode} --set {service}'\"\nready = \"tcp\""
        );
        lab.write("own.toml", &decided(&system));
        let ran = lab.proofload(&TWO_TRIALS);
        let (summary, capacity) = assert_cut_short(&lab, &ran, 4, CapacityEnding::NotExecuted);
        assert_eq!(capacity.steps.len(), known);
        capacity.steps.iter().for_each(|_| assert_first(&capacity));
        let said = finding(&summary, "trial-not-executed").expect("a finding");
        assert!(said.contains("no licence"), "{said}");
        for said in ["error: ", "no licence", &format!("while: starting trial {}", known + 1)] {
            assert!(ran.stderr.contains(said), "{said:?} in {}", ran.stderr);
        }
    }
}

#[test]
fn a_target_that_went_away_ends_the_search_with_a_report_and_exits_4() {
    let lab = Lab::new();
    let (truth, url) = truth(&SLOW);
    lab.write("own.toml", &decided(&format!("[target]\nurl = \"{url}\"")));
    let running = lab.start(&TWO_TRIALS);
    running.await_in(&lab, &lab.path("run"), || steps(&lab) == 1);
    drop(truth);
    let ran = running.finish();
    let (summary, capacity) = assert_cut_short(&lab, &ran, 4, CapacityEnding::NotExecuted);
    assert_first(&capacity);
    assert!(finding(&summary, "trial-not-executed").is_some(), "{:?}", summary.findings);
    assert!(ran.stderr.contains("looking for the target before trial 2"), "{}", ran.stderr);
}

#[test]
fn only_the_death_of_the_system_is_a_failure_of_the_target() {
    let mortal =
        format!("command = \"timeout 1 {PROOFLOAD} serve truth --listen 127.0.0.1:{{port}}\"");
    let system = format!("[system]\n{mortal}\nready = \"tcp\"");
    let service = format!("[[service]]\nname = \"helper\"\n{mortal}\n");
    let other = format!("{service}[system]\nserve = \"truth\"\nset = {{ mode = \"none\" }}");
    for (started, result) in [(system, StepResult::Fail), (other, StepResult::Invalid)] {
        let lab = Lab::new();
        lab.write("own.toml", &decided(&started));
        let flags = ["capacity", "own.toml", "--from", "200/s", "--trial", "20s", "--out", "run"];
        let running = lab.start(&flags);
        running.await_in(&lab, &lab.path("run/trials"), || lab.path("run/trials/002").is_dir());
        running.signal(Signal::INT);
        let ran = running.finish();
        let (_, capacity) = assert_cut_short(&lab, &ran, 3, CapacityEnding::Stopped);
        assert_eq!(capacity.steps[0].result, result, "{ran:?}");
        let limit = (result == StepResult::Fail).then_some("system");
        assert_eq!(capacity.limited_by.as_deref(), limit);
    }
}
