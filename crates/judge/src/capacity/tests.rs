use std::cell::Cell;

use record::Role;
use record::summary::{Criterion, Validity};
use stats::capacity::search::{SearchSettings, SearchStep, StepOutcome};

use super::*;
use crate::findings::PROCESS_DIED;
use crate::{example, verdict};

const CRITERION: &str = "p99 < 20ms";

fn settings() -> SearchSettings {
    SearchSettings {
        start: 100.0,
        most: None,
        precision: 1.1,
        shortest: 20.0,
        longest: 60.0,
        operations: 1_000.0,
        fewest: 299.0,
        confirmations: 5,
        narrowing: 16,
        noisy_host: false,
        most_trials: 100,
        seed: 1,
    }
}

/// A trial at this rate of a queue that serves 1,000/s, with this result.
fn trial(step: SearchStep, index: u32, result: StepResult) -> SearchTrial {
    let mut summary = example::summary();
    summary.findings.clear();
    let judged = match result {
        StepResult::Pass => Judgement::Pass,
        StepResult::Fail => Judgement::Fail,
        StepResult::Undecided | StepResult::Stopped => Judgement::Inconclusive,
        StepResult::Invalid => Judgement::Invalid,
    };
    summary.verdict.result = judged;
    summary.criteria = vec![Criterion {
        text: CRITERION.into(),
        arm: arm_name(step.rate),
        operation: "all".into(),
        result: judged,
        observed: None,
        low: None,
        high: None,
        drifting: false,
    }];
    summary.arms[0].name = arm_name(step.rate);
    let trial = &mut summary.arms[0].trials[0];
    trial.index = index;
    trial.rates.offered = step.rate;
    trial.rates.completed = step.rate.min(1_000.0);
    trial.rates.goodput = step.rate.min(1_000.0) - 1.0;
    trial.in_flight.mean = step.rate / (1_000.0 - step.rate).max(1.0);
    SearchTrial { step, result, summary }
}

/// Runs a search against results by rate.
fn searched(
    settings: SearchSettings,
    result: impl Fn(f64) -> StepResult,
) -> (Search, Vec<SearchTrial>) {
    let mut search = Search::new(settings);
    let mut tried = Vec::new();
    while let Some(step) = search.next_step() {
        let result = result(step.rate);
        let outcome = match result {
            StepResult::Pass => StepOutcome::Passed,
            StepResult::Fail => StepOutcome::Failed,
            StepResult::Undecided => StepOutcome::Undecided,
            StepResult::Invalid => StepOutcome::Invalid,
            StepResult::Stopped => break,
        };
        search.report(step, outcome);
        tried.push(trial(step, tried.len() as u32 + 1, result));
    }
    (search, tried)
}

fn limit(rate: f64) -> StepResult {
    if rate < 777.0 { StepResult::Pass } else { StepResult::Fail }
}

fn summarised(searched: &(Search, Vec<SearchTrial>)) -> Summary {
    cut_short(searched, None, None)
}

fn cut_short(
    (search, tried): &(Search, Vec<SearchTrial>),
    hysteresis: Option<&HysteresisTrial>,
    incomplete: Option<Incomplete<'_>>,
) -> Summary {
    let criteria = [CRITERION.to_owned()];
    let state = SearchState {
        trials: tried,
        search,
        precision: 1.1,
        criteria: &criteria,
        hysteresis,
        incomplete,
    };
    summary(example::run(), &state)
}

#[test]
fn a_bracket_is_the_answer() {
    let searched = searched(settings(), limit);
    let summary = summarised(&searched);
    let answer = summary.capacity.clone().unwrap();
    let (low, high) = (answer.low.unwrap(), answer.high.unwrap());
    assert!(low < 777.0 && high >= 777.0 && high / low <= 1.1, "{low} – {high}");
    assert_eq!(answer.ending, CapacityEnding::Bracketed);
    assert_eq!(answer.achieved, Some(low - 1.0), "goodput, not the offered rate");
    assert_eq!(answer.limited_by.as_deref(), Some(CRITERION));
    assert!(answer.symptom.is_some_and(|text| text.contains("slowest hundredth")));
    assert_eq!(answer.confirmation, Some(Confirmation { passed: 4, of: 4 }));
    assert_eq!(answer.steps.len(), searched.1.len());
    assert!(answer.steps.iter().zip(1..).all(|(step, trial)| step.trial == trial));

    assert_eq!((summary.verdict.result, verdict::exit(&summary) as u8), (Judgement::Pass, 0));
    assert!(summary.criteria.iter().all(|one| one.arm == arm_name(low)));
    let trials: usize = summary.arms.iter().map(|arm| arm.trials.len()).sum();
    assert_eq!(trials, searched.1.len(), "every trial is in an arm");
    assert!(summary.arms.iter().all(|arm| arm.factors.contains_key("rate")));

    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
}

