//! The example files under `experiments/journeys`, after scripts for other tools: each is sound, and performs its
//! journeys to their end at a stand-in that refuses what its original would refuse.

use std::collections::BTreeMap;

use record::summary::TrialSummary;

use super::application::{Application, uvicorn};
use super::{failures, step, visit};
use crate::lab::server::get;
use crate::lab::{Lab, only_trial, repository};

/// An example, its stand-in, and its parts that take long.
struct Example {
    name: &'static str,
    /// As uvicorn names it.
    application: &'static str,
    load: &'static str,
    pauses: &'static [&'static str],
}

const ATTEMPTS: Example = Example {
    name: "attempts",
    application: "attempts:app",
    load: "from   = \"5/s\"\nstages = [{ hold = \"30s\" }, { to = \"20/s\", over = \"60s\" }, { hold = \"2m\" }, \
           { to = \"50/s\", over = \"1s\" }, { hold = \"30s\" }]\n",
    pauses: &["think 2s"],
};
const CODE_FLOW: Example = Example {
    name: "code-flow",
    application: "code_flow:app",
    load: "rate     = \"10/s\"\nduration = \"5m\"\n",
    pauses: &["think 1s..5s"],
};
const OFFICE: Example = Example {
    name: "office",
    application: "office:app",
    load: "stages = [{ users = 5, over = \"30s\" }, { users = 50, over = \"2m\" }, { hold = \"2m\" }]\n",
    pauses: &["think 1s..3s", "think 1s", "think 2s"],
};

const ACCOUNTS: &str = "experiments/journeys/accounts.csv";

#[test]
fn every_example_is_sound() {
    let lab = Lab::new();
    for Example { name, .. } in [ATTEMPTS, CODE_FLOW, OFFICE] {
        let file = repository(&format!("experiments/journeys/{name}.toml"));
        let ran = lab.proofload(&["check", file.to_str().expect("a path")]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name}: {ran:?}");
        assert!(ran.stdout.contains("\n  journey "), "{name}: {}", ran.stdout);
    }
}

#[test]
fn visits_to_a_school_are_counted_as_the_school_counts_them() {
    let load = "from   = \"5/s\"\nstages = [{ hold = \"1s\" }, { to = \"20/s\", over = \"1s\" }, \
                { hold = \"500ms\" }, { to = \"50/s\", over = \"100ms\" }, { hold = \"1s\" }]\n";
    let (trial, tally) = performed(&ATTEMPTS, load);
    let health = trial.operations.iter().find(|one| one.name == "health").expect("it is there");
    assert_eq!(tally["health"], health.succeeded, "{tally:?}");
}

#[test]
fn logins_by_code_are_counted_as_the_server_counts_them() {
    let (trial, tally) = performed(&CODE_FLOW, "rate     = \"20/s\"\nduration = \"2s\"\n");
    let of_users = tally.iter().filter(|(name, _)| name.starts_with("of "));
    let of_users: Vec<u64> = of_users.map(|(_, logins)| *logins).collect();
    let logins = trial.journeys[0].whole.succeeded;
    assert_eq!((of_users.len(), of_users.iter().sum()), (3, logins), "{tally:?}");
    // In turn.
    assert!(of_users.iter().all(|one| one.abs_diff(logins / 3) <= 1), "{tally:?}");
}

#[test]
fn an_office_counts_what_its_users_count() {
    let load = "stages = [{ users = 5, over = \"1s\" }, { users = 10, over = \"1s\" }, { hold = \"1s\" }]\n";
    let (trial, _) = performed(&OFFICE, load);
    let asset = step(&trial.journeys[0], "asset");
    assert!(asset.succeeded > 0 && asset.skipped > 0, "not every user finds one: {asset:?}");
}

