//! Agents that perform one run together, with a real NATS, and what happens when one part of it dies.

use record::summary::{Judgement, Summary, TrialSummary};
use rustix::process::Signal;

use std::process::{Command, Stdio};

use crate::fences::blocks;
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::server::{NOBODY, Served, Truth, truth};
use crate::lab::{Lab, Ran, assert_accounting, finding, only_trial, repository};

mod agreement;
mod clocks;
mod garbage;
mod kills;
mod machines;
mod servers;
mod systems;
mod takeover;
mod wire;

/// Whether the long forms are wanted.
fn is_proof() -> bool {
    std::env::var_os("PROOFLOAD_PROOF").is_some()
}

fn experiment(url: &str, seconds: u32) -> String {
    format!(
        "title = \"Agents\"\nseed = 7\ncriteria = [\"failed == 0\"]\n[target]\nurl = \"{url}\"\n\
         [load]\nrate = \"150/s\"\nduration = \"{seconds}s\"\nwarm_up = \"500ms\"\ntimeout = \"5s\"\n\
         [[operation]]\nname = \"ask\"\nhttp = {{ path = \"/\" }}\n"
    )
}

/// Agents that wait at this NATS.
fn agents(lab: &Lab, nats: &Broker, many: usize) -> Vec<Running> {
    let url = nats.url();
    let start = |number: usize| {
        lab.start(&["agent", "--via", &url, "--name", &format!("load-{number}"), "--wait", "2m"])
    };
    (1..=many).map(start).collect()
}

fn coordinator(lab: &Lab, nats: &Broker, many: usize, flags: &[&str]) -> Running {
    let (many, url) = (many.to_string(), nats.url());
    let fixed = ["run", "x.toml", "--quiet", "--out", "run", "--agents", &many, "--via", &url];
    lab.start(&[&fixed, flags].concat())
}

/// A run of agents that has closed five windows, against a target that answers at once.
struct Begun {
    nats: Broker,
    _target: Served,
    agents: Vec<Running>,
    run: Running,
}

fn begun(lab: &Lab, many: usize, seconds: u32) -> Begun {
    let (nats, (target, url)) = (Broker::nats(lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, seconds));
    let agents = agents(lab, &nats, many);
    let run = coordinator(lab, &nats, many, &[]);
    run.await_windows(lab, 5);
    Begun { nats, _target: target, agents, run }
}

/// The run's end: its summary, which fits the exit code, and what every agent said.
fn ended(lab: &Lab, run: Running, agents: Vec<Running>) -> (Summary, Vec<Ran>) {
    let ran = run.finish();
    let said: Vec<Ran> = agents.into_iter().map(Running::finish).collect();
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}\n{said:?}"));
    assert_eq!(ran.code, judge::verdict::exit(&summary) as i32, "{ran:?}");
    assert!(finding(&summary, "audit-contradiction").is_none(), "{:?}", summary.findings);
    summary.arms.iter().flat_map(|arm| &arm.trials).for_each(assert_accounting);
    (summary, said)
}

/// The operations that one machine plans, by trial.
fn planned_by_one(lab: &Lab) -> Vec<u64> {
    let ran = lab.proofload(&["run", "x.toml", "--quiet", "--out", "one"]);
    let summary = lab.summary("one").unwrap_or_else(|| panic!("{ran:?}"));
    let trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    trials.map(|trial| trial.accounting.planned).collect()
}

fn counted_in_windows(lab: &Lab, trial: &TrialSummary) -> u64 {
    let events = lab.read(&format!("run/trials/{:03}/events.jsonl", trial.index));
    let windows = events.lines().filter(|line| line.contains("\"window_closed\""));
    let planned = windows.map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("an event");
        event["planned"].as_u64().expect("a count")
    });
    assert!(trial.window_ns > 0);
    planned.sum()
}

/// Every operation of the plan is in one window, and was sent.
fn assert_is_the_plan(lab: &Lab, trial: &TrialSummary, planned: u64) {
    assert_eq!((trial.accounting.planned, trial.accounting.missed), (planned, 0), "{trial:?}");
    assert_eq!(counted_in_windows(lab, trial), planned, "no window is lost or counted twice");
}

/// What agents listed came over the channel that they have.
fn assert_lists(lab: &Lab, trial: &TrialSummary) {
    let traces = trial.traces.as_ref().expect("it was traced");
    assert_eq!(traces.slowest.len(), 100);
    assert!(traces.slowest.is_sorted_by_key(|one| std::cmp::Reverse(one.response_time_ns)));
    assert!(traces.failures_total > 10, "{traces:?}");
    assert_eq!((traces.failures_total, traces.failures_unlisted), (trial.accounting.failed, 0));
    let listed = lab.proofload(&["report", "run", "--format", "traces"]);
    let failed = listed.stdout.lines().filter(|line| line.contains("\"list\":\"failed\""));
    assert_eq!(failed.count() as u64, traces.failures_total);
}

