//! Measure phases that end early because of the measured values.

use judge::verdict;
use record::summary::{Judgement, Summary};

use crate::lab::server::truth;
use crate::lab::{Lab, Ran, assert_accounting, finding};

/// Ten minutes, of which the tests wait for the first seconds only.
const LONG: [&str; 6] = ["--rate", "100/s", "--duration", "600s", "--warm-up", "0s"];

/// With such slow answers, a generator that shares its processors is not noticeably late.
const SLOW: &str = "service=300ms";

/// Runs until the run gives up.
fn given_up(lab: &Lab, arguments: &[&str]) -> (Ran, Summary) {
    let (ran, summary) = lab.run(&[arguments, &["--fail-fast"]].concat());
    assert_eq!(verdict::exit(&summary) as u8, 1, "{:?}", summary.verdict);
    let trials: Vec<_> = summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    assert_eq!(trials.len(), 1, "later trials are not executed");
    assert_accounting(trials[0]);
    assert_eq!(trials[0].accounting.abandoned, 0, "what was in flight was waited for");
    assert!(trials[0].phases.measure_ns < 300_000_000_000, "{:?}", trials[0].phases);
    assert!(finding(&summary, "interrupted").is_none(), "nobody stopped it");
    (ran, summary)
}

fn assert_cut_short(lab: &Lab) {
    let events = lab.read("run/trials/001/events.jsonl");
    assert!(events.contains("\"event\":\"ended_early\",\"reason\":\"fail-fast\""), "{events}");
}

#[test]
fn a_failure_ends_a_run_that_allows_none() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=status", "share=0.1", SLOW]);
    let criteria = ["--criterion", "failed == 0", "--criterion", "p50 < 30s"];
    let (ran, summary) = given_up(&lab, &[&[url.as_str()], &LONG[..], &criteria].concat());
    assert_cut_short(&lab);
    let results: Vec<_> = summary.criteria.iter().map(|one| one.result).collect();
    // The median is fine, but the plan was not carried out.
    assert_eq!(results, [Judgement::Fail, Judgement::Inconclusive]);
    let said = finding(&summary, "fail-fast").expect("the run says that it was given up");
    assert!(said.contains("`failed == 0` can no longer be met: it is already at least"), "{said}");
    assert!(ran.stdout.contains("the run was given up after"), "{}", ran.stdout);
}

#[test]
fn a_hopeless_quantile_ends_the_run_and_later_trials_are_left_out() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=constant", "service=800ms"]);
    let file = lab.write(
        "two.toml",
        &format!(
            "title = \"two arms\"\ncriteria = [\"p90 < 10ms\"]\n[factors]\nconnections = [200, 400]\n\
             [design]\nblocks = 2\n[target]\nurl = \"{url}\"\n[load]\nrate = \"100/s\"\nduration = \"8s\"\n\
             warm_up = \"0s\"\nconnections = \"{{{{factor.connections}}}}\"\n\
             [[operation]]\nhttp = {{ path = \"/\" }}\n"
        ),
    );
    let (_, summary) = given_up(&lab, &[file.to_str().expect("a path in UTF-8")]);
    let said = finding(&summary, "fail-fast").expect("the run says that it was given up");
    assert_cut_short(&lab);
    // 16 s at 100/s in each arm: more than half of the trial, and more than a third of about 1,600.
    assert!(said.contains("operations are beyond 10.0 ms, and p90 allows"), "{said}");
}

#[test]
fn what_is_lost_in_the_drain_leaves_later_trials_out_and_cuts_nothing_short() {
    let lab = Lab::new();
    // Hanging operations are abandoned after the phase; with such slow answers a generator is not noticeably late.
    let (_truth, url) = truth(&["mode=hang", "share=0.3", SLOW]);
    let file = lab.write(
        "drain.toml",
        &format!(
            "title = \"drain\"\ncriteria = [\"failed == 0\"]\n[design]\nblocks = 3\n[target]\nurl = \"{url}\"\n\
             [load]\nrate = \"20/s\"\nduration = \"1s\"\nwarm_up = \"0s\"\ntimeout = \"2s\"\n\
             [[operation]]\nhttp = {{ path = \"/\" }}\n"
        ),
    );
    let (_, summary) = given_up(&lab, &[file.to_str().expect("a path in UTF-8")]);
    assert_eq!(summary.arms[0].trials[0].phases.measure_ns, 1_000_000_000, "it is whole");
    let said = finding(&summary, "fail-fast").expect("the run says that it was given up");
    assert!(said.starts_with("the run was given up after trial 1: `failed == 0` can no"), "{said}");
    assert!(!lab.read("run/trials/001/events.jsonl").contains("ended_early"));
}

