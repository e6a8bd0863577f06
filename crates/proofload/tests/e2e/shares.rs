//! One plan performed in shares by several processes, and merged.

use record::summary::{Judgement, ListedOperation, Summary};
use serde_json::Value;

use crate::lab::server::{Truth, truth};
use crate::lab::{Lab, Ran, assert_accounting, finding, only_trial};

/// Seconds until shares begin; on a busy machine they need some to get ready.
const AHEAD: i64 = 12;

fn instant(ahead: i64) -> String {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead);
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn experiment(url: &str, rest: &str) -> String {
    format!(
        "title = \"Shares\"\nseed = 7\ncriteria = [\"p99 < 2s\", \"failed == 0\"]\n{rest}\n\
         [target]\nurl = \"{url}\"\n[load]\nrate = \"200/s\"\nduration = \"3s\"\nwarm_up = \"500ms\"\n\
         [[operation]]\nname = \"often\"\nweight = 3\nhttp = {{ path = \"/\" }}\n\
         [[operation]]\nname = \"seldom\"\nhttp = {{ path = \"/?{{{{nonce}}}}\" }}\n"
    )
}

/// Performs all shares of `x.toml` at the same time, in the folders `s1`, `s2` …
fn perform(lab: &Lab, of: usize, flags: &[&str]) -> Vec<Ran> {
    let at = instant(AHEAD);
    let start = |number: usize| {
        let (share, out) = (format!("{number}/{of}"), format!("s{number}"));
        let own = ["run", "x.toml", "--quiet", "--share", &share, "--start-at", &at, "--out", &out];
        lab.start(&[&own, flags].concat())
    };
    let running: Vec<_> = (1..=of).map(start).collect();
    running.into_iter().map(|one| one.finish()).collect()
}

fn merged(lab: &Lab, shares: &[&str], out: &str) -> (Ran, Option<Summary>) {
    let ran = lab.proofload(&[&["merge", "--quiet", "--out", out], shares].concat());
    let summary = lab.summary(out);
    (ran, summary)
}

#[test]
fn four_shares_are_one_run() {
    let lab = Lab::new();
    let target = Truth::start(&["mode=none"]);
    lab.write("x.toml", &experiment(&format!("http://{}", target.http), ""));
    let shares = perform(&lab, 4, &["--samples", "--traceparent"]);
    let (mut planned, mut slowest) = (0, Vec::new());
    for (ran, number) in shares.iter().zip(1..) {
        let summary = lab.summary(&format!("s{number}")).unwrap_or_else(|| panic!("{ran:?}"));
        assert_eq!(summary.run.share.as_deref(), Some(&*format!("{number}/4")));
        assert!(summary.criteria.is_empty(), "a share is not judged");
        if summary.verdict.result == Judgement::Measured {
            assert_eq!(ran.code, 0);
            assert!(
                ran.stdout.contains(&format!("share {number}/4 of the plan")),
                "{}",
                ran.stdout
            );
        }
        planned += only_trial(&summary).accounting.planned;
        slowest.extend(only_trial(&summary).traces.clone().expect("it was traced").slowest);
    }
    let (ran, summary) = merged(&lab, &["s3", "s1", "s4", "s2"], "whole");
    let summary = summary.unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(ran.code, judge::verdict::exit(&summary) as i32, "{ran:?}");
    assert!(finding(&summary, "audit-contradiction").is_none(), "{:?}", summary.findings);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!((summary.run.shares, summary.criteria.len()), (4, 2));
    assert_eq!(trial.accounting.planned, planned);
    assert_eq!(trial.load.offered_rate, Some(200.0));
    slowest.sort_by_key(|one| std::cmp::Reverse((one.response_time_ns, one.trace_id)));
    let times = |listed: &[ListedOperation]| -> Vec<u64> {
        listed.iter().map(|one| one.response_time_ns).collect()
    };
    let whole = &trial.traces.as_ref().expect("it was traced").slowest;
    assert_eq!(times(whole), times(&slowest[..100]), "the slowest of all shares");
    let numbers: Vec<u32> = trial.agents.iter().map(|agent| agent.facts.share).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    // All are on this machine, so they have one clock.
    assert!(finding(&summary, "clock-bound-too-wide").is_none());
    let samples = lab.read("whole/trials/001/samples.csv");
    assert_eq!(samples.lines().count() as u64, 1 + trial.accounting.started, "a line each");

    // The target's own account, which has the warm-up, too.
    let facts: Value =
        serde_json::from_str(&lab.read("whole/trials/001/trial.json")).expect("facts");
    let operations = facts["totals"]["operations"].as_array().expect("operations");
    let before = operations.iter().map(|one| one["before"]["planned"].as_u64().expect("a count"));
    assert_eq!(target.received(), trial.accounting.started + before.sum::<u64>());

    // One machine that performs the same plan has the same operations.
    let (_, one) = lab.run(&["x.toml", "--traceparent"]);
    for (ours, theirs) in only_trial(&one).operations.iter().zip(&trial.operations) {
        assert_eq!((&ours.name, ours.planned), (&theirs.name, theirs.planned));
    }
    assert_eq!(one.run.plan_hash, summary.run.plan_hash);

    let page = lab.proofload(&["report", "whole", "--full"]);
    assert_eq!(page.code, 0, "{page:?}");
    assert!(page.stdout.contains("Machines") && page.stdout.contains("on 4 machines"), "{page:?}");
    for format in ["markdown", "html", "csv", "hlog", "json"] {
        assert_eq!(lab.proofload(&["report", "whole", "--format", format]).code, 0, "{format}");
    }
    refused_merges(&lab);
}

