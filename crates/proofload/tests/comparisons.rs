//! Whole experiments in virtual time: what the instrument says of two arms whose truth is known.
//!
//! Everything from the file to the summary is the code that runs on the wire; only clock and network are
//! virtual. Trials have an effect of their own of 3 %, as restarts of a real server do. Without it, equal
//! arms under one schedule would be too equal.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use drivers::AnyDriver;
use engine::StopSignal;
use engine::clock::{Clock, Virtual};
use engine::conduct::{Output, Setup, run_virtual};
use engine::transport::MemoryNetwork;
use plan::experiment::{Experiment, Inputs, Known, Options, World, load};
use plan::plan::TrialPlan;
use plan::randomness::{Stream, draw, unit};
use record::Window;
use record::summary::{Change, Comparison, Run, Summary};
use report::summarize::{Input, Summariser};
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
url = "http://server"
[load]
rate = "150/s"
duration = "2s"
warm_up = "500ms"
steady_state = "reported"
[[operation]]
name = "get"
http = { path = "/{{factor.version}}" }
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

impl Known for Protocols {
    fn protocols(&self) -> &[&str] {
        drivers::protocol_names()
    }
}

fn experiment(seed: u64) -> Experiment {
    let world = World { inputs: &Nowhere, known: &Protocols };
    let options = Options { seed: Some(seed), ..Options::default() };
    load("comparison.toml", FILE, world, &options).expect("a file without problems")
}

/// One server for all connections, first come, first served, with exponential service times.
fn serve(network: &MemoryNetwork, clock: &Virtual, seed: u64, mean: f64) {
    let (clock, served) = (clock.clone(), Rc::new(Mutex::new(0_u64)));
    network.serve("server", move |mut stream: DuplexStream| {
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
                let service = -unit(draw(seed, Stream::Content, *served)).ln() * mean;
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
    let of = |index| unit(draw(seed, Stream::Think, index));
    (-2.0 * of(0).ln()).sqrt() * (std::f64::consts::TAU * of(1)).cos()
}

/// Executes a trial in which the new version is slower by `factor`.
fn execute(
    experiment: &Experiment,
    planned: &TrialPlan,
    factor: f64,
) -> (record::Trial, Vec<Window>) {
    let arm = &experiment.plan.arms[planned.arm];
    let (clock, network) = (Virtual::new(), MemoryNetwork::new());
    let own = experiment.plan.seed.wrapping_mul(1_000) + u64::from(planned.index);
    let slower = if planned.arm == 1 { factor } else { 1.0 };
    serve(&network, &clock, own, SERVICE * slower * (0.03 * normal(own)).exp());
    let setup = Setup {
        driver: Arc::new(AnyDriver::named("http").expect("HTTP is known")),
        arm,
        trial: planned,
        wall_clock: "2026-01-01T00:00:00Z".to_owned(),
        calendar: String::new,
        keep_samples: None,
        stop: StopSignal::new(),
        end: engine::EndSignal::new(),
    };
    let mut windows = Vec::new();
    let trial = run_virtual(&setup, (&clock, network), 1, &mut |output| {
        if let Output::Window(window) = output {
            windows.push(window);
        }
    });
    (trial.expect("a trial"), windows)
}

fn carried_out(seed: u64, factor: f64) -> Summary {
    let experiment = experiment(seed);
    let mut summariser = Summariser::new(&experiment.plan);
    for planned in &experiment.plan.trials {
        let (trial, windows) = execute(&experiment, planned, factor);
        let show = |show: &mut dyn FnMut(&Window)| {
            windows.iter().for_each(show);
            Ok(())
        };
        summariser.add(Input { trial: &trial, spans: &[], windows: &show }).expect("in memory");
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

#[test]
fn equal_arms_are_rarely_changed() {
    let mut changed = 0;
    let mut words = std::collections::BTreeMap::new();
    for seed in 1..=EXPERIMENTS {
        let summary = carried_out(seed, 1.0);
        assert!(summary.comparisons.iter().all(|one| one.blocks == 10), "every trial is usable");
        changed += u32::from(summary.comparisons.iter().any(is_changed));
        *words.entry(format!("{:?}", summary.comparisons[0].result)).or_insert(0) += 1;
    }
    assert!(changed <= 3, "{changed} of {EXPERIMENTS}: {words:?}");
}

#[test]
fn a_fifth_slower_is_always_changed() {
    for seed in 1..=EXPERIMENTS {
        let summary = carried_out(seed, 1.2);
        for one in &summary.comparisons {
            assert!(is_changed(one) && one.ratio > Some(1.1), "seed {seed}: {one:?}");
        }
        assert!(!summary.comparisons[0].shift.is_empty());
    }
}
