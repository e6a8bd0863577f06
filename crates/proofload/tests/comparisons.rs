//! Whole experiments in virtual time: the results for two arms with a known difference.
//!
//! From the experiment file to the summary, the code is the same as in a real run; only clock and network are virtual.
//! Each trial has a random effect of 3 %, like restarts of a real server. Without it, equal arms under one schedule
//! would be too equal.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use drivers::AnyDriver;
use engine::StopSignal;
use engine::clock::{Clock, Virtual};
use engine::transport::MemoryNetwork;
use engine::trial::{Setup, TrialOutput, run_virtual_together};
use judge::summarize::{Summariser, TrialInput};
use plan::experiment::{self, Experiment, ExperimentContext, Inputs, KnownNames, Options};
use plan::load::Model;
use plan::plan::TrialPlan;
use plan::randomness::{RandomStream, draw, unit};
use plan::schedule::Schedule;
use record::Window;
use record::summary::{Change, Comparison, Run, Summary};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Mutex;

const EXPERIMENTS: u64 = 20;
/// Nanoseconds of service, on average.
const SERVICE: f64 = 2e6;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const FILE: &str = r#"
title = "Which arm is slower?"
[factors]
version = ["old", "new"]
[design]
blocks = 10
[target]
url = "http://{{factor.version}}"
[load]
LOAD
warm_up = "500ms"
steady_state = "reported"
[[operation]]
name = "get"
http = { path = "/" }
expect = { status = 200 }
[[comparison]]
factor = "version"
baseline = "old"
metrics = ["p50", "mean"]
"#;

struct Nowhere;

