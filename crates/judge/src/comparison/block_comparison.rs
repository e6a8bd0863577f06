//! The differences between the two trials of each block, corrected for all comparisons of the run.

use std::collections::BTreeSet;

use plan::plan::Plan;
use record::summary::{Arm, BlockPoint, Change, Comparison, Shift, TrialSummary};
use stats::comparison::correction::holm;
use stats::comparison::power::{ObservedBlocks, blocks_needed, detectable, fewest_blocks};
use stats::comparison::shift::{POINTS, shift_function};

use super::blocks::{Block, Blocks};
use super::contrast::{Contrast, Pairing};
use super::deciles::Deciles;
use super::metric::{self, ComparedMetric};
use super::planned::{PlannedComparison, planned_comparisons};

/// Effective tail events over all blocks that each side needs for a quantile in the shift function.
const SUPPORT: f64 = 10.0;

/// The blocks of one planned comparison, before the correction for the other comparisons.
struct BlockComparison<'a> {
    planned: PlannedComparison<'a>,
    blocks: Blocks<'a>,
    contrast: Contrast<'a>,
    shift: Vec<Shift>,
}

/// Every declared comparison, over the blocks in which both trials may be used.
///
/// p-values are corrected by Holm's rule over all of them. A rehearsal decides nothing. A comparison is also
/// undecided if most of its blocks contain a `crowded` trial (by its number).
pub fn judge(
    plan: &Plan,
    arms: &[Arm],
    deciles: &Deciles,
    crowded: &BTreeSet<u32>,
) -> Vec<Comparison> {
    let mut all: Vec<BlockComparison<'_>> = planned_comparisons(plan)
        .into_iter()
        .map(|one| compare(plan, arms, deciles, one))
        .collect();
    for compared in &mut all {
        compared.contrast.crowded = [compared.blocks.holding(crowded); 2];
    }
    let raw = |compared: &BlockComparison<'_>| {
        compared.contrast.difference.map_or(1.0, |difference| difference.p)
    };
    let corrected = holm(&all.iter().map(raw).collect::<Vec<_>>());
    let tests = all.len();
    let finished = all.into_iter().zip(corrected);
    finished.map(|(compared, p)| compared.finish(p, tests, plan.rehearsal)).collect()
}

fn compare<'a>(
    plan: &Plan,
    arms: &'a [Arm],
    deciles: &Deciles,
    planned: PlannedComparison<'a>,
) -> BlockComparison<'a> {
    let blocks = Blocks::of(&arms[planned.arms[0]], &arms[planned.arms[1]]);
    let shift = if planned.metric.is_time() {
        shift(&blocks.usable, planned.operation, deciles, plan.seed)
    } else {
        Vec::new()
    };
    let sides = [
        blocks.usable.iter().map(|block| block.baseline).collect(),
        blocks.usable.iter().map(|block| block.candidate).collect(),
    ];
    let contrast = Contrast::new(planned.metric, planned.name, planned.operation, sides);
    let mut contrast = Contrast { margin: planned.margin, ..contrast };
    contrast.compare(Pairing::Blocks { seed: plan.seed });
    BlockComparison { planned, blocks, contrast, shift }
}

impl BlockComparison<'_> {
    /// Blocks with a value on both sides.
    fn points(&self) -> Vec<BlockPoint> {
        let point = |(block, pair): (&Block<'_>, Option<[f64; 2]>)| {
            let [baseline, candidate] = pair?;
            let ratio = (baseline > 0.0 && candidate > 0.0).then(|| candidate / baseline);
            Some(BlockPoint { block: block.number, ratio, baseline, candidate })
        };
        self.blocks.usable.iter().zip(self.contrast.pairs()).filter_map(point).collect()
    }

    /// `p`: corrected for this many tests.
    fn finish(self, p: f64, tests: usize, rehearsal: bool) -> Comparison {
        let decided = self.contrast.decided(p, rehearsal);
        // More blocks do not help where a crowd is the reason.
        let is_open = decided.result == Change::Undecided && !rehearsal;
        let undecided = is_open && !self.contrast.is_crowded();
        let shares = self.contrast.is_of_shares();
        let points = self.points();
        Comparison {
            blocks: u32::try_from(points.len()).unwrap_or(u32::MAX),
            needs_blocks: self.needs(tests).filter(|_| undecided),
            detectable: self.detectable().filter(|_| !shares).map(f64::exp),
            note: self.note(tests, rehearsal),
            factor: self.planned.factor.to_owned(),
            stratum: self.planned.stratum,
            baseline: self.planned.baseline.clone(),
            candidate: self.planned.candidate.clone(),
            left_out: self.blocks.left_out,
            points,
            shift: self.shift,
            ..decided
        }
    }

    fn needs(&self, tests: usize) -> Option<u64> {
        let (mean, spread) = self.contrast.moments?;
        let Some(spread) = spread else { return Some(fewest_blocks(tests)) };
        let seen = ObservedBlocks { mean, spread, blocks: self.contrast.counts[0], tests };
        Some(blocks_needed(&seen, self.contrast.scale())?.max(fewest_blocks(tests)))
    }

    fn detectable(&self) -> Option<f64> {
        Some(detectable(self.contrast.moments?.1?, self.contrast.counts[0]))
    }

    fn note(&self, tests: usize, rehearsal: bool) -> Option<String> {
        let (without, crowded) = (self.contrast.without()[0], self.contrast.crowded[0]);
        if rehearsal {
            Some("a rehearsal decides nothing".to_owned())
        } else if self.blocks.usable.is_empty() {
            Some("no block has a usable trial of both levels".to_owned())
        } else if without > 0 {
            let name = self.planned.name;
            Some(format!("in {without} of the blocks a trial has no value of {name}"))
        } else if self.contrast.is_crowded() {
            Some(crowd(crowded, self.blocks.usable.len()))
        } else if (self.contrast.counts[0] as u64) < fewest_blocks(tests) {
            Some("so few blocks cannot show a change, however large it is".to_owned())
        } else {
            (crowded > 0).then(|| crowd(crowded, self.blocks.usable.len()))
        }
    }
}

/// The note on blocks with a crowded trial.
fn crowd(crowded: usize, of: usize) -> String {
    format!(
        "in {crowded} of {of} blocks the generator waited for its processor, so that the difference may come from other work on this machine"
    )
}

/// The quantiles that have a value on both sides of every block, and enough tail events.
fn shift(blocks: &[Block<'_>], operation: &str, deciles: &Deciles, seed: u64) -> Vec<Shift> {
    let sides = |block: &Block<'_>| {
        let of = |trial: &TrialSummary| deciles.of(trial.index, operation);
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

/// Sum over trials of the effective tail events at the next higher listed quantile.
fn support<'a>(trials: impl Iterator<Item = &'a TrialSummary>, operation: &str, q: f64) -> f64 {
    let of = |trial: &TrialSummary| {
        let one = metric::part(trial, operation)?;
        let listed = &metric::times(ComparedMetric::Quantile(q), trial, one).quantiles;
        listed.iter().find(|entry| entry.q >= q).map(|entry| entry.support)
    };
    trials.filter_map(of).sum()
}
