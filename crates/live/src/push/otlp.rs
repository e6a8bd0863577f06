//! The messages of OTLP for metrics, with exponential histograms.
//!
//! Source: `metrics_service.proto`, `metrics.proto`, `resource.proto` and `common.proto` of opentelemetry-proto 1.9; the
//! messages hold only the fields that are used

use std::time::Duration;

use plan::schedule::nanos;
use prost::{Message, Oneof};

use crate::metrics::families::{self, Kind, Value};
use crate::metrics::times::{SCHEMA, Times, ZERO_THRESHOLD};

/// Values since the start, not since the last request.
const CUMULATIVE: i32 = 2;
/// The series has ended.
const NO_RECORDED_VALUE: u32 = 1;

#[derive(Clone, PartialEq, Message)]
pub struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(string, optional, tag = "1")]
    pub(super) string_value: Option<String>,
    #[prost(int64, optional, tag = "3")]
    pub(super) int_value: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(oneof = "Data", tags = "5, 7, 10")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Data {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "10")]
    Histogram(ExponentialHistogram),
}

#[derive(Clone, PartialEq, Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
struct ExponentialHistogram {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    temporality: i32,
}

#[derive(Clone, PartialEq, Message)]
struct NumberPoint {
    #[prost(fixed64, tag = "2")]
    start: u64,
    #[prost(fixed64, tag = "3")]
    time: u64,
    #[prost(double, optional, tag = "4")]
    value: Option<f64>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "8")]
    flags: u32,
}

#[derive(Clone, PartialEq, Message)]
struct HistogramPoint {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    start: u64,
    #[prost(fixed64, tag = "3")]
    time: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    scale: i32,
    #[prost(fixed64, tag = "7")]
    zero_count: u64,
    #[prost(message, optional, tag = "8")]
    positive: Option<Buckets>,
    #[prost(uint32, tag = "10")]
    flags: u32,
    #[prost(double, tag = "14")]
    zero_threshold: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Buckets {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    counts: Vec<u64>,
}

/// When a point holds, in nanoseconds since the epoch.
#[derive(Clone, Copy)]
struct Instants {
    start: u64,
    time: u64,
    flags: u32,
}

/// All series at a time, or with the mark that they have ended; they began to count at `since`.
pub fn request(
    families: &[families::Family<'_>],
    (since, at): (Duration, Duration),
    ends: bool,
) -> ExportRequest {
    let flags = if ends { NO_RECORDED_VALUE } else { 0 };
    let instants = Instants { start: nanos(since), time: nanos(at), flags };
    let metrics = families.iter().map(|family| metric(family, instants));
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics: metrics.collect() }];
    let resource = Resource { attributes: attributes(&[("service.name", "proofload")]) };
    let resource_metrics = vec![ResourceMetrics { resource: Some(resource), scope_metrics }];
    ExportRequest { resource_metrics }
}

/// Who says all this.
pub(super) fn scope() -> Scope {
    Scope { name: "proofload".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// Without the endings that stand for kind and unit: whoever stores it in Prometheus adds them.
fn metric(family: &families::Family<'_>, instants: Instants) -> Metric {
    let name = family.name.strip_suffix("_seconds").unwrap_or(family.name);
    let unit = if family.unit.is_empty() { "1" } else { "s" };
    let numbers = || {
        let points = family.series.iter().filter_map(|one| match one.value {
            Value::Number(value) => Some(number(&one.labels, value, instants)),
            Value::Times(_) => None,
        });
        points.collect()
    };
    let histograms = || {
        let points = family.series.iter().filter_map(|one| match one.value {
            Value::Times(times) => Some(histogram(&one.labels, times, instants)),
            Value::Number(_) => None,
        });
        points.collect()
    };
    let data = match family.kind {
        Kind::Gauge => Data::Gauge(Gauge { data_points: numbers() }),
        Kind::Counter => {
            Data::Sum(Sum { data_points: numbers(), temporality: CUMULATIVE, is_monotonic: true })
        }
        Kind::Histogram => Data::Histogram(ExponentialHistogram {
            data_points: histograms(),
            temporality: CUMULATIVE,
        }),
    };
    Metric {
        name: name.to_owned(),
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    }
}

fn number(labels: &[(&str, &str)], value: f64, at: Instants) -> NumberPoint {
    let value = (at.flags == 0).then_some(value);
    let attributes = attributes(labels);
    NumberPoint { start: at.start, time: at.time, value, attributes, flags: at.flags }
}

fn histogram(labels: &[(&str, &str)], times: &Times, at: Instants) -> HistogramPoint {
    let mut point = HistogramPoint {
        attributes: attributes(labels),
        start: at.start,
        time: at.time,
        scale: SCHEMA,
        flags: at.flags,
        zero_threshold: ZERO_THRESHOLD,
        ..HistogramPoint::default()
    };
    if at.flags == 0 {
        (point.count, point.sum, point.zero_count) = (times.count, Some(times.sum()), times.zero);
        point.positive = buckets(times);
    }
    point
}

/// From the first to the last that is not empty. A bucket is numbered by its lower end here, by its upper end elsewhere.
fn buckets(times: &Times) -> Option<Buckets> {
    let (&first, _) = times.exponential.first_key_value()?;
    let (&last, _) = times.exponential.last_key_value()?;
    let counts = (first..=last).map(|number| times.exponential.get(&number).copied().unwrap_or(0));
    Some(Buckets { offset: first - 1, counts: counts.collect() })
}

pub(super) fn attributes(labels: &[(&str, &str)]) -> Vec<KeyValue> {
    let attribute = |&(key, value): &(&str, &str)| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { string_value: Some(value.to_owned()), int_value: None }),
    };
    labels.iter().map(attribute).collect()
}
