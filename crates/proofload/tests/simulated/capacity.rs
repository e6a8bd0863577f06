//! The capacity of a journey through two queues in a row, each with exponential service: a Jackson network under
//! Poisson arrivals.
//!
//! The times at the two queues are independent and exponential (Reich 1957), so the journey's time has a closed form,
//! and so has the rate at which a quantile of it meets a bound. A criterion on the account fails where the slower queue
//! is full.
//!
//! The short form searches once for each criterion; `PROOFLOAD_PROOF=1` searches 20 times.

use std::time::Duration;

use engine::clock::Virtual;
use engine::transport::MemoryNetwork;
use judge::capacity::{self, SearchState, SearchTrial};
use judge::summarize::Summariser;
use record::summary::{Capacity, CapacityEnding, StepResult, Summary};
use stats::capacity::search::{Search, SearchSettings, SearchStep, StepOutcome};

use crate::{add, exponential, is_proof, load, provenance, run, serve};

/// Services a second of the first queue and of the slower one.
const SERVED: [f64; 2] = [250.0, 100.0];
/// Greatest ratio of the ends of an interval that a search aims at.
const PRECISION: f64 = 1.1;

const FILE: &str = r#"
title = "How many visits a second?"
criteria = ["CRITERION"]
[target]
url = "http://first"
[load]
rate = "RATE/s"
duration = "LENGTHms"
warm_up = "5s"
timeout = "TIMEOUT"
steady_state = "reported"
[[operation]]
name = "first"
http = { path = "/" }
[[operation]]
name = "second"
target = "http://second"
http = { path = "/" }
[[journey]]
name = "visit"
steps = ["first", "second"]
"#;

/// A search with a known answer.
struct Case {
    criterion: &'static str,
    timeout: &'static str,
    /// Visits without which no trial can pass.
    fewest: f64,
    truth: f64,
}

fn trial(case: &Case, step: SearchStep, seed: u64) -> Summary {
    let length = Duration::from_secs_f64(step.seconds).as_millis();
    let file = FILE.replace("CRITERION", case.criterion).replace("TIMEOUT", case.timeout);
    let file = file.replace("RATE", &step.rate.to_string()).replace("LENGTH", &length.to_string());
    let experiment = load(&file, seed);
    let (clock, network) = (Virtual::new(), MemoryNetwork::new());
    for (place, name) in ["first", "second"].into_iter().enumerate() {
        serve(&network, &clock, name, exponential(2 * seed + place as u64, 1e9 / SERVED[place]));
    }
    let mut summariser = Summariser::new(&experiment.plan);
    let executed = run(&experiment, &experiment.plan.trials, &clock, network);
    executed.iter().for_each(|one| add(&mut summariser, one));
    summariser.finish(provenance(&experiment))
}

fn searched(case: &Case, seed: u64) -> Capacity {
    let mut search = Search::new(SearchSettings {
        // Spread over an octave, so that no lucky grid of rates helps.
        start: 20.0 * 2_f64.powf((seed * 37 % 100) as f64 / 100.0),
        most: None,
        precision: PRECISION,
        shortest: 20.0,
        longest: 60.0,
        operations: 100.0,
        fewest: case.fewest,
        confirmations: 5,
        narrowing: 16,
        noisy_host: false,
        most_trials: 100,
        seed,
    });
    let mut trials: Vec<SearchTrial> = Vec::new();
    while let Some(step) = search.next_step() {
        let summary = trial(case, step, 1_000 * seed + trials.len() as u64);
        let result = capacity::result(&summary);
        search.report(step, outcome(result));
        trials.push(SearchTrial { step, result, summary });
    }
    capacity::capacity(&SearchState {
        trials: &trials,
        search: &search,
        precision: PRECISION,
        criteria: &[case.criterion.to_owned()],
        hysteresis: None,
        incomplete: None,
    })
}

fn outcome(result: StepResult) -> StepOutcome {
    match result {
        StepResult::Pass => StepOutcome::Passed,
        StepResult::Fail => StepOutcome::Failed,
        StepResult::Undecided => StepOutcome::Undecided,
        StepResult::Invalid | StepResult::Stopped => panic!("nothing spoils a simulation"),
    }
}

/// Of the intervals that are found, 95 % hold the truth.
fn held(case: &Case) {
    let (searches, mut held) = (if is_proof() { 20 } else { 1 }, 0);
    for seed in 1..=searches {
        let found = searched(case, seed);
        assert_eq!(found.ending, CapacityEnding::Bracketed, "seed {seed}");
        assert_eq!(found.limited_by.as_deref(), Some(case.criterion), "seed {seed}");
        let (low, high) = (found.low.expect("a low end"), found.high.expect("a high end"));
        println!("{}: {low:.1} – {high:.1} after {} trials", case.criterion, found.steps.len());
        assert!(high / low < 1.5, "seed {seed}: an interval that wide holds anything");
        let achieved = found.achieved.expect("a rate of visits");
        assert!((achieved / low - 1.0).abs() < 0.2, "seed {seed}: {achieved} visits a second");
        held += u64::from(low <= case.truth && case.truth <= high);
    }
    println!("{}: {held} of {searches} intervals hold {:.1}", case.criterion, case.truth);
    assert!(held * 20 >= searches * 19, "{held} of {searches}");
}

/// Share of the visits that take longer than this many seconds.
fn share_beyond(rate: f64, seconds: f64) -> f64 {
    let [a, b] = SERVED.map(|served| served - rate);
    (b * (-a * seconds).exp() - a * (-b * seconds).exp()) / (b - a)
}

/// The rate at which this share of the visits takes longer.
fn rate_at(share: f64, seconds: f64) -> f64 {
    let (mut low, mut high) = (0.0, SERVED[1]);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if share_beyond(middle, seconds) > share { high = middle } else { low = middle }
    }
    low
}

#[test]
fn a_bound_on_the_time_of_a_journey_is_met_at_the_rate_of_the_closed_form() {
    let truth = rate_at(0.1, 0.1);
    held(&Case { criterion: "visit p90 < 100ms", timeout: "30s", fewest: 29.0, truth });
}

#[test]
fn journeys_succeed_up_to_the_rate_of_the_slower_queue() {
    let criterion = "visit succeeded / planned > 90%";
    held(&Case { criterion, timeout: "1s", fewest: 0.0, truth: SERVED[1] });
}
