//! Criteria: what the result is held against.
//!
//! A quantile is judged by how many operations lie beyond the bound: missed, failed and abandoned ones
//! do. Of n operations x beyond it, worth n/φ independent ones, give bounds of the share, which must lie
//! on one side of 1 − q. Counts, ratios and rates are judged on the sample, since no interval could ever
//! show that a count is exactly nought; their interval says what such a run may show by chance.
//!
//! Never a pass: an invalid trial, an overload, a rate that was not reached, no data, a rehearsal.
//! What the sample says is in `answer`; here evidence is gathered, and the course of the trials limits
//! what may be concluded.

mod answer;

use plan::criterion::Criterion;
use plan::plan::Plan;
use record::summary::{self, Finding, Judgement, Rates, Trial, Validity};
use record::{OperationTotals, OperationWindow, Totals};
use stats::dispersion::WindowCount;
use stats::{FINE, Histogram};

use answer::Answer;

use crate::findings::{self, Facts};
use crate::number;

/// Share of the plan that must have been begun for any pass.
const REACHED: f64 = 0.99;

/// What is gathered to judge one criterion in one arm.
#[derive(Debug, Clone)]
pub struct Evidence {
    criterion: Criterion,
    arm: String,
    /// One a trial of the arm.
    pub(crate) courses: Vec<Course>,
    sums: Sums,
    response_time: Histogram,
    /// Windows of all trials, one after the other, at the bound.
    windows: Vec<WindowCount>,
    first_window: usize,
}

/// How a trial went, as far as criteria care.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    validity: Validity,
    interrupted: bool,
    reached: bool,
    rates: Rates,
    seconds: f64,
    items: Vec<(String, String, f64)>,
}

/// A judged criterion, and the finding that says what would decide it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// For the summary.
    pub criterion: summary::Criterion,
    /// Where it is undecided.
    pub finding: Option<Finding>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    planned: u64,
    missed: u64,
    succeeded: u64,
    failed: u64,
    abandoned: u64,
    beyond: u64,
}

/// Every criterion in every arm that has its operation.
pub fn questions(plan: &Plan) -> Vec<Evidence> {
    let mut questions = Vec::new();
    for criterion in &plan.criteria {
        for arm in &plan.arms {
            let known = criterion.operation.as_ref().is_none_or(|wanted| {
                arm.operations.iter().any(|operation| operation.name == *wanted)
            });
            if known {
                questions.push(Evidence::new(criterion.clone(), &arm.name));
            }
        }
    }
    questions
}

impl Course {
    /// The course of a trial.
    pub fn of(trial: &Trial, facts: &Facts) -> Self {
        let accounting = &trial.accounting;
        let items = trial.operations.iter().flat_map(|operation| {
            let items = operation.items.iter();
            items.map(|(name, item)| (operation.name.clone(), name.clone(), item.sum))
        });
        Self {
            validity: trial.validity,
            interrupted: facts.interrupted,
            reached: accounting.started as f64 >= REACHED * accounting.planned as f64,
            rates: trial.rates,
            seconds: trial.phases.measure_ns as f64 / 1e9,
            items: items.collect(),
        }
    }
}

impl Evidence {
    fn new(criterion: Criterion, arm: &str) -> Self {
        Self {
            criterion,
            arm: arm.to_owned(),
            courses: Vec::new(),
            sums: Sums::default(),
            response_time: Histogram::new(FINE),
            windows: Vec::new(),
            first_window: 0,
        }
    }

    /// Whether it concerns this arm.
    pub fn is_about(&self, arm: &str) -> bool {
        self.arm == arm
    }

    /// The operation it looks at: its place in the totals, `Some(None)` for all together, `None` if it
    /// is not there.
    pub(crate) fn place(&self, totals: &Totals) -> Option<Option<usize>> {
        match &self.criterion.operation {
            None => Some(None),
            Some(name) => {
                totals.operations.iter().position(|operation| operation.name == *name).map(Some)
            }
        }
    }

    pub(crate) fn begin_trial(&mut self) {
        self.first_window = self.windows.len();
    }

    pub(crate) fn add_window(&mut self, number: u64, parts: &[&OperationWindow]) {
        let Ok(number) = usize::try_from(number) else { return };
        let place = self.first_window + number;
        if self.windows.len() <= place {
            self.windows.resize(place + 1, WindowCount::default());
        }
        let bound = self.bound_ns();
        let count = &mut self.windows[place];
        for part in parts {
            let lost = part.missed + part.failed.iter().map(|(_, count)| count).sum::<u64>();
            let times = part.response_time.as_ref();
            let above = times.map_or(0, |times| times.count_above(bound));
            count.add(times.map_or(0, Histogram::count) + lost, above + lost);
        }
    }

    pub(crate) fn end_trial(&mut self, totals: &OperationTotals) {
        let lost = totals.missed + totals.failed + totals.abandoned;
        self.sums.planned += totals.planned;
        self.sums.missed += totals.missed;
        self.sums.succeeded += totals.succeeded;
        self.sums.failed += totals.failed;
        self.sums.abandoned += totals.abandoned;
        self.sums.beyond += totals.response_time.count_above(self.bound_ns()) + lost;
        self.response_time.merge(&totals.response_time);
    }

    fn bound_ns(&self) -> u64 {
        self.criterion.bound.max(0.0) as u64
    }

    /// The judgement. Validity comes first, then the data.
    pub fn judge(&self, rehearsal: bool) -> Judged {
        let mut answer = self.answer();
        answer.result = self.restricted(answer.result, rehearsal);
        let criterion = summary::Criterion {
            text: self.criterion.text.clone(),
            arm: self.arm.clone(),
            operation: self.operation().to_owned(),
            result: answer.result,
            observed: answer.observed,
            low: answer.low,
            high: answer.high,
        };
        let undecided = answer.result == Judgement::Inconclusive && !rehearsal;
        Judged { criterion, finding: undecided.then(|| self.undecided(&answer)) }
    }

    fn operation(&self) -> &str {
        self.criterion.operation.as_deref().unwrap_or("all")
    }

    /// What the course of the trials leaves of an answer.
    fn restricted(&self, result: Judgement, rehearsal: bool) -> Judgement {
        let any = |validity: Validity| self.courses.iter().any(|one| one.validity == validity);
        let stopped = self.courses.iter().any(|one| one.interrupted || !one.reached);
        let weak = (stopped || rehearsal) && result == Judgement::Pass;
        let unsteady = any(Validity::NoSteadyState) || self.courses.is_empty();
        if any(Validity::Invalid) {
            Judgement::Invalid
        } else if any(Validity::Overload) {
            Judgement::Fail
        } else if unsteady || weak {
            Judgement::Inconclusive
        } else {
            result
        }
    }

    fn undecided(&self, answer: &Answer) -> Finding {
        let stopped = self.courses.iter().any(|one| one.interrupted || !one.reached);
        let advice = match answer.factor {
            _ if stopped => "run it to its end".to_owned(),
            Some(factor) if factor > 1.0 => {
                format!(
                    "a run about {} times as long would decide",
                    number::significant(factor.ceil())
                )
            }
            _ => "no run of a practicable length would decide: move the bound, or ask for less"
                .to_owned(),
        };
        let claim = format!("`{}` cannot be decided by this run", self.criterion.text);
        findings::undecided(&self.arm, self.operation(), claim, advice)
    }
}

#[cfg(test)]
mod tests;