impl Inputs for Nowhere {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

struct Protocols;

impl KnownNames for Protocols {
    fn protocols(&self) -> &[&str] {
        drivers::protocol_names()
    }
}

/// The true effects of the arms and of the machine.
#[derive(Clone, Copy)]
struct Truth {
    /// Service time of the new version divided by that of the old one.
    slower: f64,
    /// Standard deviation of the logarithm of the machine's speed, from one start of trials to the next.
    machine: f64,
    duet: bool,
    /// The load of each trial.
    load: &'static str,
}

/// Trials one after another on a machine of constant speed.
const APART: Truth =
    Truth { slower: 1.0, machine: 0.0, duet: false, load: "rate = \"150/s\"\nduration = \"2s\"" };
/// Both arms at once on a machine whose speed varies by about a third from block to block. Each arm has its own
/// arrivals, while separate trials share them; so this load has more operations.
const DUET: Truth =
    Truth { slower: 1.0, machine: 0.3, duet: true, load: "rate = \"100/s\"\nduration = \"5s\"" };

/// Number of simulated experiments: `few`, or 200 for the proof.
fn experiments(few: u64) -> u64 {
    if std::env::var_os("PROOFLOAD_PROOF").is_some() { 200 } else { few }
}

fn experiment(seed: u64, Truth { duet, load, .. }: Truth) -> Experiment {
    let world = ExperimentContext { inputs: &Nowhere, known: &Protocols };
    let options = Options { seed: Some(seed), ..Options::default() };
    let file = if duet { FILE.replace("[design]", "[design]\nduet = true") } else { FILE.into() };
    let file = file.replace("LOAD", load);
    experiment::load("comparison.toml", &file, world, &options).expect("a file without problems")
}

/// One server for all connections, first come, first served, with exponential service times.
fn serve(network: &MemoryNetwork, clock: &Virtual, (name, seed): (&str, u64), mean: f64) {
    let (clock, served) = (clock.clone(), Rc::new(Mutex::new(0_u64)));
    network.serve(name, move |mut stream: DuplexStream| {
        let (clock, served) = (clock.clone(), Rc::clone(&served));
        async move {
            let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
            loop {
                let Ok(length @ 1..) = stream.read(&mut buffer).await else { return };
                request.extend_from_slice(&buffer[..length]);
                if !request.ends_with(b"\r\n\r\n") {
                    continue;
                }
                request.clear();
                let mut served = served.lock().await;
                *served += 1;
                let service = -unit(draw(seed, RandomStream::Content, *served)).ln() * mean;
                clock.sleep_until(clock.now() + service as u64).await;
                drop(served);
                if stream.write_all(ANSWER).await.is_err() {
                    return;
                }
            }
        }
    });
}

/// A standard normal number.
fn normal(seed: u64) -> f64 {
    let of = |index| unit(draw(seed, RandomStream::Think, index));
    (-2.0 * of(0).ln()).sqrt() * (std::f64::consts::TAU * of(1)).cos()
}

/// The output of one trial.
type Left = (record::TrialFacts, Vec<Window>);

/// Executes a trial, or both of a duet at once.
fn execute(experiment: &Experiment, planned: &[TrialPlan], truth: Truth) -> Vec<Left> {
    let (clock, network) = (Virtual::new(), MemoryNetwork::new());
    let seed =
        |trial: &TrialPlan| experiment.plan.seed.wrapping_mul(1_000) + u64::from(trial.index);
    let machine = (truth.machine * normal(!seed(&planned[0]))).exp();
    let end = engine::EndSignal::new();
    let mut setups = Vec::new();
    for trial in planned {
        let (arm, own) = (&experiment.plan.arms[trial.arm], seed(trial));
        let slower = if trial.arm == 1 { truth.slower } else { 1.0 };
        let mean = SERVICE * slower * machine * (0.03 * normal(own)).exp();
        serve(&network, &clock, (["old", "new"][trial.arm], own), mean);
        setups.push(Setup {
            driver: Arc::new(AnyDriver::of(["http"]).expect("HTTP is known")),
            arm,
            trial,
            wall_clock: "2026-01-01T00:00:00Z".to_owned(),
            calendar: String::new,
            keep_samples: None,
            real_time: true,
            stop: StopSignal::new(),
            end: end.clone(),
        });
    }
    let mut windows = vec![Vec::new(); planned.len()];
    let network = network.clone();
    let trials = run_virtual_together(&setups, &clock, network, 1, &mut |place, output| {
        if let TrialOutput::Window(window) = output {
            windows[place].push(window);
        }
    });
    trials.expect("trials").into_iter().zip(windows).collect()
}

fn carried_out(seed: u64, truth: Truth) -> Summary {
    let experiment = experiment(seed, truth);
    let mut summariser = Summariser::new(&experiment.plan);
    let together = |one: &TrialPlan, next: &TrialPlan| one.duet && one.block == next.block;
    for planned in experiment.plan.trials.chunk_by(together) {
        for (trial, windows) in execute(&experiment, planned, truth) {
            let show = |show: &mut dyn FnMut(&Window)| {
                windows.iter().for_each(show);
                Ok(())
            };
            summariser
                .add(TrialInput { trial: &trial, spans: &[], windows: &show })
                .expect("in memory");
        }
    }
    summariser.finish(provenance(&experiment))
}

fn provenance(experiment: &Experiment) -> Run {
    let plan = &experiment.plan;
    Run {
        id: "virtual".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        seed: plan.seed,
        plan_hash: plan.hash(),
        version: "0".to_owned(),
        title: plan.title.clone(),
        question: None,
        machine: Default::default(),
        command: Vec::new(),
    }
}

fn is_changed(one: &Comparison) -> bool {
    one.result == Change::Changed
}

/// Results of experiments with equal arms.
#[derive(Debug, Default)]
struct Equal {
    /// Experiments in which some metric counts as changed.
    changed: u64,
    /// Number of intervals that contain 1.
    held: f64,
    /// Mean logarithm of the ratio of medians, in standard errors.
    bias: f64,
}

fn equal(truth: Truth) -> Equal {
    let (mut equal, mut logs) = (Equal::default(), Vec::new());
    for seed in 1..=experiments(EXPERIMENTS) {
        let found = carried_out(seed, truth).comparisons;
        assert!(found.iter().all(|one| one.blocks == 10), "every trial is usable");
        equal.changed += u64::from(found.iter().any(is_changed));
        let holds = |one: &&Comparison| one.low <= Some(1.0) && Some(1.0) <= one.high;
        equal.held += found.iter().filter(holds).count() as f64 / found.len() as f64;
        logs.push(found[0].ratio.expect("a ratio").ln());
    }
    let count = experiments(EXPERIMENTS) as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (equal.held, equal.bias) = (equal.held / count, mean / (variance / count).sqrt());
    println!("of {count} experiments with equal arms: {equal:?}");
    equal
}

#[test]
fn equal_arms_are_rarely_changed() {
    let found = equal(APART);
    assert!(found.changed * 20 <= 3 * experiments(EXPERIMENTS), "{found:?}");
}

#[test]
fn a_fifth_slower_is_always_changed() {
    for seed in 1..=EXPERIMENTS {
        let summary = carried_out(seed, Truth { slower: 1.2, ..APART });
        for one in &summary.comparisons {
            assert!(is_changed(one) && one.ratio > Some(1.1), "seed {seed}: {one:?}");
        }
        assert!(!summary.comparisons[0].shift.is_empty());
    }
}

#[test]
fn equal_arms_of_a_duet_are_rarely_changed_and_their_intervals_hold() {
    let found = equal(DUET);
    assert!(found.changed * 20 <= 3 * experiments(EXPERIMENTS), "{found:?}");
    // 95 % minus two standard deviations over this many experiments; the two metrics are correlated.
    let least = 0.95 - 2.0 * (0.95 * 0.05 / experiments(EXPERIMENTS) as f64).sqrt();
    assert!(found.held >= least, "{found:?}");
    assert!(found.bias.abs() < 3.0, "a machine that slows both favours neither: {found:?}");
}

#[test]
fn a_machine_that_hides_a_fifth_from_trials_apart_does_not_hide_it_from_a_duet() {
    let (all, mut duet, mut apart) = (experiments(EXPERIMENTS / 2), 0, 0);
    let all_changed = |found: &[Comparison]| u64::from(found.iter().all(is_changed));
    for seed in 1..=all {
        let summary = carried_out(seed, Truth { slower: 1.2, ..DUET });
        duet += all_changed(&summary.comparisons);
        assert!(summary.findings.iter().any(|finding| finding.code == "duet-shares-machine"));
        let summary = carried_out(seed, Truth { slower: 1.2, duet: false, ..DUET });
        apart += all_changed(&summary.comparisons);
    }
    println!("of {all} experiments a fifth slower: {duet} changed as duets, {apart} apart");
    assert!(duet * 20 >= 19 * all, "{duet} of {all}");
    assert!(apart * 2 < all, "{apart} of {all}");
}

#[test]
fn the_arrivals_of_both_arms_are_those_of_the_plan() {
    let summary = carried_out(1, DUET);
    let experiment = experiment(1, DUET);
    let planned: Vec<_> = summary.arms.iter().map(|arm| &arm.trials).collect();
    for (old, new) in planned[0].iter().zip(planned[1]) {
        assert!(old.block == new.block && old.duet && new.duet);
        for trial in [old, new] {
            let sums = trial.accounting;
            assert_eq!(sums.planned, sums.started + sums.missed);
            assert_eq!(sums.started, sums.succeeded + sums.failed + sums.abandoned);
        }
        let trial = experiment.plan.trials.iter().find(|one| one.index == old.index);
        let seed = trial.expect("it was planned").seed;
        let load = &experiment.plan.arms[0].load;
        let Model::Open { arrivals } = &load.model else { panic!("an open load") };
        let twice = arrivals.twice().expect("Poisson arrivals");
        let whole = Schedule::new(&twice, load.stop, seed).count() as u64;
        assert_eq!(old.accounting.planned + new.accounting.planned, whole);
    }
}
