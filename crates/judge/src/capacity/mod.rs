//! The answer of a search for capacity, from the summaries of its trials.
//!
//! Each trial of the search is judged as a run of its own, by its own criteria. This module combines the trials: one
//! arm per rate, the interval, what limits, and the verdict. Not here: which rate comes next (see `stats::capacity`),
//! and how trials are carried out (see the binary).
//!
//! In reading order: `step` is the result of one trial; `limit` is what limits at the upper end; [`hysteresis`] is
//! the way up and down again.

pub mod hysteresis;
mod limit;
mod search_trial;
mod step;

use std::collections::BTreeMap;

use plan::units::format_rate;
use record::summary::{
    Arm, Capacity, CapacityEnding, Confirmation, FORMAT, Finding, Judgement, NoFurther, Run,
    Scalability, Severity, Stairs, StepResult, Summary, TrialSummary, Validity, Verdict,
};
use stats::capacity::scalability::LoadPoint;
use stats::capacity::search::{self, Bracket, Purpose, Search, SearchEnding};

use crate::findings::{self, INTERRUPTED, NOT_EXECUTED, Subject};
use crate::scaling;

pub use search_trial::SearchTrial;
use search_trial::only_trial;
pub use step::result;

/// Findings that say why the answer is incomplete; they come first.
const CUTTING: [&str; 2] = [INTERRUPTED, NOT_EXECUTED];

/// The trial that went up and down.
#[derive(Debug, Clone)]
pub struct HysteresisTrial {
    /// What it showed; none where it was stopped or spoiled.
    pub stairs: Option<Stairs>,
    /// The summary of this trial alone.
    pub summary: Summary,
}

/// Why a search is incomplete.
#[derive(Debug, Clone, Copy)]
pub enum Incomplete<'a> {
    /// The user stopped it, or it goes on.
    Stopped,
    /// A trial could not be carried out, which ended the search.
    NotExecuted {
        /// Number of the trial.
        trial: u32,
        /// The reason, as text.
        why: &'a str,
    },
}

/// The state of a search, ended or not.
#[derive(Debug, Clone, Copy)]
pub struct SearchState<'a> {
    /// In the order of execution.
    pub trials: &'a [SearchTrial],
    /// The search that received their results.
    pub search: &'a Search,
    /// The greatest ratio between the ends that the user accepts.
    pub precision: f64,
    /// Texts of the criteria.
    pub criteria: &'a [String],
    /// The trial up and down again, if it was executed.
    pub hysteresis: Option<&'a HysteresisTrial>,
    /// Why a requested part is missing; none where nothing is missing, or where the search itself is still running.
    pub incomplete: Option<Incomplete<'a>>,
}

/// Name of the arm of a rate.
pub fn arm_name(per_second: f64) -> String {
    format!("rate={}", format_rate(per_second))
}

/// The summary of the whole search.
pub fn summary(run: Run, state: &SearchState<'_>) -> Summary {
    let capacity = capacity(state);
    let mut findings = kept(state, &capacity);
    findings.extend(findings::findings(Subject::Search(&capacity)));
    findings.extend(findings::capacity::stopped(&capacity));
    if let Some(Incomplete::NotExecuted { trial, why }) = state.incomplete {
        findings.push(findings::execution::search_ended(trial, why));
    }
    findings.sort_by_key(|finding| match finding.severity {
        _ if CUTTING.contains(&finding.code.as_str()) => 0,
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Info => 3,
    });
    Summary {
        format: FORMAT.to_owned(),
        rehearsal: false,
        verdict: verdict(&capacity, state.hysteresis),
        run,
        arms: arms(state),
        criteria: at(state.trials, capacity.low, StepResult::Pass)
            .map_or_else(Vec::new, |one| one.summary.criteria.clone()),
        comparisons: Vec::new(),
        scalings: Vec::new(),
        capacity: Some(capacity),
        findings,
    }
}

