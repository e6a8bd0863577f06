//! Two sides in one metric: their difference, and the decision. Trials of one run are paired by block; trials of
//! stored runs are unpaired.
//!
//! Not here: which trials these are (see `block_comparison` and [`super::stored`]).

use record::summary::{Change, Comparison, Operation, Shares, TrialSummary};
use serde_json::Value;
use stats::comparison::decision::{Decision, decide};
use stats::comparison::shares::difference_of_shares;
use stats::comparison::{Difference, paired, unpaired};
use stats::dispersion::WindowCount;
use stats::{deviation, moments};

use super::metric::{self, ComparedMetric};

/// How trials of the two sides are paired.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pairing {
    /// Trials at the same position belong to the same block. The seed is for the test.
    Blocks { seed: u64 },
    /// Unpaired.
    None,
}

/// Two sides, the baseline first.
#[derive(Debug)]
pub(super) struct Contrast<'a> {
    pub metric: ComparedMetric,
    pub name: String,
    pub operation: String,
    /// As stated by the experiment.
    pub margin: f64,
    pub sides: [Vec<&'a TrialSummary>; 2],
    /// Trials or blocks of each side in which a closed load waited for its processor.
    pub crowded: [usize; 2],
    /// Trials or blocks of each side that have a value.
    pub counts: [usize; 2],
    /// On the scale of the margin: log-ratios, or shares.
    pub difference: Option<Difference>,
    pub robust: Option<f64>,
    /// Mean and standard deviation on that scale: of the differences within blocks, or, unpaired, within a side.
    pub moments: Option<(f64, Option<f64>)>,
}