#[test]
fn four_agents_are_one_machine() {
    let lab = Lab::new();
    let (nats, target) = (Broker::nats(&lab), Truth::start(&["mode=none"]));
    let fails = "[[operation]]\nname = \"fails\"\nhttp = { path = \"/\" }\nexpect = { status = 201 }\n[trace]\n";
    lab.write("x.toml", &(experiment(&format!("http://{}", target.http), 3) + fails));
    let waiting = agents(&lab, &nats, 4);
    let run = coordinator(&lab, &nats, 4, &[]);
    let (summary, said) = ended(&lab, run, waiting);
    let trial = only_trial(&summary);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    assert_lists(&lab, trial);
    assert_eq!((summary.run.shares, trial.agents.len()), (4, 4));
    let mut hosts: Vec<&str> = trial.agents.iter().map(|agent| agent.facts.host.as_str()).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["load-1", "load-2", "load-3", "load-4"]);
    // Measured by exchanges; on one machine, the clocks are one.
    let errors = trial.agents.iter().map(|agent| agent.facts.start_error_ns.expect("exchanges"));
    assert!(errors.max() < Some(5_000_000_000));
    let planned = trial.accounting.planned;
    assert_eq!(counted_in_windows(&lab, trial), planned, "windows add up");
    assert!(target.received() >= trial.accounting.started);
    assert_eq!(planned_by_one(&lab), [planned]);
    for format in ["markdown", "html", "csv", "hlog"] {
        assert_eq!(lab.proofload(&["report", "run", "--format", format]).code, 0, "{format}");
    }
}

#[test]
fn several_trials_users_and_a_journey_over_agents() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("names.csv", "name\nada\nben\ncyd\ndan\neve\nfay\n");
    lab.write(
        "x.toml",
        &format!(
            "title = \"Visits\"\nseed = 3\n[factors]\nusers = [4, 6]\n[target]\nurl = \"{url}\"\n\
             [load]\nusers = \"{{{{factor.users}}}}\"\nduration = \"1s\"\nwarm_up = \"200ms\"\n\
             spawn_rate = \"100/s\"\nthink = \"20ms\"\n\
             [[operation]]\nname = \"look\"\nhttp = {{ path = \"/?{{{{row.name}}}}\" }}\n\
             [[operation]]\nname = \"leave\"\nhttp = {{ path = \"/\" }}\n\
             [[journey]]\nname = \"visit\"\nrows = {{ file = \"names.csv\" }}\nsteps = [\"look\", \"leave\"]\n"
        ),
    );
    let waiting = agents(&lab, &nats, 4);
    let run = coordinator(&lab, &nats, 4, &[]);
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    for (arm, users) in summary.arms.iter().zip([4, 6]) {
        let trial = &arm.trials[0];
        assert_eq!((trial.load.users, trial.agents.len()), (Some(users), 4));
        let visits = &trial.journeys[0].whole;
        assert!(visits.succeeded > 10, "{visits:?}");
    }
}

#[test]
fn a_killed_agent_is_named_and_its_load_is_missed() {
    let lab = Lab::new();
    let Begun { nats: _nats, _target, agents: mut waiting, run } = begun(&lab, 3, 8);
    run.await_windows(&lab, 10);
    let killed = waiting.remove(0);
    killed.signal(Signal::KILL);
    let (summary, _) = ended(&lab, run, waiting);
    drop(killed);
    let trial = only_trial(&summary);
    assert_eq!(summary.verdict.result, Judgement::Invalid);
    assert!(finding(&summary, "overload").is_none(), "the target is not to blame");
    let claim = finding(&summary, "agent-lost").unwrap_or_else(|| panic!("{summary:?}"));
    assert!(claim.contains("(load-1) was lost after"), "{claim}");
    assert!(trial.accounting.missed > 0);
    let lost = trial.agents.iter().find(|agent| agent.facts.host == "load-1").expect("its row");
    assert!(lost.facts.lost_after_windows >= Some(10), "{lost:?}");
    assert_eq!(planned_by_one(&lab), [trial.accounting.planned], "the account is that of the plan");
}

