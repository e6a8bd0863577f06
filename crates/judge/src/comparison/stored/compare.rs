//! One value for each trial, of runs on two sides.

use std::collections::BTreeMap;

use record::folder::names;
use record::summary::{Arm, Change, Comparison, Judgement, Sides, Summary, TrialSummary, Validity};
use serde::Serialize;
use serde_json::Value;
use stats::comparison::correction::holm;
use stats::comparison::power::{fewest_trials, trials_needed};

use super::ratio_criterion::{JudgedRatio, RatioCriterion};
use crate::comparison::contrast::{Contrast, Pairing};
use crate::comparison::metric::ComparedMetric;
use crate::findings;

/// Metrics that are compared by default.
const METRICS: [&str; 4] = ["goodput", "p50", "p99", "failed"];
/// Trials a side that are advisable.
const ADVISABLE: u64 = 10;

/// A run that was stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredRun<'a> {
    /// `summary.json`.
    pub summary: &'a Summary,
    /// `plan.json`.
    pub plan: &'a Value,
}

/// The comparison of stored runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredComparison {
    /// Always `proofload-comparison/1`.
    pub format: &'static str,
    /// Runs of the baseline.
    pub baseline: Vec<String>,
    /// Runs of the candidate.
    pub candidate: Vec<String>,
    /// Other differences between the runs than the compared one.
    pub unlike: Vec<String>,
    /// Notes that a reader must know.
    pub notes: Vec<String>,
    /// One for each arm and metric.
    pub comparisons: Vec<Comparison>,
    /// Judged criteria.
    pub criteria: Vec<JudgedRatio>,
}

/// An arm of the runs on one side.
#[derive(Clone, Copy)]
struct ArmOf<'a> {
    runs: &'a [StoredRun<'a>],
    arm: &'a str,
}

/// Two arms, compared in one metric.
struct ArmComparison<'a> {
    arm: &'a str,
    factors: &'a BTreeMap<String, Value>,
    contrast: Contrast<'a>,
    /// The best result that a bound can have, given the trials that are left out.
    left_out: Judgement,
}

/// Compares runs arm by arm, over the trials that may be used.
///
/// Shape: at least one run on each side. `unlike` is only passed on.
pub fn compare(
    baseline: &[StoredRun<'_>],
    candidate: &[StoredRun<'_>],
    bounds: &[RatioCriterion],
    unlike: Vec<String>,
) -> StoredComparison {
    let ids = |side: &[StoredRun<'_>]| {
        side.iter().map(|one| one.summary.run.id.clone()).collect::<Vec<_>>()
    };
    let (old, new) = (ids(baseline), ids(candidate));
    let rehearsal = baseline.iter().chain(candidate).any(|one| one.summary.rehearsal);
    let compared = arm_comparisons(baseline, candidate, bounds);
    let p: Vec<f64> = compared
        .iter()
        .map(|one| one.contrast.difference.map_or(1.0, |difference| difference.p))
        .collect();
    let tests = compared.len();
    let mut notes = notes(baseline, candidate, &compared, rehearsal);
    let comparisons: Vec<Comparison> = compared
        .iter()
        .zip(holm(&p))
        .map(|(one, p)| Comparison {
            baseline: old.join(", ").into(),
            candidate: new.join(", ").into(),
            ..one.finish(p, tests, rehearsal)
        })
        .collect();
    let mut criteria = Vec::new();
    for bound in bounds {
        let about = compared.iter().zip(&comparisons).filter(|(_, one)| bound.is_about(one));
        criteria.extend(about.map(|(compared, one)| {
            let decidable = !rehearsal && !compared.contrast.is_crowded();
            bound.judge(compared.arm, one, compared.at_best(bound), decidable)
        }));
    }
    let unjudged = bounds.iter().filter(|bound| !criteria.iter().any(|one| one.text == bound.text));
    notes.extend(unjudged.map(|bound| format!("`{}` matches no comparison", bound.text)));
    StoredComparison {
        format: "proofload-comparison/1",
        baseline: old,
        candidate: new,
        unlike,
        notes,
        comparisons,
        criteria,
    }
}

fn arm_comparisons<'a>(
    baseline: &[StoredRun<'a>],
    candidate: &[StoredRun<'a>],
    bounds: &[RatioCriterion],
) -> Vec<ArmComparison<'a>> {
    let metrics = metrics(baseline, bounds);
    let mut all = Vec::new();
    for (old, new) in pairs(baseline, candidate) {
        for (operation, name) in &metrics {
            let Some(metric) = ComparedMetric::named(name) else { continue };
            let sides = [trials(baseline, &old.name), trials(candidate, &new.name)];
            let crowded = [crowded(baseline, &old.name), crowded(candidate, &new.name)];
            let contrast = Contrast::new(metric, name, operation, sides);
            let mut contrast = Contrast { crowded, ..contrast };
            contrast.compare(Pairing::None);
            all.push(ArmComparison {
                arm: &new.name,
                factors: &new.factors,
                contrast,
                left_out: left_out(
                    ArmOf { runs: baseline, arm: &old.name },
                    ArmOf { runs: candidate, arm: &new.name },
                ),
            });
        }
    }
    all
}

/// Arms with the same name; or the only arm of each side, whatever their names.
fn pairs<'a>(baseline: &[StoredRun<'a>], candidate: &[StoredRun<'a>]) -> Vec<(&'a Arm, &'a Arm)> {
    let (old, new) = (&baseline[0].summary.arms, &candidate[0].summary.arms);
    if let ([old], [new]) = (old.as_slice(), new.as_slice()) {
        return vec![(old, new)];
    }
    let same = |arm: &'a Arm| Some((old.iter().find(|one| one.name == arm.name)?, arm));
    new.iter().filter_map(same).collect()
}

/// Operations and metrics: the default ones, those that the plan compares, and those that bounds name.
fn metrics(baseline: &[StoredRun<'_>], bounds: &[RatioCriterion]) -> Vec<(String, String)> {
    let all = || names::ALL.to_owned();
    let mut found: Vec<(String, String)> =
        METRICS.iter().map(|name| (all(), (*name).to_owned())).collect();
    let declared = baseline[0].plan["comparisons"].as_array();
    for one in declared.into_iter().flatten() {
        let operation = one["operation"].as_str().map_or_else(all, str::to_owned);
        let named = one["metrics"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(named.map(|name| (operation.clone(), name.to_owned())));
    }
    found.extend(bounds.iter().map(|bound| (bound.operation.clone(), bound.metric.clone())));
    let mut kept = Vec::new();
    found.into_iter().for_each(|one| {
        if !kept.contains(&one) {
            kept.push(one);
        }
    });
    kept
}

fn trials<'a>(side: &[StoredRun<'a>], arm: &str) -> Vec<&'a TrialSummary> {
    counted(side, arm).filter(|trial| trial.is_usable()).collect()
}