#[test]
fn a_rate_that_passes_once_and_not_the_next_time_is_why_the_ends_are_apart() {
    let made = Cell::new(0);
    let noisy = |rate: f64| {
        made.set(made.get() + 1);
        match rate {
            rate if rate < 700.0 => StepResult::Pass,
            rate if rate < 1_000.0 && made.get() % 2 == 0 => StepResult::Pass,
            _ => StepResult::Fail,
        }
    };
    let summary = summarised(&searched(settings(), noisy));
    let answer = summary.capacity.as_ref().unwrap();
    let (low, high) = (answer.low.unwrap(), answer.high.unwrap());
    assert!(low < 700.0 && high / low > 1.1, "{low} – {high}");
    assert_eq!(answer.no_further, Some(NoFurther::Contested));
    assert!(answer.not_shown.is_some_and(|rate| low < rate && rate < high), "{answer:?}");
    assert_eq!(answer.ending, CapacityEnding::Bracketed);
    assert_eq!(verdict::exit(&summary) as u8, 0, "both ends are known");
    let said = &summary.verdict.reasons[0];
    let why =
        "; narrowed no further: between them the same rate passed in one trial and not in another";
    assert!(said.ends_with(why), "{said}");
    assert_eq!(serde_json::to_value(answer).unwrap()["no_further"], "contested");

    let quiet = summarised(&searched(settings(), limit));
    assert_eq!(quiet.capacity.as_ref().unwrap().no_further, None);
    assert!(!quiet.verdict.reasons[0].contains("no further"), "{:?}", quiet.verdict);
    let few = SearchSettings { narrowing: 1, ..settings() };
    let spent = summarised(&searched(few, limit));
    assert!(spent.verdict.reasons[0].contains("`--narrow`"), "{:?}", spent.verdict);
}

#[test]
fn a_stopped_search_keeps_what_is_known_and_exits_3() {
    let (mut search, mut tried) =
        searched(
            settings(),
            |rate| {
                if rate > 500.0 { StepResult::Stopped } else { StepResult::Pass }
            },
        );
    let step = search.next_step().unwrap();
    let mut last = trial(step, tried.len() as u32 + 1, StepResult::Stopped);
    last.summary.findings = vec![finding(INTERRUPTED)];
    tried.push(last);
    let summary = summarised(&(search, tried));
    let answer = summary.capacity.as_ref().unwrap();
    assert_eq!((answer.low, answer.high), (Some(400.0), None));
    assert_eq!(answer.ending, CapacityEnding::Stopped);
    assert_eq!(verdict::exit(&summary) as u8, 3);
    let said: Vec<&str> = codes(&summary).filter(|code| *code == INTERRUPTED).collect();
    assert_eq!(said, [INTERRUPTED], "of the search, and not of its trial as well");
    assert_eq!(summary.findings[0].claim, "the search was stopped in or after trial 4");
    assert!(summary.findings[0].advice.contains("--from 400/s"), "{:?}", summary.findings[0]);
    assert_eq!(answer.steps.last().unwrap().result, StepResult::Stopped);
}

#[test]
fn a_generator_at_its_limit_leaves_a_lower_bound() {
    let summary = summarised(&searched(settings(), |rate| {
        if rate > 500.0 { StepResult::Invalid } else { StepResult::Pass }
    }));
    let answer = summary.capacity.as_ref().unwrap();
    assert_eq!(answer.limited_by.as_deref(), Some("generator"));
    assert_eq!((answer.low, answer.high), (Some(400.0), None));
    assert_eq!(verdict::exit(&summary) as u8, 3);
    assert!(summary.verdict.reasons[0].contains("400/s or more"), "{:?}", summary.verdict);
    assert!(summary.findings.iter().any(|one| one.code == "generator-limited-capacity"));
}

#[test]
fn what_a_trial_says_to_the_search() {
    let step = SearchStep { rate: 100.0, seconds: 20.0, purpose: Purpose::Expand };
    for known in [StepResult::Pass, StepResult::Fail, StepResult::Undecided, StepResult::Invalid] {
        assert_eq!(result(&trial(step, 1, known).summary), known);
    }
    assert_eq!(result(&died(step, Some(Role::System)).summary), StepResult::Fail);
    for other in [Some(Role::Service), Some(Role::Observer), Some(Role::Worker), None] {
        let result = result(&died(step, other).summary);
        assert_eq!(result, StepResult::Invalid, "{other:?} says nothing about the target");
    }
    let mut stopped = died(step, Some(Role::System)).summary;
    stopped.findings.push(finding(INTERRUPTED));
    assert_eq!(result(&stopped), StepResult::Stopped);
    let mut empty = trial(step, 1, StepResult::Pass).summary;
    empty.arms.clear();
    assert_eq!(result(&empty), StepResult::Stopped, "nothing was executed");
}

