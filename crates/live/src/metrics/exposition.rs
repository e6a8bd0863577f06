//! The form of Prometheus with native histograms: messages of `io.prometheus.client`, each after its length.
//!
//! Source: `metrics.proto` of prometheus/client_model; the messages hold only the fields that are used

use std::time::Duration;

use prost::{Message, Oneof};

use super::families::{self, Kind, Series, Value};
use super::times::{SCHEMA, Times, ZERO_THRESHOLD};

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    /// 0 counter, 1 gauge, 4 histogram.
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
    #[prost(string, tag = "5")]
    unit: String,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(oneof = "Data", tags = "2, 3, 7")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Data {
    #[prost(message, tag = "2")]
    Gauge(Gauge),
    #[prost(message, tag = "3")]
    Counter(Counter),
    #[prost(message, tag = "7")]
    Histogram(Histogram),
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Gauge {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Counter {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
    #[prost(message, optional, tag = "3")]
    created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    /// For a Prometheus that reads this form and stores no native histograms.
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    created: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// All families, whose counters began at this time since the epoch.
pub fn delimited(families: &[families::Family<'_>], since: Duration) -> Vec<u8> {
    let messages = families.iter().map(|family| MetricFamily {
        name: family.stored_name(),
        help: family.help.to_owned(),
        kind: Some(match family.kind {
            Kind::Counter => 0,
            Kind::Gauge => 1,
            Kind::Histogram => 4,
        }),
        metric: family.series.iter().map(|one| metric(one, family.kind, since)).collect(),
        unit: family.unit.to_owned(),
    });
    messages.flat_map(|message| message.encode_length_delimited_to_vec()).collect()
}

fn metric(series: &Series<'_>, kind: Kind, since: Duration) -> Metric {
    let label =
        |&(name, value): &(&str, &str)| LabelPair { name: name.into(), value: value.into() };
    let created = Some(Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(0),
        nanos: i32::try_from(since.subsec_nanos()).unwrap_or(0),
    });
    let data = match (series.value, kind) {
        (Value::Times(times), _) => Data::Histogram(histogram(times, created)),
        (Value::Number(value), Kind::Counter) => {
            Data::Counter(Counter { value: Some(value), created })
        }
        (Value::Number(value), _) => Data::Gauge(Gauge { value: Some(value) }),
    };
    Metric { label: series.labels.iter().map(label).collect(), data: Some(data) }
}

fn histogram(times: &Times, created: Option<Timestamp>) -> Histogram {
    let (spans, positive_delta) = times.spans();
    let bucket =
        |(bound, count)| Bucket { cumulative_count: Some(count), upper_bound: Some(bound) };
    let spans = spans.iter();
    let spans =
        spans.map(|span| BucketSpan { offset: Some(span.offset), length: Some(span.length) });
    Histogram {
        sample_count: Some(times.count),
        sample_sum: Some(times.sum()),
        bucket: times.cumulative().map(bucket).collect(),
        schema: Some(SCHEMA),
        // More than nothing, by which an empty histogram is known as a native one.
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(times.zero),
        positive_span: spans.collect(),
        positive_delta,
        created,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that Python's protobuf makes of the same message with the schema of client_model.
    #[test]
    fn a_histogram_has_the_bytes_of_its_schema() {
        let mut times = Times::default();
        (times.zero, times.count) = (1, 8);
        times.exponential.extend([(-3, 4), (-2, 1), (5, 2)]);
        let histogram = Histogram { bucket: Vec::new(), ..histogram(&times, None) };
        let bytes = histogram.encode_to_vec();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "0808110000000000000000280a31000000000000f03738016204080510026204080c10016a03080502"
        );
    }
}
