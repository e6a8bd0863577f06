//! The example files under `experiments/journeys`, after scripts for other tools.

use crate::lab::{Lab, repository};

#[test]
fn every_example_is_sound() {
    let lab = Lab::new();
    for name in ["attempts", "code-flow", "office"] {
        let file = repository(&format!("experiments/journeys/{name}.toml"));
        let ran = lab.proofload(&["check", file.to_str().expect("a path")]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name}: {ran:?}");
        assert!(ran.stdout.contains("\n  journey "), "{name}: {}", ran.stdout);
    }
}
