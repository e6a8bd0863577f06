//! Pages of a search for capacity.

use record::summary::{Capacity, CapacityEnding, CapacityStep, NoFurther, StepResult};

use super::*;
use crate::terminal::Colour;

fn found(capacity: Capacity) -> Summary {
    Summary { capacity: Some(capacity), ..example::summary() }
}

#[test]
fn pages_lead_with_the_interval() {
    let summary = found(example::capacity());
    assert_eq!(verdict::verdict_word(&summary), "bracketed");
    let page = terminal::render(&summary, Colour::Off);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?} in {page}"));
    assert!(place("200/s – 300/s") < place("Steps of the search"));
    assert!(place("Steps of the search") < place("Criteria"));
    assert!(!page.contains("\nTrials\n"), "the steps say the same");
}

#[test]
fn trials_between_ends_that_stay_apart_are_counted() {
    let mut capacity = example::capacity();
    (capacity.no_further, capacity.not_shown) = (Some(NoFurther::Contested), Some(250.0));
    for (trial, result) in [(6, StepResult::Pass), (7, StepResult::Fail), (8, StepResult::Fail)] {
        let between = CapacityStep { rate: 250.0, trial, result, ..capacity.steps[0].clone() };
        capacity.steps.push(between);
    }
    let page = terminal::render(&found(capacity), Colour::Off);
    let counts = "1 of 3 trials between the ends passed";
    assert!(page.contains("narrowed no further") && page.contains(counts), "{page}");
}

#[test]
fn a_generator_at_its_limit_leaves_a_lower_bound() {
    let limited_by = Some("generator".to_owned());
    let ending = CapacityEnding::GeneratorLimited;
    let (low, high) = (Some(400.0), None);
    let capacity = Capacity { low, high, limited_by, ending, ..example::capacity() };
    let page = terminal::render(&found(capacity), Colour::Off);
    assert!(page.contains("≥ 400/s, generator-limited"), "{page}");
}
