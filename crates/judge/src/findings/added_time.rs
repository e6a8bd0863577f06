//! What a level adds: arms of one difference, held against each other block by block. What the findings about it share.
//!
//! Not here: which addition is worth telling, and what is said of it (see `level_adds` and `level_in_part`).

use record::summary::{Operation, TrialSummary};
use serde_json::Value;
use stats::comparison::paired;

use super::arm_pair::ArmPair;
use super::parts::{PartMean, noticeable, own, time};
use crate::case::RunView;

/// Share of the service time from which an addition is told.
pub(super) const REPORTED_FROM: f64 = 0.25;
/// Part of what is told that must be certain: below it, one of a few hundred pairs of arms that are alike would be told.
const CERTAIN: f64 = 0.5;
/// Places beside the one of the claim that are named.
const BESIDE: usize = 2;

/// Which time of theirs is held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeOf {
    /// All of the service time,
    Service,
    /// what of it passes outside of a part,
    Outside,
    /// or what the part takes without those inside of it.
    Itself,
}

impl TimeOf {
    fn mean<'a>(self, operation: &Operation, part: &'a str) -> Option<PartMean<'a>> {
        match self {
            Self::Outside => PartMean::of(operation, part),
            Self::Service | Self::Itself => PartMean::own(operation, part),
        }
    }

    fn of(self, mean: &PartMean<'_>) -> f64 {
        match self {
            Self::Service => mean.service,
            Self::Outside => mean.outside(),
            Self::Itself => mean.time,
        }
    }
}

/// What the first of two arms adds to an operation, with a part that both tell.
#[derive(Debug, Clone)]
pub(super) struct AddedTime<'a> {
    pub operation: &'a str,
    /// Means over the blocks,
    pub slow: PartMean<'a>,
    /// in either arm.
    pub fast: PartMean<'a>,
    /// Of what is added, where there are blocks enough.
    pub interval: Option<(f64, f64)>,
    pub pair: ArmPair<'a>,
    which: TimeOf,
    /// What the instrument may have added.
    ours: f64,
}

impl<'a> AddedTime<'a> {
    /// What blocks tell of one part.
    pub(super) fn of(
        pair: &ArmPair<'a>,
        operation: &'a str,
        part: &'a str,
        which: TimeOf,
    ) -> Option<Self> {
        let blocks = pair.blocks();
        let of_trial = |trial: &'a TrialSummary| which.mean(named(trial, operation)?, part);
        let pairs: Vec<[PartMean<'a>; 2]> = blocks
            .iter()
            .map(|[slow, fast]| Some([of_trial(slow)?, of_trial(fast)?]))
            .collect::<Option<_>>()?;
        let added: Vec<f64> =
            pairs.iter().map(|[slow, fast]| which.of(slow) - which.of(fast)).collect();
        let interval = paired(&added, 0)?.difference.interval;
        let ours = match (interval, which) {
            (None, _) => blocks[0].map(noticeable).into_iter().fold(0.0, f64::max),
            // By the part's own clock.
            (Some(_), TimeOf::Itself) => 0.0,
            (Some(_), TimeOf::Service | TimeOf::Outside) => more(&blocks),
        };
        Some(Self {
            operation,
            slow: mean(part, &pairs, 0),
            fast: mean(part, &pairs, 1),
            interval: interval.map(|interval| (interval.low, interval.high)),
            pair: pair.clone(),
            which,
            ours,
        })
    }

    pub(super) fn added(&self) -> f64 {
        self.which.of(&self.slow) - self.which.of(&self.fast)
    }

    /// Of the service time with it.
    pub(super) fn share(&self) -> f64 {
        self.added() / self.slow.service
    }

    /// Whether blocks agree about it, or it is more than the instrument makes at all.
    pub(super) fn is_certain(&self) -> bool {
        match self.interval {
            Some((low, _)) => low > self.ours.max(CERTAIN * self.added()),
            None => self.added() > self.ours,
        }
    }

    /// `90.0 µs (95 %: 85.0 µs – 95.0 µs)`
    pub(super) fn shown(&self) -> String {
        let interval = self.interval.map_or(String::new(), |(low, high)| {
            format!(" (95 %: {} – {})", time(low), time(high))
        });
        format!("{}{interval}", time(self.added()))
    }
}

/// The trial's numbers of an operation.
fn named<'a>(trial: &'a TrialSummary, operation: &str) -> Option<&'a Operation> {
    trial.operations.iter().find(|one| one.name == operation)
}

/// Means over the blocks of one of the arms.
fn mean<'a>(part: &'a str, pairs: &[[PartMean<'a>; 2]], place: usize) -> PartMean<'a> {
    let count = pairs.len() as f64;
    let mean =
        |of: fn(&PartMean<'a>) -> f64| pairs.iter().map(|pair| of(&pair[place])).sum::<f64>();
    PartMean {
        part,
        time: mean(|mean| mean.time) / count,
        service: mean(|mean| mean.service) / count,
    }
}

/// By how much more the generator may have made of the slower arm.
fn more(blocks: &[[&TrialSummary; 2]]) -> f64 {
    let more = blocks.iter().map(|[slow, fast]| own(slow) - own(fast)).sum::<f64>();
    (more / blocks.len() as f64).max(0.0)
}

/// An addition as a finding tells it.
pub(super) trait Addition<'a>: Clone {
    /// By which the largest is found.
    fn added(&self) -> &AddedTime<'a>;

    /// How it is reported, without where.
    fn shown(&self) -> String;
}

/// What is found in pairs of arms, the largest first: what others add to the baseline of their factor, or else what the
/// baseline adds to others.
pub(super) fn largest<'a, A: Addition<'a>>(
    whole: &RunView<'a>,
    find: fn(&ArmPair<'a>) -> Option<A>,
) -> Vec<A> {
    let pairs = whole.arms.iter().flat_map(|slow| whole.arms.iter().map(move |fast| [slow, fast]));
    let found: Vec<A> = pairs.filter_map(|arms| find(&ArmPair::of(arms)?)).collect();
    let held_against = |place: usize| {
        let is = |one: &&A| {
            let pair = &one.added().pair;
            baseline(whole, pair.factor) == Some(&pair.arms[place].factors[pair.factor])
        };
        found.iter().filter(is).cloned().collect::<Vec<_>>()
    };
    let (to_it, of_it) = (held_against(1), held_against(0));
    let mut found = if to_it.is_empty() { of_it } else { to_it };
    found.sort_by(|a, b| b.added().added().total_cmp(&a.added().added()));
    found
}

/// The level that others are held against: that of the comparison, or else the first.
fn baseline<'a>(whole: &RunView<'a>, factor: &str) -> Option<&'a Value> {
    let compared = whole.comparisons.iter().find(|one| one.factor == factor);
    let first = || whole.arms.iter().find_map(|arm| arm.factors.get(factor));
    compared.map(|one| &one.baseline).or_else(first)
}

/// What the level of the first adds at other levels of what else there is.
pub(super) fn beside<'a>(found: &[impl Addition<'a>]) -> String {
    let Some((most, others)) = found.split_first() else { return String::new() };
    let most = most.added();
    let alike = others.iter().filter(|one| {
        let one = one.added();
        one.pair.levels == most.pair.levels
            && one.operation == most.operation
            && one.fast.part == most.fast.part
    });
    let shown = alike.map(|one| format!("; {}{}", one.shown(), one.added().pair.place()));
    shown.take(BESIDE).collect()
}