/// The answer without trials and findings.
pub fn capacity(state: &SearchState<'_>) -> Capacity {
    let SearchState { trials: tried, search, .. } = *state;
    let Bracket { low, not_shown, high, in_disorder } = search.bracket();
    let ending = ending(state);
    let limit =
        at(tried, high, StepResult::Fail).or_else(|| at(tried, not_shown, StepResult::Undecided));
    Capacity {
        low,
        high,
        achieved: low.and_then(|low| achieved(tried, low)),
        limited_by: match ending {
            CapacityEnding::GeneratorLimited => Some("generator".to_owned()),
            _ => limit.and_then(limit::by),
        },
        symptom: match ending {
            CapacityEnding::GeneratorLimited => tried.last().and_then(limit::of_generator),
            _ => limit.map(limit::symptom),
        },
        steps: tried.iter().filter_map(step::of).collect(),
        ending,
        no_further: no_further(search.no_further()).filter(|_| ending == CapacityEnding::Bracketed),
        criteria: state.criteria.to_vec(),
        not_shown,
        precision: state.precision - 1.0,
        confirmation: low.and_then(|low| confirmation(tried, low)),
        in_disorder,
        scalability: scalability(tried),
        power_point: power_point(tried),
        stairs: state.hysteresis.and_then(|hysteresis| hysteresis.stairs.clone()),
    }
}

fn ending(state: &SearchState<'_>) -> CapacityEnding {
    let fell = state.trials.last().is_some_and(|last| step::fell(&last.summary));
    let ending = match state.incomplete {
        Some(Incomplete::NotExecuted { .. }) => return CapacityEnding::NotExecuted,
        Some(Incomplete::Stopped) => None,
        None => state.search.ending(),
    };
    match ending {
        None => CapacityEnding::Stopped,
        Some(SearchEnding::Bracketed) => CapacityEnding::Bracketed,
        // A process that ended early does not show which rates the generator can reach.
        Some(SearchEnding::GeneratorLimited) if fell => CapacityEnding::Spoiled,
        Some(SearchEnding::GeneratorLimited) => CapacityEnding::GeneratorLimited,
        Some(SearchEnding::Spoiled) => CapacityEnding::Spoiled,
        Some(SearchEnding::LimitReached) => CapacityEnding::LimitReached,
        Some(SearchEnding::NothingPasses) => CapacityEnding::NothingPasses,
        Some(SearchEnding::Exhausted) => CapacityEnding::Exhausted,
    }
}

fn no_further(known: Option<search::NoFurther>) -> Option<NoFurther> {
    known.map(|why| match why {
        search::NoFurther::Contested => NoFurther::Contested,
        search::NoFurther::Spent => NoFurther::Spent,
    })
}

/// The trial that represents a rate: one with the wanted result before others, then the longest, then the last.
fn at(tried: &[SearchTrial], per_second: Option<f64>, wanted: StepResult) -> Option<&SearchTrial> {
    let judged = tried.iter().filter(|one| {
        per_second == Some(one.step.rate)
            && !matches!(one.result, StepResult::Invalid | StepResult::Stopped)
    });
    judged.max_by(|a, b| {
        let is_wanted = (a.result == wanted).cmp(&(b.result == wanted));
        is_wanted.then(a.step.seconds.total_cmp(&b.step.seconds))
    })
}

