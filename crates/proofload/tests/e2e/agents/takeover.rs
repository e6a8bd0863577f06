//! A coordinator that is killed, and one that takes over.

use record::summary::{Judgement, TrialSummary};
use rustix::process::Signal;

use super::systems::with_truth;
use super::{
    Begun, agents, assert_is_the_plan, begun, coordinator, ended, experiment, planned_by_one,
};
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::server::truth;
use crate::lab::{Lab, Ran, finding, only_trial};

pub(super) fn resume(lab: &Lab, nats: &Broker) -> Running {
    lab.start(&["run", "--resume", "run", "--quiet", "--via", &nats.url()])
}

pub(super) fn kill(run: Running) {
    run.signal(Signal::KILL);
    let ran = run.finish();
    assert!(ran.code != 0, "{ran:?}");
}

fn all_is_there(lab: &Lab, trial: &TrialSummary) {
    assert_is_the_plan(lab, trial, planned_by_one(lab)[0]);
}

#[test]
fn a_killed_coordinator_is_replaced_while_its_agents_go_on() {
    let lab = Lab::new();
    let Begun { nats, _target, agents: waiting, run } = begun(&lab, 3, 8);
    kill(run);
    let without = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    assert_eq!(without.code, 2, "{without:?}");
    assert!(without.stderr.contains("--via"), "{without:?}");
    let (summary, said) = ended(&lab, resume(&lab, &nats), waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
    assert_eq!((summary.run.shares, trial.agents.len()), (3, 3));
    assert!(trial.agents.iter().all(|agent| agent.facts.start_error_ns.is_some()), "{trial:?}");
    all_is_there(&lab, trial);
}

/// The trial ends without a coordinator, and the agents are gone when one comes.
#[test]
fn what_agents_have_reported_is_enough_when_they_are_gone() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 3));
    let logged = |number: usize| {
        let log = std::fs::File::create(lab.path(&format!("agent-{number}.log"))).expect("a file");
        let mut agent = lab.command(&["agent", "--via", &nats.url(), "--wait", "2m"]);
        Running::new(agent.stderr(log).spawn().expect("the binary starts"))
    };
    let waiting = [logged(1), logged(2)];
    let run = coordinator(&lab, &nats, 2, &[]);
    run.await_windows(&lab, 5);
    kill(run);
    for (agent, number) in waiting.into_iter().zip(1..) {
        let log = format!("agent-{number}.log");
        agent.await_in(&lab, &lab.path(""), || lab.read(&log).contains("of trial 1"));
        agent.signal(Signal::TERM);
        agent.finish();
    }
    let (summary, _) = ended(&lab, resume(&lab, &nats), Vec::new());
    assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
    let trial = only_trial(&summary);
    assert!(trial.agents.iter().all(|agent| agent.facts.start_error_ns.is_some()), "{trial:?}");
    all_is_there(&lab, trial);
}

#[test]
fn other_agents_perform_again_what_was_not_finished() {
    let lab = Lab::new();
    // Long enough that all of them are killed before its end, even where the machine is busy.
    let Begun { nats, _target, agents: gone, run } = begun(&lab, 2, 8);
    gone.iter().chain([&run]).for_each(|one| one.signal(Signal::KILL));
    gone.into_iter().for_each(|agent| drop(agent.finish()));
    kill(run);
    let waiting = agents(&lab, &nats, 2);
    let (summary, said) = ended(&lab, resume(&lab, &nats), waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    all_is_there(&lab, only_trial(&summary));
}

/// With the coordinator dies its system, so the trial begins anew, with the same agents.
#[test]
fn a_system_that_died_with_its_coordinator_is_started_again() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let two_trials =
        with_truth("mode = \"none\"", 2).replace("[load]", "[design]\nblocks = 2\n[load]");
    lab.write("x.toml", &two_trials);
    let waiting = agents(&lab, &nats, 2);
    let run = coordinator(&lab, &nats, 2, &[]);
    let second = lab.path("run/trials/002/events.jsonl");
    run.await_in(&lab, &lab.path("run/trials/002"), || {
        std::fs::read_to_string(&second).is_ok_and(|text| text.contains("window_closed"))
    });
    kill(run);
    let before = lab.read("run/trials/001/trial.json");
    let (summary, said) = ended(&lab, resume(&lab, &nats), waiting);
    assert!(said.iter().all(|ran: &Ran| ran.code == 0), "{said:?}");
    assert_eq!(lab.read("run/trials/001/trial.json"), before, "the first trial stays");
    let trials: Vec<_> = summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    assert_eq!(trials.len(), 2);
    for trial in trials {
        assert_eq!((trial.accounting.failed, trial.accounting.missed), (0, 0), "{trial:?}");
    }
    assert_ne!(summary.verdict.result, Judgement::Fail, "{:?}", summary.findings);
}
