//! The time that operations spent in the parts of the target that report theirs: one rule for tables and findings.
//!
//! All times are means, since only means add up. A part has a time if it was reported about as often as operations
//! succeeded, since the service time covers only those. If fewer than nine in ten reported it, or if it was reported
//! by so many failed ones that they make up a tenth, its time counts for the part around it.

use std::collections::BTreeMap;

use record::summary::{Distribution, Operation};

/// A sum of times and their number.
#[derive(Debug, Default, Clone, Copy)]
pub struct TimeSum {
    /// Operations.
    pub count: u64,
    total: u128,
}

impl TimeSum {
    fn add(&mut self, of: &Distribution) {
        self.count += of.count;
        self.total += u128::from(of.mean_ns) * u128::from(of.count);
    }

    /// Mean in nanoseconds.
    pub fn mean(self) -> u64 {
        u64::try_from(self.total / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }
}

/// Service time and parts of one operation, over one trial or several.
#[derive(Debug, Default)]
pub struct PartTimes<'a> {
    /// Of the operations that succeeded.
    pub service: TimeSum,
    parts: BTreeMap<&'a str, TimeSum>,
    within: BTreeMap<&'a str, &'a str>,
}

impl<'a> PartTimes<'a> {
    /// The times in one trial.
    pub fn of(operation: &'a Operation) -> Self {
        let mut spent = Self::default();
        spent.add(operation);
        spent
    }

    /// Adds another trial.
    pub fn add(&mut self, operation: &'a Operation) {
        self.service.add(&operation.service_time);
        for part in &operation.parts {
            let sum = self.parts.entry(&part.name).or_default();
            operation.spans.get(&part.name).into_iter().for_each(|span| sum.add(span));
            self.within.extend(part.within.as_deref().map(|outer| (part.name.as_str(), outer)));
        }
    }

    /// How often a part that the experiment names was reported.
    pub fn count(&self, part: &str) -> Option<u64> {
        self.parts.get(part).map(|sum| sum.count)
    }

    /// Mean time of a part in nanoseconds, if it was reported about as often as operations succeeded.
    pub fn mean(&self, part: &str) -> Option<u64> {
        let (told, all) = (self.parts.get(part)?, self.service.count);
        (told.count * 10 >= all * 9 && all * 10 >= told.count * 9).then(|| told.mean())
    }

    /// Mean time of a part without the parts inside it.
    pub fn own(&self, part: &str) -> Option<u64> {
        Some(self.mean(part)?.saturating_sub(self.inside(Some(part))))
    }

    /// Mean of the time that no part reported.
    pub fn outside(&self) -> u64 {
        self.service.mean().saturating_sub(self.inside(None))
    }

    /// Whether the parts inside anything took no longer than that, within 1 %. Parts take longer if they overlap, or
    /// if failed operations reported them.
    pub fn adds_up(&self) -> bool {
        let fits = |inside: u64, whole: u64| u128::from(inside) * 100 <= u128::from(whole) * 101;
        let told =
            self.parts.keys().filter_map(|part| Some((self.inside(Some(part)), self.mean(part)?)));
        told.chain([(self.inside(None), self.service.mean())])
            .all(|(inside, whole)| fits(inside, whole))
    }

    /// Mean time of the parts directly inside this one, or inside none.
    fn inside(&self, outer: Option<&str>) -> u64 {
        let inside = self.parts.keys().filter(|inner| self.outer(inner) == outer);
        inside.filter_map(|inner| self.mean(inner)).sum()
    }

    /// The nearest part around this one that has a time.
    fn outer(&self, part: &str) -> Option<&'a str> {
        let mut outer = self.within.get(part).copied();
        // At most as many steps as there are parts, even if a record contains a cycle.
        for _ in 0..self.parts.len() {
            match outer {
                Some(name) if self.mean(name).is_none() => outer = self.within.get(name).copied(),
                _ => return outer,
            }
        }
        None
    }
}
