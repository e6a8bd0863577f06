//! What the samples judged so far came to.

use serde_json::json;
use serving::observed::Observed;

use super::compare::{SampleResult, compare};
use super::planted::PlantedQueries;
use crate::gateway::samples::Sample;
use crate::index::Near;

/// What a judge counts beside what every observer does.
pub const COUNTS: [&str; 11] = [
    "recall",
    "recall_at_worst",
    "below_1",
    "planted",
    "planted_first",
    "planted_found",
    "misscored",
    "gone",
    "searches",
    "samples",
    "unjudged",
];

/// Sums over samples.
#[derive(Debug, Default)]
pub(super) struct RecallSums {
    judged: u64,
    recalls: f64,
    worst: Option<f64>,
    below: u64,
    gone: u64,
    misscored: u64,
    planted: u64,
    planted_first: u64,
    planted_found: u64,
}

impl RecallSums {
    /// Judges one more.
    pub fn add(&mut self, sample: &Sample, exact: &[Near], planted: &PlantedQueries) {
        let SampleResult { recall, gone, misscored } = compare(sample, exact);
        self.gone += gone;
        self.misscored += misscored;
        if let Some(recall) = recall {
            self.judged += 1;
            self.recalls += recall;
            self.below += u64::from(recall < 1.0);
            self.worst = Some(self.worst.map_or(recall, |worst| worst.min(recall)));
        }
        if let Some(id) = sample.query.as_deref().and_then(|query| planted.of(query)) {
            let place = sample.nearest.iter().position(|near| &*near.id == id);
            self.planted += 1;
            self.planted_first += u64::from(place == Some(0));
            self.planted_found += u64::from(place.is_some());
        }
    }

    /// What an observer answers, with further counts; shares only where there is something to have a share of.
    pub fn observed(self, counts: &[(&str, u64)]) -> Observed {
        let mut observed =
            Observed { counts: "answers judged", received: self.judged, ..Observed::default() };
        let own = [
            ("below_1", self.below),
            ("gone", self.gone),
            ("misscored", self.misscored),
            ("planted", self.planted),
        ];
        let mut add = |name: &str, value| observed.detail.insert(name.to_owned(), value);
        for (name, count) in counts.iter().chain(&own) {
            add(name, json!(count));
        }
        if let Some(worst) = self.worst {
            add("recall", json!(self.recalls / self.judged as f64));
            add("recall_at_worst", json!(worst));
        }
        if self.planted > 0 {
            let share = |count: u64| json!(count as f64 / self.planted as f64);
            add("planted_first", share(self.planted_first));
            add("planted_found", share(self.planted_found));
        }
        observed
    }
}
