//! The finding that a level adds time outside of the part that does the work: arms of one difference, held against each
//! other block by block.

use record::summary::{Arm, Operation, Severity, Trial};
use serde_json::Value;
use stats::comparison::paired;

use super::of_run::Whole;
use super::pair::Pair;
use super::parts::{Told, noticeable, own, time};
use super::{Noticed, Row};
use crate::number::percent;

/// Share of the service time from which an addition is told.
const TOLD_FROM: f64 = 0.25;
/// Part of what is told that must be certain: below it, one of a few hundred pairs of arms that are alike would be told.
const CERTAIN: f64 = 0.5;
/// Places beside the one of the claim that are named.
const BESIDE: usize = 2;

/// A level adds time outside of a part.
pub const LEVEL_ADDS: Row = Row {
    code: "level-adds-time-outside",
    severity: Severity::Warning,
    clearest: None,
    title: "a level adds time outside of the part that does the work",
    explain: "Two arms differ in one level alone and offer the same load. The same part tells its time in both, and \
              with one of the levels more passes outside of it, by a quarter of the service time or more: whatever that \
              level puts in the way adds it. Blocks say how certain that is: with five or more, the 95 % interval begins \
              above half of what is told, and above what the generator itself may have added; with fewer, it is more than \
              loopback and the instrument make at all. The part itself is told with either level, so that a part which \
              only waits for a processor is seen as well. Levels are held against the baseline of the comparison of \
              their factor, or else against its first level.",
    check: |_| None,
};

/// The pair of arms in which one level adds most outside of the part that both tell, with what the same level adds
/// elsewhere. What others add to the baseline comes before what the baseline adds to others.
pub(super) fn level_adds(whole: &Whole<'_>) -> Option<Noticed> {
    let arms = whole.arms;
    let pairs = arms.iter().flat_map(|slow| arms.iter().map(move |fast| [slow, fast]));
    let added: Vec<Added<'_>> = pairs.filter_map(Added::of).collect();
    let held_against = |place: usize| {
        let is = |one: &&Added<'_>| {
            let level = &one.pair.arms[place].factors[one.pair.factor];
            baseline(whole, one.pair.factor) == Some(level)
        };
        added.iter().filter(is).cloned().collect::<Vec<_>>()
    };
    let (to_it, of_it) = (held_against(1), held_against(0));
    let mut added = if to_it.is_empty() { of_it } else { to_it };
    added.sort_by(|a, b| b.outside().total_cmp(&a.outside()));
    let most = added.first()?;
    let [slow, fast] = &most.pair.levels;
    let part = most.fast.part;
    let (itself, with_fast) = (most.slow.time, most.fast.time);
    let of_the_part = match (itself - with_fast).abs() < 0.1 * most.outside() {
        true => format!("{} as against {} with {fast}", time(itself), time(with_fast)),
        false => format!("{} and {} with {fast}", time(itself), time(with_fast)),
    };
    let claim = format!(
        "{slow} adds {} outside of `{part}` ({}{}), which itself took {of_the_part}{}",
        most.shown(),
        most.operation,
        most.pair.place(),
        beside(&added),
    );
    let noticed =
        Noticed::new(claim, "look at what that level puts between the client and the part")
            .about(most.operation)
            .with("part", part)
            .with("outside_ns", most.outside())
            .with("outside_ratio", most.share())
            .with("part_mean_ns", itself)
            .with("part_mean_of_the_other_ns", with_fast)
            .with("service_mean_ns", most.slow.service);
    Some(match most.interval {
        Some((low, high)) => noticed.with("low_ns", low).with("high_ns", high),
        None => noticed,
    })
}

/// The level that others are held against: that of the comparison, or else the first.
fn baseline<'a>(whole: &Whole<'a>, factor: &str) -> Option<&'a Value> {
    let compared = whole.comparisons.iter().find(|one| one.factor == factor);
    let first = || whole.arms.iter().find_map(|arm| arm.factors.get(factor));
    compared.map(|one| &one.baseline).or_else(first)
}

