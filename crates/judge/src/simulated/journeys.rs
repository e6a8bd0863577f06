//! Trials of journeys: `visit` performs `login`, thinks, performs `list` and, in some journeys, `open`.

use record::summary::InFlight;
use record::{
    FailureKind, JourneyLayout, Layout, Outcome, Recorder, Sample, Spans, Status, StepOutcome,
    TrialFacts, WindowAssembler,
};

use super::{SECOND, START, Simulated, facts, plan};
use plan::experiment::Options;

/// Its steps.
const STEPS: [&str; 3] = ["login", "list", "open"];
/// The place of the journey among what a recorder counts: after the operations.
const VISIT: usize = STEPS.len();

/// Where a journey ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedAt {
    /// It was never begun.
    Missed,
    /// After its last step.
    Last,
    /// At this step, which failed.
    Step(usize, FailureKind),
    /// It still thought at the drain deadline, before this step.
    Before(usize),
    /// It was in this step at the drain deadline.
    In(usize),
}

/// One journey. Times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Visit {
    /// Of `login`, `list` and `open`.
    pub times: [u64; 3],
    /// Between `login` and `list`.
    pub think: u64,
    /// Whether `open` is performed.
    pub opens: bool,
    /// Where it ends.
    pub ended: EndedAt,
}

impl Visit {
    /// A journey with all steps, which succeeded.
    pub fn of(times: [u64; 3], think: u64) -> Self {
        Self { times, think, opens: true, ended: EndedAt::Last }
    }
}

/// An experiment file with this load table and these criteria.
pub fn journeys_file(load: &str, criteria: &[&str]) -> String {
    let mut file = format!(
        "title = \"Visits\"\ncriteria = {criteria:?}\n[target]\nurl = \"http://127.0.0.1:1\"\n[load]\n{load}\n"
    );
    for step in STEPS {
        file.push_str(&format!(
            "[[operation]]\nname = \"{step}\"\nhttp = {{ path = \"/{step}\" }}\nexpect = {{ status = 200 }}\n"
        ));
    }
    file.push_str(
        "[[journey]]\nname = \"visit\"\nsteps = [\"login\", \"think 2s\", \"list\", { do = \"open\", share = \"50%\" }]\n",
    );
    file
}

/// Simulates `count` journeys at `rate` per second.
pub fn simulate_journeys(
    file: &str,
    rate: u64,
    count: u64,
    one: impl Fn(u64) -> Visit,
) -> Simulated {
    let plan = plan(file, &Options::default());
    let planned = plan.trials[0].clone();
    let (gap, length) = (SECOND / rate, count * SECOND / rate);
    let window = if length < 30 * SECOND { SECOND / 10 } else { SECOND };
    let phases = record::PhaseBounds { measure_from: START, measure_to: START + length, window };
    let layout = Layout {
        operations: STEPS.map(Into::into).into(),
        items: vec![Vec::new(); STEPS.len()],
        spans: super::SPANS.map(Into::into).into(),
        journeys: vec![JourneyLayout { name: "visit".into(), steps: STEPS.map(Into::into).into() }],
    };
    let mut recorder = Recorder::new(0, &layout, phases, false);
    let mut assembler = WindowAssembler::new(1, &layout);
    let mut windows = Vec::new();
    let mut area = 0;
    for index in 0..count {
        let intended_at = START + index * gap;
        area += perform(&mut recorder, index, intended_at, one(index), phases.measure_to);
        if index % rate == 0 {
            windows.extend(assembler.add(&mut recorder.roll(intended_at)));
        }
    }
    windows.extend(assembler.add(&mut recorder.roll(u64::MAX)));
    windows.extend(assembler.finish());
    let in_flight = InFlight { mean: area as f64 / length as f64, max: count };
    let made = facts((&plan, &planned), recorder, phases, in_flight);
    let trial = TrialFacts { area_ns: i128::from(area), ..made };
    Simulated { plan, trial, windows }
}

/// Records a journey. Returns the time of its operations that counts.
fn perform(
    recorder: &mut Recorder,
    index: u64,
    intended_at: u64,
    visit: Visit,
    measure_to: u64,
) -> u64 {
    if visit.ended == EndedAt::Missed {
        recorder.miss(VISIT, intended_at);
        return 0;
    }
    recorder.begin(VISIT, intended_at);
    let (mut at, mut thought, mut busy) = (intended_at, 0, 0);
    let mut whole = Outcome::Succeeded;
    for step in 0..STEPS.len() {
        if step == 1 {
            at += visit.think;
            thought = visit.think;
        }
        if visit.ended == EndedAt::Before(step) {
            whole = Outcome::Abandoned;
            break;
        }
        if step == 2 && !visit.opens {
            recorder.end_step(VISIT, step, intended_at, StepOutcome::Skipped);
            continue;
        }
        let (outcome, of_step) = match visit.ended {
            EndedAt::Step(place, kind) if place == step => {
                (Outcome::Failed(kind), StepOutcome::Failed { ends: true })
            }
            EndedAt::In(place) if place == step => (Outcome::Abandoned, StepOutcome::Abandoned),
            _ => (Outcome::Succeeded, StepOutcome::Succeeded),
        };
        recorder.begin(step, at);
        let sample = sample(step, index, at..at + visit.times[step], 0, outcome);
        recorder.end(&sample, None);
        if at < measure_to {
            busy += visit.times[step];
        }
        at += visit.times[step];
        recorder.end_step(VISIT, step, intended_at, of_step);
        whole = outcome;
        if outcome != Outcome::Succeeded {
            break;
        }
    }
    recorder.end(&sample(VISIT, index, intended_at..at, thought, whole), None);
    busy
}

fn sample(
    operation: usize,
    index: u64,
    time: std::ops::Range<u64>,
    thought: u64,
    outcome: Outcome,
) -> Sample<'static> {
    let answered = outcome == Outcome::Succeeded && operation != VISIT;
    Sample {
        operation,
        index,
        step: None,
        trace: None,
        intended_at: time.start,
        dispatched_at: time.start,
        acquired_at: time.start,
        started_at: time.start + thought,
        finished_at: time.end,
        outcome,
        status: if answered { 200.into() } else { Status::None },
        spans: Spans::NONE,
        items: &[],
        bytes_sent: 100 * u64::from(operation != VISIT),
        bytes_received: 200 * u64::from(operation != VISIT),
    }
}
