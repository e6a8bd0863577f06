//! Findings that explain the result of a criterion.

use record::summary::{Finding, Judgement, Validity};

use super::decision::{Decision, Undecided};
use super::long_windows::LongWindow;
use super::{Evaluation, TrialState};
use crate::findings::criterion::{self, About, MissedWindows};
use plan::number;

/// Why times and rates of a closed load are undecided.
const CROWD: &str = "in which the generator waited for its processor: stop other work on this machine, or offer a \
                     rate";

/// Why a failure is undecided.
const HELD_UP: &str =
    "in which the system waited for its processors: stop what else runs on its machine";

/// Why a criterion over windows is undecided.
const APART: &str = "in which the windows of several machines may be more than 50 ms apart: keep their clocks in time \
                     with a time service such as chrony, or use agents over a quicker network";

impl Evaluation {
    pub(super) fn findings(&self, decision: &Decision, rehearsal: bool) -> Vec<Finding> {
        let undecided = decision.result == Judgement::Inconclusive && !rehearsal;
        let open =
            undecided.then(|| criterion::undecided(&self.about(), self.advice(decision.undecided)));
        open.into_iter().chain(self.missed_windows()).chain(self.failed_alone(decision)).collect()
    }

    fn about(&self) -> About<'_> {
        About { arm: &self.arm, operation: self.operation(), text: &self.criterion.text }
    }

    /// What to do about how the trials went, whatever the sample says; `None` where nothing in it prevents a
    /// decision.
    fn advice_of_course(&self) -> Option<String> {
        let of = |is_so: &dyn Fn(&TrialState) -> bool| {
            let trials = self.trials.iter().filter(|one| is_so(one));
            number::trials(&trials.map(|one| one.trial).collect::<Vec<_>>())
        };
        if self.trials.is_empty() {
            return Some(
                "no trial of the arm was executed: finish the run with `proofload run --resume` and its folder"
                    .to_owned(),
            );
        }
        if self.cut_short || self.trials.iter().any(|one| one.interrupted || one.cut_short) {
            return Some("run it to its end".to_owned());
        }
        let unsteady = of(&|one| one.validity == Validity::NoSteadyState);
        let short = of(&|one| !one.reached);
        let see = |trials: String, why: &str| format!("see {trials}, {why}");
        let crowded = of(&|one| one.is_crowded_for(&self.criterion, false));
        let held_up = of(&|one| one.is_crowded_for(&self.criterion, true));
        let apart = of(&|one| one.is_apart_for(&self.criterion));
        unsteady
            .map(|trials| see(trials, "without a steady state: nothing is concluded from it"))
            .or_else(|| short.map(|trials| see(trials, "which did not begin all that was planned")))
            .or_else(|| crowded.map(|trials| see(trials, CROWD)))
            .or_else(|| held_up.map(|trials| see(trials, HELD_UP)))
            .or_else(|| apart.map(|trials| see(trials, APART)))
    }

    fn advice_of_sample(&self, why: Undecided) -> String {
        match why {
            Undecided::Longer(factor) if factor > 1.0 => {
                let tenths = (factor * 10.0).ceil() / 10.0;
                format!(
                    "a run {} times as long would decide: {} of measuring instead of {}",
                    number::significant(tenths),
                    seconds(tenths * self.usable.seconds),
                    seconds(self.usable.seconds),
                )
            }
            Undecided::Longer(_) | Undecided::TooNear => {
                "no run of practical length would decide: change the bound"
                    .to_owned()
            }
            Undecided::NoData => {
                "nothing that it refers to was measured: choose something that happens in the measure phase"
                    .to_owned()
            }
            Undecided::NoTime(lost) => format!(
                "{} operations have no such time, because they never succeeded: use a quantile of the \
                 response time, which counts them as slower than all others",
                number::count(lost)
            ),
            Undecided::EmptyWindow => {
                "a window was empty, or none was complete: use longer windows, or measure longer"
                    .to_owned()
            }
        }
    }

    fn advice(&self, why: Undecided) -> String {
        self.advice_of_course().unwrap_or_else(|| self.advice_of_sample(why))
    }

    /// Windows that do not meet the criterion.
    fn missed_windows(&self) -> Option<Finding> {
        let long_windows = &self.usable.long_windows;
        let missed: Vec<&LongWindow> = long_windows.missed().collect();
        let (first, worst) = (*missed.first()?, long_windows.worst()?);
        let several = self.trials.len() > 1;
        let at = |one: &LongWindow| {
            let trial = if several { format!(" of trial {}", one.trial) } else { String::new() };
            let text = &self.criterion.text;
            let seen = one.seen.filter(|seen| seen.is_finite());
            let seen = seen.map_or(String::new(), |seen| {
                format!(" ({} observed)", number::in_unit_of(text, seen))
            });
            format!("{}{trial}{seen}", seconds(one.from.as_secs_f64()))
        };
        let places = match missed.len() {
            1 => format!("that from {}", at(first)),
            _ if first == worst => format!("the first from {}, which is the worst", at(first)),
            _ => format!("the first from {}, the worst from {}", at(first), at(worst)),
        };
        let windows = MissedWindows {
            places: &places,
            missed: missed.len(),
            of: long_windows.closed.len(),
            first: first.from,
            worst: worst.from,
        };
        Some(criterion::missed_windows(&self.about(), &windows))
    }

    /// Trials that fail by themselves while others do not.
    fn failed_alone(&self, decision: &Decision) -> Option<Finding> {
        let usable = self.trials.iter().filter(|one| one.is_usable());
        let (failed, others): (Vec<_>, Vec<_>) =
            usable.partition(|one| one.alone == Judgement::Fail);
        if failed.is_empty() || others.is_empty() {
            return None;
        }
        let trials: Vec<u32> = failed.iter().map(|one| one.trial).collect();
        Some(criterion::failed_alone(&self.about(), &trials, decision.result))
    }
}

fn seconds(seconds: f64) -> String {
    number::duration((seconds * 1e9).round() as u64)
}
