//! Trials made from a list of operations, recorded as the engine records them: for tests of everything that is
//! computed from a record.

mod journeys;

pub use journeys::{EndedAt, Visit, journeys_file, simulate_journeys};

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use plan::experiment::{ExperimentContext, Inputs, KnownNames, Options};
use plan::plan::{Plan, TrialPlan};
use record::summary::{InFlight, Load, Model, Phases, Run, Summary};
use record::{
    FailureKind, GeneratorFacts, Layout, Outcome, PoolFacts, Recorder, Sample, Spans, Status,
    TrialFacts, Window, WindowAssembler,
};

use crate::example;
use crate::summarize::{Summariser, TrialInput};

/// Start of the measure phase on the trial's clock.
const START: u64 = 1_000_000_000_000;
/// Spans of its layout; no operation carries one, so that tests fill in their own.
pub const SPANS: [&str; 5] = ["connect", "first_byte", "front", "gateway", "embed"];
const SECOND: u64 = 1_000_000_000;

/// One operation, due at a whole multiple of the interval.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// How late it was released, in nanoseconds.
    pub lag: u64,
    /// From release to answer, in nanoseconds.
    pub service: u64,
    /// `None`: never begun.
    pub outcome: Option<Outcome>,
}

impl Op {
    /// Released on time, and answered.
    pub fn answered(service: u64) -> Self {
        Self { lag: 10_000, service, outcome: Some(Outcome::Succeeded) }
    }
}

/// A plan with one executed trial.
pub struct Simulated {
    /// The plan.
    pub plan: Plan,
    /// The trial; tests change its facts.
    pub trial: TrialFacts,
    pub(crate) windows: Vec<Window>,
}

/// An experiment file with this load table and these criteria.
pub fn file(load: &str, criteria: &[&str]) -> String {
    format!(
        "title = \"t\"\ncriteria = {criteria:?}\n[target]\nurl = \"http://127.0.0.1:1\"\n[load]\n{load}\n\
         [[operation]]\nname = \"home\"\nhttp = {{ path = \"/\" }}\n\
         expect = {{ status = 200 }}\nitems = {{ hits = \"$.n\" }}\n"
    )
}

/// Simulates `count` operations at `rate` per second; each carries the item 2.
pub fn simulate(file: &str, rate: u64, count: u64, one: impl Fn(u64) -> Op) -> Simulated {
    let plan = plan(file, &Options::default());
    let planned = plan.trials[0].clone();
    let (trial, windows) = execute(&plan, &planned, (rate, count), one);
    Simulated { plan, trial, windows }
}

/// Simulates every trial of a designed experiment; `one` gives the operations of each.
pub fn designed(
    file: &str,
    options: &Options,
    (rate, count): (u64, u64),
    one: impl Fn(&TrialPlan, u64) -> Op,
) -> Summary {
    designed_with(file, options, (rate, count), one, |_, _| ())
}

/// The same; `change` then changes the facts of each trial.
pub fn designed_with(
    file: &str,
    options: &Options,
    (rate, count): (u64, u64),
    one: impl Fn(&TrialPlan, u64) -> Op,
    change: impl Fn(&TrialPlan, &mut TrialFacts),
) -> Summary {
    let plan = plan(file, options);
    let mut summariser = Summariser::new(&plan);
    for planned in &plan.trials {
        let (mut trial, windows) =
            execute(&plan, planned, (rate, count), |index| one(planned, index));
        change(planned, &mut trial);
        add(&mut summariser, &trial, &windows);
    }
    summariser.finish(provenance())
}

fn plan(file: &str, options: &Options) -> Plan {
    let options = Options { fresh_seed: 1, ..options.clone() };
    let world = ExperimentContext { inputs: &Nowhere, known: &Http };
    plan::experiment::load("t.toml", file, world, &options)
        .map_err(|refused| refused.problems)
        .expect("a file that holds")
        .plan
}

fn execute(
    plan: &Plan,
    planned: &TrialPlan,
    (rate, count): (u64, u64),
    one: impl Fn(u64) -> Op,
) -> (TrialFacts, Vec<Window>) {
    let (gap, length) = (SECOND / rate, count * SECOND / rate);
    let window = if length < 30 * SECOND { SECOND / 10 } else { SECOND };
    let phases = record::PhaseBounds { measure_from: START, measure_to: START + length, window };
    let layout = Layout {
        operations: vec!["home".into()],
        items: vec![vec!["hits".into()]],
        spans: SPANS.map(Into::into).into(),
        journeys: Vec::new(),
    };
    let mut recorder = Recorder::new(0, &layout, phases, false);
    let mut assembler = WindowAssembler::new(1, &layout);
    let mut windows = Vec::new();
    let (mut busy, mut area) = (0, 0);
    for index in 0..count {
        let one = one(index);
        carry_out(&mut recorder, index, START + index * gap, one);
        busy += one.lag + one.service;
        area += i128::from(one.lag + one.service) * i128::from(one.outcome.is_some());
        if index % rate == 0 {
            windows.extend(assembler.add(&mut recorder.roll(START + index * gap)));
        }
    }
    windows.extend(assembler.add(&mut recorder.roll(u64::MAX)));
    windows.extend(assembler.finish());
    let mean = busy as f64 / length as f64;
    let in_flight = InFlight { mean, max: count };
    let trial = TrialFacts { area_ns: area, ..facts((plan, planned), recorder, phases, in_flight) };
    (trial, windows)
}

