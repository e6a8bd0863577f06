//! The word: differences of blocks, corrected for all questions of the run.

use std::collections::BTreeSet;

use plan::plan::Plan;
use record::summary::{Arm, Change, Comparison, Operation, Point, Shares, Shift, Trial};
use stats::comparison::correction::holm;
use stats::comparison::decision::{Decision, decide};
use stats::comparison::power::{Seen, blocks_needed, detectable, fewest_blocks};
use stats::comparison::shares::difference_of_shares;
use stats::comparison::shift::{POINTS, shift_function};
use stats::comparison::{Difference, paired};
use stats::dispersion::WindowCount;
use stats::moments;

use super::blocks::{Block, Blocks};
use super::deciles::Deciles;
use super::metric::{self, Metric};
use super::question::{Question, questions};

/// Effective tail events over all blocks, on both sides, from which a quantile is shown in the shift
/// function.
const SUPPORT: f64 = 10.0;

/// What the blocks of one question say, before the others are known.
struct Answer<'a> {
    question: Question<'a>,
    blocks: Blocks<'a>,
    points: Vec<Point>,
    /// Blocks in which a closed load waited for its processor.
    crowded: usize,
    /// On the scale of the margin: log-ratios, or shares.
    difference: Option<Difference>,
    robust: Option<f64>,
    /// Mean and standard deviation of the differences of blocks.
    moments: Option<(f64, Option<f64>)>,
    shift: Vec<Shift>,
}

/// Every declared comparison, over the blocks in which both trials may be used.
///
/// p-values are corrected by Holm's rule over all of them. In a rehearsal nothing is decided, and neither is what rests
/// mostly on blocks with a `crowded` trial (by its number).
pub fn judge(
    plan: &Plan,
    arms: &[Arm],
    deciles: &Deciles,
    crowded: &BTreeSet<u32>,
) -> Vec<Comparison> {
    let mut answers: Vec<Answer<'_>> =
        questions(plan).into_iter().map(|one| answer(plan, arms, deciles, one)).collect();
    answers.iter_mut().for_each(|answer| answer.crowded = answer.blocks.holding(crowded));
    let raw = |answer: &Answer<'_>| answer.difference.map_or(1.0, |difference| difference.p);
    let corrected = holm(&answers.iter().map(raw).collect::<Vec<_>>());
    let tests = answers.len();
    let finished = answers.into_iter().zip(corrected);
    finished.map(|(answer, p)| answer.finish(p, tests, plan.rehearsal)).collect()
}

fn answer<'a>(
    plan: &Plan,
    arms: &'a [Arm],
    deciles: &Deciles,
    question: Question<'a>,
) -> Answer<'a> {
    let blocks = Blocks::of(&arms[question.arms[0]], &arms[question.arms[1]]);
    let points: Vec<Point> =
        blocks.usable.iter().filter_map(|block| point(&question, block)).collect();
    let shift = if question.metric.is_time() {
        shift(&blocks.usable, question.operation, deciles, plan.seed)
    } else {
        Vec::new()
    };
    let mut answer = Answer {
        question,
        blocks,
        points,
        crowded: 0,
        difference: None,
        robust: None,
        moments: None,
        shift,
    };
    if answer.without() > 0 {
        // What is left are the lucky blocks: their difference says nothing of the rest.
        return answer;
    }
    if answer.question.metric == Metric::Failed {
        answer.compare_shares();
    } else {
        answer.compare_ratios(plan.seed);
    }
    answer
}

/// A block with a value on both sides.
fn point(question: &Question<'_>, block: &Block<'_>) -> Option<Point> {
    let value = |trial: &Trial| question.metric.value(trial, question.operation);
    let (baseline, candidate) = (value(block.baseline)?, value(block.candidate)?);
    let ratio = (baseline > 0.0 && candidate > 0.0).then(|| candidate / baseline);
    let shares = question.metric == Metric::Failed;
    (shares || ratio.is_some()).then_some(Point { block: block.number, ratio, baseline, candidate })
}

