//! Descriptions of APIs that nobody here wrote, imported and performed.

use std::process::Command;

use super::application::{python_output, uvicorn};
use crate::lab::server::truth;
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

/// That of the server of JupyterLab, in YAML, as its package on PyPI ships it. Three of its operations change data.
#[test]
fn the_public_description_of_a_server_becomes_a_file_that_runs() {
    let lab = Lab::new();
    // Found, not imported: what it needs is not there.
    let find = "import importlib.util, pathlib
origin = importlib.util.find_spec('jupyterlab_server').origin
print(pathlib.Path(origin).parent / 'rest-api.yml')";
    let description = python_output(&lab, &["-c", find]);
    let ran = lab.proofload(&["import", description.trim(), "--out", "api.toml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = lab.read("api.toml");
    assert_eq!(text.matches("# changes data: look at it before a run").count(), 3, "{text}");
    let (_target, url) = truth(&["mode=none"]);
    let target = format!("target.url={url}");
    let load = ["load.rate=50/s", "load.duration=4s", "load.warm_up=0s", &target];
    let load = load.iter().flat_map(|set| ["--set", set]);
    let run = ["run", "api.toml", "--out", "run", "--quiet", "--keep-going"];
    let ran = lab.proofload(&run.into_iter().chain(load).collect::<Vec<_>>());
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.operations.len(), 12, "{ran:?}");
    for operation in &trial.operations {
        let (name, statuses) = (&operation.name, &operation.statuses);
        assert!(statuses.keys().eq(["200"]), "every request is one of HTTP, {name}: {statuses:?}");
        // It promises 201 or 204 where the target says 200.
        assert!(operation.failures.keys().all(|kind| kind == "status"), "{name}");
    }
}
