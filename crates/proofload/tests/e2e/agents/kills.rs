//! One part of a run of agents dies at each of its instants. Whatever happens, the account is that of the plan, nothing
//! counts twice, the verdict is no pass where load is missing, and every process ends by itself.
//!
//! `PROOFLOAD_PROOF=1` also kills at instants that are drawn from a seed, which it prints.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use plan::randomness::{RandomStream, below, draw};
use record::summary::{Judgement, Summary};
use rustix::process::Signal;

use super::takeover::{kill, resume};
use super::{
    agents, assert_is_the_plan, coordinator, counted_in_windows, ended, is_proof, planned_by_one,
};
use crate::lab::brokers::Broker;
use crate::lab::process::{Running, stop_for};
use crate::lab::relay::{Relay, Way};
use crate::lab::server::{Served, truth};
use crate::lab::{Lab, Ran, assert_accounting, finding, only_trial};

/// Each answer takes 1.5 s: so long lasts the preparation before the barrier, and the drain, in which a busy machine must
/// get to the killing.
const ANSWER: &str = "service=1500ms";

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
        Self::with_flags(agents, &[])
    }

    fn with_flags(agents: impl Fn(&Lab, &Broker) -> Vec<Running>, flags: &[&str]) -> Self {
        let lab = Lab::new();
        let nats = Broker::nats(&lab);
        let (target, url) = truth(&["mode=constant", ANSWER]);
        lab.write("x.toml", &experiment(&url));
        let agents = agents(&lab, &nats);
        let run = coordinator(&lab, &nats, 2, flags);
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

    /// The end of a run whose first agent was killed or is frozen; NATS runs on.
    fn ends_without_one(self) -> (Broker, Summary) {
        let (summary, _) = ended(&self.lab, self.run, self.agents);
        assert_what_is_missing_is_missed(&self.lab, &summary);
        (self.nats, summary)
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
    assert_lost(&agent_dies_in("warm-up").ends_without_one().1);
}

fn agent_dies_while_draining() {
    assert_lost(&agent_dies_in("drain").ends_without_one().1);
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
    assert_lost(&stage.ends_without_one().1);
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

/// From the start of a coordinator to its end, mostly.
const RUN_MS: u64 = 8_000;

/// Runs so many rounds of a case, three beside each other, each with an instant after which something dies.
fn at_random_instants(what: &str, rounds: u64, round: fn(Duration) -> &'static str) {
    let seed = if is_proof() { u64::from(std::process::id()) } else { 7 };
    let rounds = if is_proof() { rounds } else { 1 };
    println!("{what}: {rounds} rounds with seed {seed}");
    let counts = Mutex::new(BTreeMap::<&str, u32>::new());
    let next = AtomicU64::new(0);
    let work = || {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && number < rounds
        {
            let after = below(draw(seed, RandomStream::Content, number), RUN_MS);
            println!("{what}: round {number} after {after} ms");
            let outcome = round(Duration::from_millis(after));
            *counts.lock().expect("no round has failed").entry(outcome).or_default() += 1;
        }
    };
    thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
    println!("{what}: {:?}", counts.lock().expect("no round has failed"));
}

impl Stage {
    /// Agents and coordinator give up early, so that a round without a run is short.
    fn impatient() -> Self {
        let agent = |lab: &Lab, nats: &Broker, name| {
            lab.start(&["agent", "--via", &nats.url(), "--name", name, "--wait", "20s"])
        };
        let agents = |lab: &Lab, nats: &Broker| {
            ["load-1", "load-2"].map(|name| agent(lab, nats, name)).into()
        };
        Self::with_flags(agents, &["--agents-within", "8s"])
    }

    /// Whether agents have begun to send the load.
    fn has_begun(lab: &Lab) -> bool {
        let events = std::fs::read_to_string(lab.path("run/trials/001/events.jsonl"));
        events.is_ok_and(|events| events.contains("\"phase\":\"warm-up\""))
    }

    /// How it ended: whole, without one, or not begun, with the right exit code; never anything else.
    fn outcome(self) -> &'static str {
        let Self { lab, run, agents, nats: _nats, _target } = self;
        let ran = run.finish();
        let said: Vec<Ran> = agents.into_iter().map(Running::finish).collect();
        let Some(summary) = lab.summary("run") else {
            assert_eq!(ran.code, 4, "{ran:?}\n{said:?}");
            assert!(ran.stderr.starts_with("error: "), "{ran:?}");
            assert!(
                !Self::has_begun(&lab),
                "a trial that has begun is recorded: {ran:?}\n{said:?}"
            );
            return "not begun";
        };
        let trials = summary.arms.iter().map(|arm| arm.trials.len()).sum::<usize>();
        assert_eq!(ran.code, judge::verdict::exit(&summary) as i32, "{ran:?}\n{said:?}");
        assert!(finding(&summary, "audit-contradiction").is_none(), "{:?}", summary.findings);
        if trials == 0 {
            assert_ne!(summary.verdict.result, Judgement::Pass, "{ran:?}\n{said:?}");
            return "no trial";
        }
        assert_what_is_missing_is_missed(&lab, &summary);
        if finding(&summary, "agent-lost").is_some() {
            return "without one";
        }
        assert_is_the_plan(&lab, only_trial(&summary), plan());
        "whole"
    }
}

#[test]
fn agents_die_at_random_instants() {
    at_random_instants("agent", 50, |after| {
        let mut stage = Stage::impatient();
        thread::sleep(after);
        let first = stage.agents.remove(0);
        first.signal(Signal::KILL);
        first.finish();
        stage.outcome()
    });
}

#[test]
fn nats_dies_and_comes_back_at_random_instants() {
    at_random_instants("NATS", 20, |after| {
        let mut stage = Stage::impatient();
        thread::sleep(after);
        stage.nats.kill();
        stage.nats.start_again();
        let outcome = stage.outcome();
        assert_ne!(outcome, "without one", "NATS is no agent");
        outcome
    });
}

#[test]
fn coordinators_die_at_random_instants() {
    at_random_instants("coordinator", 20, |after| {
        let stage = Stage::impatient();
        stage.await_phase("launch");
        thread::sleep(after);
        stage.run.signal(Signal::KILL);
        let ran = stage.run.finish();
        let run = resume(&stage.lab, &stage.nats);
        let outcome = Stage { run, ..stage }.outcome();
        assert_eq!(outcome, "whole", "{ran:?}");
        if ran.code == -1 { "replaced" } else { "ended before" }
    });
}

/// What it reports afterwards counts no more: the account is closed.
#[test]
fn an_agent_that_is_frozen_until_it_is_lost_ends_when_it_goes_on() {
    let mut stage = Stage::new();
    stage.await_phase("measure");
    let first = stage.agents.remove(0);
    first.signal(Signal::STOP);
    let (_nats, summary) = stage.ends_without_one();
    assert_lost(&summary);
    first.signal(Signal::CONT);
    let ran = first.finish();
    assert_eq!(ran.code, 0, "the run is over for it: {ran:?}");
}

/// An agent is lost after ten seconds of silence; in these twelve, nobody could answer.
#[test]
fn nats_is_away_for_longer_than_agents_may_be_silent_and_none_is_lost() {
    let mut stage = Stage::new();
    stage.await_phase("measure");
    stage.nats.kill();
    thread::sleep(Duration::from_secs(12));
    stage.nats.start_again();
    stage.ends_whole();
}

/// An agent is lost after ten seconds of silence; these twelve are the coordinator's own.
#[test]
fn a_coordinator_that_is_frozen_loses_no_agent() {
    let stage = Stage::new();
    stage.await_phase("measure");
    stop_for(stage.run.pid(), 12_000);
    stage.ends_whole();
}
