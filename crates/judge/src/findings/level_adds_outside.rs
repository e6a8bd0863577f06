//! The finding that a level adds time outside of the part that does the work.

use record::summary::{Operation, Severity};

use super::added_time::{AddedTime, Addition, REPORTED_FROM, TimeOf, beside, largest};
use super::arm_pair::ArmPair;
use super::kind::{Check, FindingKind, Noticed};
use super::parts::{PartMean, time};
use crate::case::RunView;
use plan::number::percent;

/// A level adds time outside of a part.
pub const LEVEL_ADDS_OUTSIDE: FindingKind = FindingKind {
    code: "level-adds-time-outside",
    severity: Severity::Warning,
    clearest: None,
    title: "a level adds time outside of the part that does the work",
    explain: "Two arms differ in one level alone and offer the same load. The same part tells its time in both, and \
              with one of the levels more passes outside of it, by a quarter of the service time or more: whatever that \
              level puts in the way adds it. Blocks say how certain that is: with five or more, the 95 % interval begins \
              above half of what is reported, and above what the generator itself may have added; with fewer, it is more than \
              loopback and the instrument make at all. The part itself is told with either level, so that a part which \
              only waits for a processor is seen as well. Levels are held against the baseline of the comparison of \
              their factor, or else against its first level.",
    check: Check::Run(level_adds_outside),
};

/// The pair of arms whose level adds most outside of a part that both report, with the additions of the same level
/// elsewhere.
pub(super) fn level_adds_outside(whole: &RunView<'_>) -> Option<Noticed> {
    let found = largest(whole, Outside::of);
    let Outside(most) = found.first()?;
    let [slow, fast] = &most.pair.levels;
    let part = most.fast.part;
    let (itself, with_fast) = (most.slow.time, most.fast.time);
    let of_the_part = match (itself - with_fast).abs() < 0.1 * most.added() {
        true => format!("{} versus {} with {fast}", time(itself), time(with_fast)),
        false => format!("{} and {} with {fast}", time(itself), time(with_fast)),
    };
    let claim = format!(
        "{slow} adds {} outside of `{part}` ({}{}), which itself took {of_the_part}{}",
        found[0].shown(),
        most.operation,
        most.pair.place(),
        beside(&found),
    );
    let noticed =
        Noticed::new(claim, "look at what that level puts between the client and the part")
            .about(most.operation)
            .with("part", part)
            .with("outside_ns", most.added())
            .with("outside_ratio", most.share())
            .with("part_mean_ns", itself)
            .with("part_mean_of_the_other_ns", with_fast)
            .with("service_mean_ns", most.slow.service);
    Some(match most.interval {
        Some((low, high)) => noticed.with("low_ns", low).with("high_ns", high),
        None => noticed,
    })
}

/// The time outside of the largest part.
#[derive(Clone)]
struct Outside<'a>(AddedTime<'a>);

impl<'a> Outside<'a> {
    /// The operation to which the first of these arms adds most, if there is one.
    fn of(pair: &ArmPair<'a>) -> Option<Self> {
        let &[one, other] = pair.blocks().first()?;
        let of_operation = |operation: &'a Operation| {
            let same = other.operations.iter().find(|one| one.name == operation.name)?;
            let part = PartMean::largest(same)?.part;
            let added = AddedTime::of(pair, &operation.name, part, TimeOf::Outside)?;
            (added.is_certain() && added.share() >= REPORTED_FROM).then_some(added)
        };
        let added = one.operations.iter().filter_map(of_operation);
        added.max_by(|a, b| a.added().total_cmp(&b.added())).map(Self)
    }
}

impl<'a> Addition<'a> for Outside<'a> {
    fn added(&self) -> &AddedTime<'a> {
        &self.0
    }

    /// `90.0 µs (95 %: 85.0 µs – 95.0 µs), 34.0 % of the service time,`
    fn shown(&self) -> String {
        format!("{}, {} of the service time,", self.0.shown(), percent(self.0.share()))
    }
}
