//! The description that FastAPI makes of an application, imported and performed.

use std::process::Command;

use super::application::uvicorn;
use crate::lab::{Lab, Ran, assert_accounting, only_trial};

#[test]
fn what_fastapi_says_of_itself_becomes_a_file_that_runs() {
    let lab = Lab::new();
    let orders = uvicorn(&lab, "orders:app");
    let described =
        Command::new("curl").args(["-sf", &format!("{}/openapi.json", orders.url)]).output();
    let described = Ran::from(described.expect("curl"));
    lab.write("openapi.json", &described.stdout);
    let ran = lab.proofload(&["import", "openapi.json", "--out", "api.toml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    lab.write("invoice.bin", "an invoice");
    let target = format!("target.url={}", orders.url);
    let load = ["load.rate=20/s", "load.duration=4s", "load.warm_up=0s", &target];
    let load = load.iter().flat_map(|set| ["--set", set]);
    let run = ["run", "api.toml", "--out", "run", "--quiet", "--keep-going"];
    let run: Vec<&str> = run.into_iter().chain(load).collect();
    let mut command = lab.command(&run);
    let ran = command.env("PASSWORD", "engine-of-ada").env("TOKEN", "none-of-its-own").output();
    let ran = Ran::from(ran.expect("it starts"));
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.operations.len(), 7, "{ran:?}");
    for operation in &trial.operations {
        // Its own answer to values that do not fit the description is 422.
        let (name, statuses) = (&operation.name, &operation.statuses);
        assert!(!statuses.is_empty() && !statuses.contains_key("422"), "{name}: {statuses:?}");
        assert!(operation.failures.keys().all(|kind| kind == "status"), "{:?}", operation.failures);
    }
    let tally = trial.operations.iter().find(|one| one.name == "counted_tally_get");
    assert!(tally.is_some_and(|one| one.succeeded > 0 && one.failed == 0), "{ran:?}");
}
