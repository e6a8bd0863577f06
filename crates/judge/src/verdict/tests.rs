//! The verdict from criteria, trials and findings, and its exit code.

use record::summary::{Expectation, Observer};

use super::*;
use crate::example;

fn judged(change: impl FnOnce(&mut Summary)) -> (Judgement, u8) {
    let mut summary = example::summary();
    change(&mut summary);
    summary.verdict = of(&summary);
    (summary.verdict.result, exit(&summary) as u8)
}

fn first_trial(summary: &mut Summary) -> &mut TrialSummary {
    &mut summary.arms[0].trials[0]
}

fn interrupt(summary: &mut Summary) {
    let mut finding = summary.findings[0].clone();
    finding.code = findings::INTERRUPTED.to_owned();
    summary.findings.push(finding);
}

#[test]
fn every_criterion_met_is_a_pass() {
    assert_eq!(judged(|_| ()), (Judgement::Pass, 0));
}

#[test]
fn a_run_of_which_nothing_was_asked_is_measured_and_no_pass() {
    assert_eq!(judged(|summary| summary.criteria.clear()), (Judgement::Measured, 0));
    let failed = |summary: &mut Summary| {
        summary.criteria.clear();
        let sums = &mut first_trial(summary).accounting;
        sums.failed += std::mem::take(&mut sums.succeeded);
    };
    assert_eq!(judged(failed), (Judgement::Measured, 0));
}

/// The reasons of the verdict with the example's criteria in this many arms, where those in the first `open` arms are
/// inconclusive.
fn in_arms(arms: usize, open: usize) -> Vec<String> {
    let mut summary = example::summary();
    let model = summary.criteria.clone();
    summary.criteria.clear();
    for arm in 0..arms {
        let named = model.iter().map(|one| Criterion {
            arm: format!("path={arm}"),
            result: if arm < open { Judgement::Inconclusive } else { Judgement::Pass },
            ..one.clone()
        });
        summary.criteria.extend(named);
    }
    of(&summary).reasons
}

#[test]
fn a_criterion_is_one_whatever_the_number_of_arms() {
    let count = example::summary().criteria.len();
    assert_eq!(in_arms(1, 0), [format!("all {count} criteria are met")]);
    assert_eq!(in_arms(4, 0), [format!("all {count} criteria are met in all 4 arms")]);
    let text = example::summary().criteria[0].text.clone();
    let open = |arms, open| in_arms(arms, open)[0].clone();
    let decided = format!("`{text}` cannot be decided by this run");
    assert_eq!(open(2, 1), format!("{decided} in arm path=0"));
    assert_eq!(open(4, 4), format!("{decided} in any of 4 arms"));
    assert_eq!(open(9, 5), format!("{decided} in 5 of 9 arms: path=0; path=1; path=2 and 2 more"));
    assert_eq!(in_arms(9, 5).len(), count);
}

#[test]
fn a_criterion_that_is_not_met_fails_the_run() {
    let change = |summary: &mut Summary| summary.criteria[0].result = Judgement::Fail;
    assert_eq!(judged(change), (Judgement::Fail, 1));
}

#[test]
fn overload_fails_even_without_a_criterion() {
    let change = |summary: &mut Summary| {
        summary.criteria.clear();
        first_trial(summary).validity = Validity::Overload;
    };
    assert_eq!(judged(change), (Judgement::Fail, 1));
}

#[test]
fn an_expectation_of_an_observer_that_does_not_hold_fails_the_run() {
    let observed = |holds: bool| {
        move |summary: &mut Summary| {
            let text = "received == sent".into();
            let expect = Expectation { text, holds, ..Expectation::default() };
            let mut observer = example::observer();
            observer.expect = Some(expect);
            first_trial(summary).observers = vec![observer];
        }
    };
    assert_eq!(judged(observed(false)), (Judgement::Fail, 1));
    assert_eq!(judged(observed(true)), (Judgement::Pass, 0));
    let mut summary = example::record().summary;
    observed(true)(&mut summary);
    summary.criteria.clear();
    let verdict = of(&summary);
    assert_eq!(verdict.result, Judgement::Measured);
    assert_eq!(verdict.reasons[0], "no criterion was set; what is expected of observers holds");
}

#[test]
fn an_expectation_that_nobody_could_judge_decides_nothing() {
    let change = |summary: &mut Summary| {
        let unjudged = Some("`recal` is not known".to_owned());
        let text = "recal >= 0.95".into();
        let expect = Some(Expectation { text, unjudged, ..Expectation::default() });
        first_trial(summary).observers = vec![Observer { expect, ..example::observer() }];
    };
    assert_eq!(judged(change), (Judgement::Inconclusive, 3));
}

#[test]
fn a_trial_that_does_not_count_spoils_nothing() {
    let spoiled = |validity: Validity, counts_for: CountsFor| {
        judged(|summary| {
            let trial = first_trial(summary);
            let whole = trial.clone();
            (trial.validity, trial.counts_for) = (validity, counts_for);
            summary.arms[0].trials.push(whole);
        })
    };
    for (validity, judgement) in
        [(Validity::Invalid, (Judgement::Invalid, 3)), (Validity::Overload, (Judgement::Fail, 1))]
    {
        assert_eq!(spoiled(validity, CountsFor::Judgement), judgement);
        assert_eq!(spoiled(validity, CountsFor::Spared), (Judgement::Pass, 0));
        assert_eq!(spoiled(validity, CountsFor::Noise), (Judgement::Pass, 0));
        assert_eq!(spoiled(validity, CountsFor::Nothing), (Judgement::Pass, 0));
    }
}