impl Answer<'_> {
    /// Usable blocks in which a trial has no value.
    fn without(&self) -> usize {
        self.blocks.usable.len() - self.points.len()
    }

    fn compare_ratios(&mut self, seed: u64) {
        let ratios = self.points.iter().filter_map(|point| point.ratio);
        let logarithms: Vec<f64> = ratios.map(f64::ln).collect();
        let seen = paired(&logarithms, seed);
        self.difference = seen.map(|seen| seen.difference);
        self.robust = seen.map(|seen| seen.robust.exp());
        self.moments = moments(&logarithms);
    }

    fn compare_shares(&mut self) {
        let operation = self.question.operation;
        let count = |trial: &Trial| Some(failures(metric::part(trial, operation)?));
        let usable = &self.blocks.usable;
        let baseline: Vec<_> = usable.iter().filter_map(|block| count(block.baseline)).collect();
        let candidate: Vec<_> = usable.iter().filter_map(|block| count(block.candidate)).collect();
        self.difference = difference_of_shares(&baseline, &candidate);
        let shares = self.points.iter().map(|point| point.candidate - point.baseline);
        self.moments = moments(&shares.collect::<Vec<_>>());
    }

    /// `p`: corrected for this many tests.
    fn finish(self, p: f64, tests: usize, rehearsal: bool) -> Comparison {
        let decision = match &self.difference {
            Some(difference) if !rehearsal && !self.is_crowded() => {
                decide(difference, p, self.margin())
            }
            _ => Decision::Undecided,
        };
        // Of a crowd more blocks are no cure.
        let undecided = decision == Decision::Undecided && !rehearsal && !self.is_crowded();
        let shares = self.question.metric == Metric::Failed;
        let ends = self.difference.and_then(|one| one.interval);
        let (low, high) = (ends.map(|ends| ends.low), ends.map(|ends| ends.high));
        let ratio = |log: Option<f64>| log.filter(|_| !shares).map(f64::exp);
        Comparison {
            ratio: ratio(self.difference.map(|one| one.estimate)),
            low: ratio(low),
            high: ratio(high),
            robust_ratio: self.robust,
            difference: self.difference.filter(|_| shares).map(|one| Shares {
                observed: one.estimate,
                low,
                high,
            }),
            p_value: self.difference.map(|_| p),
            p_raw: self.difference.map(|one| one.p),
            result: change(decision),
            size_certain: is_certain(decision),
            blocks: u32::try_from(self.points.len()).unwrap_or(u32::MAX),
            needs_blocks: self.needs(tests).filter(|_| undecided),
            detectable: self.detectable().filter(|_| !shares).map(f64::exp),
            note: self.note(tests, rehearsal),
            margin: self.question.margin,
            of: self.source(),
            factor: self.question.factor.to_owned(),
            stratum: self.question.stratum,
            baseline: self.question.baseline.clone(),
            candidate: self.question.candidate.clone(),
            operation: self.question.operation.to_owned(),
            metric: self.question.name.to_owned(),
            left_out: self.blocks.left_out,
            trials: None,
            points: self.points,
            shift: self.shift,
        }
    }

    /// Whether most blocks say as much of the crowd as of the target.
    fn is_crowded(&self) -> bool {
        self.crowded * 2 > self.blocks.usable.len()
    }

    /// The margin on the scale of the difference.
    fn margin(&self) -> f64 {
        margin(self.question.metric, self.question.margin)
    }

    fn source(&self) -> String {
        let model = self.blocks.usable.first().map(|block| block.candidate.load.model);
        model.map_or(String::new(), |model| self.question.metric.source(model).to_owned())
    }

    fn needs(&self, tests: usize) -> Option<u64> {
        let (mean, spread) = self.moments?;
        let Some(spread) = spread else { return Some(fewest_blocks(tests)) };
        let seen = Seen { mean, spread, blocks: self.points.len(), tests };
        Some(blocks_needed(&seen, self.margin())?.max(fewest_blocks(tests)))
    }

    fn detectable(&self) -> Option<f64> {
        Some(detectable(self.moments?.1?, self.points.len()))
    }

    fn note(&self, tests: usize, rehearsal: bool) -> Option<String> {
        let without = self.without();
        if rehearsal {
            Some("a rehearsal decides nothing".to_owned())
        } else if self.blocks.usable.is_empty() {
            Some("no block has a usable trial of both levels".to_owned())
        } else if without > 0 {
            let name = self.question.name;
            Some(format!("in {without} of the blocks a trial has no value of {name}"))
        } else if self.is_crowded() {
            Some(crowd(self.crowded, self.blocks.usable.len()))
        } else if (self.points.len() as u64) < fewest_blocks(tests) {
            Some("so few blocks cannot show a change, however large it is".to_owned())
        } else {
            (self.crowded > 0).then(|| crowd(self.crowded, self.blocks.usable.len()))
        }
    }
}