/// A closed load with this end, whose first of three agents is killed: the summary and what is said of the agent.
fn closed_with_a_killed_agent(end: &str) -> (Summary, String) {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=constant", "service=20ms"]));
    let load = format!("connections = 6\n{end}");
    lab.write("x.toml", &experiment(&url, 8).replace("rate = \"150/s\"\nduration = \"8s\"", &load));
    let mut waiting = agents(&lab, &nats, 3);
    let run = coordinator(&lab, &nats, 3, &[]);
    run.await_windows(&lab, 10);
    let killed = waiting.remove(0);
    killed.signal(Signal::KILL);
    let (summary, _) = ended(&lab, run, waiting);
    drop(killed);
    assert_eq!(summary.verdict.result, Judgement::Invalid);
    let claim = finding(&summary, "agent-lost").unwrap_or_else(|| panic!("{summary:?}"));
    let claim = claim.to_owned();
    (summary, claim)
}

/// The plan deals a number of operations, so it says how many the lost agent has not performed.
#[test]
fn what_a_killed_agent_leaves_of_a_number_of_operations_is_missed() {
    let (summary, claim) = closed_with_a_killed_agent("operations = 2_000");
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.planned, 2_000);
    let lost = trial.agents.iter().find(|agent| agent.facts.host == "load-1").expect("its row");
    let missed = lost.accounting.missed;
    assert!(missed > 0 && missed == trial.accounting.missed, "{:?}", trial.accounting);
    assert!((666..=667).contains(&lost.accounting.planned), "a third: {:?}", lost.accounting);
    assert!(claim.ends_with("of its operations count as missed"), "{claim}");
    assert!(!lost.facts.rest_is_unknown);
}

/// Answers decide how many operations fit into a duration, so nobody knows what the lost agent has not performed.
#[test]
fn what_a_killed_agent_leaves_of_a_duration_is_not_known() {
    let (summary, claim) = closed_with_a_killed_agent("duration = \"8s\"");
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.missed, 0, "none is made up: {:?}", trial.accounting);
    assert!(claim.ends_with("how many operations it would have begun is not known"), "{claim}");
}

/// Two runs at one NATS do not touch each other, whoever gets the agents.
#[test]
fn a_second_coordinator_leaves_the_first_alone() {
    let lab = Lab::new();
    let Begun { nats, _target, agents: waiting, run } = begun(&lab, 2, 6);
    let via = nats.url();
    let second = ["run", "x.toml", "--quiet", "--out", "second", "--agents", "1", "--via", &via];
    let refused = lab.proofload(&[&second[..], &["--agents-within", "1s"]].concat());
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("0 of 1 agents answered"), "{refused:?}");
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
    let resumed = lab.proofload(&["run", "--resume", "run", "--quiet"]);
    let code = judge::verdict::exit(&summary) as i32;
    assert_eq!(resumed.code, code, "nothing is left to do: {resumed:?}");
}

/// The coordinator ends, with what was reported, and says who was lost.
#[test]
fn a_run_whose_agents_all_die_ends() {
    let lab = Lab::new();
    let Begun { nats: _nats, _target, agents: waiting, run } = begun(&lab, 2, 29);
    waiting.iter().for_each(|agent| agent.signal(Signal::KILL));
    let ran = run.finish();
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("every agent was lost"), "{ran:?}");
}

#[test]
fn an_agent_can_be_stopped_while_it_works() {
    let lab = Lab::new();
    let Begun { nats: _nats, _target, agents: waiting, run } = begun(&lab, 2, 29);
    waiting.iter().for_each(|agent| agent.signal(Signal::INT));
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 3), "{said:?}");
    assert!(finding(&summary, "interrupted").is_some(), "{:?}", summary.findings);
    assert!(only_trial(&summary).phases.measure_ns < 25_000_000_000, "it ended early");
}

#[test]
fn nats_may_go_and_come_back() {
    let lab = Lab::new();
    let Begun { mut nats, _target, agents: waiting, run } = begun(&lab, 2, 6);
    nats.kill();
    nats.start_again();
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert!(finding(&summary, "agent-lost").is_none(), "{:?}", summary.findings);
    assert_is_the_plan(&lab, trial, planned_by_one(&lab)[0]);
}

#[test]
fn an_interrupted_coordinator_leaves_a_whole_record() {
    let lab = Lab::new();
    let Begun { nats: _nats, _target, agents: waiting, run } = begun(&lab, 2, 29);
    run.signal(Signal::INT);
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    let trial = only_trial(&summary);
    assert!(finding(&summary, "interrupted").is_some(), "{:?}", summary.findings);
    assert!(trial.accounting.succeeded > 0);
    assert_eq!(counted_in_windows(&lab, trial), trial.accounting.planned);
}

