//! Both arms of a block at the same time, with real processes: two copies of a system with known behaviour.

use record::summary::{CountsFor, Summary, TrialSummary, Validity};
use rustix::process::Signal;

use crate::lab::{Lab, PROOFLOAD, assert_accounting, finding};

const FLAGS: [&str; 5] = ["--seed", "7", "--out", "run", "--quiet"];

/// Two arms that take 2 and 20 ms, with this number of blocks of this length.
pub fn duet(blocks: u32, duration: &str) -> String {
    format!(
        r#"
title = "Both at once"
[factors]
service = ["2ms", "20ms"]
[design]
blocks = {blocks}
duet = true
[system]
serve = "truth"
set = {{ mode = "constant", service = "{{{{factor.service}}}}" }}
[load]
rate = "100/s"
duration = "{duration}"
warm_up = "200ms"
steady_state = "reported"
[[operation]]
name = "get"
http = {{ path = "/" }}
"#
    )
}

pub fn trials(summary: &Summary) -> Vec<&TrialSummary> {
    let mut trials: Vec<&TrialSummary> = summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    trials.sort_by_key(|trial| trial.index);
    trials
}

fn numbers(summary: &Summary) -> Vec<u32> {
    trials(summary).iter().map(|trial| trial.index).collect()
}

/// The part of the summary that plan and seed decide alone.
fn shape(summary: &Summary) -> Vec<(u32, u32, u64)> {
    let shape = |trial: &&TrialSummary| (trial.index, trial.block, trial.accounting.planned);
    trials(summary).iter().map(shape).collect()
}

#[test]
fn a_duet_is_gone_on_with_by_whole_blocks() {
    let lab = Lab::new();
    // So long that a busy machine sees the last trial before it is over.
    lab.write("duet.toml", &duet(2, "3s"));
    let whole = lab.proofload(&["run", "duet.toml", "--seed", "7", "--out", "whole", "--quiet"]);
    let whole = lab.summary("whole").unwrap_or_else(|| panic!("{whole:?}"));
    assert_eq!(numbers(&whole), [1, 2, 3, 4]);
    for signal in [Signal::INT, Signal::KILL] {
        let running = lab.start(&[&["run", "duet.toml"], &FLAGS[..]].concat());
        let trial = lab.path("run/trials/004");
        let events = trial.join("events.jsonl");
        running.await_in(&lab, &trial, || {
            std::fs::read_to_string(&events).unwrap_or_default().contains("window_closed")
        });
        running.signal(signal);
        running.finish();
        let first = lab.read("run/trials/001/trial.json");
        let ran = lab.proofload(&["run", "--resume", "run", "--quiet"]);
        let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
        assert_eq!(shape(&summary), shape(&whole), "{signal:?}");
        assert_eq!(lab.read("run/trials/001/trial.json"), first, "what was finished is kept");
        let claim = "the run was resumed: 2 of 4 trials are from before that";
        assert_eq!(finding(&summary, "resumed"), Some(claim));
        // As if killed between storing the facts of the two trials.
        std::fs::remove_file(lab.path("run/trials/003/trial.json")).expect("it is there");
        lab.proofload(&["run", "--resume", "run", "--quiet"]);
        assert_eq!(shape(&lab.summary("run").expect("a summary")), shape(&whole), "{signal:?}");
        assert!(lab.path("run/trials/003/trial.json").exists());
        std::fs::remove_dir_all(lab.path("run")).expect("the folder goes away");
    }
}

#[test]
fn when_one_arm_of_a_duet_falls_the_block_is_executed_again() {
    let cases = [
        // Trials that could not begin have nothing to show.
        ("test $n -ne 3 || exit 7", vec![1, 2, 7, 8]),
        ("test $n -ne 3 || exec timeout -s KILL 0.7 $serve", vec![1, 2, 3, 4, 7, 8]),
    ];
    for (act, expected) in cases {
        let lab = Lab::new();
        let serve = format!("{PROOFLOAD} serve truth --listen 127.0.0.1:{{port}}");
        let count = "echo x >> starts; n=$(wc -l < starts)";
        let command = format!(
            "command = \"sh -c '{count}; serve=\\\"{serve} --set mode=constant --set \
             service={{{{factor.service}}}}\\\"; {act}; exec $serve'\"\nready = \"tcp\"\n"
        );
        let text = duet(2, "1s");
        let (head, tail) = text.split_once("serve = \"truth\"\n").expect("a system");
        let (_, tail) = tail.split_once('\n').expect("its settings");
        lab.write("duet.toml", &format!("{head}{command}{tail}"));
        let ran = lab.proofload(&[&["run", "duet.toml"], &FLAGS[..]].concat());
        let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
        assert_eq!(numbers(&summary), expected, "{act}: {}", ran.stderr);
        let claim = finding(&summary, "block-repeated").expect("it is told of");
        assert!(claim.contains("block 2"), "{claim}");
        for trial in trials(&summary) {
            assert_accounting(trial);
            let fell = [3, 4].contains(&trial.index);
            assert_eq!((trial.counts_for == CountsFor::Nothing, trial.duet), (fell, true), "{act}");
            assert!(!fell || trial.validity == Validity::Invalid, "{act}");
        }
        if expected.contains(&4) {
            let beside = trials(&summary)[3].reasons.join("; ");
            assert!(beside.contains("the trial beside it failed"), "{beside}");
        }
    }
}

#[test]
fn what_cannot_be_a_duet_is_refused_before_anything_is_sent() {
    let lab = Lab::new();
    let text = duet(2, "1s").replace("rate = \"100/s\"", "connections = 3");
    lab.write("duet.toml", &text.replace("[\"2ms\", \"20ms\"]", "[\"2ms\", \"20ms\", \"3ms\"]"));
    for command in ["check", "run"] {
        let ran = lab.proofload(&[command, "duet.toml"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        for said in ["a duet needs two arms (got 3)", "a closed loop", "7 | duet"] {
            assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        }
    }
}
