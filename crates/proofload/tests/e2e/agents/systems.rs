//! What the coordinator starts for its agents: systems, services, observers and faults; and what steps of a search and
//! the two sides of a duet are to agents.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use record::event::EventKind;
use record::summary::{CapacityEnding, Judgement};
use rustix::process::Signal;

use super::{agents, coordinator, ended};
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::{Lab, PROOFLOAD, finding, only_trial};

/// An agent on whose machine there is no program of a system, and nothing else either.
fn bare_agent(lab: &Lab, nats: &Broker) -> Running {
    let folder = lab.path("bare");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("proofload");
    let linked = std::fs::hard_link(PROOFLOAD, &program);
    linked.or_else(|_| std::fs::copy(PROOFLOAD, &program).map(drop)).expect("a copy");
    assert!(program.metadata().is_ok_and(|file| file.size() > 0));
    let mut command = Command::new(program);
    command.args(["agent", "--via", &nats.url(), "--name", "bare", "--wait", "2m"]);
    command.current_dir(folder).env("PATH", "").stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Running::new(child.expect("the binary starts"))
}

#[test]
fn a_registry_and_its_receivers_run_beside_the_coordinator() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    lab.write(
        "x.toml",
        r#"
title = "A registry for agents"
seed = 5
criteria = ["failed == 0"]
[system]
serve = "registry"
[[observer]]
name = "receivers"
serve = "registry-receivers"
set = { registry = "{system.http}" }
expect = "received == multicast.delivered"
[load]
rate = "100/s"
arrivals = "constant"
warm_up = "0s"
duration = "3s"
steady_state = "reported"
[[operation]]
name = "register"
weight = 3
http = { method = "POST", path = "/v1/loadtest/register", json = { identity = "user-{{sequence}}", ttl_seconds = 300, metadata = { status = "online" } } }
expect = { status = 200 }
[[operation]]
name = "multicast"
http = { method = "POST", path = "/v1/loadtest/multicast", json = { filter = { status = "online" }, payload = "{{nonce}}", semantics = "at_least_once" } }
expect = { status = 200 }
items = { delivered = "$.delivered_count" }
"#,
    );
    let mut waiting = agents(&lab, &nats, 3);
    waiting.push(bare_agent(&lab, &nats));
    let run = coordinator(&lab, &nats, 4, &[]);
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{:?}", trial.total.failures);
    let [observer] = &trial.observers[..] else { panic!("{:?}", trial.observers) };
    assert!(observer.received > 0, "{observer:?}");
    assert!(observer.expect.as_ref().is_some_and(|expect| expect.holds), "{observer:?}");
    let names: Vec<&str> = trial.systems.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["registry", "receivers"]);
    assert!(trial.systems[0].processes.iter().any(|one| one.cpu_ns > 0), "{:?}", trial.systems);
    // Each identity once, although the sequence counts on four machines: all are new.
    let registered =
        trial.operations.iter().find(|one| one.name == "register").expect("it is there");
    assert!(registered.succeeded > 100);
    let events = lab.read("run/trials/001/events.jsonl");
    let many = |kind: &str| events.lines().filter(|line| line.contains(kind)).count();
    assert_eq!([many("\"trial_started\""), many("\"process_ready\"")], [1, 2], "{events}");
}

#[test]
fn an_edge_loses_its_monitor_by_plan_and_the_account_holds() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let recipe = r#"{"body": "from the origin", "headers": {"cache-control": "public, max-age=60"}, "stages": [{"at": 0, "status": 200, "latency": 0}]}"#;
    lab.write("recipe.json", recipe);
    lab.write(
        "x.toml",
        r#"
title = "An edge for agents"
seed = 5
criteria = ["failed == 0"]
[system]
serve = "edge"
set = { origin_recipe = "{{folder}}/recipe.json", cast_messages = 3, cast_bytes = "200B" }
[target]
url = "http://{system.http}"
[[observer]]
name = "monitor"
expect = "received + dropped == cast and unbalanced <= 0"
[[fault]]
process = "system.monitor"
at = "500ms"
action = "kill"
[load]
rate = "200/s"
arrivals = "constant"
duration = "3s"
warm_up = "0s"
steady_state = "reported"
[[operation]]
name = "page"
http = { path = "/page" }
expect = { status = 200, contains = "from the origin" }
"#,
    );
    let waiting = agents(&lab, &nats, 4);
    let run = coordinator(&lab, &nats, 4, &[]);
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{:?}", trial.total.failures);
    let faults = summary.findings.iter().find(|one| one.code == "planned-faults");
    assert_eq!(faults.expect("it is told").evidence["done"], 1, "{:?}", summary.findings);
    assert_eq!(finding(&summary, "process-died"), None, "the system itself went on");
    let observer = &trial.observers[0];
    assert!(observer.expect.as_ref().is_some_and(|expect| expect.holds), "{observer:?}");
    let monitors = trial.systems[0].processes.iter().filter(|one| one.name == "monitor");
    assert_eq!(monitors.count(), 2, "the killed one and the next: {:?}", trial.systems);
}