#[test]
fn the_symptom_is_the_gravest_thing_seen() {
    let step = SearchStep { rate: 800.0, seconds: 20.0, purpose: Purpose::Expand };
    let symptom = |change: &dyn Fn(&mut TrialSummary)| {
        let mut tried = trial(step, 1, StepResult::Fail);
        change(&mut tried.summary.arms[0].trials[0]);
        limit::symptom(&tried)
    };
    let overload = symptom(&|trial| trial.validity = Validity::Overload);
    assert!(overload.contains("could not keep up"), "{overload}");
    let dropped = symptom(&|trial| {
        trial.kernel.insert("ListenDrops".into(), 7);
    });
    assert!(dropped.contains("accept queue overflowed 7 times"), "{dropped}");
    let failed = symptom(&|trial| {
        trial.accounting.failed = trial.accounting.planned / 10;
        trial.total.failures.insert("timeout".into(), trial.accounting.failed);
    });
    assert!(failed.contains("10.0 % of operations failed, mostly as timeout"), "{failed}");
    let waited = symptom(&|trial| {
        trial.generator.tail_share.queue_wait = 0.9;
        trial.generator.tail_share.service_time = 0.1;
    });
    assert!(waited.contains("90.0 % of its time waiting for a connection"), "{waited}");
}

#[test]
fn a_queue_scales_with_half_its_work_in_series_and_has_no_peak() {
    let summary = summarised(&searched(settings(), limit));
    let law = summary.capacity.as_ref().unwrap().scalability.unwrap();
    assert!((law.sigma - 0.5).abs() < 0.01, "{law:?}");
    assert_eq!(law.peak, None);
}

fn finding(code: &str) -> Finding {
    Finding { code: code.to_owned(), ..example::summary().findings[0].clone() }
}

fn codes(summary: &Summary) -> impl Iterator<Item = &str> {
    summary.findings.iter().map(|finding| finding.code.as_str())
}

/// A trial in which something ended before its time.
fn died(step: SearchStep, role: Option<Role>) -> SearchTrial {
    let mut tried = trial(step, 1, StepResult::Invalid);
    let mut found = finding(PROCESS_DIED);
    found.evidence = BTreeMap::from([
        ("cause".to_owned(), "shop ended: killed by signal 9".into()),
        ("role".to_owned(), role.map(Role::name).into()),
    ]);
    tried.summary.findings = vec![found];
    tried.summary.arms[0].trials[0].validity = Validity::Invalid;
    tried.result = result(&tried.summary);
    tried
}

/// A search of a queue that loses a process of this role in trials from 700/s on.
fn searched_with_deaths(role: Role) -> (Search, Vec<SearchTrial>) {
    let ending = |rate: f64| match (rate < 700.0, role) {
        (true, _) => StepResult::Pass,
        (false, Role::System) => StepResult::Fail,
        (false, _) => StepResult::Invalid,
    };
    let (search, mut tried) = searched(settings(), ending);
    for one in tried.iter_mut().filter(|one| one.step.rate >= 700.0) {
        let index = only_trial(&one.summary).unwrap().index;
        *one = died(one.step, Some(role));
        one.summary.arms[0].trials[0].index = index;
    }
    (search, tried)
}

#[test]
fn a_system_that_dies_under_the_load_limits_the_rate() {
    let summary = summarised(&searched_with_deaths(Role::System));
    let answer = summary.capacity.as_ref().unwrap();
    assert_eq!(answer.ending, CapacityEnding::Bracketed);
    assert_eq!(answer.limited_by.as_deref(), Some("system"));
    let symptom = answer.symptom.as_deref().unwrap();
    assert_eq!(symptom, "the system ended before the trial did: shop ended: killed by signal 9");
    assert!(codes(&summary).any(|code| code == PROCESS_DIED));
}

#[test]
fn a_service_that_dies_again_and_again_is_neither_the_targets_limit_nor_the_generators() {
    let summary = summarised(&searched_with_deaths(Role::Service));
    let answer = summary.capacity.as_ref().unwrap();
    assert_eq!(answer.ending, CapacityEnding::Spoiled);
    assert_eq!((answer.low, answer.high), (Some(400.0), None));
    assert_eq!((answer.limited_by.as_deref(), verdict::exit(&summary) as u8), (None, 3));
    assert!(codes(&summary).any(|code| code == PROCESS_DIED));
    assert!(codes(&summary).all(|code| code != "generator-limited-capacity"));
    let said = &summary.verdict.reasons[0];
    assert!(said.contains("400/s so far: trials were spoiled in a row"), "{said}");
}