impl<'a> Contrast<'a> {
    /// Two sides that are not compared yet.
    pub fn new(
        metric: ComparedMetric,
        name: &str,
        operation: &str,
        sides: [Vec<&'a TrialSummary>; 2],
    ) -> Self {
        Self {
            metric,
            name: name.to_owned(),
            operation: operation.to_owned(),
            margin: metric.default_margin(),
            sides,
            crowded: [0; 2],
            counts: [0; 2],
            difference: None,
            robust: None,
            moments: None,
        }
    }

    /// Computes the difference. There is none where a trial has no value: the trials with one are the better ones,
    /// and their difference says nothing about the others.
    pub fn compare(&mut self, pairing: Pairing) {
        match pairing {
            Pairing::Blocks { seed } => self.compare_pairs(seed),
            Pairing::None => self.compare_sides(),
        }
    }

    fn compare_pairs(&mut self, seed: u64) {
        let pairs: Vec<[f64; 2]> = self.pairs().flatten().collect();
        self.counts = [pairs.len(); 2];
        if self.without() != [0; 2] {
            return;
        }
        if self.is_of_shares() {
            self.difference = self.difference_of_shares();
            self.moments = moments(&pairs.iter().map(|[old, new]| new - old).collect::<Vec<_>>());
            return;
        }
        let logarithms: Vec<f64> = pairs.iter().map(|[old, new]| (new / old).ln()).collect();
        let seen = paired(&logarithms, seed);
        self.difference = seen.map(|seen| seen.difference);
        self.robust = seen.map(|seen| seen.robust.exp());
        self.moments = moments(&logarithms);
    }

    fn compare_sides(&mut self) {
        let shares = self.is_of_shares();
        let value = |trial: &&TrialSummary| match shares {
            true => metric::part(trial, &self.operation).map(|_| 0.0),
            false => self.value(trial).filter(|value| *value > 0.0).map(f64::ln),
        };
        let of_side = |side: &Vec<&TrialSummary>| side.iter().filter_map(value).collect();
        let [old, new]: [Vec<f64>; 2] = self.sides.each_ref().map(of_side);
        self.counts = [old.len(), new.len()];
        if self.without() != [0; 2] {
            return;
        }
        if shares {
            self.difference = self.difference_of_shares();
            self.moments = Some((0.0, None));
            return;
        }
        self.difference = unpaired(&old, &new);
        let spread = match (deviation(&old), deviation(&new)) {
            (Some(old), Some(new)) => Some((old * old + new * new).sqrt() / 2.0_f64.sqrt()),
            (one, other) => one.or(other),
        };
        self.moments = Some((0.0, spread));
    }

    fn difference_of_shares(&self) -> Option<Difference> {
        let count = |trial: &&TrialSummary| Some(failures(metric::part(trial, &self.operation)?));
        let [old, new] =
            self.sides.each_ref().map(|side| side.iter().filter_map(count).collect::<Vec<_>>());
        difference_of_shares(&old, &new)
    }

    fn value(&self, trial: &TrialSummary) -> Option<f64> {
        self.metric.value(trial, &self.operation)
    }

    /// Baseline and candidate of each block; `None` unless both have a value.
    pub fn pairs(&self) -> impl Iterator<Item = Option<[f64; 2]>> {
        let [old, new] = &self.sides;
        old.iter().zip(new).map(|(old, new)| {
            let pair = [self.value(old)?, self.value(new)?];
            let has_ratio = pair.iter().all(|value| *value > 0.0);
            (self.is_of_shares() || has_ratio).then_some(pair)
        })
    }

    /// Whether shares are compared, which have no ratio.
    pub fn is_of_shares(&self) -> bool {
        self.metric == ComparedMetric::Failed
    }

    /// Trials or blocks of each side that have no value.
    pub fn without(&self) -> [usize; 2] {
        [0, 1].map(|side| self.sides[side].len() - self.counts[side])
    }

    /// Whether most trials of a side were crowded, so that they show the crowd as much as the target.
    pub fn is_crowded(&self) -> bool {
        self.crowded.iter().zip(&self.sides).any(|(crowded, side)| crowded * 2 > side.len())
    }

    /// The margin on the scale of the difference. For ratios it is the logarithm, so that it is symmetric.
    pub fn scale(&self) -> f64 {
        if self.is_of_shares() { self.margin } else { self.margin.ln_1p() }
    }

    /// The decision, with `p` corrected for all comparisons. Names of baseline and candidate are not filled in.
    pub fn decided(&self, p: f64, rehearsal: bool) -> Comparison {
        let decision = match &self.difference {
            Some(difference) if !rehearsal && !self.is_crowded() => {
                decide(difference, p, self.scale())
            }
            _ => Decision::Undecided,
        };
        let shares = self.is_of_shares();
        let ends = self.difference.and_then(|one| one.interval);
        let (low, high) = (ends.map(|ends| ends.low), ends.map(|ends| ends.high));
        let ratio = |log: Option<f64>| log.filter(|_| !shares).map(f64::exp);
        let of_shares = |one: Difference| Shares { observed: one.estimate, low, high };
        let [old, new] = &self.sides;
        let model = new.first().or(old.first()).map(|trial| trial.load.model);
        Comparison {
            factor: String::new(),
            stratum: Default::default(),
            baseline: Value::Null,
            candidate: Value::Null,
            operation: self.operation.clone(),
            metric: self.name.clone(),
            of: model.map_or(String::new(), |model| self.metric.source(model).to_owned()),
            ratio: ratio(self.difference.map(|one| one.estimate)),
            low: ratio(low),
            high: ratio(high),
            robust_ratio: self.robust,
            difference: self.difference.filter(|_| shares).map(of_shares),
            p_value: self.difference.map(|_| p),
            p_raw: self.difference.map(|one| one.p),
            margin: self.margin,
            result: change(decision),
            size_certain: is_certain(decision),
            blocks: 0,
            needs_blocks: None,
            detectable: None,
            left_out: Vec::new(),
            trials: None,
            note: None,
            points: Vec::new(),
            shift: Vec::new(),
        }
    }
}

fn change(decision: Decision) -> Change {
    match decision {
        Decision::Changed { .. } => Change::Changed,
        Decision::Equivalent => Change::Equivalent,
        Decision::Undecided => Change::Undecided,
    }
}

fn is_certain(decision: Decision) -> bool {
    matches!(decision, Decision::Changed { size_certain: true } | Decision::Equivalent)
}

/// Operations of a trial that did not succeed, as a count, so that dispersion between trials can be estimated.
fn failures(one: &Operation) -> WindowCount {
    let (failed, planned) = metric::failures(one);
    let mut count = WindowCount::default();
    count.add(planned, failed);
    count
}
