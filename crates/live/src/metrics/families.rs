//! The names of the metrics, what they mean, and their series: the one table from which every form is made.

use record::event::Phase;
use record::{FailureKind, WindowSpan};

use super::model::{ArmMetrics, Metrics, PartMetrics};
use super::times::Times;

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Of times.
    Histogram,
}

/// All series of one name.
#[derive(Debug)]
pub struct Family<'a> {
    /// Without the `_total` of counters.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// `seconds`, or nothing.
    pub unit: &'static str,
    /// What it is.
    pub kind: Kind,
    /// At least one.
    pub series: Vec<Series<'a>>,
}

/// One series.
#[derive(Debug)]
pub struct Series<'a> {
    /// Names and values, sorted by name.
    pub labels: Vec<(&'static str, &'a str)>,
    /// Its value.
    pub value: Value<'a>,
}

/// A value.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Of a counter or gauge.
    Number(f64),
    /// Of a histogram.
    Times(&'a Times),
}

impl Family<'_> {
    /// The name that Prometheus stores.
    pub fn stored_name(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Gauge | Kind::Histogram => self.name.to_owned(),
        }
    }
}

type Labels<'a> = Vec<(&'static str, &'a str)>;
type PartValue = for<'p> fn(&'p PartMetrics) -> Option<Value<'p>>;
type PartFamily = (Kind, &'static str, &'static str, PartValue);

/// A name ends in its unit.
const SECONDS: &str = "seconds";

const OPERATIONS: [PartFamily; 5] = [
    (Kind::Counter, "proofload_operations_planned", "Operations that were due.", planned),
    (Kind::Counter, "proofload_operations_succeeded", "Operations that ended well.", succeeded),
    (
        Kind::Counter,
        "proofload_operations_missed",
        "Operations that were never begun, or abandoned.",
        missed,
    ),
    (
        Kind::Histogram,
        "proofload_operation_response_time_seconds",
        "Time from the intended start to the end of operations that ended well.",
        response_time,
    ),
    (
        Kind::Histogram,
        "proofload_operation_service_time_seconds",
        "Time from the start to the end of operations that ended well, of closed loads.",
        service_time,
    ),
];
const FAILED_OPERATIONS: (&str, &str) =
    ("proofload_operations_failed", "Operations that failed, by kind.");

const JOURNEYS: [PartFamily; 5] = [
    (Kind::Counter, "proofload_journeys_planned", "Journeys that were due.", planned),
    (Kind::Counter, "proofload_journeys_succeeded", "Journeys that ended well.", succeeded),
    (
        Kind::Counter,
        "proofload_journeys_missed",
        "Journeys that were never begun, or abandoned.",
        missed,
    ),
    (
        Kind::Histogram,
        "proofload_journey_response_time_seconds",
        "Time from the planned start to the last answer of journeys that ended well.",
        response_time,
    ),
    (
        Kind::Histogram,
        "proofload_journey_service_time_seconds",
        "Time without thinking of journeys that ended well, of closed loads.",
        service_time,
    ),
];
const FAILED_JOURNEYS: (&str, &str) =
    ("proofload_journeys_failed", "Journeys that failed, by kind.");

const PHASES: [(Phase, &str); 5] = [
    (Phase::Launch, "launch"),
    (Phase::RampUp, "ramp-up"),
    (Phase::WarmUp, "warm-up"),
    (Phase::Measure, "measure"),
    (Phase::Drain, "drain"),
];

fn planned(part: &PartMetrics) -> Option<Value<'_>> {
    Some(Value::Number(part.planned as f64))
}

fn succeeded(part: &PartMetrics) -> Option<Value<'_>> {
    Some(Value::Number(part.succeeded as f64))
}

fn missed(part: &PartMetrics) -> Option<Value<'_>> {
    Some(Value::Number(part.missed as f64))
}

fn response_time(part: &PartMetrics) -> Option<Value<'_>> {
    (part.span == WindowSpan::ResponseTime).then_some(Value::Times(&part.times))
}

fn service_time(part: &PartMetrics) -> Option<Value<'_>> {
    (part.span == WindowSpan::ServiceTime).then_some(Value::Times(&part.times))
}

