//! One part of a run of agents dies at each of its instants. Whatever happens, the account is that of the plan, nothing
//! counts twice, the verdict is no pass where load is missing, and every process ends by itself.
//!
//! `PROOFLOAD_PROOF=1` also kills at instants that are drawn from a seed, which it prints.

use std::sync::OnceLock;
use std::thread;

use record::summary::{Judgement, Summary};

use super::takeover::{kill, resume};
use super::{agents, assert_is_the_plan, coordinator, counted_in_windows, ended, planned_by_one};
use crate::lab::brokers::Broker;
use crate::lab::process::{Running, stop_for};
use crate::lab::relay::{Relay, Way};
use crate::lab::server::{Served, truth};
use crate::lab::{Lab, assert_accounting, finding, only_trial};

/// Each answer takes 700 ms: so long lasts the preparation before the barrier, and the drain.
const ANSWER: &str = "service=700ms";

fn experiment(url: &str) -> String {
    format!(
        "title = \"Kills\"\nseed = 7\ncriteria = [\"failed == 0\"]\n[target]\nurl = \"{url}\"\n\
         [load]\nrate = \"100/s\"\nduration = \"1s\"\nwarm_up = \"500ms\"\ntimeout = \"5s\"\n\
         steady_state = \"reported\"\n\
         [[operation]]\nname = \"ask\"\nhttp = {{ path = \"/\" }}\n\
         [[operation]]\nname = \"prepare\"\nhttp = {{ path = \"/prepare\" }}\n\
         [setup]\nsteps = [\"prepare\"]\n"
    )
}

/// The operations that one machine plans; the seed is the same in all cases.
fn plan() -> u64 {
    static PLANNED: OnceLock<u64> = OnceLock::new();
    *PLANNED.get_or_init(|| {
        let lab = Lab::new();
        let (_target, url) = truth(&["mode=none"]);
        lab.write("x.toml", &experiment(&url));
        planned_by_one(&lab)[0]
    })
}

/// A run of two agents that has begun.
struct Stage {
    nats: Broker,
    agents: Vec<Running>,
    run: Running,
    _target: Served,
    lab: Lab,
}

impl Stage {
    fn new() -> Self {
        Self::with(|lab, nats| agents(lab, nats, 2))
    }

    fn with(agents: impl Fn(&Lab, &Broker) -> Vec<Running>) -> Self {
        let lab = Lab::new();
        let nats = Broker::nats(&lab);
        let (target, url) = truth(&["mode=constant", ANSWER]);
        lab.write("x.toml", &experiment(&url));
        let agents = agents(&lab, &nats);
        let run = coordinator(&lab, &nats, 2, &[]);
        Self { nats, agents, run, _target: target, lab }
    }

    fn await_phase(&self, phase: &str) {
        let trial = self.lab.path("run/trials/001");
        let events = trial.join("events.jsonl");
        let text = format!("\"phase\":\"{phase}\"");
        self.run.await_in(&self.lab, &trial, || {
            std::fs::read_to_string(&events).is_ok_and(|events| events.contains(&text))
        });
    }

    /// The end of a run that has lost nothing.
    fn ends_whole(self) {
        let (summary, said) = ended(&self.lab, self.run, self.agents);
        assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
        assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
        assert_is_the_plan(&self.lab, only_trial(&summary), plan());
    }

    /// The end of a run whose first agent was killed or has ended before its time.
    fn ends_without_one(self) -> Summary {
        let (lab, run) = (self.lab, self.run);
        let (summary, _) = ended(&lab, run, self.agents);
        assert_what_is_missing_is_missed(&lab, &summary);
        summary
    }
}

/// The account of a run that has lost an agent is that of the plan, and no pass.
fn assert_what_is_missing_is_missed(lab: &Lab, summary: &Summary) {
    let trial = only_trial(summary);
    let sums = trial.accounting;
    assert_accounting(trial);
    assert_eq!(sums.planned, plan(), "{sums:?}");
    let counted = counted_in_windows(lab, trial);
    assert!(counted <= sums.planned, "{counted} in windows, {sums:?}: nothing counts twice");
    assert!(sums.planned - counted <= sums.missed, "{counted} in windows, {sums:?}");
    let is_lost = finding(summary, "agent-lost").is_some();
    assert!(is_lost || sums.missed == 0, "{:?}", summary.findings);
    assert!(!is_lost || summary.verdict.result == Judgement::Invalid, "{:?}", summary.verdict);
}