#[test]
fn a_criterion_of_all_agents_ends_the_run_early() {
    let lab = Lab::new();
    let (nats, (_target, url)) =
        (Broker::nats(&lab), truth(&["mode=status", "share=0.5", "service=300ms"]));
    lab.write("x.toml", &experiment(&url, 29));
    let waiting = agents(&lab, &nats, 2);
    let run = coordinator(&lab, &nats, 2, &["--fail-fast", "--keep-going"]);
    let (summary, _) = ended(&lab, run, waiting);
    assert_eq!(summary.verdict.result, Judgement::Fail, "{summary:?}");
    assert!(only_trial(&summary).phases.measure_ns < 20_000_000_000, "it ended early");
}

#[test]
fn what_agents_cannot_do_is_refused_before_anything_is_sent() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 1));
    let (via, nowhere) = (nats.url(), format!("nats://{NOBODY}"));
    let refused = |arguments: &[&str], code: i32, says: &[&str]| {
        let ran = lab.proofload(&[&["run", "--quiet", "--out", "refused"], arguments].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
        for text in says {
            assert!(ran.stderr.contains(text), "{arguments:?} must say {text}\n{}", ran.stderr);
        }
    };
    let at = |via: &'static str| ["x.toml", "--agents", "2", "--via", via];
    refused(&at("nats://no host"), 4, &["is no address of NATS"]);
    refused(
        &["x.toml", "--agents", "2", "--via", &nowhere],
        4,
        &["cannot connect to NATS", "nats-server -js"],
    );
    refused(&["x.toml", "--agents", "2"], 2, &["--via"]);
    let secret = format!("nats://ada:hush@{}", nowhere.trim_start_matches("nats://"));
    let ran = lab.proofload(&["run", "x.toml", "--agents", "2", "--via", &secret]);
    assert!(ran.code == 4 && !format!("{ran:?}").contains("hush"), "{ran:?}");
    refused(&["x.toml", "--agents", "2", "--via", &via, "--samples"], 2, &["--samples"]);
    refused(
        &["x.toml", "--agents", "2", "--via", &via, "--fleet", "a.b"],
        2,
        &["the name of a fleet"],
    );
    let alone = ["x.toml", "--agents", "2", "--via", &via, "--agents-within", "1s"];
    refused(&alone, 4, &["0 of 2 agents answered within 1 s", "proofload agent --via"]);
    lab.write(
        "far.toml",
        &experiment(&url, 1)
            .replace("path = \"/\"", "path = \"/{{row.n}}\"")
            .replace("name = \"ask\"", "name = \"ask\"\nrows = \"/etc/hostname\""),
    );
    refused(&["far.toml", "--agents", "2", "--via", &via], 2, &[]);
    let lonely = lab.proofload(&["agent", "--via", &via, "--wait", "1s"]);
    assert_eq!(lonely.code, 4, "{lonely:?}");
    assert!(lonely.stderr.contains("no coordinator came within 1s"), "{lonely:?}");
}

#[test]
fn an_agent_without_a_secret_refuses_the_plan_by_name() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    let secret = experiment(&url, 1)
        .replace("path = \"/\"", "path = \"/\", header = { X-Key = \"{{env.FLEET_KEY}}\" }");
    lab.write("x.toml", &secret);
    let waiting = agents(&lab, &nats, 1);
    let mut run = lab.command(&["run", "x.toml", "--quiet", "--agents", "1", "--via", &nats.url()]);
    let ran = Ran::from(run.env("FLEET_KEY", "hushhush").output().expect("the binary starts"));
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("share 1 (load-1)") && ran.stderr.contains("FLEET_KEY"), "{ran:?}");
    for ran in waiting.into_iter().map(Running::finish).chain([ran]) {
        assert!(!format!("{ran:?}").contains("hushhush"), "{ran:?}");
    }
}

#[test]
fn an_agent_whose_plan_is_another_says_what_differs() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 1).replace("150/s", "{{env.FLEET_RATE}}/s"));
    let start = |rate: &str, arguments: &[&str]| {
        let mut command = lab.command(&[arguments, &["--quiet", "--via", &nats.url()]].concat());
        command.env("FLEET_RATE", rate).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command.spawn().expect("the binary starts"))
    };
    let agent = start("150", &["agent", "--wait", "2m"]);
    let run = start("200", &["run", "x.toml", "--agents", "1"]);
    let says = "`arms[0].load.model.arrivals.rate` is 150.0, not 200.0\n";
    for (ran, code) in [(run.finish(), 4), (agent.finish(), 2)] {
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
}