fn achieved(tried: &[SearchTrial], low: f64) -> Option<f64> {
    let passed = tried
        .iter()
        .filter(|one| one.step.rate == low && one.result == StepResult::Pass)
        .filter_map(|one| only_trial(&one.summary));
    mean(passed.map(step::achieved))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

fn confirmation(tried: &[SearchTrial], low: f64) -> Option<Confirmation> {
    let fresh =
        tried.iter().filter(|one| one.step.rate == low && one.step.purpose == Purpose::Confirm);
    let decided =
        fresh.filter(|one| !matches!(one.result, StepResult::Invalid | StepResult::Stopped));
    let (passed, of) = decided.fold((0, 0), |(passed, of), one| {
        (passed + u32::from(one.result == StepResult::Pass), of + 1)
    });
    (of > 0).then_some(Confirmation { passed, of })
}

/// Mean in flight against throughput, one point per rate. By Little's law this is the throughput of a closed load of
/// that concurrency.
fn scalability(tried: &[SearchTrial]) -> Option<Scalability> {
    let points: Vec<LoadPoint> = points(tried)
        .iter()
        .map(|(_, trial)| LoadPoint {
            concurrency: trial.in_flight.mean,
            throughput: trial.rates.completed,
        })
        .collect();
    scaling::law(&points, 1)
}

fn power_point(tried: &[SearchTrial]) -> Option<f64> {
    const FEWEST: usize = 3;
    let points = points(tried);
    let power = |trial: &TrialSummary| {
        trial.rates.completed / (trial.total.response_time.mean_ns.max(1)) as f64
    };
    let best = points.iter().max_by(|(_, a), (_, b)| power(a).total_cmp(&power(b)))?;
    (points.len() >= FEWEST).then_some(best.0)
}

/// The longest usable trial of each rate that the target kept up with, ascending. At higher rates the number in
/// flight is that of a queue that grows as long as the trial lasts, which says nothing about the target. Neither do
/// operations that failed at once.
fn points(tried: &[SearchTrial]) -> Vec<(f64, &TrialSummary)> {
    const KEPT_UP: f64 = 0.98;
    let mut longest: BTreeMap<u64, &SearchTrial> = BTreeMap::new();
    for one in tried {
        if matches!(one.result, StepResult::Invalid | StepResult::Stopped) {
            continue;
        }
        let kept = longest.entry(one.step.rate.to_bits()).or_insert(one);
        if one.step.seconds >= kept.step.seconds {
            *kept = one;
        }
    }
    let trials = longest.into_values().filter_map(|one| {
        let trial = only_trial(&one.summary)?;
        let kept_up = trial.rates.goodput >= KEPT_UP * trial.rates.offered
            && trial.validity != Validity::Invalid;
        (kept_up && trial.in_flight.mean > 0.0).then_some((one.step.rate, trial))
    });
    trials.collect()
}

/// One arm per rate, ascending, and the arm of the hysteresis test.
fn arms(state: &SearchState<'_>) -> Vec<Arm> {
    let mut rates: Vec<f64> = state.trials.iter().map(|one| one.step.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let arm = |per_second: f64| Arm {
        name: arm_name(per_second),
        factors: BTreeMap::from([("rate".to_owned(), format_rate(per_second).into())]),
        values: BTreeMap::new(),
        trials: state
            .trials
            .iter()
            .filter(|one| one.step.rate == per_second)
            .filter_map(|one| only_trial(&one.summary).cloned())
            .collect(),
    };
    let stairs = state.hysteresis.map(|hysteresis| hysteresis.summary.arms.clone());
    let arms = rates.into_iter().map(arm).chain(stairs.into_iter().flatten());
    arms.filter(|arm| !arm.trials.is_empty()).collect()
}

/// Findings at both ends, of trials without a result and of an unfinished hysteresis test, each once; and
/// contradictions in our own numbers from any trial. Findings at other rates are the normal course of a search. That
/// a trial was stopped or undecided is reported for the search as a whole.
fn kept(state: &SearchState<'_>, capacity: &Capacity) -> Vec<Finding> {
    let ends = [
        at(state.trials, capacity.low, StepResult::Pass),
        at(state.trials, capacity.high, StepResult::Fail),
    ];
    let spoiled =
        |one: &&SearchTrial| matches!(one.result, StepResult::Invalid | StepResult::Stopped);
    let shown = ends.into_iter().flatten().chain(state.trials.iter().filter(spoiled));
    let unfinished = state.hysteresis.filter(|hysteresis| hysteresis.stairs.is_none());
    let shown =
        shown.map(|one| &one.summary).chain(unfinished.map(|hysteresis| &hysteresis.summary));
    let all = state.trials.iter().map(|one| &one.summary);
    let all = all.chain(state.hysteresis.map(|hysteresis| &hysteresis.summary));
    let of_bugs = all.flat_map(|summary| &summary.findings);
    let of_bugs = of_bugs.filter(|finding| finding.code == findings::AUDIT_CONTRADICTION);
    let mut kept: Vec<Finding> = Vec::new();
    for finding in shown.flat_map(|summary| &summary.findings).chain(of_bugs) {
        let known = |other: &Finding| other.code == finding.code;
        let told = [INTERRUPTED, findings::UNDECIDED_CRITERION].contains(&finding.code.as_str());
        if !told && !kept.iter().any(known) {
            kept.push(finding.clone());
        }
    }
    kept
}

/// Pass when both ends are known, otherwise inconclusive: a search does not judge the target.
fn verdict(capacity: &Capacity, hysteresis: Option<&HysteresisTrial>) -> Verdict {
    let is_known = capacity.ending == CapacityEnding::Bracketed;
    let result = if is_known { Judgement::Pass } else { Judgement::Inconclusive };
    let spoiled = hysteresis.filter(|one| is_known && one.stairs.is_none());
    let spoiled = spoiled.and_then(|hysteresis| only_trial(&hysteresis.summary)?.reasons.first());
    let spoiled = spoiled.map(|why| format!("the hysteresis test says nothing: {why}"));
    Verdict { result, reasons: std::iter::once(sentence(capacity)).chain(spoiled).collect() }
}

/// Why the interval is not narrower, as text.
pub fn because(no_further: NoFurther) -> &'static str {
    match no_further {
        NoFurther::Contested => "between them the same rate passed in one trial and not in another",
        NoFurther::Spent => "the trials for narrowing are used up (`--narrow`)",
    }
}

/// The answer in one sentence.
pub fn sentence(capacity: &Capacity) -> String {
    let criteria = capacity.criteria.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>();
    let criteria = criteria.join(" and ");
    let Some(low) = capacity.low.map(format_rate) else {
        let tried = capacity.steps.iter().map(|step| step.rate).fold(f64::INFINITY, f64::min);
        return match capacity.ending {
            CapacityEnding::NotExecuted => {
                "a trial could not be carried out before any rate was shown to hold".into()
            }
            _ if capacity.steps.is_empty() => "nothing was tried".to_owned(),
            CapacityEnding::Stopped => {
                "the search was stopped before any rate was shown to hold".into()
            }
            CapacityEnding::Spoiled => {
                "trials were spoiled in a row: nothing is known of the target".into()
            }
            _ => format!(
                "{criteria} {} not shown to hold at any rate, down to {}",
                if capacity.criteria.len() == 1 { "was" } else { "were" },
                format_rate(tried)
            ),
        };
    };
    let verb = if capacity.criteria.len() == 1 { "holds" } else { "hold" };
    let holds = format!("{criteria} {verb} at {low}");
    let high = capacity.high.map(|high| format!(" and not at {}", format_rate(high)));
    let known = format!("{holds}{}", high.unwrap_or_default());
    match capacity.ending {
        CapacityEnding::Bracketed => {
            let why =
                capacity.no_further.map(|why| format!("; narrowed no further: {}", because(why)));
            known + &why.unwrap_or_default()
        }
        CapacityEnding::GeneratorLimited => {
            format!("{holds} or more: the generator could not make a higher rate")
        }
        CapacityEnding::LimitReached => {
            format!("{holds} or more: no rate that was tried was shown to be too high")
        }
        CapacityEnding::Stopped => format!("{known} so far: the search was stopped"),
        CapacityEnding::NotExecuted => {
            format!("{known} so far: a trial could not be carried out")
        }
        CapacityEnding::Spoiled => {
            format!("{known} so far: trials were spoiled in a row")
        }
        CapacityEnding::NothingPasses | CapacityEnding::Exhausted => {
            format!("{known} so far: the search ran out of trials")
        }
    }
}

#[cfg(test)]
mod tests;
