//! What an observer answers at `GET /observed`: what arrived, counted where it arrived.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;
use serde_json::{Map, Value};

/// The longest recorded delivery time, one hour; longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The answer of an observer after the drain.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Observed {
    /// What `received` counts, in the plural, such as `answers judged`; empty where that is left to the reader.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub counts: &'static str,
    /// Distinct things received.
    pub received: u64,
    /// Received again.
    pub duplicates: u64,
    /// Received but not sent in this trial.
    pub unexpected: u64,
    /// Known to be sent and not received.
    pub lost: u64,
    /// Times under way as an HdrHistogram V2 compressed in base64; `null` where none is known.
    pub delivery_time: Option<String>,
    /// Further counts by name; criteria may refer to them.
    pub detail: Map<String, Value>,
}

impl Observed {
    /// The body of the answer.
    pub fn body(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and JSON values always serialize")
    }
}

/// Times under way, recorded to three digits in constant memory.
#[derive(Debug, Clone)]
pub struct DeliveryTimes {
    histogram: Histogram<u64>,
}

impl Default for DeliveryTimes {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
        Self { histogram: histogram.expect("the bounds are constants that fit each other") }
    }
}

impl DeliveryTimes {
    /// Records one time in nanoseconds.
    pub fn record(&mut self, time_ns: u64) {
        self.histogram.saturating_record(time_ns);
    }

    /// Records the same time as often as said, in nanoseconds.
    pub fn record_many(&mut self, time_ns: u64, times: u64) {
        self.histogram.saturating_record_n(time_ns, times);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// For [`Observed::delivery_time`]: HdrHistogram V2, compressed, in base64; `None` if empty.
    pub fn encode(&self) -> Option<String> {
        if self.histogram.is_empty() {
            return None;
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut bytes)
            .expect("a histogram of 64-bit counts always fits into memory");
        Some(STANDARD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn delivery_times_read_back_with_their_counts() {
        let mut times = DeliveryTimes::default();
        assert_eq!(times.encode(), None);
        for time_ns in [1_000, 1_000, 2_000_000, u64::MAX] {
            times.record(time_ns);
        }
        let bytes = STANDARD.decode(times.encode().unwrap()).unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(read.len(), 4);
        assert_eq!(read.count_at(1_000), 2);
        assert_eq!(read.count_at(2_000_000), 1);
        times.clear();
        assert_eq!(times.encode(), None);
        times.record_many(5, 0);
        assert_eq!(times.encode(), None);
        times.record_many(5, 2);
        assert!(times.encode().is_some());
    }

    #[test]
    fn the_shape_is_the_one_that_reports_read() {
        let mut observed = Observed { received: 3, lost: 1, ..Observed::default() };
        observed.detail.insert("late".into(), 2.into());
        assert_eq!(
            observed.body(),
            "{\"received\":3,\"duplicates\":0,\"unexpected\":0,\"lost\":1,\
             \"delivery_time\":null,\"detail\":{\"late\":2}}"
        );
        observed.counts = "messages";
        assert!(observed.body().starts_with("{\"counts\":\"messages\",\"received\":3,"));
    }
}
