//! The finding that a level adds time in one part of the target.

use record::summary::{Operation, Severity};

use super::added_time::{AddedTime, Addition, REPORTED_FROM, TimeOf, beside, largest};
use super::arm_pair::ArmPair;
use super::kind::{Check, FindingKind, Noticed};
use super::parts::time;
use crate::case::RunView;
use plan::number::percent;

/// Share of the addition that the part must take.
const MOST: f64 = 0.5;

/// A level adds time in one part.
pub const LEVEL_ADDS_IN_PART: FindingKind = FindingKind {
    code: "level-adds-time-in-part",
    severity: Severity::Warning,
    clearest: None,
    title: "a level adds time, and one part takes most of it",
    explain: "Two arms differ in one level alone and offer the same load. With one of the levels the service time is \
              longer by a quarter of it or more, and one of the parts that the experiment names in `server_timing` says \
              that it took half of that or more, without what the parts inside it took. That part is what the level \
              couples to the answer: it waits there for something that the answer could do without, or works there for \
              longer. Blocks say how certain that is: with five or more, the 95 % intervals of what is added and of what \
              the part took of it begin above half of either; with fewer, both are more than loopback and the instrument \
              make at all. Levels are held against the baseline of the comparison of their factor, or else against its \
              first level.",
    check: Check::Run(level_adds_in_part),
};

/// The pair of arms whose level adds most, with at least half of that in one part; and the additions of the same
/// level elsewhere.
pub(super) fn level_adds_in_part(whole: &RunView<'_>) -> Option<Noticed> {
    let found = largest(whole, InPart::of);
    let InPart { service, itself } = found.first()?;
    let [slow, fast] = &service.pair.levels;
    let part = itself.fast.part;
    let claim = format!(
        "{slow} adds {} in `{part}` ({}{}), which itself took {} versus {} with {fast}{}",
        found[0].shown(),
        service.operation,
        service.pair.place(),
        time(itself.slow.time),
        time(itself.fast.time),
        beside(&found),
    );
    let advice = "that part is what the level couples to the answer: look at what it waits for, and whether an answer has to";
    let noticed = Noticed::new(claim, advice)
        .about(service.operation)
        .with("part", part)
        .with("added_ns", service.added())
        .with("added_ratio", service.share())
        .with("part_added_ns", itself.added())
        .with("part_mean_ns", itself.slow.time)
        .with("part_mean_of_the_other_ns", itself.fast.time)
        .with("service_mean_ns", service.slow.service);
    Some(match service.interval {
        Some((low, high)) => noticed.with("low_ns", low).with("high_ns", high),
        None => noticed,
    })
}

/// The added time, and the share of one part in it.
#[derive(Clone)]
struct InPart<'a> {
    service: AddedTime<'a>,
    itself: AddedTime<'a>,
}

impl<'a> InPart<'a> {
    /// The operation and part in which the first of these arms adds most, if there is one.
    fn of(pair: &ArmPair<'a>) -> Option<Self> {
        let &[one, _] = pair.blocks().first()?;
        let parts =
            |one: &'a Operation| one.parts.iter().map(move |part| (&*one.name, &*part.name));
        let found = one.operations.iter().flat_map(parts).filter_map(|(operation, part)| {
            let added = |which| AddedTime::of(pair, operation, part, which);
            let found = Self { service: added(TimeOf::Service)?, itself: added(TimeOf::Itself)? };
            found.is_reported().then_some(found)
        });
        found.max_by(|a, b| a.itself.added().total_cmp(&b.itself.added()))
    }

    fn is_reported(&self) -> bool {
        let Self { service, itself } = self;
        service.share() >= REPORTED_FROM
            && self.of_it() >= MOST
            && service.is_certain()
            && itself.is_certain()
    }

    /// Share of the addition that the part takes.
    fn of_it(&self) -> f64 {
        self.itself.added() / self.service.added()
    }
}

impl<'a> Addition<'a> for InPart<'a> {
    fn added(&self) -> &AddedTime<'a> {
        &self.service
    }

    /// `8.10 ms (95 %: 7.90 ms – 8.30 ms), 76.0 % of the service time, 96.0 % of that`
    fn shown(&self) -> String {
        // The part may take more than the whole addition if other parts take less than before.
        let of_it = percent(self.of_it().min(1.0));
        let share = percent(self.service.share());
        format!("{}, {share} of the service time, {of_it} of that", self.service.shown())
    }
}