fn carry_out(recorder: &mut Recorder, index: u64, intended_at: u64, one: Op) {
    let Some(outcome) = one.outcome else { return recorder.miss(0, intended_at) };
    recorder.begin(0, intended_at);
    let started_at = intended_at + one.lag;
    let sample = Sample {
        operation: 0,
        index,
        step: None,
        trace: None,
        intended_at,
        dispatched_at: started_at,
        acquired_at: started_at,
        started_at,
        finished_at: started_at + one.service,
        outcome,
        status: if outcome == Outcome::Succeeded { 200.into() } else { Status::None },
        spans: Spans::NONE,
        items: &[2.0],
        bytes_sent: 100,
        bytes_received: 200,
    };
    recorder.end(&sample, None);
}

fn facts(
    (plan, planned): (&Plan, &TrialPlan),
    recorder: Recorder,
    phases: record::PhaseBounds,
    in_flight: InFlight,
) -> TrialFacts {
    let arm = &plan.arms[planned.arm];
    let length = phases.measure_to - phases.measure_from;
    TrialFacts {
        index: planned.index,
        block: planned.block,
        order: planned.order,
        duet: planned.duet,
        arm: arm.name.clone(),
        started_at: "2026-11-21T07:30:05Z".into(),
        window_ns: phases.window,
        load: load(&arm.load),
        timeout_ns: 30 * SECOND,
        think_mean_ns: None,
        phases: Phases { measure_ns: length, ..Phases::default() },
        totals: recorder.finish(),
        in_flight,
        area_ns: 0,
        pool: PoolFacts::default(),
        generator: GeneratorFacts {
            watched_ns: length,
            worker_cpu_ns: vec![length / 20],
            ..GeneratorFacts::default()
        },
        systems: Vec::new(),
        observers: Vec::new(),
        kernel: BTreeMap::new(),
        interrupted: false,
        first_failures: Vec::new(),
        traces: None,
        agent: None,
        merged_from: 0,
        samples_dropped: 0,
        died: None,
        died_as: None,
        died_at_ns: None,
        last_words: Vec::new(),
        early_end: None,
        faults: Vec::new(),
        confidence: stats::quantile::CONFIDENCE,
    }
}

fn load(planned: &plan::load::Load) -> Load {
    let (model, users) = match planned.model {
        plan::load::Model::Users { users, .. } => (Model::Users, Some(users)),
        plan::load::Model::Open { .. } => (Model::Open, None),
        plan::load::Model::Closed => (Model::Closed, None),
    };
    Load {
        model,
        arrivals: (model == Model::Open).then(|| "constant".into()),
        scale: None,
        offered_rate: None,
        connections: planned.connections,
        streams: None,
        users,
        workers: 1,
    }
}

impl Simulated {
    /// The summary of a run that consists of this trial.
    pub fn summary(&self) -> Summary {
        summary_of(&[self])
    }

    /// The windows in the order in which they closed.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }
}

/// The summary of a run that consists of these trials, numbered from 1; the plan is the first one's.
pub fn summary_of(trials: &[&Simulated]) -> Summary {
    let mut summariser = Summariser::new(&trials[0].plan);
    for (index, simulated) in (1..).zip(trials) {
        let trial = TrialFacts { index, block: index, ..simulated.trial.clone() };
        add(&mut summariser, &trial, &simulated.windows);
    }
    summariser.finish(provenance())
}

fn add(summariser: &mut Summariser<'_>, trial: &TrialFacts, windows: &[Window]) {
    let show = |show: &mut dyn FnMut(&Window)| {
        windows.iter().for_each(show);
        Ok(())
    };
    let spans = SPANS.map(Into::into);
    summariser.add(TrialInput { trial, spans: &spans, windows: &show }).expect("windows in memory");
}

fn provenance() -> Run {
    example::run()
}

struct Nowhere;

impl Inputs for Nowhere {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

struct Http;

impl KnownNames for Http {
    fn protocols(&self) -> &[&str] {
        &["http"]
    }

    fn failures(&self) -> &'static [&'static str] {
        FailureKind::NAMES
    }
}
