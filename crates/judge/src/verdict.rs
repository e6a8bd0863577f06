//! The verdict of a run, and its exit code.
//!
//! A broken measurement is never a pass, and neither is a rehearsal.

use std::collections::BTreeSet;

use record::summary::{
    Arm, CapacityEnding, Change, CountsFor, Criterion, Finding, Judgement, Summary, TrialSummary,
    Validity, Verdict,
};
use serde_json::Value;

use crate::findings::{self, all_failed, in_arm};
use plan::number;

/// The reason of an interrupted run.
const INTERRUPTED: &str = "the run was interrupted";

/// How the program ends. [`crate::explain`] says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Every criterion passed, or none was set (*measured*).
    Passed = 0,
    /// A criterion failed, also by overload.
    Failed = 1,
    /// The command line or the experiment is wrong.
    Usage = 2,
    /// Inconclusive or invalid.
    Undecided = 3,
    /// Target, limits or permissions stood in the way, or no operation succeeded.
    CouldNotRun = 4,
    /// A bug of ours.
    Bug = 101,
}

/// The verdict from the validity of trials, the criteria and the findings.
pub fn of(summary: &Summary) -> Verdict {
    let mut verdict = decided(summary);
    verdict.reasons.extend(spared(summary));
    verdict.reasons.extend(crowd(summary));
    verdict
}