/// What does not belong together is refused, by name.
fn refused_merges(lab: &Lab) {
    let refused = |shares: &[&str], says: &[&str]| {
        let (ran, summary) = merged(lab, shares, "refused");
        assert_eq!((ran.code, summary), (2, None), "{ran:?}");
        assert!(!lab.path("refused/trials").exists(), "nothing was merged");
        for text in says {
            assert!(ran.stderr.contains(text), "{shares:?} must say {text}\n{}", ran.stderr);
        }
    };
    refused(&["s1", "s2", "s4"], &["of 4 shares, these are missing: 3"]);
    refused(&["s1", "s2", "s2", "s3", "s4"], &["s2 and s2 are both share 2/4"]);
    refused(&["s1", "run"], &["run is a whole run, not a share"]);
    refused(&["s1", "nowhere", "."], &["nowhere is not a run folder", ". is not a run folder"]);
    let origin = lab.read("s3/origin.json");
    for (from, to, says) in [
        ("\"plan_hash\": \"", "\"plan_hash\": \"0", "s3 has another plan than s1"),
        ("\"share\": \"3/4\"", "\"share\": \"3/5\"", "s3 is share 3/5, and s1 is share 1/4"),
        ("\"share\": \"3/4\"", "\"share\": \"9/4\"", "s3: shares of 4 are numbered from 1 to 4"),
        ("\"version\": \"", "\"version\": \"9", "s3 is of version 9"),
        ("{", "[", "s3: "),
    ] {
        lab.write("s3/origin.json", &origin.replacen(from, to, 1));
        refused(&["s1", "s2", "s3", "s4"], &[says]);
    }
    let plan = lab.read("s3/plan.json");
    lab.write("s3/origin.json", &origin.replacen("\"plan_hash\": \"", "\"plan_hash\": \"0", 1));
    lab.write("s3/plan.json", &plan.replacen("\"seed\": 7", "\"seed\": 8", 1));
    refused(&["s1", "s2", "s3", "s4"], &["s3 has another plan than s1: `seed` is 8, not 7\n"]);
    lab.write("s3/plan.json", &plan);
    lab.write("s3/origin.json", &origin);
    damaged_shares(lab);
    let changed = experiment("http://127.0.0.1:1", "");
    lab.write("x.toml", &changed);
    let (ran, _) = merged(lab, &["s1", "s2", "s3", "s4"], "changed");
    assert_eq!(ran.code, 2, "{ran:?}");
    let says = "not the experiment that the shares performed: `arms[0].targets[0].url` is \"http://127.0.0.1:1\", not";
    assert!(ran.stderr.contains(says), "{ran:?}");
    let resumed = lab.proofload(&["run", "--resume", "s1"]);
    assert_eq!(resumed.code, 2, "{resumed:?}");
    assert!(resumed.stderr.contains("share 1/4"), "{resumed:?}");
}

