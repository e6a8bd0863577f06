//! Trials with known results, in virtual time.

mod closed;
mod duet;
mod echo;
mod faults;
mod journey_limits;
mod journeys;
mod machines;
mod open;
mod queueing;
mod real;
mod replay;
mod shares;
mod traces;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plan::journey::{Journey, Preparation};
use plan::load::{ArrivalProcess, Load, Model, Reuse, SteadyState, Stop, WarmUp};
use plan::operation::Operation;
use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::target::Target;
use record::event::{Event, EventKind};
use record::{EarlyEnd, EndReason, TrialFacts};

use super::{Setup, Start, TrialOutput, run_virtual};
use crate::clock::{Clock, Virtual};
use crate::stop::{EndSignal, StopSignal};
use crate::transport::MemoryNetwork;
use echo::Echo;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// A trial under test: a load against the server named `target`.
struct TestTrial {
    clock: Virtual,
    network: MemoryNetwork,
    stop: StopSignal,
    end: EndSignal,
    /// The window after which the measure phase ends early.
    enough_after: Option<u64>,
    load: Load,
    operations: Vec<Operation>,
    journeys: Vec<Journey>,
    /// Performed before the load, and after it.
    around: Option<Preparation>,
    /// Where the first target is reached instead.
    connect_to: Option<String>,
    /// Servers that operations go to beside the first one.
    others: Vec<&'static str>,
    seed: u64,
    workers: usize,
    /// What is performed of the plan.
    share: PlanShare,
    /// Limit of waiting raw samples, if samples are kept.
    samples: Option<u64>,
    /// The part of the operations that carry a trace id.
    trace_share: Option<f64>,
}

/// The result of a trial.
struct TestResult {
    trial: TrialFacts,
    events: Vec<Event>,
    windows: Vec<record::Window>,
    samples: u64,
}

impl TestTrial {
    fn new(model: Model, length: Duration) -> Self {
        let load = Load {
            model,
            stop: Stop::Duration { after: length },
            warm_up: WarmUp::Fixed { length: Duration::ZERO },
            timeout: Duration::from_secs(30),
            connections: 1_000,
            streams: 1,
            reuse: Reuse::KeepAlive,
            steady_state: SteadyState::Reported,
            workers: None,
            busy_poll: false,
        };
        Self {
            clock: Virtual::new(),
            network: MemoryNetwork::new(),
            stop: StopSignal::new(),
            end: EndSignal::new(),
            enough_after: None,
            load,
            operations: vec![Operation::named("echo")],
            journeys: Vec::new(),
            around: None,
            connect_to: None,
            others: Vec::new(),
            seed: 1,
            workers: 1,
            share: PlanShare::WHOLE,
            samples: None,
            trace_share: None,
        }
    }

    fn constant(rate: f64, seconds: u64) -> Self {
        let arrivals = ArrivalProcess::Constant { rate };
        Self::new(Model::Open { arrivals }, Duration::from_secs(seconds))
    }

    /// The arm whose target is this.
    fn arm(&self, url: String) -> Arm {
        let target = |url| Target { url, ..Target::default() };
        let others = self.others.iter().map(|name| target(format!("memory://{name}")));
        Arm {
            name: "all".to_owned(),
            factors: BTreeMap::new(),
            values: BTreeMap::new(),
            targets: std::iter::once(Target { connect_to: self.connect_to.clone(), ..target(url) })
                .chain(others)
                .collect(),
            load: self.load.clone(),
            operations: self.operations.clone(),
            journeys: self.journeys.clone(),
            setup: self.around.clone(),
            teardown: self.around.clone(),
            services: Vec::new(),
            system: None,
            observers: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn setup<'a>(&self, arm: &'a Arm, trial: &'a TrialPlan) -> Setup<'a, Echo> {
        Setup {
            driver: Arc::new(Echo),
            arm,
            trial,
            wall_clock: "2026-01-01T00:00:00Z".to_owned(),
            calendar: String::new,
            trace_share: self.trace_share,
            keep_samples: self.samples,
            real_time: true,
            share: self.share,
            start: Start::Ready,
            stop: self.stop.clone(),
            end: self.end.clone(),
        }
    }

    fn plan(seed: u64) -> TrialPlan {
        TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed, duet: false }
    }

    fn clock_now(&self) -> u64 {
        self.clock.now()
    }

    fn run(&self) -> TestResult {
        let arm = self.arm("memory://target".to_owned());
        let trial = Self::plan(self.seed);
        let setup = self.setup(&arm, &trial);
        let (mut events, mut windows, mut samples) = (Vec::new(), Vec::new(), 0);
        let mut on = |output| match output {
            TrialOutput::Event(event) => events.push(event),
            TrialOutput::Window(window) => {
                if Some(window.number) == self.enough_after {
                    self.end.request(enough());
                }
                windows.push(window);
            }
            TrialOutput::Samples(some) => samples += some.len() as u64,
            TrialOutput::Open { .. } | TrialOutput::AllFailed(_) => {}
        };
        let network = self.network.clone();
        let trial = run_virtual(&setup, &self.clock, network, self.workers, &mut on).unwrap();
        if trial.died.is_none() {
            // Little's law: both sides count the time of all operations alike.
            let times = trial.totals.total().time_ns();
            assert_eq!(u128::try_from(trial.area_ns), Ok(times), "time in flight");
        }
        TestResult { trial, events, windows, samples }
    }
}

/// The reason for ending a measure phase early in these tests.
fn enough() -> EarlyEnd {
    EarlyEnd {
        reason: EndReason::Precise,
        why: "enough is known".to_owned(),
        advice: None,
        criteria: Vec::new(),
    }
}

impl TestResult {
    fn accounting(&self) -> record::summary::Accounting {
        super::facts::accounting(&self.trial.totals.total())
    }

    fn failures(&self, kind: record::FailureKind) -> u64 {
        self.trial.totals.total().failures_of(kind)
    }

    fn saw(&self, holds: impl Fn(&EventKind) -> bool) -> bool {
        self.events.iter().any(|event| holds(&event.kind))
    }
}
