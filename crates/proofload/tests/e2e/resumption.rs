//! Runs of several trials with failures: what is executed again, and what is resumed.

use record::summary::{CountsFor, Summary, TrialSummary, Validity};
use rustix::process::Signal;

use crate::lab::process::Running;
use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD, Ran, assert_accounting, finding};

/// Two arms in two blocks: four trials of a second.
const DESIGN: &str = "title = \"two blocks\"\n[factors]\nrate = [\"200/s\", \"300/s\"]\n[design]\nblocks = 2\n\
                      [load]\nrate = \"{{factor.rate}}\"\nduration = \"1s\"\nwarm_up = \"0s\"\n\
                      [[operation]]\nname = \"get\"\nhttp = { path = \"/\" }\n";
/// Windows of a trial: of a tenth of a second.
const WINDOWS: usize = 10;
const FLAGS: [&str; 5] = ["--seed", "7", "--out", "run", "--quiet"];

fn against(url: &str) -> String {
    format!("{DESIGN}[target]\nurl = \"{}\"\n", url.trim_end_matches('/'))
}

/// A system that counts its starts in the file `starts`, and runs this command at the third.
fn at_the_third_start(act: &str) -> String {
    let serve = format!("{PROOFLOAD} serve truth --listen 127.0.0.1:{{port}}");
    let count = "echo x >> starts; n=$(wc -l < starts)";
    let command = format!("sh -c '{count}; serve=\\\"{serve}\\\"; {act}; exec $serve'");
    format!("{DESIGN}[system]\ncommand = \"{command}\"\nready = \"tcp\"\n")
}

fn trials(summary: &Summary) -> Vec<&TrialSummary> {
    let mut trials: Vec<&TrialSummary> = summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    trials.sort_by_key(|trial| trial.index);
    trials
}

/// The part of the summary that plan and seed decide alone.
fn shape(summary: &Summary) -> Vec<(u32, u32, u32, u64, u64)> {
    let shape = |trial: &&TrialSummary| {
        assert_accounting(trial);
        let sums = trial.accounting;
        (trial.index, trial.block, trial.order, sums.planned, sums.succeeded)
    };
    trials(summary).iter().map(shape).collect()
}

fn numbers(summary: &Summary) -> Vec<u32> {
    trials(summary).iter().map(|trial| trial.index).collect()
}

/// The exit code is the verdict; the generator of a busy machine may have been late.
fn assert_judged(ran: &Ran, summary: &Summary) {
    assert_eq!(ran.code, judge::verdict::exit(summary) as i32, "{ran:?}");
    assert!(finding(summary, "audit-contradiction").is_none(), "{:?}", summary.findings);
}

/// A run that measures its second trial.
fn in_the_second_trial(lab: &Lab) -> Running {
    let running = lab.start(&[&["run", "two.toml"], &FLAGS[..]].concat());
    let trial = lab.path("run/trials/002");
    let events = trial.join("events.jsonl");
    running.await_in(lab, &trial, || {
        std::fs::read_to_string(&events).unwrap_or_default().contains("window_closed")
    });
    running
}

/// Most attempts to end a run in its second trial.
const ATTEMPTS: u32 = 5;

/// A run that this signal ended during its second trial. On a busy machine the signal may come too late; then another
/// run is started.
fn ended_in_the_second_trial(lab: &Lab, signal: Signal) -> Ran {
    for attempt in 1..=ATTEMPTS {
        let running = in_the_second_trial(lab);
        running.signal(signal);
        let ran = running.finish();
        let events = lab.read("run/trials/002/events.jsonl");
        let is_whole = events.matches("window_closed").count() >= WINDOWS;
        if !is_whole && !lab.path("run/trials/003").exists() {
            return ran;
        }
        println!("attempt {attempt} of {ATTEMPTS}: {signal:?} came after the second trial");
        std::fs::remove_dir_all(lab.path("run")).expect("the folder goes away");
    }
    panic!("{ATTEMPTS} times the second trial was over before the signal came");
}

