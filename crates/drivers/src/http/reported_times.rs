//! What a target says of its own time, in the `Server-Timing` of its answers.

use std::sync::atomic::{AtomicU64, Ordering};

use engine::clock::Clock;
use engine::driver::Exchange;
use plan::operation::{PARTS_LIMIT, Part};

use super::server_timing::{self, TimingMetric};

/// The parts that an operation reads the times of.
#[derive(Debug, Default)]
pub struct ReportedTimes {
    /// Name and place of each.
    parts: Vec<(String, usize)>,
    /// Elements of the field that could not be understood, over all workers.
    malformed: AtomicU64,
}

impl ReportedTimes {
    /// Of the parts as planned.
    pub fn of(parts: &[Part]) -> Self {
        let parts = parts.iter().map(|part| (part.name.clone(), part.place)).collect();
        Self { parts, malformed: AtomicU64::new(0) }
    }

    /// Whether anything is looked for.
    pub fn is_wanted(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Stamps what this head tells of the parts; of one that it names twice the sum.
    ///
    /// Cost:   O(n) time, no allocation
    pub fn read<C: Clock>(&self, head: &[u8], exchange: &mut Exchange<C>) {
        if !self.is_wanted() {
            return;
        }
        for (place, time) in self.times(head) {
            exchange.stamp_part(place, time);
        }
    }

    /// Name and time of each part, as far as this head tells of it.
    pub fn by_name(&self, head: &[u8]) -> Vec<(&str, Option<u64>)> {
        let times: Vec<_> = self.times(head).collect();
        let time = |place: usize| times.iter().find(|one| one.0 == place).map(|one| one.1);
        self.parts.iter().map(|(name, place)| (name.as_str(), time(*place))).collect()
    }

    fn times(&self, head: &[u8]) -> impl Iterator<Item = (usize, u64)> {
        let mut sums = [None; PARTS_LIMIT];
        server_timing::in_head(head, |metric| match metric {
            TimingMetric::Named(name, Some(time)) => {
                let part = self.parts.iter().find(|part| part.0.as_bytes() == name);
                if let Some(sum) = part.and_then(|part| sums.get_mut(part.1)) {
                    *sum = Some(sum.unwrap_or(0_u64).saturating_add(time));
                }
            }
            TimingMetric::Named(_, None) => {}
            TimingMetric::Malformed => _ = self.malformed.fetch_add(1, Ordering::Relaxed),
        });
        sums.into_iter().enumerate().filter_map(|(place, time)| Some((place, time?)))
    }

    /// How much could not be parsed, if anything.
    pub fn note(&self) -> Option<String> {
        let elements = match self.malformed.load(Ordering::Relaxed) {
            0 => return None,
            1 => "1 metric".to_owned(),
            more => format!("{more} metrics"),
        };
        Some(format!("{elements} of `Server-Timing`, warm-up included, could not be parsed"))
    }
}
