//! Whole experiments in virtual time: from the experiment file to the summary, the code is the same as in a real run;
//! only clock and network are virtual.

mod capacity;
mod comparisons;
mod streams;

use plan::document::Table;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use drivers::AnyDriver;
use engine::clock::{Clock, Virtual};
use engine::transport::MemoryNetwork;
use engine::trial::{Setup, Start, TrialOutput, run_virtual_together};
use engine::{EndSignal, StopSignal};
use judge::summarize::{Summariser, TrialInput};
use plan::experiment::{self, Experiment, ExperimentContext, Inputs, KnownNames, Options};
use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::randomness::{RandomStream, draw, unit};
use record::Window;
use record::summary::Run;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Mutex;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

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

    fn spans(&self, protocol: &str, table: &Table) -> &'static [&'static str] {
        drivers::span_names(protocol, table)
    }
}

/// Whether the long form is asked for.
fn is_proof() -> bool {
    std::env::var_os("PROOFLOAD_PROOF").is_some()
}

fn load(file: &str, seed: u64) -> Experiment {
    let context = ExperimentContext { inputs: &Nowhere, known: &Protocols };
    let options = Options { seed: Some(seed), ..Options::default() };
    experiment::load("simulated.toml", file, context, &options).expect("a file without problems")
}

/// Nanoseconds of each service in turn.
type Service = Box<dyn FnMut() -> u64>;

fn exponential(seed: u64, mean: f64) -> Service {
    let mut served = 0;
    Box::new(move || {
        served += 1;
        (-unit(draw(seed, RandomStream::Content, served)).ln() * mean) as u64
    })
}

/// One server for all connections: first come, first served.
fn serve(network: &MemoryNetwork, clock: &Virtual, name: &str, service: Service) {
    let (clock, service) = (clock.clone(), Rc::new(Mutex::new(service)));
    network.serve(name, move |mut stream: DuplexStream| {
        let (clock, service) = (clock.clone(), Rc::clone(&service));
        async move {
            let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
            loop {
                let Ok(length @ 1..) = stream.read(&mut buffer).await else { return };
                request.extend_from_slice(&buffer[..length]);
                if !request.ends_with(b"\r\n\r\n") {
                    continue;
                }
                request.clear();
                let mut service = service.lock().await;
                let length = service();
                clock.sleep_until(clock.now() + length).await;
                drop(service);
                if stream.write_all(ANSWER).await.is_err() {
                    return;
                }
            }
        }
    });
}

/// The output of one trial.
struct Executed {
    facts: record::TrialFacts,
    windows: Vec<Window>,
}

/// Executes these trials at the same time.
fn run(
    experiment: &Experiment,
    planned: &[TrialPlan],
    clock: &Virtual,
    network: MemoryNetwork,
) -> Vec<Executed> {
    let end = EndSignal::new();
    let setup = |trial| setup(experiment, trial, &end);
    let setups: Vec<_> = planned.iter().map(setup).collect();
    let mut windows = vec![Vec::new(); planned.len()];
    let trials = run_virtual_together(&setups, clock, network, 1, &mut |place, output| {
        if let TrialOutput::Window(window) = output {
            windows[place].push(window);
        }
    });
    let trials = trials.expect("trials").into_iter().zip(windows);
    trials.map(|(facts, windows)| Executed { facts, windows }).collect()
}

fn setup<'e>(
    experiment: &'e Experiment,
    trial: &'e TrialPlan,
    end: &EndSignal,
) -> Setup<'e, AnyDriver> {
    Setup {
        driver: Arc::new(driver(&experiment.plan.arms[trial.arm])),
        arm: &experiment.plan.arms[trial.arm],
        trial,
        wall_clock: "2026-01-01T00:00:00Z".to_owned(),
        calendar: String::new,
        trace_share: None,
        keep_samples: None,
        real_time: true,
        share: PlanShare::WHOLE,
        start: Start::Ready,
        stop: StopSignal::new(),
        end: end.clone(),
    }
}

fn driver(arm: &Arm) -> AnyDriver {
    let operations = arm.operations.iter().map(|one| (one.protocol.as_str(), &one.table));
    AnyDriver::of(operations).expect("protocols of the list")
}

fn add(summariser: &mut Summariser<'_>, Executed { facts, windows }: &Executed) {
    let show = |show: &mut dyn FnMut(&Window)| {
        windows.iter().for_each(show);
        Ok(())
    };
    let input = TrialInput { trial: facts, spans: &[], windows: &show };
    summariser.add(input).expect("in memory");
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
        share: None,
        shares: 0,
        trace_url: None,
    }
}
