//! Runs with the judge as the observer.

use crate::lab::{Lab, only_trial, repository};

/// An experiment over this many rows whose searches are judged.
fn experiment(set: &str, expect: &str) -> String {
    let queries = repository("experiments/data/staffing-queries.csv");
    let queries = queries.display();
    format!(
        "title = \"judged\"\n\
         [system]\nserve = \"search\"\nset = {{ sample = \"20%\", {set} }}\n\
         [[observer]]\nname = \"judge\"\nserve = \"search-judge\"\n\
         set = {{ search = \"http://{{system.http}}\", queries = \"{queries}\" }}\n\
         expect = \"{expect}\"\n\
         [load]\nconnections = 2\noperations = 500\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n\
         [[operation]]\nname = \"search\"\n\
         http = {{ method = \"POST\", path = \"/v1/matrix/search\", \
         json = {{ query = \"{{{{row.query}}}}\", k = 10 }} }}\n\
         rows = {{ file = \"{queries}\", order = \"round_robin\" }}\n\
         expect = {{ status = 200, json = {{ \"$.results.length()\" = 10 }} }}\n"
    )
}

#[test]
fn recall_is_measured_in_the_run_and_can_be_asked_for() {
    let lab = Lab::new();
    lab.write("judged.toml", &experiment("workers = 200", "recall >= 0.95"));
    let (ran, summary) = lab.run(&["judged.toml"]);
    crate::lab::assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.succeeded, 500, "{:?}", trial.total.failures);
    let judge = &trial.observers[0];
    assert_eq!((judge.received, &judge.detail["unjudged"]), (100, &0.into()), "{judge:?}");
    assert!(judge.expect.as_ref().is_some_and(|expect| expect.holds), "{judge:?}");
    let share = |name: &str| judge.detail[name].as_f64().expect("a share");
    assert_eq!(share("recall"), 1.0, "so few rows are all compared");
    assert!(judge.detail["planted"].as_u64().is_some_and(|planted| planted > 50), "{judge:?}");
    assert_eq!(share("planted_first"), 1.0);
}

/// A graph search that keeps only one candidate misses results.
#[test]
fn a_broken_index_fails_the_run() {
    let lab = Lab::new();
    let set = "workers = 3000, brute_force_below = 0, ef = 1, dimension = 64";
    lab.write("broken.toml", &experiment(set, "recall >= 0.95"));
    let (ran, summary) = lab.run(&["broken.toml"]);
    let judge = &only_trial(&summary).observers[0];
    assert!(judge.expect.as_ref().is_some_and(|expect| !expect.holds), "{judge:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
}
