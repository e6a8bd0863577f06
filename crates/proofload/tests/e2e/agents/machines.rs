//! Machines that misbehave: a wall clock that steps, and disks that are full.

use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;

use super::{agents, assert_is_the_plan, coordinator, ended, experiment, planned_by_one};
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD, finding, repository};

/// The library whose wall clock steps once the file `steps` exists.
fn stepping_clock(lab: &Lab) -> String {
    let library = lab.path("wall_clock.so").display().to_string();
    let source = repository("crates/proofload/tests/programs/wall_clock.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o", &library]).arg(source).status();
    assert!(built.is_ok_and(|status| status.success()), "cc compiles");
    library
}

/// Seconds since 1970 of both events of a trial that have them: its start, and its date.
fn dates(lab: &Lab, trial: u32) -> [i64; 2] {
    let events = lab.read(&format!("run/trials/{trial:03}/events.jsonl"));
    ["trial_started", "dated"].map(|name| {
        let name = format!("\"event\":\"{name}\"");
        let line = events.lines().find(|line| line.contains(&name)).expect("the event");
        let event: serde_json::Value = serde_json::from_str(line).expect("an event");
        let at: Timestamp =
            event["wall_clock"].as_str().and_then(|at| at.parse().ok()).expect("a date");
        at.as_second()
    })
}

/// Only CLOCK_MONOTONIC counts, and the time of day in the record is the coordinator's.
#[test]
fn wall_clocks_of_agents_may_step() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    let (library, steps) = (stepping_clock(&lab), lab.path("steps"));
    let two_trials = experiment(&url, 1).replace("[load]", "[design]\nblocks = 2\n[load]");
    lab.write("x.toml", &two_trials);
    let agent = |(name, seconds): (&str, &str)| {
        let mut agent = lab.command(&["agent", "--via", &nats.url(), "--name", name]);
        agent.env("LD_PRELOAD", &library).env("WALL_CLOCK_STEPS", &steps);
        agent.env("WALL_CLOCK_STEP", seconds).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(agent.spawn().expect("the binary starts"))
    };
    let waiting = [("load-1", "3600"), ("load-2", "-7200")].map(agent).into();
    let run = coordinator(&lab, &nats, 2, &[]);
    run.await_windows(&lab, 2);
    lab.write("steps", "");
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
    let trials: Vec<_> = summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    for (trial, planned) in trials.iter().zip(planned_by_one(&lab)) {
        assert_is_the_plan(&lab, trial, planned);
        let error = |agent: &record::summary::Agent| agent.facts.start_error_ns;
        assert!(trial.agents.iter().map(error).max() < Some(Some(5_000_000_000)), "{trial:?}");
        let [started, dated] = dates(&lab, trial.index);
        assert!((0..1_800).contains(&(dated - started)), "from {started} to {dated}");
    }
    let starts = trials[1].agents.iter().map(|agent| agent.facts.measure_from_ns / 1_000_000_000);
    let apart = starts.clone().max().expect("agents") - starts.min().expect("agents");
    assert!(apart > 10_000, "the wall clocks have stepped: {apart} s apart");
}

/// The binary, which has a small disk at this folder; other processes do not see it.
fn start_on_a_small_disk(lab: &Lab, (folder, size): (&Path, &str), arguments: &[&str]) -> Running {
    std::fs::create_dir_all(folder).expect("a folder");
    let script = "mount -t tmpfs -o size=\"$2\" none \"$1\" || exit 99; export TMPDIR=\"$1\"; \
                  program=\"$3\"; shift 3; exec \"$program\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(folder).args([size, PROOFLOAD]).args(arguments).current_dir(lab.path(""));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Running::new(child.expect("unshare (Debian: util-linux)"))
}

#[test]
fn a_full_disk_at_an_agent_is_named_before_anything_is_sent() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("names.csv", &format!("name\n{}", "somebody\n".repeat(40_000)));
    let rows = experiment(&url, 1)
        .replace("path = \"/\"", "path = \"/{{row.name}}\"")
        .replace("name = \"ask\"", "name = \"ask\"\nrows = { file = \"names.csv\" }");
    lab.write("x.toml", &rows);
    let mut waiting = agents(&lab, &nats, 1);
    let via = nats.url();
    let full = ["agent", "--via", &via, "--name", "full", "--wait", "2m"];
    waiting.push(start_on_a_small_disk(&lab, (&lab.path("small"), "64k"), &full));
    let ran = coordinator(&lab, &nats, 2, &[]).finish();
    let said: Vec<_> = waiting.into_iter().map(Running::finish).collect();
    assert_eq!(ran.code, 4, "{ran:?}\n{said:?}");
    for text in ["(full)", "cannot write", "No space left on device"] {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert_eq!((said[0].code, said[1].code), (0, 4), "{said:?}");
    assert!(said[1].stderr.contains("No space left on device"), "{said:?}");
}

#[test]
fn a_full_disk_at_the_coordinator_ends_the_run_for_all() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 29));
    let waiting = agents(&lab, &nats, 2);
    let via = nats.url();
    let run = ["run", "x.toml", "--quiet", "--out", "small/run", "--agents", "2", "--via", &via];
    // The plan fits, and the first seconds of events.
    let run = start_on_a_small_disk(&lab, (&lab.path("small"), "48k"), &run);
    let ran = run.finish();
    let said: Vec<_> = waiting.into_iter().map(Running::finish).collect();
    assert_eq!(ran.code, 4, "{ran:?}\n{said:?}");
    for text in ["cannot write", "No space left on device", "hint: "] {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(said.iter().all(|ran| ran.code == 0), "the run is over for them: {said:?}");
}
