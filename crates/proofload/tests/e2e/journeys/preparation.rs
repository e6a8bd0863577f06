//! `[setup]` and `[teardown]` towards nginx: performed, not measured, and the end of a run where they fail.

use super::visit;
use crate::lab::nginx::nginx;
use crate::lab::{Lab, only_trial};

/// Each operation has a page of its own; only `/broken` fails.
const SERVER: &str = "location = /broken { return 500 no; }\nlocation / { return 201; }";

fn experiment(setup: &str, teardown: &str) -> String {
    let operation =
        |name: &str| format!("[[operation]]\nname = \"{name}\"\nhttp = {{ path = \"/{name}\" }}\n");
    let operations = ["create", "look", "broken", "remove"].map(operation).concat();
    format!(
        "[target]\nurl = \"http://127.0.0.1:1\"\n[load]\noperations = 20\nconnections = 2\nwarm_up = \"0s\"\n\
         {operations}[[journey]]\nname = \"visit\"\nsteps = [\"look\"]\n\
         [setup]\nsteps = {setup}\nrows = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n\
         [teardown]\nsteps = {teardown}\n"
    )
}

#[test]
fn a_setup_and_a_teardown_are_performed_and_not_measured() {
    let lab = Lab::new();
    let (_nginx, port) = nginx(&lab, "prepared", SERVER);
    let file = experiment("[\"create\"]", "[\"remove\", \"broken\"]");
    let (_, summary) = visit(&lab, &format!("http://127.0.0.1:{port}"), &file);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.planned, 20, "the looks of the journeys alone");
    let failed = "[teardown] failed at `broken`: status";
    let notes = &trial.generator.notes;
    assert!(notes.iter().any(|note| note.starts_with(failed)), "{notes:?}");
}

#[test]
fn a_setup_that_fails_ends_the_run_with_its_step_and_row() {
    let lab = Lab::new();
    let (_nginx, port) = nginx(&lab, "unprepared", SERVER);
    lab.write("journeys.toml", &experiment("[\"create\", \"broken\"]", "[\"remove\"]"));
    let target = format!("target.url=http://127.0.0.1:{port}");
    let ran = lab.proofload(&["run", "journeys.toml", "--set", &target, "--out", "run", "--quiet"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let expected = "[setup] failed at `broken`, row 1: status (status 500, expected 2xx, 3xx)";
    assert!(ran.stderr.contains(expected), "{ran:?}");
    assert!(!ran.stderr.contains("a bug"), "{ran:?}");
}