fn facts(trial: u32) -> String {
    format!("run/trials/{trial:03}/trial.json")
}

#[test]
fn an_interrupted_or_killed_run_is_gone_on_with_to_the_same_end() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    lab.write("two.toml", &against(&url));
    let flags = ["--seed", "7", "--out", "whole", "--quiet"];
    let ran = lab.proofload(&[&["run", "two.toml"], &flags[..]].concat());
    let whole = lab.summary("whole").unwrap_or_else(|| panic!("{ran:?}"));
    assert_judged(&ran, &whole);
    assert_eq!(numbers(&whole), [1, 2, 3, 4]);
    for signal in [Signal::INT, Signal::KILL] {
        let ran = ended_in_the_second_trial(&lab, signal);
        let first = lab.read(&facts(1));
        if signal == Signal::INT {
            assert_eq!(ran.code, 3, "{}", ran.stderr);
            let summary = lab.summary("run").expect("a summary");
            assert!(
                finding(&summary, "interrupted").is_some_and(|claim| claim.contains("stopped"))
            );
        } else {
            assert!(lab.summary("run").is_none(), "killed in time");
        }
        let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
        let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
        assert_judged(&ran, &summary);
        assert_eq!(shape(&summary), shape(&whole), "{signal:?}");
        assert_eq!(summary.run.plan_hash, whole.run.plan_hash);
        assert_eq!(summary.run.seed, 7);
        assert!(summary.run.command.contains(&"two.toml".to_owned()), "{:?}", summary.run.command);
        assert_eq!(lab.read(&facts(1)), first, "what was finished is kept");
        let claim = "the run was resumed: 1 of 4 trials are from before that";
        assert_eq!(finding(&summary, "resumed"), Some(claim));
        assert_eq!(finding(&summary, "interrupted"), None);
        assert!(lab.read("run/report.html").contains(claim));

        let again = lab.proofload(&["run", "--resume", "run", "--quiet"]);
        assert_eq!(shape(&lab.summary("run").expect("a summary")), shape(&summary));
        assert_eq!(again.code, ran.code, "nothing was left to do: {again:?}");
        std::fs::remove_dir_all(lab.path("run")).expect("the folder goes away");
    }
}

#[test]
fn a_run_is_not_gone_on_with_by_another_plan_or_by_two() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    lab.write("two.toml", &against(&url));
    let running = in_the_second_trial(&lab);
    let twice = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(twice.code, 2, "{}", twice.stderr);
    assert!(twice.stderr.contains("is still running"), "{}", twice.stderr);
    running.signal(Signal::INT);
    running.finish();

    let before = lab.read("run/summary.json");
    let refused = |said: &str, arguments: &[&str]| {
        let ran = lab.proofload(arguments);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(lab.read("run/summary.json"), before, "nothing was touched");
    };
    lab.write("two.toml", &against(&url).replace("300/s", "301/s"));
    refused(
        "the experiment has changed since the run was begun: `arms[1].",
        &["run", "--resume", "run"],
    );
    let says = "; `arms[1].load.model.arrivals.rate` is 301.0, not 300.0; ";
    refused(says, &["run", "--resume", "run"]);
    std::fs::remove_file(lab.path("two.toml")).expect("the file is there");
    refused("two.toml", &["run", "--resume", "run"]);
    refused("nowhere is not a run folder", &["run", "--resume", "nowhere"]);
    refused("--resume", &["run", "--resume", "run", "--seed", "8"]);
    refused("--resume", &["run", "two.toml", "--resume", "run"]);
    let origin = lab.read("run/origin.json");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    lab.write("run/origin.json", &origin.replace(&version, "\"version\": \"0.0.0\""));
    refused("begun by version 0.0.0", &["run", "--resume", "run"]);
}

