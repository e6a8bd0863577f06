use record::FailureKind;
use record::summary::{Grade, Journey, Model, TrialSummary, Validity};

use super::*;
use crate::example;
use crate::simulated::{EndedAt, Visit, journeys_file, simulate_journeys};

const CONTEXT: Context = Context {
    timeout_ns: Some(2_000_000_000),
    targets: 1,
    abreast: 1,
    windows: None,
    little: None,
};

fn rules(one: &TrialSummary) -> Vec<&'static str> {
    contradictions(one, &CONTEXT).into_iter().map(|found| found.rule).collect()
}

/// One way to corrupt a valid summary, and the rule that must detect it.
type Mutation = (&'static str, fn(&mut TrialSummary));

const MUTATIONS: &[Mutation] = &[
    ("A1", |trial| trial.accounting.missed += 1),
    ("A2", |trial| trial.generator.tail_share.service_time = 0.5),
    ("A3", |trial| trial.rates.goodput *= 1.27),
    ("A4", |trial| trial.total.response_time.quantiles[4].observed_ns = Some(1)),
    ("A5", |trial| trial.total.response_time.mean_ns *= 30),
    ("A6", |trial| {
        let max = trial.total.response_time.max_ns;
        trial.total.response_time.quantiles[1].observed_ns = Some(max);
    }),
    ("A7", |trial| trial.total.response_time.overflow = trial.total.response_time.count / 2),
    ("A8", |trial| trial.total.response_time.quantiles[6].grade = Grade::Supported),
    ("A9", |trial| trial.in_flight.mean *= 20.0),
    ("A10", |trial| {
        trial.load.connections = 1;
        trial.in_flight.max = 2;
        trial.rates.offered *= 2.0;
    }),
    ("A11", |trial| trial.accounting.started = trial.accounting.planned / 2),
    ("A12", |trial| trial.operations[0].bytes_received += 1),
    ("A13", |trial| trial.operations[1].response_time.mean_ns /= 2),
    ("A14", |trial| {
        let max = trial.operations[1].response_time.quantiles[2].observed_ns.unwrap();
        trial.total.response_time.quantiles[2].observed_ns = Some(max * 2);
    }),
    ("A15", |trial| trial.operations[0].service_time.max_ns = 3_000_000_000),
    ("A16", |trial| trial.operations[0].service_time.min_ns = 0),
    ("A17", |trial| {
        let times = &mut trial.operations[0].service_time;
        (times.min_ns, times.mean_ns, times.max_ns) = (1_000_000, 2_000_000, 400_000_000);
    }),
    ("A18", |trial| trial.in_flight.mean *= 1_000.0),
    // The opposite change, for a field that can be wrong in both directions.
    ("A1", |trial| trial.total.succeeded -= 1),
    ("A2", |trial| trial.generator.steal_ratio = -0.5),
    ("A3", |trial| trial.rates.started *= 0.8),
    ("A4", |trial| trial.total.response_time.min_ns = trial.total.response_time.max_ns),
    ("A5", |trial| trial.total.response_time.mean_ns /= 30),
    ("A12", |trial| trial.total.bytes_sent -= 1),
    ("A18", |trial| trial.in_flight.mean /= 1_000.0),
];

/// A valid trial without failures, so that every rule applies.
fn sound(seed: u64) -> TrialSummary {
    example::flawless(seed).arms.remove(0).trials.remove(0)
}

#[test]
fn valid_reports_raise_no_flag() {
    for seed in 1..=10 {
        assert_eq!(contradictions(&sound(seed), &CONTEXT), []);
    }
    let with_failures = example::summary().arms.remove(0).trials.remove(0);
    assert_eq!(contradictions(&with_failures, &CONTEXT), []);
}

#[test]
fn every_class_of_corruption_is_caught() {
    for seed in 1..=5 {
        let sound = sound(seed);
        for &(class, corrupt) in MUTATIONS {
            let mut trial = sound.clone();
            corrupt(&mut trial);
            assert!(rules(&trial).contains(&class), "{class}: {:?}", rules(&trial));
        }
    }
}

/// The slowest answer of a few may come just before the time-out; a hundredth of many may not all do so.
#[test]
fn one_answer_at_the_time_out_is_no_pile() {
    let limit = CONTEXT.timeout_ns.expect("a time-out");
    let piled = |count: u64| {
        let mut trial = sound(1);
        let times = &mut trial.operations[0].response_time;
        times.count = count;
        times.max_ns = limit;
        times.quantiles.iter_mut().filter(|one| one.q >= 0.99).for_each(|one| {
            one.observed_ns = Some(limit);
        });
        let told = shape::saturation(&trial, &CONTEXT);
        told.is_some_and(|claim| claim.contains("time-out"))
    };
    assert!(!piled(80));
    assert!(piled(2_000));
}

#[test]
fn averaged_quantiles_are_recognised() {
    let mut trial = sound(1);
    for place in 0..4 {
        let of = |part: usize| {
            trial.operations[part].response_time.quantiles[place].observed_ns.unwrap()
        };
        let mean = (of(0) + of(1)) / 2;
        trial.total.response_time.quantiles[place].observed_ns = Some(mean);
    }
    assert!(rules(&trial).contains(&"A14"));
}

#[test]
fn outcome_times_must_keep_failures() {
    let mut trial = example::summary().arms.remove(0).trials.remove(0);
    let last = trial.total.outcome_time.quantiles.last_mut().unwrap();
    assert_eq!(last.observed_ns, None);
    last.observed_ns = Some(trial.total.response_time.max_ns);
    assert!(rules(&trial).contains(&"A15"));
}

#[test]
fn windows_that_lost_operations_are_noticed() {
    let trial = sound(1);
    let lost = WindowSums { response_times: trial.total.succeeded - 1 };
    let context = Context { windows: Some(lost), ..CONTEXT };
    let found = contradictions(&trial, &context);
    assert_eq!(found.iter().map(|one| one.rule).collect::<Vec<_>>(), ["A1"]);
}

#[test]
fn a_shortfall_may_stand_in_the_headline() {
    let mut trial = sound(1);
    trial.accounting.missed = trial.accounting.planned;
    trial.accounting.started = 0;
    trial.validity = Validity::Overload;
    trial.reasons = vec!["the target could not hold the rate".to_owned()];
    assert!(!rules(&trial).contains(&"A11"));
}

#[test]
fn an_open_load_has_a_pool_for_each_target() {
    let mut trial = sound(1);
    trial.load.connections = 1;
    trial.in_flight.max = 2;
    trial.total.service_time.mean_ns = (1.6e9 / trial.rates.goodput) as u64;
    let is_too_busy = |targets, abreast| {
        let claim = flow::little(&trial, &Context { targets, abreast, ..CONTEXT });
        claim.is_some_and(|claim| claim.contains("connections would be busy"))
    };
    assert!(is_too_busy(1, 1));
    assert!(!is_too_busy(2, 1));
    assert!(!is_too_busy(1, 2), "a journey performs two operations at a time");
}

#[test]
fn what_a_closed_load_began_before_the_phase_contradicts_nothing() {
    let little = |model, mean: f64| {
        let mut trial = sound(1);
        trial.load.model = model;
        trial.load.connections = 40;
        trial.in_flight.mean = mean;
        flow::little(&trial, &CONTEXT)
    };
    assert_eq!(little(Model::Closed, 40.0), None);
    assert!(little(Model::Closed, 40.1).is_some(), "there are no more");
    assert!(little(Model::Open, 40.0).is_some());
}

/// 1,000 journeys: some miss, some end at a step, some are abandoned in a step or while they wait.
fn visits() -> TrialSummary {
    let load = "rate = \"100/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let made = simulate_journeys(&journeys_file(load, &[]), 100, 1_000, |index| Visit {
        opens: index.is_multiple_of(2),
        ended: match index % 50 {
            1 => EndedAt::Missed,
            3 => EndedAt::Step(1, FailureKind::Timeout),
            4 => EndedAt::Step(2, FailureKind::Status),
            5 => EndedAt::Before(1),
            6 => EndedAt::In(2),
            _ => EndedAt::Last,
        },
        ..Visit::of([1_234_567, 2_345_678, 3_456_789], 50_000_001)
    });
    made.summary().arms.remove(0).trials.remove(0)
}

