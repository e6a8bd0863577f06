//! Reports a finding of several trials or arms once: the clearest one, with how often and where it occurs.

use record::summary::{Arm, Finding, Summary};
use serde_json::Value;

use super::kind::CHANGE;
use super::table::kind;
use super::{design, noise};

/// Other arms that are named beside the one in the claim.
const BESIDE: usize = 3;

/// Findings that say the same about several trials or arms.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingGroup<'s> {
    /// The clearest one.
    pub clearest: &'s Finding,
    /// All of them, in the order of the summary.
    pub all: Vec<&'s Finding>,
}

/// Groups findings of trials by code, those of arms that differ only in numbers, and those of comparisons without a
/// block. Each other finding is alone. In the order of the first of each group.
pub fn groups(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in findings {
        let group = groups.iter_mut().find(|group| is_like(group.all[0], finding));
        match group {
            Some(group) => {
                group.all.push(finding);
                if clearness(finding) > clearness(group.clearest) {
                    group.clearest = finding;
                }
            }
            None => groups.push(FindingGroup { clearest: finding, all: vec![finding] }),
        }
    }
    groups
}

fn is_like(one: &Finding, other: &Finding) -> bool {
    let of_trials = one.trial.is_some() && other.trial.is_some();
    let of_arms = one.code == noise::REPEATS_WORSE.code;
    one.code == other.code && (of_trials || of_arms || is_empty(one) && is_empty(other))
}

/// Whether it is about a comparison without a block. All metrics of that comparison have the same finding.
fn is_empty(finding: &Finding) -> bool {
    let blocks = finding.evidence.get("blocks").and_then(Value::as_u64);
    finding.code == design::UNDECIDED_COMPARISON.code && blocks == Some(0)
}

fn clearness(finding: &Finding) -> f64 {
    let Some(name) = kind(&finding.code).and_then(|kind| kind.clearest) else {
        return 0.0;
    };
    let values = finding.evidence.iter().filter(|(key, _)| key.ends_with(name));
    let values = values.filter_map(|(_, value)| value.as_f64());
    let clear = |value: f64| if name == CHANGE { value.ln().abs() } else { value };
    values.map(clear).fold(0.0, f64::max)
}

impl FindingGroup<'_> {
    /// The claim, with its trial or arm and the other places where it occurs, if there are any.
    pub fn claim(&self, summary: &Summary) -> String {
        let claim = &self.clearest.claim;
        match self.clearest.trial {
            Some(trial) => self.of_trial(trial, &summary.arms),
            None if self.all.len() > 1 => {
                let what = if is_empty(self.clearest) { "comparison" } else { "arm" };
                format!("{claim} (the like in {})", more(self.all.len() - 1, what))
            }
            None => claim.clone(),
        }
    }

    /// `in trial 3 of 20, path=front: … (2 of its 10 trials show it, 1 of 10 of path=direct)`, where there are
    /// several trials: the figures of a claim are those of one trial, and not of the arm.
    fn of_trial(&self, trial: u32, arms: &[Arm]) -> String {
        let claim = &self.clearest.claim;
        let holds = |arm: &&Arm| arm.trials.iter().any(|one| one.index == trial);
        let trials = arms.iter().map(|arm| arm.trials.len()).sum::<usize>();
        let Some(own) = arms.iter().find(holds).filter(|_| trials > 1) else {
            return claim.clone();
        };
        // A claim that names its trial itself is about how the run went.
        let place = match claim.contains(&format!("trial {trial}")) {
            true => String::new(),
            false if arms.len() > 1 => format!("in trial {trial} of {trials}, {}: ", own.name),
            false => format!("in trial {trial} of {trials}: "),
        };
        format!("{place}{claim}{}", self.elsewhere(own, arms))
    }

    /// ` (2 of its 10 trials show it, 1 of 10 of path=direct)`, where several trials do.
    fn elsewhere(&self, own: &Arm, arms: &[Arm]) -> String {
        if self.all.len() == 1 {
            return String::new();
        }
        if arms.iter().all(|arm| self.met(arm) == arm.trials.len()) {
            return format!(" (all {} trials show it)", self.all.len());
        }
        let whose = if arms.len() > 1 { "its" } else { "the" };
        let mut met = match (self.met(own), own.trials.len()) {
            (met, all) if met == 1 => format!("{met} of {whose} {all} trials shows it"),
            (met, all) => format!("{met} of {whose} {all} trials show it"),
        };
        let others = arms.iter().filter(|arm| arm.name != own.name && self.met(arm) > 0);
        let named = others.clone().take(BESIDE);
        met.extend(
            named.map(|arm| format!(", {} of {} of {}", self.met(arm), arm.trials.len(), arm.name)),
        );
        let left = others.count().saturating_sub(BESIDE);
        met.extend((left > 0).then(|| format!(", and in {}", more(left, "arm"))));
        format!(" ({met})")
    }

    /// The number of trials of an arm that show it.
    fn met(&self, arm: &Arm) -> usize {
        let is_met = |index| self.all.iter().any(|one| one.trial == Some(index));
        arm.trials.iter().filter(|trial| is_met(trial.index)).count()
    }
}

fn more(count: usize, what: &str) -> String {
    if count == 1 { format!("1 more {what}") } else { format!("{count} more {what}s") }
}