pub(super) fn with_truth(mode: &str, seconds: u32) -> String {
    format!(
        "title = \"A system for agents\"\nseed = 7\ncriteria = [\"failed == 0\"]\n\
         [system]\nserve = \"truth\"\nset = {{ {mode} }}\n\
         [load]\nrate = \"100/s\"\nduration = \"{seconds}s\"\nwarm_up = \"500ms\"\ntimeout = \"2s\"\n\
         [[operation]]\nname = \"ask\"\nhttp = {{ path = \"/\" }}\n"
    )
}

/// The agents stop, and the trial is invalid because of the system, not of them.
#[test]
fn a_system_that_dies_ends_the_trial_of_all_agents() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    lab.write("x.toml", &with_truth("mode = \"none\"", 29));
    let waiting = agents(&lab, &nats, 2);
    let run = coordinator(&lab, &nats, 2, &[]);
    run.await_windows(&lab, 3);
    let events = lab.read("run/trials/001/events.jsonl");
    let ready = events.lines().find(|line| line.contains("process_ready")).expect("it is ready");
    let event: record::event::Event = serde_json::from_str(ready).expect("an event");
    let EventKind::ProcessReady { pids, .. } = event.kind else { panic!("{ready}") };
    let pid = i32::try_from(pids[0]).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), Signal::KILL).expect("it is ours");
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert_ne!(summary.verdict.result, Judgement::Pass);
    assert!(finding(&summary, "process-died").is_some(), "{:?}", summary.findings);
    assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
    assert!(trial.phases.measure_ns < 25_000_000_000, "it ended early");
}

#[test]
fn a_search_steps_over_agents() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    // One server that takes 2 ms: 500 a second.
    lab.write("own.toml", &with_truth("mode = \"md1\", rate = \"500/s\"", 29));
    let waiting = agents(&lab, &nats, 2);
    let url = nats.url();
    let ran = lab.proofload(&[
        "capacity",
        "own.toml",
        "--out",
        "run",
        "--quiet",
        "--agents",
        "2",
        "--via",
        &url,
        "--criterion",
        "p90 < 100ms",
        "--from",
        "200/s",
        "--max",
        "3000/s",
        "--trial",
        "1s",
        "--longest",
        "2s",
        "--precision",
        "100%",
        "--confirm",
        "0",
        "--narrow",
        "1",
    ]);
    let said: Vec<_> = waiting.into_iter().map(Running::finish).collect();
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
    let capacity = summary.capacity.as_ref().expect("an answer");
    assert_ne!(capacity.ending, CapacityEnding::Stopped, "{ran:?}");
    assert_eq!(summary.run.shares, 2);
    for arm in &summary.arms {
        for trial in &arm.trials {
            assert_eq!(trial.agents.len(), 2);
            let offered = trial.load.offered_rate.expect("an open load");
            assert_eq!(arm.name, format!("rate={offered}/s"), "the shares add up to the step");
        }
    }
    let rates: Vec<f64> = capacity.steps.iter().map(|step| step.rate).collect();
    assert!(rates.len() > 1 && rates.windows(2).any(|pair| pair[0] < pair[1]), "{rates:?}");
}

#[test]
fn both_sides_of_a_duet_run_over_agents() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    lab.write(
        "x.toml",
        "title = \"Both at once\"\nseed = 7\n[factors]\nservice = [\"2ms\", \"20ms\"]\n[design]\nblocks = 2\nduet = true\n\
         [system]\nserve = \"truth\"\nset = { mode = \"constant\", service = \"{{factor.service}}\" }\n\
         [load]\nrate = \"100/s\"\nduration = \"1s\"\nwarm_up = \"200ms\"\nsteady_state = \"reported\"\n\
         [[operation]]\nname = \"get\"\nhttp = { path = \"/\" }\n",
    );
    let waiting = agents(&lab, &nats, 2);
    let run = coordinator(&lab, &nats, 2, &[]);
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let [fast, slow] = &summary.arms[..] else { panic!("{:?}", summary.arms) };
    assert_eq!([fast.trials.len(), slow.trials.len()], [2, 2]);
    for (fast, slow) in fast.trials.iter().zip(&slow.trials) {
        assert_eq!([fast.agents.len(), slow.agents.len()], [2, 2]);
        let medians = [fast, slow].map(|trial| {
            let quantiles = &trial.total.response_time.quantiles;
            quantiles.iter().find(|one| one.q == 0.5).and_then(|one| one.observed_ns)
        });
        let [Some(fast), Some(slow)] = medians else { panic!("{medians:?}") };
        assert!(fast < slow && slow >= 20_000_000, "{fast} and {slow}: each has its own system");
    }
}
