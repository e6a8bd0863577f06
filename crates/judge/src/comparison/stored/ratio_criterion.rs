//! A criterion on a ratio: `p99 < 110%` of the baseline.

use record::folder::names;
use record::summary::{Comparison, Judgement};
use serde::Serialize;

use crate::comparison::metric::ComparedMetric;

/// The expected form, for error messages.
const FORM: &str = "a metric, an operator and a percentage of the baseline, such as `p99 < 110%`";
const OPERATORS: [&str; 4] = ["<=", ">=", "<", ">"];

/// A bound on the ratio of candidate to baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioCriterion {
    /// As written.
    pub text: String,
    /// The operation; `all` for all together.
    pub operation: String,
    /// The metric's name.
    pub metric: String,
    below: bool,
    ratio: f64,
}

/// A judged bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedRatio {
    /// As written.
    pub text: String,
    /// The arm it was judged on.
    pub arm: String,
    /// Pass, fail, or inconclusive.
    pub result: Judgement,
    /// The observed ratio.
    pub observed: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
}

impl RatioCriterion {
    /// Reads `[OPERATION] METRIC OPERATOR PERCENTAGE`.
    ///
    /// Errors: what is wrong, in one line
    pub fn parse(text: &str) -> Result<Self, String> {
        let operator = OPERATORS.iter().find(|one| text.contains(**one));
        let Some((left, right)) = operator.and_then(|one| text.split_once(*one)) else {
            return Err(format!("`{text}` is not a criterion on a ratio: expected {FORM}"));
        };
        let words: Vec<&str> = left.split_whitespace().collect();
        let (operation, metric) = match words[..] {
            [metric] => (names::ALL, metric),
            [operation, metric] => (operation, metric),
            _ => return Err(format!("`{text}` is not a criterion on a ratio: expected {FORM}")),
        };
        match ComparedMetric::named(metric) {
            None => return Err(format!("`{text}`: no metric is called `{metric}`")),
            Some(ComparedMetric::Failed) => {
                return Err(format!(
                    "`{text}`: failures are compared as a difference of shares, which has no ratio"
                ));
            }
            Some(_) => {}
        }
        let percent = right.trim().strip_suffix('%').and_then(|one| one.trim().parse::<f64>().ok());
        let percent = percent.filter(|one| *one > 0.0 && one.is_finite());
        let Some(percent) = percent else {
            return Err(format!(
                "`{text}`: `{}` is not a percentage: expected {FORM}",
                right.trim()
            ));
        };
        Ok(Self {
            text: text.to_owned(),
            operation: operation.to_owned(),
            metric: metric.to_owned(),
            below: operator.is_some_and(|one| one.starts_with('<')),
            ratio: percent / 100.0,
        })
    }

    /// Passes if the whole interval meets the bound, fails if the whole interval breaks it; never better than
    /// `at_best`.
    pub(super) fn judge(
        &self,
        arm: &str,
        one: &Comparison,
        at_best: Judgement,
        decidable: bool,
    ) -> JudgedRatio {
        let result = match (one.low, one.high) {
            _ if !decidable => Judgement::Inconclusive,
            _ if at_best == Judgement::Fail => Judgement::Fail,
            (Some(low), Some(high)) => {
                let (kept, broken) = if self.below {
                    (high < self.ratio, low > self.ratio)
                } else {
                    (low > self.ratio, high < self.ratio)
                };
                match () {
                    () if kept => at_best,
                    () if broken => Judgement::Fail,
                    () => Judgement::Inconclusive,
                }
            }
            _ => Judgement::Inconclusive,
        };
        JudgedRatio {
            text: self.text.clone(),
            arm: arm.to_owned(),
            result,
            observed: one.ratio,
            low: one.low,
            high: one.high,
        }
    }

    /// Whether it bounds from above.
    pub(super) fn is_upper(&self) -> bool {
        self.below
    }

    pub(super) fn is_about(&self, one: &Comparison) -> bool {
        self.operation == one.operation && self.metric == one.metric
    }
}