/// A copy that is cut off or changed does not pass for a whole one.
fn damaged_shares(lab: &Lab) {
    let facts = lab.read("s3/trials/001/trial.json");
    let later = facts.replacen("\"measure_from_ns\":1", "\"measure_from_ns\":2", 1);
    lab.write("s3/trials/001/trial.json", &later);
    let (ran, _) = merged(lab, &["s1", "s2", "s3", "s4"], "later");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("share 3 (") && ran.stderr.contains("after share"), "{ran:?}");
    lab.write("s3/trials/001/trial.json", &facts);
    let damaged = |file: &str, change: &dyn Fn(&str) -> String, says: &str| {
        let path = format!("s3/trials/001/{file}");
        let whole = lab.read(&path);
        lab.write(&path, &change(&whole));
        let (ran, _) = merged(lab, &["s1", "s2", "s3", "s4"], "damaged");
        assert_eq!(ran.code, 2, "{file}: {ran:?}");
        assert!(ran.stderr.contains(says), "{file} must say {says}: {ran:?}");
        assert!(ran.stderr.contains("s3: "), "which folder: {ran:?}");
        // Nothing is in the way of the next attempt.
        assert!(!lab.path("damaged").exists());
        lab.write(&path, &whole);
    };
    let half = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        lines[..lines.len() / 2].join("\n") + "\n"
    };
    damaged("trial.json", &|text| text[..text.len() / 2].to_owned(), "trial.json");
    damaged("events.jsonl", &half, "events.jsonl: it ends before the trial does");
    damaged("windows.hlog", &half, "windows.hlog: it has");
    let changed =
        |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    damaged("trial.json", &changed("\"index\":1", "\"index\":2"), "not that of trial 1");
    damaged("trial.json", &changed("\"share\":3", "\"share\":2"), "is that of share 2/4");
    damaged(
        "trial.json",
        &changed("\"name\":\"often\"", "\"name\":\"rare\""),
        "operations are not those",
    );
    damaged(
        "trial.json",
        &changed("\"missed\":0", "\"missed\":18446744073709551615"),
        "out of range",
    );
    damaged("trial.json", &changed("\"missed\":0", "\"missed\":1"), "not all accounted for");
    damaged("trial.json", &changed("\"grouping_power\":10", "\"grouping_power\":7"), "trial.json");
    damaged(
        "events.jsonl",
        &changed(
            "\"event\":\"window_closed\",\"window\":0",
            "\"event\":\"window_closed\",\"window\":18446744073709551615",
        ),
        "there is no window",
    );
    std::fs::rename(lab.path("s3/trials/001/trial.json"), lab.path("kept")).expect("renames");
    let (ran, _) = merged(lab, &["s1", "s2", "s3", "s4"], "killed");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("share 3/4 did not finish it"), "{ran:?}");
    std::fs::rename(lab.path("kept"), lab.path("s3/trials/001/trial.json")).expect("renames");
}

/// Trials begin at planned instants, so several of them stay together without talking.
#[test]
fn shares_of_several_trials_begin_each_together() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=none"]);
    let text = "title = \"Two\"\n[factors]\nusers = [4, 8]\n";
    lab.write(
        "x.toml",
        &format!(
            "{text}[target]\nurl = \"{url}\"\n[load]\nusers = \"{{{{factor.users}}}}\"\nthink = \"20ms\"\n\
             duration = \"1s\"\nwarm_up = \"100ms\"\ntimeout = \"500ms\"\nspawn_rate = \"1000/s\"\n\
             [[operation]]\nhttp = {{ path = \"/\" }}\n"
        ),
    );
    let shares = perform(&lab, 2, &[]);
    let (ran, summary) = merged(&lab, &["s1", "s2"], "whole");
    let summary = summary.unwrap_or_else(|| panic!("{ran:?} {shares:?}"));
    // The seed comes from the instant, so the plans are the same.
    assert_eq!(summary.arms.len(), 2);
    for (arm, users) in summary.arms.iter().zip([4, 8]) {
        let trial = &arm.trials[0];
        assert_accounting(trial);
        assert_eq!(trial.load.users, Some(users));
        let starts: Vec<u64> =
            trial.agents.iter().map(|agent| agent.facts.measure_from_ns).collect();
        assert!(starts[0].abs_diff(starts[1]) < 50_000_000, "{starts:?}");
    }
}

#[test]
fn what_cannot_be_divided_is_refused_before_anything_is_sent() {
    let lab = Lab::new();
    let (_target, url) = truth(&["mode=none"]);
    lab.write("x.toml", &experiment(&url, ""));
    let system = experiment("http://{system.http}", "") + "[system]\nserve = \"truth\"\n";
    lab.write("system.toml", &system);
    let at = instant(60);
    let refused = |arguments: &[&str], code: i32, says: &str| {
        let fixed = ["run", "--quiet", "--out", "refused"];
        let ran = lab.proofload(&[&fixed, arguments].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{arguments:?} must say {says}\n{}", ran.stderr);
        assert!(!lab.path("refused").join("trials/001/trial.json").exists());
        let _ = std::fs::remove_dir_all(lab.path("refused"));
    };
    let share = ["--share", "1/4", "--start-at", &at];
    refused(&["x.toml", "--share", "1/4"], 2, "--start-at");
    refused(&["x.toml", "--share", "5/4", "--start-at", &at], 2, "numbered from 1 to 4");
    refused(&["x.toml", "--share", "1/4", "--start-at", "soon"], 2, "--start-at");
    let with = |more: &[&'static str]| [&["x.toml"], &share[..], more].concat();
    refused(&with(&["--fail-fast"]), 2, "`--fail-fast` decides from the results of the whole run");
    refused(&with(&["--adaptive"]), 2, "`--adaptive` decides from the results of the whole run");
    refused(
        &with(&["--set", "load.connections=3"]),
        2,
        "at least 4 connections, and the load has 3",
    );
    refused(&[&["system.toml"], &share[..]].concat(), 2, "a share starts no processes");
    refused(&["x.toml", "--share", "1/4", "--start-at", &instant(-5)], 4, "too late to begin");
    let far = "9999-12-30T00:00:00Z";
    refused(&["x.toml", "--share", "1/4", "--start-at", far], 2, "at most 24 are possible");
}