/// What stands against an answer from so many of all blocks.
fn crowd(crowded: usize, of: usize) -> String {
    format!(
        "in {crowded} of {of} blocks the generator waited for its processor, so that the difference may be the crowd's"
    )
}

/// A margin on the scale of the difference: of ratios the logarithm, so that it is symmetric.
pub(super) fn margin(metric: Metric, margin: f64) -> f64 {
    if metric == Metric::Failed { margin } else { margin.ln_1p() }
}

pub(super) fn change(decision: Decision) -> Change {
    match decision {
        Decision::Changed { .. } => Change::Changed,
        Decision::Equivalent => Change::Equivalent,
        Decision::Undecided => Change::Undecided,
    }
}

pub(super) fn is_certain(decision: Decision) -> bool {
    matches!(decision, Decision::Changed { size_certain: true } | Decision::Equivalent)
}

/// Operations of a trial that did not succeed, as counts whose dispersion between trials is known.
pub(super) fn failures(one: &Operation) -> WindowCount {
    let (failed, planned) = metric::failures(one);
    let mut count = WindowCount::default();
    count.add(planned, failed);
    count
}

/// The quantiles that every block has on both sides, and that enough operations lie beyond.
fn shift(blocks: &[Block<'_>], operation: &str, deciles: &Deciles, seed: u64) -> Vec<Shift> {
    let sides = |block: &Block<'_>| {
        let of = |trial: &Trial| deciles.of(trial.index, operation);
        Some((of(block.baseline)?, of(block.candidate)?))
    };
    let Some(sides) = blocks.iter().map(sides).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let logarithms = |point: usize| -> Option<Vec<f64>> {
        let log = |time: Option<u64>| time.filter(|time| *time > 0).map(|time| (time as f64).ln());
        sides.iter().map(|(one, other)| Some(log(other[point])? - log(one[point])?)).collect()
    };
    let supported = |q: f64| {
        support(blocks.iter().map(|block| block.baseline), operation, q) >= SUPPORT
            && support(blocks.iter().map(|block| block.candidate), operation, q) >= SUPPORT
    };
    let shown: Vec<(f64, Vec<f64>)> = (0..POINTS.len())
        .filter(|point| supported(POINTS[*point]))
        .filter_map(|point| Some((POINTS[point], logarithms(point)?)))
        .collect();
    let rows: Vec<Vec<f64>> = (0..blocks.len())
        .map(|block| shown.iter().map(|(_, column)| column[block]).collect())
        .collect();
    let shifts = shift_function(&rows, seed);
    let of = |((q, _), one): (&(f64, Vec<f64>), stats::comparison::shift::Shift)| Shift {
        q: *q,
        ratio: one.estimate.exp(),
        low: one.band.map(|band| band.low.exp()),
        high: one.band.map(|band| band.high.exp()),
        p_value: one.p,
    };
    shown.iter().zip(shifts).map(of).collect()
}

/// Effective tail events over trials, at the listed quantile that is the next one up.
fn support<'a>(trials: impl Iterator<Item = &'a Trial>, operation: &str, q: f64) -> f64 {
    let of = |trial: &Trial| {
        let one = metric::part(trial, operation)?;
        let listed = &metric::times(Metric::Quantile(q), trial, one).quantiles;
        listed.iter().find(|entry| entry.q >= q).map(|entry| entry.support)
    };
    trials.filter_map(of).sum()
}