#[test]
fn a_run_whose_criteria_are_decided_is_spared_by_few_trials_without_a_steady_state() {
    let with = |unsteady: usize, steady: usize, change: fn(&mut Summary)| {
        judged(|summary| {
            let trial = first_trial(summary).clone();
            let lost = TrialSummary { validity: Validity::NoSteadyState, ..trial.clone() };
            let trials = std::iter::repeat_n(lost, unsteady);
            summary.arms[0].trials = trials.chain(std::iter::repeat_n(trial, steady)).collect();
            change(summary);
        })
    };
    assert_eq!(with(1, 2, |_| ()), (Judgement::Pass, 0));
    assert_eq!(with(1, 1, |_| ()), (Judgement::Inconclusive, 3));
    assert_eq!(with(1, 0, |_| ()), (Judgement::Inconclusive, 3));
    assert_eq!(with(1, 2, |run| run.criteria.clear()), (Judgement::Inconclusive, 3));
    let open = |run: &mut Summary| run.criteria[0].result = Judgement::Inconclusive;
    assert_eq!(with(1, 2, open), (Judgement::Inconclusive, 3));
}

#[test]
fn a_run_that_sent_nothing_or_left_a_fault_undone_is_no_pass() {
    let silent = |summary: &mut Summary| first_trial(summary).accounting.planned = 0;
    assert_eq!(judged(silent), (Judgement::Inconclusive, 3));
    for (undone, judgement) in [(0, (Judgement::Pass, 0)), (1, (Judgement::Inconclusive, 3))] {
        let seen = judged(|summary| {
            let mut finding = summary.findings[0].clone();
            finding.code = findings::PLANNED_FAULTS.to_owned();
            finding.trial = Some(1);
            finding.evidence = [("not_done".to_owned(), undone.into())].into();
            summary.findings.push(finding);
        });
        assert_eq!(seen, judgement);
    }
}

#[test]
fn a_run_of_which_no_trial_counts_is_no_pass() {
    for counts_for in [CountsFor::Noise, CountsFor::Nothing] {
        let aside = |summary: &mut Summary| first_trial(summary).counts_for = counts_for;
        assert_eq!(judged(aside), (Judgement::Inconclusive, 3));
    }
}

#[test]
fn a_run_that_ended_at_a_trial_that_could_not_begin_is_no_pass() {
    let stuck = |rehearsal: bool| {
        move |summary: &mut Summary| {
            let mut finding = summary.findings[0].clone();
            finding.code = findings::NOT_EXECUTED.to_owned();
            summary.findings.push(finding);
            summary.rehearsal = rehearsal;
        }
    };
    assert_eq!(judged(stuck(false)), (Judgement::Inconclusive, 3));
    assert_eq!(judged(stuck(true)), (Judgement::Inconclusive, 3));
}

#[test]
fn a_spoiled_trial_wins_over_a_failed_criterion() {
    let change = |summary: &mut Summary| {
        summary.criteria[0].result = Judgement::Fail;
        first_trial(summary).validity = Validity::Invalid;
    };
    assert_eq!(judged(change), (Judgement::Invalid, 3));
}

#[test]
fn spoiled_trials_are_named_in_the_order_of_execution() {
    let mut summary = example::summary();
    let mut again = summary.arms[0].clone();
    for (arm, index) in [(&mut summary.arms[0], 2), (&mut again, 1)] {
        (arm.trials[0].validity, arm.trials[0].index) = (Validity::Invalid, index);
    }
    summary.arms.push(again);
    let reasons = of(&summary).reasons;
    let places: Vec<&str> = reasons.iter().filter_map(|why| why.get(..8)).collect();
    assert_eq!(places, ["trial 1:", "trial 2:"]);
}

#[test]
fn many_trials_with_one_kind_of_reason_are_one_line() {
    let reasons = |late: u32| {
        let mut summary = example::summary();
        let model = first_trial(&mut summary).clone();
        let spoiled = |index: u32, share: f64, why: &str| {
            let mut trial = model.clone();
            trial.index = index;
            trial.validity = Validity::Invalid;
            trial.reasons = vec![why.replace('%', &index.to_string())];
            trial.generator.tail_share.dispatch_lag = share;
            trial
        };
        let lag = |index| if index == 2 { 0.9 } else { 0.2 };
        let ended = spoiled(9, 0.0, "it ended before its time: killed");
        summary.arms[0].trials = (1..=late)
            .map(|index| spoiled(index, lag(index), "the generator was late: by %"))
            .chain([ended])
            .collect();
        of(&summary).reasons
    };
    assert_eq!(reasons(3).len(), 4);
    assert_eq!(
        reasons(4),
        [
            "4 trials, of which the worst is trial 2: the generator was late: by 2 (trials 1, 2, 3, 4)",
            "trial 9: it ended before its time: killed",
        ]
    );
}

#[test]
fn a_rehearsal_exits_0_without_passing_unless_something_failed() {
    assert_eq!(judged(|summary| summary.rehearsal = true), (Judgement::Inconclusive, 0));
    let failed = |summary: &mut Summary| {
        summary.rehearsal = true;
        summary.criteria[0].result = Judgement::Fail;
    };
    assert_eq!(judged(failed), (Judgement::Fail, 1));
    let stopped = |summary: &mut Summary| {
        summary.rehearsal = true;
        interrupt(summary);
    };
    assert_eq!(judged(stopped), (Judgement::Inconclusive, 3));
}

#[test]
fn what_cannot_be_decided_is_no_pass() {
    let open = |summary: &mut Summary| summary.criteria[0].result = Judgement::Inconclusive;
    assert_eq!(judged(open), (Judgement::Inconclusive, 3));
    assert_eq!(judged(interrupt), (Judgement::Inconclusive, 3));
    assert_eq!(judged(|summary| summary.arms.clear()), (Judgement::Inconclusive, 3));
}
