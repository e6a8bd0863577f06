//! The verdict of a run, and what its exit code is.
//!
//! A broken measurement is never a pass, and neither is a rehearsal.

use std::collections::BTreeSet;

use record::summary::{
    Arm, CapacityEnding, Change, CountsFor, Criterion, Finding, Judgement, Summary, Trial,
    Validity, Verdict,
};
use serde_json::Value;

use crate::findings;
use crate::number;

/// Ran; every criterion passed, or none was set.
pub const PASSED: u8 = 0;
/// A criterion failed, also by overload.
pub const FAILED: u8 = 1;
/// Inconclusive or invalid.
pub const UNDECIDED: u8 = 3;
/// Why a run has fewer trials than planned, where somebody ended it.
const INTERRUPTED: &str = "the run was interrupted";
/// A trial of a search could not be carried out.
pub const COULD_NOT_RUN: u8 = 4;

/// The verdict from what has been judged already: validity of trials, criteria, findings.
pub fn of(summary: &Summary) -> Verdict {
    let mut verdict = decided(summary);
    verdict.reasons.extend(spared(summary));
    verdict.reasons.extend(crowd(summary));
    verdict
}

fn decided(summary: &Summary) -> Verdict {
    let invalid = because(summary, Validity::Invalid);
    if !invalid.is_empty() {
        let interrupted = has(summary, findings::INTERRUPTED).then(|| INTERRUPTED.to_owned());
        let reasons = interrupted.into_iter().chain(invalid).collect();
        return verdict(Judgement::Invalid, reasons);
    }
    let mut failed = because(summary, Validity::Overload);
    failed.extend(criteria(summary, Judgement::Fail, "is not met"));
    failed.extend(summary.counted().flat_map(|trial| expectations(trial, false)));
    if !failed.is_empty() {
        return verdict(Judgement::Fail, failed);
    }
    let mut open = if does_without_steady_state(summary) {
        Vec::new()
    } else {
        because(summary, Validity::NoSteadyState)
    };
    open.extend(criteria(summary, Judgement::Invalid, "cannot be judged"));
    open.extend(criteria(summary, Judgement::Inconclusive, "cannot be decided by this run"));
    open.extend(summary.counted().flat_map(|trial| expectations(trial, true)));
    open.extend(empty(summary));
    open.extend(undone_faults(summary));
    if has(summary, findings::INTERRUPTED) {
        open.insert(0, INTERRUPTED.to_owned());
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
fn does_without_steady_state(summary: &Summary) -> bool {
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

/// Trials in which nothing was sent: whatever is asked of them holds, and says nothing.
fn empty(summary: &Summary) -> Option<String> {
    let empty = summary.counted().filter(|trial| trial.accounting.planned == 0);
    let trials: Vec<u32> = empty.map(|trial| trial.index).collect();
    Some(format!("nothing was sent in the measure phase of {}", number::trials(&trials)?))
}

/// Trials without what the experiment was to do to its processes: they were about something else.
fn undone_faults(summary: &Summary) -> Option<String> {
    let is_undone = |finding: &&Finding| {
        let undone = finding.evidence.get("not_done").and_then(Value::as_u64);
        finding.code == findings::PLANNED_FAULTS && undone > Some(0)
    };
    let undone = summary.findings.iter().filter(is_undone);
    let mut trials: Vec<u32> = undone.filter_map(|finding| finding.trial).collect();
    trials.sort_unstable();
    Some(format!("a planned fault could not be done in {}", number::trials(&trials)?))
}

/// Which trials the run is judged without, since the file spares their blocks.
fn spared(summary: &Summary) -> Option<String> {
    let trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    let spared = trials.filter(|trial| trial.counts_for == CountsFor::Spared);
    let (mut trials, blocks): (Vec<u32>, BTreeSet<u32>) =
        spared.map(|trial| (trial.index, trial.block)).unzip();
    trials.sort_unstable();
    let text = format!(
        "the generator was late in {}, without which {} judged, as `spare` allows",
        number::trials(&trials)?,
        if blocks.len() == 1 {
            "one block is".to_owned()
        } else {
            format!("{} blocks are", blocks.len())
        }
    );
    Some(text)
}

/// In how many trials a closed load waited for its processor, whatever came of the run.
fn crowd(summary: &Summary) -> Option<String> {
    let crowded = findings::crowded(&summary.findings);
    let held_up = summary.counted().filter(|trial| crowded.contains(&trial.index)).count();
    let all = summary.counted().count();
    (held_up > 0).then(|| {
        format!(
            "in {held_up} of {all} trials the generator of a closed load waited for its processor: their throughput and \
             times are those of a crowded machine"
        )
    })
}

fn passed(summary: &Summary) -> Verdict {
    let reason = match distinct(summary, |one| &one.text) {
        0 if !summary.comparisons.is_empty() => "no criterion was set".to_owned(),
        0 => "no criterion was set, so nothing was judged".to_owned(),
        1 => format!("the criterion is met{}", in_all_arms(summary)),
        several => format!("all {several} criteria are met{}", in_all_arms(summary)),
    };
    let repeated = summary.findings.iter().filter(|one| one.code == findings::REPEATED);
    let reasons = std::iter::once(reason).chain(repeated.map(|one| one.claim.clone()));
    let reasons = reasons.chain(comparisons(summary)).chain(unsteady(summary));
    verdict(Judgement::Pass, reasons.collect())
}

/// A criterion is judged once an arm: how many there are of them, or of the arms.
fn distinct(summary: &Summary, of: fn(&Criterion) -> &str) -> usize {
    summary.criteria.iter().map(of).collect::<BTreeSet<_>>().len()
}

fn in_all_arms(summary: &Summary) -> String {
    match distinct(summary, |one| &one.arm) {
        0 | 1 => String::new(),
        several => format!(" in all {several} arms"),
    }
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

/// Trials of this validity, each with its reason; many that have the same kind of reason are told at once.
fn because(summary: &Summary, validity: Validity) -> Vec<String> {
    /// More are told by the worst of them.
    const ALONE: usize = 3;
    let mut concerned: Vec<&Trial> =
        summary.counted().filter(|trial| trial.validity == validity).collect();
    concerned.sort_unstable_by_key(|trial| trial.index);
    let mut kinds: Vec<(&str, Vec<&Trial>)> = Vec::new();
    for trial in concerned {
        let kind = why(trial).split(": ").next().unwrap_or_default();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, trials)) => trials.push(trial),
            None => kinds.push((kind, vec![trial])),
        }
    }
    let alone = |trial: &Trial| format!("trial {}: {}", trial.index, why(trial));
    let told = |(_, trials): (&str, Vec<&Trial>)| {
        if trials.len() <= ALONE {
            return trials.into_iter().map(alone).collect();
        }
        let indices: Vec<u32> = trials.iter().map(|trial| trial.index).collect();
        let worst = trials.iter().max_by(|a, b| gravity(a).total_cmp(&gravity(b)));
        let worst = worst.map_or_else(String::new, |trial| alone(trial));
        let named = number::trials(&indices).unwrap_or_default();
        vec![format!("{} trials, of which the worst is {worst} ({named})", trials.len())]
    };
    kinds.into_iter().flat_map(told).collect()
}

fn why(trial: &Trial) -> &str {
    trial.reasons.first().map_or("see its findings", String::as_str)
}

/// What orders trials of one kind of reason: how late the generator was, what was never begun, or how much there is to
/// be said.
fn gravity(trial: &Trial) -> f64 {
    match trial.validity {
        Validity::Invalid => trial.generator.tail_share.dispatch_lag,
        Validity::Overload => {
            trial.accounting.missed as f64 / trial.accounting.planned.max(1) as f64
        }
        _ => trial.reasons.len() as f64,
    }
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

/// One sentence a criterion, whatever the number of arms in which it came out like this.
fn criteria(summary: &Summary, result: Judgement, words: &str) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for criterion in summary.criteria.iter().filter(|criterion| criterion.result == result) {
        match groups.iter_mut().find(|(text, _)| *text == criterion.text) {
            Some((_, arms)) => arms.push(&criterion.arm),
            None => groups.push((&criterion.text, vec![&criterion.arm])),
        }
    }
    let sentence = |(text, arms): (&str, Vec<&str>)| {
        let judged = summary.criteria.iter().filter(|criterion| criterion.text == text).count();
        let place = match arms[..] {
            [arm] => in_arm(arm),
            _ if arms.len() == judged => format!(" in any of {judged} arms"),
            _ => format!(" in {} of {judged} arms: {}", arms.len(), some(&arms)),
        };
        format!("`{text}` {words}{place}")
    };
    groups.into_iter().map(sentence).collect()
}

/// The first few of them.
fn some(arms: &[&str]) -> String {
    /// More are counted and not named.
    const NAMED: usize = 3;
    let named: Vec<&str> = arms.iter().take(NAMED).copied().collect();
    let more = match arms.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join("; ") + &more
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
    use record::summary::{Expectation, Observer};

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

    /// The criteria of the example in so many arms, the first of each so often inconclusive.
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
        assert_eq!(
            open(9, 5),
            format!("{decided} in 5 of 9 arms: path=0; path=1; path=2 and 2 more")
        );
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
}
