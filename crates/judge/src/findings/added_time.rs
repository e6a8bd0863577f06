//! The time that a level adds: two arms that differ in one level, compared block by block. The shared part of the
//! findings about it.
//!
//! Not here: which addition is reported, and in which words (see `level_adds_outside` and `level_adds_in_part`).

use record::summary::{Operation, TrialSummary};
use serde_json::Value;
use stats::comparison::paired;

use super::arm_pair::ArmPair;
use super::parts::{PartMean, noticeable, own, time};
use crate::case::RunView;

/// Share of the service time from which an addition is reported.
pub(super) const REPORTED_FROM: f64 = 0.25;
/// Part of the addition that must be certain: with a lower limit, one in a few hundred pairs of equal arms would be
/// reported.
const CERTAIN: f64 = 0.5;
/// Other places that are named beside the one in the claim.
const BESIDE: usize = 2;

/// The time that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeOf {
    /// All of the service time.
    Service,
    /// The service time outside of a part.
    Outside,
    /// The time of the part without the parts inside it.
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

/// The time that the first of two arms adds to an operation, with a part that both arms report.
#[derive(Debug, Clone)]
pub(super) struct AddedTime<'a> {
    pub operation: &'a str,
    /// Means over the blocks, in the first arm.
    pub slow: PartMean<'a>,
    /// Means over the blocks, in the second arm.
    pub fast: PartMean<'a>,
    /// Interval of the addition, where there are enough blocks.
    pub interval: Option<(f64, f64)>,
    pub pair: ArmPair<'a>,
    which: TimeOf,
    /// The time that the instrument may have added.
    ours: f64,
}

impl<'a> AddedTime<'a> {
    /// The addition, as the blocks show it for one part.
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
            // The part measures this time with its own clock.
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

    /// Share of the first arm's service time.
    pub(super) fn share(&self) -> f64 {
        self.added() / self.slow.service
    }

    /// Whether the blocks agree on it; with too few blocks, whether it is more than the instrument can add.
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

/// The numbers of an operation in a trial.
fn named<'a>(trial: &'a TrialSummary, operation: &str) -> Option<&'a Operation> {
    trial.operations.iter().find(|one| one.name == operation)
}

/// Means over the blocks of one of the two arms.
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

/// The time that the generator may have added to the slower arm, beyond that in the faster one.
fn more(blocks: &[[&TrialSummary; 2]]) -> f64 {
    let more = blocks.iter().map(|[slow, fast]| own(slow) - own(fast)).sum::<f64>();
    (more / blocks.len() as f64).max(0.0)
}

/// An addition in the form of a finding.
pub(super) trait Addition<'a>: Clone {
    /// The addition by which findings are ordered.
    fn added(&self) -> &AddedTime<'a>;

    /// Its text, without the place.
    fn shown(&self) -> String;
}

/// The additions in pairs of arms, the largest first: of other levels over the baseline of their factor; if there are
/// none, of the baseline over other levels.
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

/// The baseline of a factor: that of its comparison, or else its first level.
fn baseline<'a>(whole: &RunView<'a>, factor: &str) -> Option<&'a Value> {
    let compared = whole.comparisons.iter().find(|one| one.factor == factor);
    let first = || whole.arms.iter().find_map(|arm| arm.factors.get(factor));
    compared.map(|one| &one.baseline).or_else(first)
}

/// The additions of the same level at other levels of the other factors.
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
