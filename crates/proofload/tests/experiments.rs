//! The real binary checks and runs every file of `experiments/`, shortened.
//!
//! Not here: the figures. A rehearsal on a busy machine may be invalid, which is allowed; but its record must be
//! complete and its sums right.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

mod programs;

const PROOFLOAD: &str = env!("CARGO_BIN_EXE_proofload");

/// Exit codes that leave a report: passed, missed a criterion, could not decide.
const REPORTED: &[i32] = &[0, 1, 3];

/// Experiments that are rehearsed at the same time. Except with polling workers, they mostly wait for the next
/// arrival.
const ABREAST: usize = 4;

#[test]
fn every_experiment_is_sound_and_leaves_a_whole_record() {
    programs::ready();
    let experiments = experiments();
    assert!(!experiments.is_empty(), "there are experiments");
    let next = AtomicUsize::new(0);
    let take = || experiments.get(next.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        for _ in 0..ABREAST {
            scope.spawn(|| std::iter::from_fn(take).for_each(|experiment| exercise(experiment)));
        }
    });
}

fn exercise(experiment: &Path) {
    check(experiment);
    let summary = rehearse(experiment);
    assert_eq!(summary["rehearsal"], true, "{experiment:?}");
    let trials = trials(&summary);
    for trial in &trials {
        balance(experiment, &trial["accounting"]);
        observe(experiment, trial, &summary);
    }
    let succeeded = trials.iter().any(|trial| trial["accounting"]["succeeded"] != 0);
    assert!(succeeded, "{experiment:?}: something succeeded");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn experiments() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("experiments")).expect("the folder can be listed");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let mut experiments: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    experiments.sort();
    experiments
}

fn check(experiment: &Path) {
    let output = Command::new(PROOFLOAD).arg("check").arg(experiment).output();
    let output = output.expect("the binary starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "check {experiment:?}\n{talk}");
}

fn rehearse(experiment: &Path) -> Value {
    let name = experiment.file_stem().expect("an experiment has a name");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("experiments").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last test's folder can go");
    }
    std::fs::create_dir_all(folder.parent().expect("it lies in a folder")).expect("it can be made");
    let output = Command::new(PROOFLOAD)
        // A busy machine may be too slow for all of the first operations.
        .args(["run", "--quick", "--quiet", "--keep-going", "--out"])
        .args([&folder, experiment])
        .args(still_shorter(experiment))
        // Commands in experiments are relative to the repository's root.
        .current_dir(root())
        .output()
        .expect("the binary starts");
    let code = output.status.code();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(code.is_some_and(|code| REPORTED.contains(&code)), "{experiment:?}: {code:?}\n{talk}");
    assert!(folder.join("report.html").exists(), "{experiment:?} has a page");
    let summary = std::fs::read(folder.join("summary.json")).expect("a run leaves a summary");
    serde_json::from_slice(&summary).expect("the summary is JSON")
}

/// A rehearsal measures for 15 s: less shows the same here. Where faults are planned, there must be time for what goes
/// down to come up again.
fn still_shorter(experiment: &Path) -> &'static [&'static str] {
    let text = std::fs::read_to_string(experiment).expect("the experiment can be read");
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    match () {
        () if has("[[fault]]") || !has("duration ") => &[],
        () if has("[factors]") => &["--set", "load.duration=1s", "--set", "load.warm_up=100ms"],
        () => &["--set", "load.duration=3s"],
    }
}

fn trials(summary: &Value) -> Vec<&Value> {
    let arms = summary["arms"].as_array().expect("a summary has arms");
    let trials: Vec<_> = arms.iter().flat_map(|arm| arm["trials"].as_array()).flatten().collect();
    assert!(!trials.is_empty(), "a run has trials");
    trials
}

/// Sent and received counts agree as the experiment requires. On a machine too busy for the system they may not, and then
/// what was lost is counted at both ends, or the page tells the system's want of a processor beside what it caused.
fn observe(experiment: &Path, trial: &Value, summary: &Value) {
    let is_told = |code: &str| {
        let findings = summary["findings"].as_array().into_iter().flatten();
        findings.filter(|finding| finding["code"] == code).count() > 0
    };
    for observer in trial["observers"].as_array().into_iter().flatten() {
        let expected = &observer["expect"];
        let holds = expected.is_null() || expected["holds"] == true;
        // What the system says it dropped is all that is missing, or what has arrived was sent without a good answer.
        let is_counted = observer["lost"] != 0 && observer["detail"]["dropped"] == observer["lost"];
        let more = exceeds(expected);
        let unconfirmed =
            unanswered(trial, observer) + unacknowledged(trial) + warmed_up(trial, observer);
        let is_sound = observer["lost"] == 0 && observer["duplicates"] == 0;
        let is_late = is_sound && more > 0.0 && more <= unconfirmed;
        let is_crowded_out = is_told("system-crowded") && is_told("not-all-arrived");
        let excused = is_counted || is_late || is_crowded_out;
        assert!(holds || excused, "{experiment:?}: {observer}");
        // A judge without queries has no first places to compare.
        let planted = observer["detail"]["planted"].as_u64();
        assert!(planted != Some(0), "{experiment:?}: {observer}");
    }
}

/// How much more arrived than answers said.
fn exceeds(expected: &Value) -> f64 {
    let side = |place: usize| expected["sides"][place].as_f64().unwrap_or(f64::NAN);
    side(0) - side(1)
}

/// What operations without a good answer may have sent.
fn unanswered(trial: &Value, observer: &Value) -> f64 {
    let count = |name: &str| trial["accounting"][name].as_f64().expect("accounting counts");
    let of_each = observer["detail"]["recipients"].as_f64().unwrap_or(1.0);
    (count("failed") + count("abandoned")) * of_each
}

/// What good answers sent, and did not see acknowledged in time: it may have arrived later.
fn unacknowledged(trial: &Value) -> f64 {
    let of = |operation: &Value| {
        let sum = |item: &str| operation["items"][item]["sum"].as_f64();
        Some(sum("targets")? - sum("delivered")? - sum("failed").unwrap_or(0.0))
    };
    operations(trial).filter_map(of).sum()
}

/// What the warm-up sent: its answers are on one side of what is expected, and in no table of operations.
fn warmed_up(trial: &Value, observer: &Value) -> f64 {
    let sends = |operation: &&Value| operation["items"]["delivered"].is_object();
    let measured: Vec<f64> =
        operations(trial).filter(sends).filter_map(|one| one["planned"].as_f64()).collect();
    if measured.is_empty() {
        return 0.0;
    }
    let detail = |name: &str| observer["detail"][name].as_f64().unwrap_or(0.0);
    (detail("messages") - measured.iter().sum::<f64>()).max(0.0) * detail("recipients")
}

fn operations(trial: &Value) -> impl Iterator<Item = &Value> {
    trial["operations"].as_array().into_iter().flatten()
}

/// Every planned operation is counted in exactly one category.
fn balance(experiment: &Path, accounting: &Value) {
    let count = |name: &str| accounting[name].as_u64().expect("accounting counts");
    assert_eq!(count("planned"), count("started") + count("missed"), "{experiment:?}");
    let ended = count("succeeded") + count("failed") + count("abandoned");
    assert_eq!(count("started"), ended, "{experiment:?}");
}
