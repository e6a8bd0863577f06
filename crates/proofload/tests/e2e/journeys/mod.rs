//! Journeys through web applications and servers that nobody here wrote: Django's admin, FastAPI, Express with sessions,
//! nginx; and servers that know which value belongs to which journey.

mod admin;
pub mod application;
mod described;
mod examples;
mod nonces;
mod orders;
mod preparation;
mod recorded;
mod redirects;
mod sessions;
mod together;

use record::StepTotals;
use record::summary::{Journey, Summary, TrialSummary};

use crate::lab::{Lab, Ran, assert_accounting, only_trial};

/// Runs this file against this address and returns its only trial, whose sums are right.
fn visit(lab: &Lab, url: &str, experiment: &str) -> (Ran, Summary) {
    let file = lab.write("journeys.toml", experiment);
    let target = format!("target.url={url}");
    let (ran, summary) = lab.run(&[file.to_str().expect("a path"), "--set", &target]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    trial.journeys.iter().for_each(|journey| assert_funnel(trial, journey));
    (ran, summary)
}

/// Everybody who reaches a step leaves it in one way, and goes on to the next unless it ended the journey.
fn assert_funnel(trial: &TrialSummary, journey: &Journey) {
    let whole = &journey.whole;
    let all = whole.succeeded + whole.failed + whole.abandoned;
    assert_eq!(whole.planned, all + trial.accounting.missed, "{whole:?}");
    let mut going_on = all;
    for step in &journey.steps {
        assert_eq!(step.reached, step.succeeded + step.failed + step.abandoned, "{step:?}");
        assert!(step.reached + step.skipped <= going_on, "{step:?}");
        going_on = step.reached + step.skipped - step.ended - step.abandoned;
    }
    assert!(whole.succeeded <= going_on, "{journey:?}");
}

/// The only journey of the trial.
fn only_journey(trial: &TrialSummary) -> &Journey {
    let [journey] = trial.journeys.as_slice() else { panic!("{:?}", trial.journeys) };
    journey
}

/// The step that performs this operation.
fn step<'j>(journey: &'j Journey, name: &str) -> &'j StepTotals {
    let found = journey.steps.iter().find(|step| step.name == name);
    found.unwrap_or_else(|| panic!("no step {name}: {:?}", journey.steps))
}

/// Only counts matter: a busy machine may leave everything else undecided.
fn assert_counted(ran: &Ran) {
    assert!(matches!(ran.code, 0 | 3), "{ran:?}");
}

/// Whether the long form is asked for.
fn proof() -> bool {
    std::env::var_os("PROOFLOAD_PROOF").is_some()
}

/// What the first failures were, for messages.
fn failures(trial: &TrialSummary) -> String {
    format!("{:?}", trial.first_failures)
}