#[test]
fn journeys_add_up_from_step_to_step() {
    let trial = visits();
    let whole = &trial.journeys[0].whole;
    assert_eq!((whole.planned, whole.missed(), whole.abandoned, whole.failed), (1_000, 20, 40, 40));
    let came: Vec<_> =
        trial.journeys[0].steps.iter().map(|one| (one.reached, one.skipped, one.ended)).collect();
    assert_eq!(came, [(980, 0, 0), (960, 0, 20), (500, 440, 20)]);
    assert_eq!(contradictions(&trial, &CONTEXT), []);
}

#[test]
fn a_journey_that_appears_or_vanishes_between_steps_is_caught() {
    let corruptions: [fn(&mut Journey); 8] = [
        |journey| journey.whole.abandoned -= 1,
        |journey| journey.whole.planned -= 1,
        |journey| journey.whole.succeeded += 1,
        |journey| journey.whole.failed -= 1,
        |journey| journey.steps[0].reached += 1,
        |journey| journey.steps[1].succeeded -= 1,
        |journey| journey.steps[1].ended += 1,
        |journey| journey.steps[2].skipped += 1,
    ];
    for (place, corrupt) in corruptions.into_iter().enumerate() {
        let mut trial = visits();
        corrupt(&mut trial.journeys[0]);
        assert_eq!(rules(&trial), ["A19"], "corruption {place}");
    }
}