#[test]
fn who_waits_is_listed() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let status = || lab.proofload(&["fleet", "status", "--via", &nats.url()]);
    let empty = status();
    assert_eq!((empty.code, empty.stdout.lines().count()), (0, 1), "{empty:?}");
    assert!(empty.stdout.starts_with("0 agents wait at nats://127.0.0.1:"), "{empty:?}");
    let waiting = agents(&lab, &nats, 2);
    let listed = std::iter::repeat_with(status).find(|ran| ran.stdout.starts_with("2 agents wait"));
    let listed = listed.expect("both come").stdout;
    assert!(listed.contains("load-1  ") && listed.contains("load-2  "), "{listed}");
    waiting.iter().for_each(|agent| agent.signal(Signal::TERM));
    for ran in waiting.into_iter().map(Running::finish) {
        assert_eq!(ran.code, 3, "{ran:?}");
    }
}

/// The published schemas of three minor versions accept the job, and bash the array script.
#[test]
fn schedulers_accept_the_manifests() {
    let lab = Lab::new();
    let manifest = |flags: &[&str]| lab.proofload(&[&["fleet", "manifest"], flags].concat());
    let job =
        manifest(&["--agents", "8", "--image", "registry.example/proofload:0.1", "--cores", "4"]);
    assert_eq!(job.code, 0, "{job:?}");
    assert!(!job.stdout.contains("{{"), "every placeholder is filled: {}", job.stdout);
    for text in ["completions: 8", "cpu: \"4\"", "image: registry.example/proofload:0.1"] {
        assert!(job.stdout.contains(text), "{text}: {}", job.stdout);
    }
    kubernetes_accepts(&lab, &job.stdout);
    let array = manifest(&["--agents", "8", "--slurm", "--cores", "4"]);
    assert_eq!(array.code, 0, "{array:?}");
    assert!(array.stdout.contains("#SBATCH --array=1-8\n#SBATCH --cpus-per-task=4\n"), "{array:?}");
    let path = lab.write("array.sh", &array.stdout);
    let checked = Command::new("bash").arg("-n").arg(path).status();
    assert!(checked.is_ok_and(|status| status.success()));
    for (flags, says) in [
        (&["--agents", "8"][..], "needs an image"),
        (&["--agents", "0", "--slurm"], "--agents"),
        (&["--agents", "8", "--image", "a: b\nc"], "is no name of an image"),
        (&["--agents", "8", "--slurm", "--name", "a b"], "the name of a fleet"),
    ] {
        let ran = manifest(flags);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(says), "{says}: {ran:?}");
    }
}

/// What an agent may do in its container, what ends it, and what does not.
#[test]
fn a_lost_agent_is_not_replaced_and_ends_no_other() {
    let lab = Lab::new();
    let job = lab.proofload(&["fleet", "manifest", "--agents", "3", "--image", "i:1"]).stdout;
    for line in [
        "completionMode: Indexed",
        "parallelism: 3",
        "backoffLimitPerIndex: 0",
        "restartPolicy: Never",
        "terminationGracePeriodSeconds: 150",
        "runAsNonRoot: true",
        "readOnlyRootFilesystem: true",
        "drop: [\"ALL\"]",
        "add: [\"SYS_NICE\"]",
        "type: RuntimeDefault",
        "mountPath: /tmp",
        "policyTypes: [\"Ingress\", \"Egress\"]",
        "- {}",
    ] {
        assert!(job.lines().any(|one| one.trim() == line), "{line}:\n{job}");
    }
    // It would end the agents that are left, too.
    assert!(!job.contains("backoffLimit:"), "{job}");
}

#[test]
fn kubernetes_accepts_what_the_guide_prints() {
    let lab = Lab::new();
    let page = std::fs::read_to_string(repository("docs/guide/kubernetes.md")).expect("the page");
    let accepted = blocks(&page, "yaml").map(|block| kubernetes_accepts(&lab, block));
    assert_eq!(accepted.count(), 2);
}

fn kubernetes_accepts(lab: &Lab, objects: &str) {
    let path = lab.write("objects.yaml", objects);
    let validate = repository(".venv/bin/kubernetes-validate");
    assert!(validate.exists(), "run scripts/prerequisites, which makes .venv");
    for version in ["1.33", "1.34", "1.35"] {
        let ran = Command::new(&validate).args(["--strict", "-k", version]).arg(&path).output();
        let ran = Ran::from(ran.expect("it starts"));
        assert_eq!(ran.code, 0, "{version}: {ran:?}");
    }
}
