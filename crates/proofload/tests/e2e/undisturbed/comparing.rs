//! Compares the arms of a run, with real processes.

use record::summary::{Change, Comparison, Summary};

use crate::lab::{Lab, assert_measured};

/// Three arms, two of them the same. Seven blocks are enough; on a busy machine some are left out.
const EXPERIMENT: &str = r#"
title = "Which is slower?"
[factors]
service = ["2ms", "2000us", "20ms"]
[design]
blocks = 12
[system]
serve = "truth"
set = { mode = "constant", service = "{{factor.service}}" }
[load]
connections = 2
duration = "300ms"
warm_up = "0s"
steady_state = "reported"
[[operation]]
name = "get"
http = { path = "/" }
[[comparison]]
factor = "service"
baseline = "2ms"
metrics = ["p50"]
"#;

fn word(summary: &Summary, candidate: &str) -> Change {
    let one = summary.comparisons.iter().find(|one| one.candidate == candidate);
    one.unwrap_or_else(|| panic!("{candidate} is compared")).result
}

/// `in 3 of 12 blocks the generator waited for its processor, …`
fn crowded_blocks(one: &Comparison) -> u32 {
    let note = one.note.as_deref().filter(|note| note.contains("waited for its processor"));
    let count = note.and_then(|note| note.strip_prefix("in ")?.split(' ').next()?.parse().ok());
    count.unwrap_or(0)
}

#[test]
fn a_much_slower_arm_is_changed_and_the_answer_stands_first() {
    let lab = Lab::undisturbed();
    lab.write("three.toml", EXPERIMENT);
    let (ran, summary) = lab.run(&["three.toml"]);
    assert_measured(&ran, &summary);
    assert_eq!(summary.comparisons.len(), 2);
    let slower = &summary.comparisons[1];
    assert!(slower.ratio.is_some_and(|ratio| ratio > 2.0), "{slower:?}");
    assert_eq!((slower.of.as_str(), slower.points.len() as u32), ("service_time", slower.blocks));
    assert_eq!(slower.blocks + slower.left_out.len() as u32, 12, "{slower:?}");
    let in_a_crowd = crowded_blocks(slower) * 2 > slower.blocks;
    if in_a_crowd {
        assert_eq!(word(&summary, "20ms"), Change::Undecided, "what the crowd made is no change");
    } else if slower.blocks >= 7 {
        assert_eq!((word(&summary, "20ms"), slower.size_certain), (Change::Changed, true));
    } else {
        // The run reports a late generator; too few blocks remain to decide.
        assert_eq!((ran.code, word(&summary, "20ms")), (3, Change::Undecided));
    }
    // The equal arm may have any result: one in twenty is wrong. Without a block that the machine left alone, it has none.
    let equal = &summary.comparisons[0];
    let is_result = |p| p > 0.0 && p <= 1.0;
    assert!(equal.p_value.map_or(equal.blocks == 0, is_result), "{equal:?}");
    let place = |text: &str| ran.stdout.find(text).unwrap_or_else(|| panic!("{text} is shown"));
    assert!(place("service against 2ms") < place("Findings"));
    for page in ["run/report.md", "run/report.html"] {
        assert!(lab.read(page).contains("service against 2ms"), "{page}");
    }

    let compared = lab.proofload(&["compare", "run", "run"]);
    assert_eq!(compared.code, 0, "{compared:?}");
    assert!(compared.stdout.contains("drift between the runs is not excluded"), "{compared:?}");
    let bounded = |bound: &str| {
        let json = ["compare", "run", "run", "--format", "json", "--criterion", bound];
        lab.proofload(&json)
    };
    // The bound is judged for each arm; an arm that was disturbed leaves it open.
    let is_open = compared.stdout.contains("not decided: in ");
    let kept = bounded("p50 < 5000%");
    assert_eq!(kept.code, if is_open { 3 } else { 0 }, "{kept:?}");
    let broken = bounded("p50 > 5000%");
    let found: serde_json::Value = serde_json::from_str(&broken.stdout).expect("JSON alone");
    assert_eq!(found["format"], "proofload-comparison/1");
    let result = found["criteria"][0]["result"].as_str();
    match is_open {
        // If an arm is left, its result depends on which arm was disturbed.
        true => assert!([1, 3].contains(&broken.code) && result != Some("pass"), "{broken:?}"),
        false => assert_eq!((broken.code, result), (1, Some("fail")), "{broken:?}"),
    }
    let trials = found["comparisons"][0]["trials"]["baseline"].as_u64();
    assert!(trials.is_some_and(|trials| trials <= 12), "{found}");
}