/// What the level of the first adds at other levels of what else there is.
fn beside(added: &[Added<'_>]) -> String {
    let (most, others) = added.split_first().expect("there is one");
    let alike = others.iter().filter(|one| {
        one.pair.levels == most.pair.levels
            && one.operation == most.operation
            && one.fast.part == most.fast.part
    });
    let shown = alike.map(|one| format!("; {}{}", one.shown(), one.pair.place()));
    shown.take(BESIDE).collect()
}

/// Two arms of one difference, with the part that both tell.
#[derive(Clone)]
struct Added<'a> {
    operation: &'a str,
    fast: Told<'a>,
    slow: Told<'a>,
    /// Of what is added, where there are blocks enough.
    interval: Option<(f64, f64)>,
    pair: Pair<'a>,
}

impl<'a> Added<'a> {
    /// The operation to which the first of these arms adds most, if to any.
    fn of([slow, fast]: [&'a Arm; 2]) -> Option<Self> {
        let pair = Pair::of([slow, fast])?;
        let blocks = pair.blocks();
        let &[one, other] = blocks.first()?;
        let of_operation = |operation: &'a Operation| {
            let told = |trial: &'a Trial| Told::largest(named(trial, &operation.name)?);
            let part = told(other)?.part;
            let seen = Seen::of(&blocks, &operation.name, part)?;
            let added = Self {
                operation: &operation.name,
                fast: seen.fast,
                slow: seen.slow,
                interval: seen.interval(),
                pair: pair.clone(),
            };
            let certain = match added.interval {
                Some((low, _)) => low > seen.own.max(CERTAIN * added.outside()),
                None => added.outside() > noticeable(one).max(noticeable(other)),
            };
            (certain && added.share() >= TOLD_FROM).then_some(added)
        };
        let added = one.operations.iter().filter_map(of_operation);
        added.max_by(|a, b| a.outside().total_cmp(&b.outside()))
    }

    fn outside(&self) -> f64 {
        self.slow.outside() - self.fast.outside()
    }

    /// Of the service time with it.
    fn share(&self) -> f64 {
        self.outside() / self.slow.service
    }

    /// `90.0 µs (95 %: 85.0 µs – 95.0 µs), 34.0 % of the service time,`
    fn shown(&self) -> String {
        let interval = self.interval.map_or(String::new(), |(low, high)| {
            format!(" (95 %: {} – {})", time(low), time(high))
        });
        format!(
            "{}{interval}, {} of the service time,",
            time(self.outside()),
            percent(self.share())
        )
    }
}

fn named<'a>(trial: &'a Trial, operation: &str) -> Option<&'a Operation> {
    trial.operations.iter().find(|one| one.name == operation)
}

/// What blocks tell of one part.
struct Seen<'a> {
    slow: Told<'a>,
    fast: Told<'a>,
    /// Added outside, by block.
    added: Vec<f64>,
    /// By how much more the generator may have made of the slower arm.
    own: f64,
}

impl<'a> Seen<'a> {
    fn of(blocks: &[[&'a Trial; 2]], operation: &str, part: &'a str) -> Option<Self> {
        let told = |trial: &'a Trial| Told::of(named(trial, operation)?, part);
        let pairs: Vec<[Told<'a>; 2]> = blocks
            .iter()
            .map(|[slow, fast]| Some([told(slow)?, told(fast)?]))
            .collect::<Option<_>>()?;
        let count = pairs.len() as f64;
        let mean = |of: &dyn Fn(&[Told<'a>; 2]) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let arm = |place: usize| Told {
            part,
            time: mean(&|pair| pair[place].time),
            service: mean(&|pair| pair[place].service),
        };
        let more = |[slow, fast]: &[&Trial; 2]| own(slow) - own(fast);
        Some(Self {
            slow: arm(0),
            fast: arm(1),
            added: pairs.iter().map(|[slow, fast]| slow.outside() - fast.outside()).collect(),
            own: (blocks.iter().map(more).sum::<f64>() / count).max(0.0),
        })
    }

    /// The 95 % interval of what is added.
    fn interval(&self) -> Option<(f64, f64)> {
        let interval = paired(&self.added, 0)?.difference.interval?;
        Some((interval.low, interval.high))
    }
}
