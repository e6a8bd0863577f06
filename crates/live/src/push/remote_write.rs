//! The messages of Prometheus remote write 1.0, with native histograms.
//!
//! Source: `remote.proto` and `types.proto` of Prometheus; the messages hold only the fields that are used

use prost::Message;

use crate::metrics::families::{Family, Kind, Series, Value};
use crate::metrics::times::{SCHEMA, Times, ZERO_THRESHOLD};

/// The value that says that a series has ended.
pub const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    pub metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    histograms: Vec<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    /// Milliseconds since the epoch.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    count: Option<u64>,
    #[prost(double, tag = "3")]
    sum: f64,
    #[prost(sint32, tag = "4")]
    schema: i32,
    #[prost(double, tag = "5")]
    zero_threshold: f64,
    #[prost(uint64, optional, tag = "6")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    positive_spans: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "12")]
    positive_deltas: Vec<i64>,
    #[prost(int64, tag = "15")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

/// What a family is.
#[derive(Clone, PartialEq, Message)]
pub struct Metadata {
    /// 1 counter, 2 gauge, 3 histogram.
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "4")]
    help: String,
    #[prost(string, tag = "5")]
    unit: String,
}

/// Every series with its value at this time, or with the mark that it has ended.
pub fn series(families: &[Family<'_>], at_ms: i64, ends: bool) -> Vec<TimeSeries> {
    let each = families.iter().flat_map(|family| {
        let name = family.stored_name();
        family.series.iter().map(move |one| one_series(&name, one, at_ms, ends))
    });
    each.collect()
}

/// What each family is.
pub fn metadata(families: &[Family<'_>]) -> Vec<Metadata> {
    let each = families.iter().map(|family| Metadata {
        kind: match family.kind {
            Kind::Counter => 1,
            Kind::Gauge => 2,
            Kind::Histogram => 3,
        },
        name: family.stored_name(),
        help: family.help.to_owned(),
        unit: family.unit.to_owned(),
    });
    each.collect()
}

fn one_series(name: &str, series: &Series<'_>, timestamp: i64, ends: bool) -> TimeSeries {
    // Labels are sorted by name, and no letter comes before the underscore of this one but capitals.
    let name = [("__name__", name)];
    let labels = name.iter().chain(&series.labels);
    let labels =
        labels.map(|(name, value)| Label { name: (*name).to_owned(), value: (*value).to_owned() });
    let mut made = TimeSeries { labels: labels.collect(), ..TimeSeries::default() };
    match series.value {
        Value::Number(value) => {
            let value = if ends { STALE } else { value };
            made.samples.push(Sample { value, timestamp });
        }
        Value::Times(times) => {
            let mut histogram = histogram(times, timestamp);
            if ends {
                histogram.sum = STALE;
            }
            made.histograms.push(histogram);
        }
    }
    made
}

fn histogram(times: &Times, timestamp: i64) -> Histogram {
    let (spans, positive_deltas) = times.spans();
    let spans = spans.iter();
    Histogram {
        count: Some(times.count),
        sum: times.sum(),
        schema: SCHEMA,
        zero_threshold: ZERO_THRESHOLD,
        zero_count: Some(times.zero),
        positive_spans: spans
            .map(|span| BucketSpan { offset: span.offset, length: span.length })
            .collect(),
        positive_deltas,
        timestamp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that Python's protobuf makes of the same message with the schema of Prometheus.
    #[test]
    fn a_request_has_the_bytes_of_its_schema() {
        let mut times = Times::default();
        (times.zero, times.count) = (1, 8);
        times.exponential.extend([(-3, 4), (-2, 1), (5, 2)]);
        let at = 1_764_000_000_123;
        let labels = vec![("arm", "all")];
        let gauge = Series { labels, value: Value::Number(3.0) };
        let own = Series { labels: Vec::new(), value: Value::Times(&times) };
        let mut histogram = one_series("h", &own, at, false);
        histogram.histograms[0].sum = 0.5;
        let timeseries = vec![one_series("proofload_in_flight", &gauge, at, false), histogram];
        let bytes = WriteRequest { timeseries, metadata: Vec::new() }.encode_to_vec();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = [
            "0a3f0a1f0a085f5f6e616d655f5f121370726f6f666c6f61645f696e5f666c69676874",
            "0a0a0a0361726d1203616c6c121009000000000000084010fbd0dfb4ab33",
            "0a410a0d0a085f5f6e616d655f5f12016822300808",
            "19000000000000e03f200a29000000000000f03730015a04080510025a04080c1001620308050278fbd0dfb4ab33",
        ];
        assert_eq!(hex, known.concat());
    }

    #[test]
    fn the_mark_of_an_end_keeps_its_bits() {
        let series = Series { labels: Vec::new(), value: Value::Number(3.0) };
        let ended = one_series("a", &series, 1, true);
        assert_eq!(ended.samples[0].value.to_bits(), STALE.to_bits());
    }
}
