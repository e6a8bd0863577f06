//! Two arms with a known difference, and what the comparison of them says.
//!
//! Each trial has a random effect of 3 %, like restarts of a real server. Without it, equal arms under one schedule
//! would be too equal.

use engine::clock::Virtual;
use engine::transport::MemoryNetwork;
use judge::summarize::Summariser;
use plan::experiment::Experiment;
use plan::load::Model;
use plan::plan::TrialPlan;
use plan::randomness::{RandomStream, draw, unit};
use plan::schedule::Schedule;
use record::summary::{Change, Comparison, Summary};

use crate::{Executed, add, exponential, is_proof, provenance, run, serve};

const EXPERIMENTS: u64 = 20;
/// Nanoseconds of service, on average.
const SERVICE: f64 = 2e6;

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
    if is_proof() { 200 } else { few }
}

fn experiment(seed: u64, Truth { duet, load, .. }: Truth) -> Experiment {
    let file = if duet { FILE.replace("[design]", "[design]\nduet = true") } else { FILE.into() };
    crate::load(&file.replace("LOAD", load), seed)
}

/// A standard normal number.
fn normal(seed: u64) -> f64 {
    let of = |index| unit(draw(seed, RandomStream::Think, index));
    (-2.0 * of(0).ln()).sqrt() * (std::f64::consts::TAU * of(1)).cos()
}

/// Executes a trial, or both of a duet at once.
fn execute(experiment: &Experiment, planned: &[TrialPlan], truth: Truth) -> Vec<Executed> {
    let (clock, network) = (Virtual::new(), MemoryNetwork::new());
    let seed =
        |trial: &TrialPlan| experiment.plan.seed.wrapping_mul(1_000) + u64::from(trial.index);
    let machine = (truth.machine * normal(!seed(&planned[0]))).exp();
    for trial in planned {
        let own = seed(trial);
        let slower = if trial.arm == 1 { truth.slower } else { 1.0 };
        let mean = SERVICE * slower * machine * (0.03 * normal(own)).exp();
        serve(&network, &clock, ["old", "new"][trial.arm], exponential(own, mean));
    }
    run(experiment, planned, &clock, network)
}

fn carried_out(seed: u64, truth: Truth) -> Summary {
    let experiment = experiment(seed, truth);
    let mut summariser = Summariser::new(&experiment.plan);
    let together = |one: &TrialPlan, next: &TrialPlan| one.duet && one.block == next.block;
    for planned in experiment.plan.trials.chunk_by(together) {
        execute(&experiment, planned, truth).iter().for_each(|one| add(&mut summariser, one));
    }
    summariser.finish(provenance(&experiment))
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