/// Runs the example under this load. Every journey succeeds, and the stand-in has given out what its steps report.
fn performed(example: &Example, load: &str) -> (TrialSummary, BTreeMap<String, u64>) {
    let lab = Lab::new();
    let application = uvicorn(&lab, example.application);
    let file = shortened(&lab, example, load);
    let (_, summary) = visit(&lab, &application.url, &file);
    let trial = only_trial(&summary);
    let tally = tally(&application);
    for journey in &trial.journeys {
        let whole = &journey.whole;
        assert_eq!((whole.failed, whole.abandoned), (0, 0), "{}", failures(trial));
        assert!(whole.planned > 0 && whole.planned == whole.succeeded, "{whole:?}");
        for step in &journey.steps {
            for operation in step.name.split(" + ") {
                let given = tally.get(operation).copied().unwrap_or_default();
                assert_eq!(given, step.succeeded, "{operation}: {tally:?}");
            }
        }
    }
    assert_eq!(trial.accounting.failed, 0, "{}", failures(trial));
    (trial.clone(), tally)
}

/// The example's file with this load and hardly a pause, its accounts beside it.
fn shortened(lab: &Lab, example: &Example, load: &str) -> String {
    let read =
        |path: &str| std::fs::read_to_string(repository(path)).expect("a file of the repository");
    lab.write("accounts.csv", &read(ACCOUNTS));
    let load = format!("{load}warm_up = \"0s\"\n");
    let file = read(&format!("experiments/journeys/{}.toml", example.name));
    let pauses = example.pauses.iter().map(|pause| (*pause, "think 10ms..30ms"));
    std::iter::once((example.load, load.as_str()))
        .chain(pauses)
        .fold(file, |file, change| changed(&file, change))
}

fn changed(file: &str, (part, other): (&str, &str)) -> String {
    assert!(file.contains(part), "{part} in {file}");
    file.replace(part, other)
}

fn tally(application: &Application) -> BTreeMap<String, u64> {
    serde_json::from_str(&get(application.address(), "/tally")).expect("counts")
}

/// Without this, a stand-in that takes everything would prove nothing.
#[test]
fn the_stand_ins_refuse_wrong_values_and_a_wrong_order() {
    ends_where(
        &ATTEMPTS,
        &[
            (
                "\"front\", \"think 10ms..30ms\", \"login_page\"",
                "\"login_page\", \"front\"",
                "login_page",
            ),
            ("{ path = \"/login\" }", "{ path = \"/login\", cookies = false }", "login_page"),
            ("password = \"wrong\"", "password = \"right\"", "login"),
        ],
    );
    ends_where(
        &CODE_FLOW,
        &[
            (", decode = \"html\"", "", "credentials"),
            ("\"{{page.action}}\", ", "\"{{page.action}}\", cookies = false, ", "credentials"),
            ("\"code=([^&]*)\"", "\"session_state=([^&]*)\"", "exchange"),
            ("id_token = \"$.id_token\"", "id_token = \"$.access_token\"", "logout"),
        ],
    );
    let mine = "path = \"/api/reservations/mine\", auth = { bearer = \"";
    ends_where(
        &OFFICE,
        &[
            (mine, &format!("{mine}x"), "mine"),
            ("content[0]", "content[1]", "asset"),
            ("\"login\", \"think 10ms..30ms\",", "\"login\", \"assets\",", "assets"),
        ],
    );
}

/// Runs the example with each change; no journey comes beyond the step named beside it.
fn ends_where(example: &Example, changes: &[(&str, &str, &str)]) {
    let lab = Lab::new();
    let application = uvicorn(&lab, example.application);
    let file = shortened(&lab, example, "operations = 100\nconnections = 2\n");
    for &(part, other, at) in changes {
        let (_, summary) = visit(&lab, &application.url, &changed(&file, (part, other)));
        let trial = only_trial(&summary);
        let mut steps = trial.journeys.iter().flat_map(|journey| &journey.steps);
        let last = steps.find(|step| step.name == at).expect("a step");
        assert!(last.ended > 0 && last.ended == last.reached, "{other}: {last:?}");
        std::fs::remove_dir_all(lab.path("run")).expect("the run can go");
    }
}