/// Runs cases beside each other; each ends by itself.
fn at_once(cases: &[fn()]) {
    thread::scope(|scope| cases.iter().for_each(|case| drop(scope.spawn(case))));
}

/// Kills the first agent in this phase.
fn agent_dies_in(phase: &str) -> Stage {
    let mut stage = Stage::new();
    stage.await_phase(phase);
    let first = stage.agents.remove(0);
    kill(first);
    stage
}

fn agent_dies_before_the_barrier() {
    let Stage { agents, run, lab, nats: _nats, _target } = agent_dies_in("launch");
    let ran = run.finish();
    assert_eq!(ran.code, 4, "{ran:?}");
    let names = ["share 1 (load-1)", "share 2 (load-1)"];
    assert!(names.iter().any(|name| ran.stderr.contains(name)), "{ran:?}");
    assert!(lab.summary("run").is_none_or(|summary| summary.verdict.result != Judgement::Pass));
    for other in agents.into_iter().map(Running::finish) {
        assert_eq!(other.code, 0, "the run is over for it: {other:?}");
    }
}

fn assert_lost(summary: &Summary) {
    let claim = finding(summary, "agent-lost").unwrap_or_else(|| panic!("{summary:?}"));
    assert!(claim.contains("(load-1)"), "{claim}");
    assert!(only_trial(summary).accounting.missed > 0);
}

fn agent_dies_in_warm_up() {
    assert_lost(&agent_dies_in("warm-up").ends_without_one());
}

fn agent_dies_while_draining() {
    assert_lost(&agent_dies_in("drain").ends_without_one());
}

/// It has ended its share, and its facts wait behind a way that is held.
fn agent_dies_while_returning_its_facts() {
    let relay = OnceLock::new();
    let mut stage = Stage::with(|lab, nats| {
        let relay = relay.get_or_init(|| Relay::start(&nats.url(), [Way::AT_ONCE; 2]));
        let log = std::fs::File::create(lab.path("agent.log")).expect("a file");
        let mut first = lab.command(&["agent", "--via", &relay.url(), "--name", "load-1"]);
        let first = Running::new(first.stderr(log).spawn().expect("the binary starts"));
        vec![first, lab.start(&["agent", "--via", &nats.url(), "--name", "load-2"])]
    });
    stage.await_phase("drain");
    relay.get().expect("it runs").hold();
    let first = stage.agents.remove(0);
    let Stage { lab, .. } = &stage;
    first.await_in(lab, &lab.path(""), || lab.read("agent.log").contains("of trial 1"));
    kill(first);
    assert_lost(&stage.ends_without_one());
}

#[test]
fn an_agent_dies_at_any_instant() {
    at_once(&[
        agent_dies_before_the_barrier,
        agent_dies_in_warm_up,
        agent_dies_while_draining,
        agent_dies_while_returning_its_facts,
    ]);
}

fn nats_dies_in(phase: &str) {
    let mut stage = Stage::new();
    stage.await_phase(phase);
    stage.nats.kill();
    stage.nats.start_again();
    stage.ends_whole();
}

#[test]
fn nats_goes_and_comes_back_at_any_instant() {
    at_once(&[|| nats_dies_in("launch"), || nats_dies_in("warm-up"), || nats_dies_in("drain")]);
}

fn coordinator_dies_in(phase: &str) {
    let stage = Stage::new();
    stage.await_phase(phase);
    kill(stage.run);
    let run = resume(&stage.lab, &stage.nats);
    Stage { run, ..stage }.ends_whole();
}

#[test]
fn a_coordinator_dies_at_any_instant() {
    at_once(&[
        || coordinator_dies_in("launch"),
        || coordinator_dies_in("warm-up"),
        || coordinator_dies_in("drain"),
    ]);
}

/// It goes on after three seconds: what it owed then comes late or is missed, and the report says by whom.
#[test]
fn an_agent_that_is_frozen_for_a_while_spoils_the_trial() {
    let stage = Stage::new();
    stage.await_phase("measure");
    stop_for(stage.agents[0].pid(), 3_000);
    let (summary, said) = ended(&stage.lab, stage.run, stage.agents);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.planned, plan());
    assert_eq!(counted_in_windows(&stage.lab, trial), plan(), "windows add up");
    assert_ne!(summary.verdict.result, Judgement::Pass);
    let named = trial.agents.iter().filter(|agent| !agent.spoiled.is_empty());
    assert!(named.clone().any(|agent| agent.facts.host == "load-1"), "{:?}", trial.agents);
}