/// The trial up and down again, changed by `change` and without a result.
fn hysteresis(change: impl FnOnce(&mut Summary)) -> HysteresisTrial {
    let step = SearchStep { rate: 900.0, seconds: 20.0, purpose: Purpose::Expand };
    let mut summary = trial(step, 99, StepResult::Pass).summary;
    summary.arms[0].name = "rate=stairs".into();
    summary.criteria.clear();
    change(&mut summary);
    HysteresisTrial { stairs: None, summary }
}

#[test]
fn a_search_that_is_stopped_on_the_way_up_and_down_keeps_its_interval_and_exits_3() {
    let searched = searched(settings(), limit);
    let stopped = hysteresis(|summary| summary.findings = vec![finding(INTERRUPTED)]);
    // Before it has begun, and within it.
    for hysteresis in [None, Some(&stopped)] {
        let summary = cut_short(&searched, hysteresis, Some(Incomplete::Stopped));
        let answer = summary.capacity.as_ref().unwrap();
        assert!(answer.low.is_some() && answer.high.is_some());
        assert_eq!((answer.ending, verdict::exit(&summary) as u8), (CapacityEnding::Stopped, 3));
        assert_eq!(codes(&summary).filter(|code| *code == INTERRUPTED).count(), 1);
        assert_eq!(answer.stairs, None);
        let is_kept = summary.arms.iter().any(|arm| arm.name == "rate=stairs");
        assert_eq!(is_kept, hysteresis.is_some(), "what was measured stays in the record");
        assert!(summary.verdict.reasons[0].ends_with("so far: the search was stopped"));
    }
}

#[test]
fn a_spoiled_way_up_and_down_accuses_nobody_and_is_told() {
    let searched = searched(settings(), limit);
    let late = hysteresis(|summary| {
        summary.findings = vec![finding("late-generator")];
        let trial = &mut summary.arms[0].trials[0];
        (trial.validity, trial.reasons) =
            (Validity::Invalid, vec!["the generator was late".into()]);
    });
    let summary = cut_short(&searched, Some(&late), None);
    assert_eq!(verdict::exit(&summary) as u8, 0, "the interval is known all the same");
    assert!(codes(&summary).any(|code| code == "late-generator"));
    assert!(codes(&summary).all(|code| code != "metastable" && code != INTERRUPTED));
    let said = "the hysteresis test says nothing: the generator was late";
    assert_eq!(summary.verdict.reasons[1], said);
}

#[test]
fn a_trial_that_cannot_be_carried_out_ends_the_search_with_what_is_known() {
    let why = "truth ended before it was ready: exit status: 7";
    let incomplete = || Some(Incomplete::NotExecuted { trial: 9, why });
    let summary = cut_short(&searched(settings(), limit), None, incomplete());
    let answer = summary.capacity.as_ref().unwrap();
    assert_eq!((answer.ending, verdict::exit(&summary) as u8), (CapacityEnding::NotExecuted, 4));
    assert!(answer.low.is_some() && answer.high.is_some() && !answer.steps.is_empty());
    let found = &summary.findings[0];
    assert_eq!((found.code.as_str(), found.trial), (NOT_EXECUTED, Some(9)));
    assert!(found.claim.ends_with(why), "{}", found.claim);
    assert!(summary.verdict.reasons[0].ends_with("so far: a trial could not be carried out"));

    let summary = cut_short(&(Search::new(settings()), Vec::new()), None, incomplete());
    let said = "a trial could not be carried out before any rate was shown to hold";
    assert_eq!((summary.verdict.reasons[0].as_str(), verdict::exit(&summary) as u8), (said, 4));
}

#[test]
fn a_contradiction_of_our_own_is_told_wherever_it_was_found() {
    let (search, mut tried) = searched(settings(), limit);
    let (low, high) = (search.bracket().low, search.bracket().high);
    let inner = |one: &&mut SearchTrial| ![low, high].contains(&Some(one.step.rate));
    tried.iter_mut().find(inner).unwrap().summary.findings =
        vec![finding(findings::AUDIT_CONTRADICTION)];
    let summary = summarised(&(search, tried));
    assert!(codes(&summary).any(|code| code == findings::AUDIT_CONTRADICTION));
}

#[test]
fn what_a_search_finds_can_be_explained() {
    for code in ["metastable", "hysteresis", "generator-limited-capacity", "rates-in-disorder"] {
        assert!(findings::kind(code).is_some(), "{code}");
    }
}

#[test]
fn a_target_that_fails_at_once_has_no_power_point() {
    let (search, mut tried) = searched(settings(), |_| StepResult::Fail);
    for one in &mut tried {
        let trial = &mut one.summary.arms[0].trials[0];
        (trial.rates.goodput, trial.total.response_time.mean_ns) = (0.0, 0);
    }
    let answer = summarised(&(search, tried)).capacity.unwrap();
    assert_eq!((answer.power_point, answer.scalability), (None, None));
}