#[test]
fn secrets_are_asked_of_the_environment_again() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags =
        ["--rate", "200/s", "--duration", "29s", "--warm-up", "0s", "--out", "run", "--quiet"];
    let secret = ["--header", "authorization: Bearer s3cr3t"];
    let running = lab.start(&[&["run", &url], &flags[..], &secret].concat());
    running.await_windows(&lab, 2);
    running.signal(Signal::INT);
    running.finish();
    for name in crate::lab::files_below(&lab.path("run")) {
        let content = std::fs::read(&name).expect("a file");
        assert!(!String::from_utf8_lossy(&content).contains("s3cr3t"), "{}", name.display());
    }
    let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("AUTHORIZATION"), "{}", ran.stderr);
}

#[test]
fn a_block_is_executed_again_when_one_of_its_trials_falls() {
    let cases = [
        // Trials that could not begin have nothing to show.
        ("test $n -ne 3 || exit 7", vec![1, 2, 7, 8]),
        ("test $n -ne 3 || exec timeout -s KILL 0.7 $serve", vec![1, 2, 3, 7, 8]),
    ];
    for (act, expected) in cases {
        let lab = Lab::new();
        lab.write("two.toml", &at_the_third_start(act));
        let ran = lab.proofload(&[&["run", "two.toml"], &FLAGS[..]].concat());
        let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
        assert_judged(&ran, &summary);
        assert_eq!(numbers(&summary), expected, "{act}: {}", ran.stderr);
        let claim = finding(&summary, "block-repeated").expect("it is told of");
        assert!(claim.contains("block 2") && claim.contains("trial 3"), "{claim}");
        for trial in trials(&summary) {
            let fell = trial.index == 3;
            assert_eq!(trial.counts_for == CountsFor::Nothing, fell, "{act}");
            assert!(!fell || trial.validity == Validity::Invalid, "{act}");
            assert_eq!(trial.block, if trial.index <= 2 { 1 } else { 2 });
        }
        assert_eq!(finding(&summary, "interrupted"), None, "the plan was carried out");
        let spoils = |reason: &String| reason.starts_with("trial 3:");
        assert!(!summary.verdict.reasons.iter().any(spoils), "{:?}", summary.verdict);
    }
}

#[test]
fn a_trial_that_cannot_begin_loses_nothing_that_was_measured() {
    let lab = Lab::new();
    lab.write("two.toml", &at_the_third_start("test $n -le 2 || test -e mended || exit 7"));
    let ran = lab.proofload(&[&["run", "two.toml"], &FLAGS[..]].concat());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    assert_judged(&ran, &summary);
    assert_eq!(numbers(&summary), [1, 2]);
    let claim = finding(&summary, "trial-not-executed").expect("it is told of");
    assert!(claim.contains("trial 7 could not begin"), "{claim}");
    assert!(ran.stdout.contains("could not begin") && lab.path("run/report.html").exists());

    lab.write("mended", "");
    let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
    assert_judged(&ran, &summary);
    assert_eq!(numbers(&summary), [1, 2, 7, 8]);
    assert_eq!(finding(&summary, "trial-not-executed"), None);

    std::fs::remove_file(lab.path("mended")).expect("it is there");
    let ran = lab.proofload(&["run", "two.toml", "--out", "other", "--quiet"]);
    assert_eq!(ran.code, 4, "no trial at all could run: {}", ran.stderr);
    assert!(ran.stderr.contains("starting trial 1"), "{}", ran.stderr);
    assert!(lab.summary("other").is_none());
}

#[test]
fn trials_that_were_executed_again_are_not_among_those_that_were_kept() {
    let lab = Lab::new();
    let act = "test $n -ne 3 || exec timeout -s KILL 0.7 $serve; test $n -ne 4 || exit 7";
    lab.write("two.toml", &at_the_third_start(act));
    let ran = lab.proofload(&[&["run", "two.toml"], &FLAGS[..]].concat());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(numbers(&lab.summary("run").expect("a summary")), [1, 2, 3]);
    let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
    assert_judged(&ran, &summary);
    assert_eq!(numbers(&summary), [1, 2, 3, 7, 8]);
    let claim = "the run was resumed: 2 of 4 trials are from before that";
    assert_eq!(finding(&summary, "resumed"), Some(claim));
}

