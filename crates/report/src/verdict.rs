//! The verdict of a run, and what its exit code is.
//!
//! A broken measurement is never a pass, and neither is a rehearsal.

use record::summary::{Arm, CapacityEnding, Change, Judgement, Summary, Trial, Validity, Verdict};

use crate::findings;
use crate::number;

/// Ran; every criterion passed, or none was set.
pub const PASSED: u8 = 0;
/// A criterion failed, also by overload.
pub const FAILED: u8 = 1;
/// Inconclusive or invalid.
pub const UNDECIDED: u8 = 3;
/// A trial of a search could not be carried out.
pub const COULD_NOT_RUN: u8 = 4;

/// The verdict from what has been judged already: validity of trials, criteria, findings.
pub fn of(summary: &Summary) -> Verdict {
    let invalid = because(summary, Validity::Invalid);
    if !invalid.is_empty() {
        return verdict(Judgement::Invalid, invalid);
    }
    let mut failed = because(summary, Validity::Overload);
    failed.extend(criteria(summary, Judgement::Fail, "is not met"));
    failed.extend(summary.counted().flat_map(|trial| expectations(trial, false)));
    if !failed.is_empty() {
        return verdict(Judgement::Fail, failed);
    }
    let mut open =
        if is_spared(summary) { Vec::new() } else { because(summary, Validity::NoSteadyState) };
    open.extend(criteria(summary, Judgement::Invalid, "cannot be judged"));
    open.extend(criteria(summary, Judgement::Inconclusive, "cannot be decided by this run"));
    open.extend(summary.counted().flat_map(|trial| expectations(trial, true)));
    if has(summary, findings::INTERRUPTED) {
        open.insert(0, "the run was interrupted".to_owned());
    }
    if has(summary, findings::NOT_EXECUTED) {
        open.insert(0, "a trial could not be executed".to_owned());
    }
    if summary.counted().next().is_none() {
        open.push("no trial was finished".to_owned());
    }
    if summary.rehearsal {
        open.insert(0, "this was a rehearsal, which can never pass".to_owned());
    }
    if open.is_empty() { passed(summary) } else { verdict(Judgement::Inconclusive, open) }
}

/// The exit code that goes with a verdict.
///
/// A rehearsal that only lacks evidence did what it was asked to, so it exits 0.
pub fn exit_code(summary: &Summary) -> u8 {
    let ending = summary.capacity.as_ref().map(|capacity| capacity.ending);
    match summary.verdict.result {
        _ if ending == Some(CapacityEnding::NotExecuted) => COULD_NOT_RUN,
        Judgement::Pass => PASSED,
        Judgement::Fail => FAILED,
        Judgement::Invalid => UNDECIDED,
        Judgement::Inconclusive if summary.rehearsal && is_whole(summary) => PASSED,
        Judgement::Inconclusive => UNDECIDED,
    }
}

/// Whether trials without a steady state leave enough to conclude from: every criterion was decided without one, and in
/// each arm most trials have one.
fn is_spared(summary: &Summary) -> bool {
    let steady = |arm: &Arm| {
        let count = |steady: bool| {
            arm.counted().filter(|one| (one.validity != Validity::NoSteadyState) == steady).count()
        };
        count(false) < count(true)
    };
    !summary.criteria.is_empty() && summary.arms.iter().all(steady)
}

/// Which trials had no steady state, where the run passed all the same.
fn unsteady(summary: &Summary) -> Option<String> {
    let unsteady = summary.counted().filter(|trial| trial.validity == Validity::NoSteadyState);
    let mut trials: Vec<u32> = unsteady.map(|trial| trial.index).collect();
    trials.sort_unstable();
    let left_out = if summary.comparisons.is_empty() { "" } else { ": comparisons leave them out" };
    Some(format!("no steady state in {}{left_out}", number::trials(&trials)?))
}

fn passed(summary: &Summary) -> Verdict {
    let reason = match summary.criteria.len() {
        0 if !summary.comparisons.is_empty() => "no criterion was set".to_owned(),
        0 => "no criterion was set, so nothing was judged".to_owned(),
        1 => "the criterion is met".to_owned(),
        several => format!("all {several} criteria are met"),
    };
    let repeated = summary.findings.iter().filter(|one| one.code == findings::REPEATED);
    let reasons = std::iter::once(reason).chain(repeated.map(|one| one.claim.clone()));
    let reasons = reasons.chain(comparisons(summary)).chain(unsteady(summary));
    verdict(Judgement::Pass, reasons.collect())
}