fn decided(summary: &Summary) -> Verdict {
    if let Some(finding) = all_failed::of(summary) {
        return verdict(Judgement::Inconclusive, vec![finding.claim.clone()]);
    }
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

/// How a run with this verdict ends.
///
/// A rehearsal that only lacks evidence did what it was asked to, so it exits 0.
pub fn exit(summary: &Summary) -> Exit {
    let ending = summary.capacity.as_ref().map(|capacity| capacity.ending);
    match summary.verdict.result {
        _ if ending == Some(CapacityEnding::NotExecuted) => Exit::CouldNotRun,
        _ if all_failed::of(summary).is_some() => Exit::CouldNotRun,
        Judgement::Pass | Judgement::Measured => Exit::Passed,
        Judgement::Fail => Exit::Failed,
        Judgement::Invalid => Exit::Undecided,
        Judgement::Inconclusive if summary.rehearsal && is_whole(summary) => Exit::Passed,
        Judgement::Inconclusive => Exit::Undecided,
    }
}

/// Whether trials without a steady state leave enough for a verdict: there are criteria, and in each arm most trials
/// have a steady state.
fn does_without_steady_state(summary: &Summary) -> bool {
    let steady = |arm: &Arm| {
        let count = |steady: bool| {
            arm.counted().filter(|one| (one.validity != Validity::NoSteadyState) == steady).count()
        };
        count(false) < count(true)
    };
    !summary.criteria.is_empty() && summary.arms.iter().all(steady)
}

/// A note on trials without a steady state in a run that passed.
fn unsteady(summary: &Summary) -> Option<String> {
    let unsteady = summary.counted().filter(|trial| trial.validity == Validity::NoSteadyState);
    let mut trials: Vec<u32> = unsteady.map(|trial| trial.index).collect();
    trials.sort_unstable();
    let left_out = if summary.comparisons.is_empty() { "" } else { ": comparisons leave them out" };
    Some(format!("no steady state in {}{left_out}", number::trials(&trials)?))
}

/// Trials in which nothing was sent: every criterion holds for them, and that shows nothing.
fn empty(summary: &Summary) -> Option<String> {
    let empty = summary.counted().filter(|trial| trial.accounting.planned == 0);
    let trials: Vec<u32> = empty.map(|trial| trial.index).collect();
    Some(format!("nothing was sent in the measure phase of {}", number::trials(&trials)?))
}

/// Trials without a planned fault: they tested something else.
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

/// A note on the trials whose blocks are judged without them, as the file permits.
fn spared(summary: &Summary) -> Option<String> {
    let trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    let spared = trials.filter(|trial| trial.counts_for == CountsFor::Spared);
    let (mut trials, blocks): (Vec<u32>, BTreeSet<u32>) =
        spared.map(|trial| (trial.index, trial.block)).unzip();
    trials.sort_unstable();
    let text = format!(
        "the generator was late in {}; {}, as `spare` permits",
        number::trials(&trials)?,
        if blocks.len() == 1 {
            "its block is judged without it".to_owned()
        } else {
            format!("their {} blocks are judged without them", blocks.len())
        }
    );
    Some(text)
}

/// Notes on trials in which a closed load or the system waited for its processor, whatever the verdict.
fn crowd(summary: &Summary) -> impl Iterator<Item = String> {
    const WAITED: [(&str, &str); 2] = [
        (
            findings::CROWDED,
            "the generator of a closed load waited for its processor: their throughput and times are those of a crowded \
             machine",
        ),
        (
            findings::SYSTEM_CROWDED,
            "the system waited for its processors, which other programs or virtual machines used: alone it would \
             answer sooner",
        ),
    ];
    let all = summary.counted().count();
    WAITED.into_iter().filter_map(move |(code, waited)| {
        let trials = findings::trials_with(&summary.findings, code);
        let crowded = summary.counted().filter(|trial| trials.contains(&trial.index)).count();
        (crowded > 0).then(|| format!("in {crowded} of {all} trials {waited}"))
    })
}

/// A run without defects. If no criterion was set, it has passed nothing, whatever failed in it.
fn passed(summary: &Summary) -> Verdict {
    let asked = distinct(summary, |one| &one.text);
    let result = if asked == 0 { Judgement::Measured } else { Judgement::Pass };
    let reason = match asked {
        0 if summary.run.share.is_some() => of_a_share(summary),
        0 if !summary.comparisons.is_empty() => "no criterion was set".to_owned(),
        0 if is_expected_of_observers(summary) => {
            "no criterion was set; what is expected of observers holds".to_owned()
        }
        0 => "no criterion was set, so nothing was judged".to_owned(),
        1 => format!("the criterion is met{}", in_all_arms(summary)),
        several => format!("all {several} criteria are met{}", in_all_arms(summary)),
    };
    let repeated = summary.findings.iter().filter(|one| one.code == findings::REPEATED);
    let reasons = std::iter::once(reason).chain(repeated.map(|one| one.claim.clone()));
    let reasons = reasons.chain(comparisons(summary)).chain(unsteady(summary));
    verdict(result, reasons.collect())
}

/// What a share answers by itself.
fn of_a_share(summary: &Summary) -> String {
    let share = summary.run.share.as_deref().unwrap_or_default();
    format!(
        "this is share {share} of the plan: `proofload merge` joins the shares and judges the whole"
    )
}

fn is_expected_of_observers(summary: &Summary) -> bool {
    summary.counted().flat_map(|trial| &trial.observers).any(|one| one.expect.is_some())
}

/// The number of distinct criteria, or of their arms: a criterion is judged once per arm.
fn distinct(summary: &Summary, of: fn(&Criterion) -> &str) -> usize {
    summary.criteria.iter().map(of).collect::<BTreeSet<_>>().len()
}

fn in_all_arms(summary: &Summary) -> String {
    match distinct(summary, |one| &one.arm) {
        0 | 1 => String::new(),
        several => format!(" in all {several} arms"),
    }
}

/// A note on how many comparisons are decided. None of them fails a run; only criteria do.
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

/// Trials of this validity, each with its reason; many with the same kind of reason are reported together.
fn because(summary: &Summary, validity: Validity) -> Vec<String> {
    /// More trials than this are represented by the worst one.
    const ALONE: usize = 3;
    let mut concerned: Vec<&TrialSummary> =
        summary.counted().filter(|trial| trial.validity == validity).collect();
    concerned.sort_unstable_by_key(|trial| trial.index);
    let mut kinds: Vec<(&str, Vec<&TrialSummary>)> = Vec::new();
    for trial in concerned {
        let kind = why(trial).split(": ").next().unwrap_or_default();
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, trials)) => trials.push(trial),
            None => kinds.push((kind, vec![trial])),
        }
    }
    let alone = |trial: &TrialSummary| format!("trial {}: {}", trial.index, why(trial));
    let told = |(_, trials): (&str, Vec<&TrialSummary>)| {
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

fn why(trial: &TrialSummary) -> &str {
    trial.reasons.first().map_or("see its findings", String::as_str)
}

/// The order of trials with one kind of reason: by lateness of the generator, by missed operations, or by the number
/// of reasons.
fn gravity(trial: &TrialSummary) -> f64 {
    match trial.validity {
        Validity::Invalid => trial.generator.tail_share.dispatch_lag,
        Validity::Overload => {
            trial.accounting.missed as f64 / trial.accounting.planned.max(1) as f64
        }
        _ => trial.reasons.len() as f64,
    }
}

/// Expectations of observers that do not hold, or that could not be judged.
fn expectations(trial: &TrialSummary, unjudged: bool) -> impl Iterator<Item = String> + '_ {
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

/// One sentence per criterion, however many arms have this result.
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
    /// More arms than this are counted and not named.
    const NAMED: usize = 3;
    let named: Vec<&str> = arms.iter().take(NAMED).copied().collect();
    let more = match arms.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join("; ") + &more
}

/// Whether the run was carried out to its end.
fn is_whole(summary: &Summary) -> bool {
    !has(summary, findings::INTERRUPTED) && !has(summary, findings::NOT_EXECUTED)
}

fn has(summary: &Summary, code: &str) -> bool {
    summary.findings.iter().any(|finding| finding.code == code)
}

#[cfg(test)]
mod tests;