#[test]
fn a_run_that_can_still_pass_is_carried_out() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--rate", "100/s", "--duration", "2s", "--warm-up", "0s", "--fail-fast"];
    let criteria = ["--criterion", "failed == 0", "--criterion", "p50 < 30s"];
    let (_, summary) = lab.run(&[&[url.as_str()], &flags[..], &criteria].concat());
    assert!(finding(&summary, "fail-fast").is_none());
    assert_eq!(summary.arms[0].trials[0].phases.measure_ns, 2_000_000_000);
}

#[test]
fn a_load_of_its_own_length_is_not_extended() {
    let lab = Lab::new();
    for (flags, why) in [
        (&["--rate", "50/s", "--requests", "100"][..], "it stops after a number of operations"),
        (&["--requests", "100"], "it stops after a number of operations"),
    ] {
        let ran = lab.proofload(&[&["run", "http://127.0.0.1:1/", "--adaptive"], flags].concat());
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        let said = format!("--adaptive cannot extend the load of arm `all`: {why}");
        assert!(ran.stderr.contains(&said) && ran.stderr.contains("^"), "{}", ran.stderr);
    }
    let both = lab.proofload(&["run", "http://127.0.0.1:1/", "--adaptive", "--quick"]);
    assert_eq!(both.code, 2, "{}", both.stderr);
}

#[test]
fn what_may_end_a_run_early_stands_in_its_plan() {
    let lab = Lab::new();
    lab.write(
        "home.toml",
        "title = \"home\"\ncriteria = [\"first_byte p99 < 5ms\", \"p97.5 < 20ms over 10s windows\"]\n\
         [target]\nurl = \"http://127.0.0.1:1\"\n[load]\nrate = \"50/s\"\nduration = \"45s\"\n\
         [[operation]]\nhttp = { path = \"/\" }\n",
    );
    let ran = lab.proofload(&["check", "home.toml", "--adaptive", "--fail-fast"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in ["fail-fast    ends as soon", "adaptive     each measure phase", "15m"] {
        assert!(ran.stdout.contains(line), "{line} is missing:\n{}", ran.stdout);
    }
}

#[test]
fn everything_that_criteria_get_wrong_is_told_at_once() {
    let lab = Lab::new();
    lab.write(
        "bad.toml",
        "title = \"bad\"\ncriteria = [\"hom p99 < 5ms\", \"home frst_byte p99 < 5\", \"p100 < 5ms\",\n\
         \"home hits / targts == 1\", \"p99 < 5ms over 150ms windows\", \"mean < 5ms over 1s windows\"]\n\
         [target]\nurl = \"http://127.0.0.1:1\"\n[load]\nrate = \"50/s\"\nduration = \"10s\"\n\
         [[operation]]\nname = \"home\"\nhttp = { path = \"/\" }\nitems = { hits = \"$.n\", targets = \"$.t\" }\n",
    );
    let ran = lab.proofload(&["check", "bad.toml"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for said in [
        "unknown operation or span `hom`",
        "did you mean `home`?",
        "unknown span `frst_byte`",
        "did you mean `first_byte`?",
        "expected a duration such as 20ms, 1.5s or 2m, got \"5\"",
        "expected a percentile such as p99, got \"p100\"",
        "did you mean `targets`?",
        "expected a multiple of 100ms",
        "exact sums of times are not kept window by window",
    ] {
        assert!(ran.stderr.contains(said), "{said} is missing:\n{}", ran.stderr);
    }
}