/// All families that have series; none before the first trial.
pub fn families(metrics: &Metrics) -> Vec<Family<'_>> {
    if metrics.run.is_empty() {
        return Vec::new();
    }
    let operations = OPERATIONS.map(|family| parts(metrics, family, "operation"));
    let journeys = JOURNEYS.map(|family| parts(metrics, family, "journey"));
    let mut all: Vec<Family<'_>> = operations.into_iter().chain(journeys).collect();
    all.push(failures(metrics, FAILED_OPERATIONS, "operation"));
    all.push(failures(metrics, FAILED_JOURNEYS, "journey"));
    all.extend(of_arms(metrics));
    all.retain(|family| !family.series.is_empty());
    all
}

/// Every operation or journey with the labels of its arm.
fn each_part<'a>(
    metrics: &'a Metrics,
    label: &'static str,
) -> impl Iterator<Item = (Labels<'a>, &'a PartMetrics)> {
    metrics.arms.iter().flat_map(move |(arm, own)| {
        let parts = if label == "operation" { &own.operations } else { &own.journeys };
        parts.iter().map(move |(name, part)| {
            let mut labels =
                vec![("arm", arm.as_str()), (label, name.as_str()), ("run", metrics.run.as_str())];
            labels.sort_unstable();
            (labels, part)
        })
    })
}

fn parts<'a>(
    metrics: &'a Metrics,
    (kind, name, help, value): PartFamily,
    label: &'static str,
) -> Family<'a> {
    let series = each_part(metrics, label)
        .filter_map(|(labels, part)| Some(Series { labels, value: value(part)? }));
    let unit = if name.ends_with(SECONDS) { SECONDS } else { "" };
    Family { name, help, unit, kind, series: series.collect() }
}

/// Every kind from the start: of a series that begins with its first failures, `rate` would not see those.
fn failures<'a>(
    metrics: &'a Metrics,
    (name, help): (&'static str, &'static str),
    label: &'static str,
) -> Family<'a> {
    let series = each_part(metrics, label).flat_map(|(labels, part)| {
        FailureKind::ALL.iter().zip(&part.failed).map(move |(kind, count)| {
            let mut labels = labels.clone();
            labels.push(("kind", kind.name()));
            labels.sort_unstable();
            Series { labels, value: Value::Number(*count as f64) }
        })
    });
    Family { name, help, unit: "", kind: Kind::Counter, series: series.collect() }
}

fn of_arms(metrics: &Metrics) -> [Family<'_>; 5] {
    let run = metrics.run.as_str();
    let each = |value: fn(&ArmMetrics) -> f64| {
        let series = metrics.arms.iter().map(move |(arm, own)| Series {
            labels: vec![("arm", arm.as_str()), ("run", run)],
            value: Value::Number(value(own)),
        });
        series.collect::<Vec<_>>()
    };
    let phases = metrics.arms.iter().flat_map(|(arm, own)| {
        PHASES.iter().map(move |(phase, name)| Series {
            labels: vec![("arm", arm.as_str()), ("phase", name), ("run", run)],
            value: Value::Number(f64::from(u8::from(own.phase == Some(*phase)))),
        })
    });
    let missed = Value::Number(metrics.missed() as f64);
    let family = |kind, name, help, series| {
        let unit = if str::ends_with(name, SECONDS) { SECONDS } else { "" };
        Family { name, help, unit, kind, series }
    };
    [
        family(
            Kind::Gauge,
            "proofload_in_flight",
            "Operations that have begun and not ended.",
            each(|arm| arm.in_flight as f64),
        ),
        family(
            Kind::Gauge,
            "proofload_phase",
            "1 for the phase in which a trial of the arm is, 0 for others.",
            phases.collect(),
        ),
        family(
            Kind::Counter,
            "proofload_dispatch_lag_seconds",
            "Sum of how late the generator began operations that have ended.",
            each(|arm| arm.lag_ns as f64 * 1e-9),
        ),
        family(
            Kind::Counter,
            "proofload_response_seconds",
            "Sum of the response times of operations that have ended, of which dispatch lag is a part.",
            each(|arm| arm.response_ns as f64 * 1e-9),
        ),
        family(
            Kind::Counter,
            "proofload_missed_news",
            "News of the run that these metrics missed; with any, the other metrics are incomplete.",
            vec![Series { labels: vec![("run", run)], value: missed }],
        ),
    ]
}