#[test]
fn a_run_that_was_given_up_is_not_gone_on_with() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=status", "service=300ms"]);
    let criterion = "criteria = [\"failed == 0\"]\n".to_owned();
    lab.write("two.toml", &(criterion + &against(&url)));
    let ran = lab.proofload(&[&["run", "two.toml", "--fail-fast"], &FLAGS[..]].concat());
    let given_up = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
    assert_judged(&ran, &given_up);
    let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
    assert_judged(&ran, &summary);
    assert_eq!(numbers(&summary), [1], "nothing more is executed");
    assert_eq!((&summary.arms, &summary.criteria), (&given_up.arms, &given_up.criteria));
    assert!(finding(&summary, "fail-fast").is_some() && finding(&summary, "resumed").is_none());
}

#[test]
fn what_failed_before_an_interruption_is_remembered_by_fail_fast() {
    let lab = Lab::new();
    let broken = "serve=\\\"$serve --set mode=status\\\"";
    let act = format!("{broken}; test $n -le 1 || test -e mended || exit 7");
    let one_arm = at_the_third_start(&act)
        .replace("[factors]\nrate = [\"200/s\", \"300/s\"]\n", "")
        .replace("{{factor.rate}}", "50/s")
        .replace("\"1s\"", "\"4s\"");
    // Each trial causes 200 failures: one trial is allowed, and the second may cause at most half of them.
    lab.write("two.toml", &("criteria = [\"failed <= 300\"]\n".to_owned() + &one_arm));
    let flags = ["--fail-fast", "--keep-going"];
    let ran = lab.proofload(&[&["run", "two.toml"], &flags[..], &FLAGS[..]].concat());
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    assert_eq!((numbers(&summary), finding(&summary, "fail-fast")), (vec![1], None));

    lab.write("mended", "");
    let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
    assert_judged(&ran, &summary);
    assert_eq!(numbers(&summary), [1, 4]);
    assert!(finding(&summary, "fail-fast").is_some(), "{:?}", summary.findings);
    let events = lab.read("run/trials/004/events.jsonl");
    assert!(events.contains("\"event\":\"ended_early\",\"reason\":\"fail-fast\""), "{events}");
    let measured: Vec<u64> = trials(&summary).iter().map(|one| one.phases.measure_ns).collect();
    assert!(measured[0] == 4_000_000_000 && measured[1] < 4_000_000_000, "{measured:?}");
}

#[test]
fn a_designed_run_is_executed_in_the_order_of_its_plan() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let design = "blocks = 6\norder = \"abba\"\naa = 2";
    let comparison =
        "[[comparison]]\nfactor = \"rate\"\nbaseline = \"200/s\"\nmetrics = [\"goodput\"]\n";
    let text = against(&url).replace("blocks = 2", design).replace("1s", "200ms") + comparison;
    lab.write("two.toml", &text);
    let plan = lab.proofload(&["check", "two.toml"]);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    assert!(plan.stdout.contains("16 trials, in this order"), "{}", plan.stdout);
    let (ran, summary) = lab.run(&["two.toml", "--seed", "7"]);
    assert_judged(&ran, &summary);
    let order: Vec<(u32, f64)> = trials(&summary)
        .iter()
        .map(|trial| (trial.block, trial.load.offered_rate.expect("an open load")))
        .collect();
    let (slow, fast) = (200.0, 300.0);
    let blocks = [
        (1, [slow, fast]),
        (2, [fast, slow]),
        (3, [fast, slow]),
        (7, [slow, slow]),
        (4, [slow, fast]),
        (5, [slow, fast]),
        (6, [fast, slow]),
        (8, [slow, slow]),
    ];
    let expected = blocks.into_iter().flat_map(|(block, arms)| arms.map(|arm| (block, arm)));
    assert_eq!(order, expected.collect::<Vec<_>>());
    let noise = finding(&summary, "aa-noise");
    let spoiled = finding(&summary, "late-generator").is_some();
    assert!(noise.is_some_and(|claim| claim.contains("over 2 A/A pairs")) || spoiled, "{noise:?}");
}