/// How many comparisons have an answer. None of them fails a run: that is what criteria are for.
fn comparisons(summary: &Summary) -> Option<String> {
    let all = summary.comparisons.len();
    let open = summary.comparisons.iter().filter(|one| one.result == Change::Undecided).count();
    match (all, open) {
        (0, _) => None,
        (1, 0) => Some("the comparison is decided".to_owned()),
        (1, _) => Some("the comparison is undecided".to_owned()),
        (_, 0) => Some(format!("all {all} comparisons are decided")),
        _ => Some(format!("{open} of {all} comparisons are undecided")),
    }
}

fn verdict(result: Judgement, reasons: Vec<String>) -> Verdict {
    Verdict { result, reasons }
}

fn because(summary: &Summary, validity: Validity) -> Vec<String> {
    let mut concerned: Vec<&Trial> =
        summary.counted().filter(|trial| trial.validity == validity).collect();
    concerned.sort_unstable_by_key(|trial| trial.index);
    let reason = |trial: &Trial| {
        let why = trial.reasons.first().map_or("see its findings", String::as_str);
        format!("trial {}: {why}", trial.index)
    };
    concerned.into_iter().map(reason).collect()
}

/// What was expected of observers and does not hold, or could not be judged.
fn expectations(trial: &Trial, unjudged: bool) -> impl Iterator<Item = String> + '_ {
    let expected = trial.observers.iter().filter_map(|one| Some((&one.name, one.expect.as_ref()?)));
    let concerned =
        expected.filter(move |(_, expect)| !expect.holds && expect.unjudged.is_some() == unjudged);
    concerned.map(|(name, expect)| {
        let what = format!("trial {}: `{}`", trial.index, expect.text);
        match &expect.unjudged {
            Some(why) => format!("{what} cannot be judged at observer {name}: {why}"),
            None => format!("{what} does not hold at observer {name}"),
        }
    })
}

fn criteria<'a>(
    summary: &'a Summary,
    result: Judgement,
    words: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let concerned = summary.criteria.iter().filter(move |criterion| criterion.result == result);
    concerned
        .map(move |criterion| format!("`{}` {words}{}", criterion.text, in_arm(&criterion.arm)))
}

/// Where a criterion was judged; nothing where there is but one arm.
pub(crate) fn in_arm(arm: &str) -> String {
    if arm == "all" { String::new() } else { format!(" in arm {arm}") }
}

/// Whether the run was carried out to its end.
fn is_whole(summary: &Summary) -> bool {
    !has(summary, findings::INTERRUPTED) && !has(summary, findings::NOT_EXECUTED)
}

fn has(summary: &Summary, code: &str) -> bool {
    summary.findings.iter().any(|finding| finding.code == code)
}

#[cfg(test)]
mod tests {
    use record::summary::{CountsFor, Expectation, Observer};

    use super::*;
    use crate::example;

    fn judged(change: impl FnOnce(&mut Summary)) -> (Judgement, u8) {
        let mut summary = example::summary();
        change(&mut summary);
        summary.verdict = of(&summary);
        (summary.verdict.result, exit_code(&summary))
    }

    fn first_trial(summary: &mut Summary) -> &mut Trial {
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
        assert_eq!(judged(|summary| summary.criteria.clear()), (Judgement::Pass, 0));
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
        for (validity, judgement) in [
            (Validity::Invalid, (Judgement::Invalid, 3)),
            (Validity::Overload, (Judgement::Fail, 1)),
        ] {
            assert_eq!(spoiled(validity, CountsFor::Judgement), judgement);
            assert_eq!(spoiled(validity, CountsFor::Noise), (Judgement::Pass, 0));
            assert_eq!(spoiled(validity, CountsFor::Nothing), (Judgement::Pass, 0));
        }
    }

    #[test]
    fn a_run_whose_criteria_are_decided_is_spared_by_few_trials_without_a_steady_state() {
        let with = |unsteady: usize, steady: usize, change: fn(&mut Summary)| {
            judged(|summary| {
                let trial = first_trial(summary).clone();
                let lost = Trial { validity: Validity::NoSteadyState, ..trial.clone() };
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
}
