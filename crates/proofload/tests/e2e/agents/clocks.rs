//! Agents whose clocks are wrong by a known time: each runs in a time namespace of its own, so its CLOCK_MONOTONIC is
//! ahead by exactly what the namespace says. The measured offset must be right within the stated bound, every time.
//!
//! `PROOFLOAD_PROOF=1` does it in a hundred trials.

use std::process::{Command, Stdio};

use record::summary::Agent;

use super::{assert_is_the_plan, ended, is_proof, planned_by_one};
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::relay::{Relay, Way};
use crate::lab::server::truth;
use crate::lab::{Lab, PROOFLOAD};

/// How a process gets a clock of its own: any user may, where the kernel allows namespaces of users; root always.
fn namespace() -> &'static [&'static str] {
    let ways: [&[&str]; 2] = [&["--user", "--map-root-user", "--time"], &["--time"]];
    let works = |flags: &&&[&str]| {
        let mut command = Command::new("unshare");
        let command = command.args(**flags).args(["--monotonic", "1", "--fork", "true"]);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    ways.iter().find(works).expect(
        "`unshare --user --time` makes a process with a clock of its own: \
         the kernel must allow namespaces of users, or the tests run as root",
    )
}

/// The binary with a clock that is ahead by so many seconds, in the folder of the test; by way of another program.
fn start_ahead(lab: &Lab, (by, seconds): (&[&str], i64), arguments: &[&str]) -> Running {
    let mut command = Command::new(by.first().unwrap_or(&"unshare"));
    command.args(by.iter().skip(1)).args((!by.is_empty()).then_some("unshare"));
    command.args(namespace()).args(["--monotonic", &seconds.to_string()]);
    command.args(["--fork", "--kill-child=KILL", PROOFLOAD]).args(arguments);
    command.current_dir(lab.path("")).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    Running::new(child.expect("unshare (Debian: util-linux)"))
}

/// By how many nanoseconds the clock of a process started by [`start_ahead`] is ahead, as the kernel says.
fn true_offset(process: &Running) -> i64 {
    let path = format!("/proc/{}/timens_offsets", process.pid().as_raw_nonzero());
    let text = std::fs::read_to_string(&path).expect("the kernel has time namespaces");
    let line = text.lines().find_map(|line| line.strip_prefix("monotonic")).expect("a line");
    let numbers: Vec<i64> =
        line.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    numbers[0] * 1_000_000_000 + numbers[1]
}

/// Seconds by which the clocks are ahead of the machine's: that of the coordinator, then those of the agents.
const AHEAD: [i64; 4] = [100, 1_000, 1, 0];

/// Where agents are.
pub(super) struct Place<'a> {
    /// NATS, as they reach it.
    pub nats: &'a str,
    /// The target, as all reach it.
    pub target: &'a str,
    /// The program that starts others there, with its flags.
    pub by: &'a [&'a str],
}

/// Runs trials with agents at this place and the coordinator beside NATS, and checks clocks and accounts.
pub(super) fn assert_bounds_hold(lab: &Lab, nats: &Broker, place: &Place<'_>) {
    let trials = if is_proof() { 100 } else { 2 };
    let Place { nats: url, target, by } = place;
    lab.write(
        "x.toml",
        &format!(
            "title = \"Clocks\"\nseed = 7\n[target]\nurl = \"{target}\"\n[design]\nblocks = {trials}\n\
             [load]\nrate = \"100/s\"\nduration = \"300ms\"\nwarm_up = \"100ms\"\nsteady_state = \"reported\"\n\
             [[operation]]\nname = \"ask\"\nhttp = {{ path = \"/\" }}\n"
        ),
    );
    let agent = |number: usize| {
        let name = format!("load-{number}");
        let arguments = ["agent", "--via", url, "--name", &name, "--wait", "2m"];
        start_ahead(lab, (by, AHEAD[number]), &arguments)
    };
    let waiting: Vec<Running> = (1..=3).map(agent).collect();
    let via = nats.url();
    let run = ["run", "x.toml", "--quiet", "--out", "run", "--agents", "3", "--via", &via];
    let run = start_ahead(lab, (&[], AHEAD[0]), &run);
    run.await_events(lab, "phase_entered", 1);
    let here = true_offset(&run);
    let truths: Vec<i64> = waiting.iter().map(|agent| true_offset(agent) - here).collect();
    assert_eq!(truths, [900, -99, -100].map(|seconds| seconds * 1_000_000_000));
    let (summary, said) = ended(lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let plan = planned_by_one(lab);
    let all: Vec<_> = summary.arms.iter().flat_map(|arm| &arm.trials).collect();
    assert_eq!((all.len(), plan.len()), (trials, trials));
    let mut greatest = 0;
    for (trial, planned) in all.into_iter().zip(plan) {
        assert_is_the_plan(lab, trial, planned);
        assert_eq!(trial.agents.len(), 3);
        for agent in &trial.agents {
            let number = agent.facts.host.strip_prefix("load-").and_then(|one| one.parse().ok());
            let truth = truths[number.map(|one: usize| one - 1).expect("one of ours")];
            assert_holds(agent, truth);
            greatest = greatest.max(agent.facts.clock_offset.expect("exchanges").bound_ns);
        }
    }
    println!("{trials} trials: every offset is within its bound, at most {greatest} ns");
}

fn assert_holds(agent: &Agent, truth: i64) {
    let offset = agent.facts.clock_offset.expect("exchanges");
    let off = offset.ahead_ns.abs_diff(truth);
    assert!(off <= offset.bound_ns, "off by {off} ns: {offset:?}, in truth {truth}: {agent:?}");
    assert!(agent.facts.start_error_ns >= Some(offset.bound_ns), "{agent:?}");
}

#[test]
fn a_clock_that_is_ahead_by_minutes_is_known_within_its_bound() {
    let lab = Lab::new();
    let (nats, (_target, target)) = (Broker::nats(&lab), truth(&["mode=none"]));
    assert_bounds_hold(&lab, &nats, &Place { nats: &nats.url(), target: &target, by: &[] });
}

/// The way there takes four times as long as the way back, which no exchange can tell; the bound must contain it.
#[test]
fn a_slow_and_unequal_way_is_within_the_bound_and_loses_nothing() {
    let lab = Lab::new();
    let (nats, (_target, target)) = (Broker::nats(&lab), truth(&["mode=none"]));
    let relay = Relay::start(&nats.url(), [Way::slow(5, 31), Way::slow(20, 31)]);
    assert_bounds_hold(&lab, &nats, &Place { nats: &relay.url(), target: &target, by: &[] });
}
