//! Compares finished runs.

use crate::lab::{Lab, assert_measured};

/// One trial, for half a second.
fn single(lab: &Lab, name: &str, connections: u32) {
    let text = format!(
        "title = \"one\"\n[system]\nserve = \"truth\"\nset = {{ mode = \"none\" }}\n\
         [load]\nconnections = {connections}\noperations = 200\nwarm_up = \"0s\"\n\
         [[operation]]\nhttp = {{ path = \"/\" }}\n"
    );
    let file = format!("{name}.toml");
    lab.write(&file, &text);
    let ran = lab.proofload(&["run", &file, "--out", name, "--quiet"]);
    assert_measured(&ran, &lab.summary(name).expect("a summary"));
}

#[test]
fn unlike_runs_are_refused_and_one_trial_a_side_decides_nothing() {
    let lab = Lab::new();
    single(&lab, "one", 1);
    single(&lab, "again", 1);
    single(&lab, "other", 2);
    let alike = lab.proofload(&["compare", "one", "again", "--criterion", "p50 < 110%"]);
    // An undecided criterion does not pass.
    assert_eq!(alike.code, 3, "{alike:?}");
    assert!(alike.stdout.contains("  not decided: "), "{alike:?}");
    assert_eq!(lab.proofload(&["compare", "one", "again"]).code, 0);

    let refused = lab.proofload(&["compare", "one", "other"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    assert!(refused.stderr.contains("connections: 1 and 2"), "{}", refused.stderr);
    assert!(refused.stderr.contains("`--unlike` compares them anyway"), "{}", refused.stderr);
    let told = lab.proofload(&["compare", "one", "other", "--unlike", "--format", "markdown"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stdout.contains("- unlike: plan.arms"), "{}", told.stdout);
}

#[test]
fn what_is_no_run_and_no_criterion_is_named() {
    let lab = Lab::new();
    single(&lab, "one", 1);
    for (arguments, said) in [
        (vec!["compare", "one", "nowhere"], "nowhere is not a run folder"),
        (vec!["compare", "one", "one", "--criterion", "p99 < 5ms"], "is not a percentage"),
        (vec!["compare", "one", "one", "--candidate", "one"], "is named twice on one side"),
    ] {
        let ran = lab.proofload(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}