fn counted<'a>(side: &[StoredRun<'a>], arm: &str) -> impl Iterator<Item = &'a TrialSummary> {
    let arms = side.iter().flat_map(|run| &run.summary.arms).filter(move |one| one.name == arm);
    arms.flat_map(Arm::counted)
}

/// How many of [`trials`] waited for their processor.
fn crowded(side: &[StoredRun<'_>], arm: &str) -> usize {
    let of_run = |run: &StoredRun<'_>| {
        let held_up = findings::crowded(&run.summary.findings);
        let arms = run.summary.arms.iter().filter(|one| one.name == arm);
        let usable = arms.flat_map(Arm::counted).filter(|trial| trial.is_usable());
        usable.filter(|trial| held_up.contains(&trial.index)).count()
    };
    side.iter().map(of_run).sum()
}

/// The best result after trials are left out, since that is not by chance: an overloaded candidate meets no bound,
/// and a trial without a steady state leaves every bound undecided.
fn left_out(baseline: ArmOf<'_>, candidate: ArmOf<'_>) -> Judgement {
    let has = |one: ArmOf<'_>, validity: Validity| {
        counted(one.runs, one.arm).any(|trial| trial.validity == validity)
    };
    if has(candidate, Validity::Overload) {
        Judgement::Fail
    } else if [baseline, candidate].iter().any(|side| has(*side, Validity::NoSteadyState)) {
        Judgement::Inconclusive
    } else {
        Judgement::Pass
    }
}

impl ArmComparison<'_> {
    /// The best result that a bound can have, whatever the values of the other trials. If only the candidate has
    /// trials without a value, it is worse than any number.
    fn at_best(&self, bound: &RatioCriterion) -> Judgement {
        match self.contrast.without() {
            _ if self.left_out == Judgement::Fail => Judgement::Fail,
            [0, 0] => self.left_out,
            [0, _] if bound.is_upper() == self.contrast.metric.is_time() => Judgement::Fail,
            _ => Judgement::Inconclusive,
        }
    }

    /// Number of trials on each side.
    fn sizes(&self) -> [usize; 2] {
        self.contrast.sides.each_ref().map(Vec::len)
    }

    /// A note on the trials whose closed load waited for its processor.
    fn crowd(&self) -> Option<String> {
        let ([old, new], [of_old, of_new]) = (self.contrast.crowded, self.sizes());
        let undecided = if self.contrast.is_crowded() { "not decided: " } else { "" };
        (old + new > 0).then(|| {
            format!(
                "{undecided}in {old} of {of_old} trials of the baseline and {new} of {of_new} of the candidate the \
                 generator waited for its processor, so that differences in arm {} may come from other work on this machine",
                self.arm,
            )
        })
    }

    /// A note on the trials that have no value.
    fn valueless(&self) -> Option<String> {
        let ([old, new], [of_old, of_new]) = (self.contrast.without(), self.sizes());
        let (operation, name) = (&self.contrast.operation, &self.contrast.name);
        (old + new > 0).then(|| {
            format!(
                "not decided: {name} of {operation} in arm {} has no value in {old} of {of_old} trials of the \
                 baseline and {new} of {of_new} of the candidate, as where it falls among failed operations",
                self.arm,
            )
        })
    }

    /// Names of baseline and candidate are not filled in.
    fn finish(&self, p: f64, tests: usize, rehearsal: bool) -> Comparison {
        let decided = self.contrast.decided(p, rehearsal);
        let is_open = decided.result == Change::Undecided && !rehearsal;
        Comparison {
            factor: "run".to_owned(),
            stratum: self.factors.clone(),
            needs_blocks: self.needs(tests).filter(|_| is_open),
            trials: Some(Sides {
                baseline: size_of(self.contrast.counts[0]),
                candidate: size_of(self.contrast.counts[1]),
            }),
            ..decided
        }
    }

    /// Trials per side that would decide. More trials do not help where few operations or a crowd are the reason.
    fn needs(&self, tests: usize) -> Option<u64> {
        let needed = match self.contrast.moments?.1 {
            Some(spread) => trials_needed(spread, self.contrast.scale(), tests)?,
            None => fewest_trials(tests),
        };
        let smaller = self.contrast.counts[0].min(self.contrast.counts[1]) as u64;
        (needed > smaller && !self.contrast.is_crowded()).then_some(needed)
    }
}

fn size_of(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn notes(
    baseline: &[StoredRun<'_>],
    candidate: &[StoredRun<'_>],
    compared: &[ArmComparison<'_>],
    rehearsal: bool,
) -> Vec<String> {
    let mut notes = vec!["different sessions: drift between the runs is not excluded".to_owned()];
    if rehearsal {
        notes.push("one of the runs is a rehearsal, which decides nothing".to_owned());
    }
    notes.extend(too_few(compared));
    notes.extend(compared.iter().filter_map(ArmComparison::valueless));
    let mut crowds: Vec<String> = compared.iter().filter_map(ArmComparison::crowd).collect();
    // All metrics of an arm have the same note, one after the other.
    crowds.dedup();
    notes.extend(crowds);
    let all = baseline.iter().chain(candidate).flat_map(|run| run.summary.counted());
    let unusable = all.filter(|trial| !trial.is_usable()).count();
    if unusable > 0 {
        notes.push(format!("{unusable} trials could not be used and are left out"));
    }
    let paired = |arm: &&Arm| compared.iter().any(|one| one.arm == arm.name);
    let alone: Vec<&str> = candidate[0]
        .summary
        .arms
        .iter()
        .filter(|arm| !paired(arm))
        .map(|arm| arm.name.as_str())
        .collect();
    if !alone.is_empty() {
        notes.push(format!("not part of the baseline: {}", alone.join("; ")));
    }
    notes
}

/// A note on the arm with the fewest trials, if those are too few.
fn too_few(compared: &[ArmComparison<'_>]) -> Option<String> {
    let sizes = || compared.iter().filter_map(|one| one.sizes().into_iter().min());
    let (least, most) = (sizes().min()?, sizes().max()?);
    let fewest = fewest_trials(compared.len());
    let place = if (most as u64) < fewest { "" } else { " in some arms" };
    let needed = format!("{fewest} trials a side can show a change, {ADVISABLE} are advisable");
    match least {
        0 => Some(format!("not decided{place}: a side has no trial that can be used; {needed}")),
        1 => Some(format!(
            "not decided{place}: with one trial a side only the observed difference is known; \
             {needed}"
        )),
        least if (least as u64) < fewest => Some(format!(
            "not decided{place}: {least} trials a side cannot show a change, however large; {needed}"
        )),
        _ => None,
    }
}
