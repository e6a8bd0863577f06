//! The calibration cases, in order of execution.

use record::summary::{Distribution, Summary, TrialSummary};
use serde_json::Value;

use super::Reading;

/// An experiment of known truth.
#[derive(Debug, Clone, Copy)]
pub struct CalibrationCase {
    /// Name in the table and of the run folder.
    pub name: &'static str,
    /// Settings of the truth system, as in `set = { … }`.
    set: &'static str,
    /// The `[load]` table.
    load: &'static str,
    /// Compares the measured values with the truth.
    pub compare: fn(&CaseResult<'_>) -> Vec<Reading>,
}

/// The result of a case.
#[derive(Debug, Clone, Copy)]
pub struct CaseResult<'a> {
    /// The only trial.
    pub trial: &'a TrialSummary,
    /// Median of the floor in nanoseconds, once it was measured.
    pub floor_ns: f64,
}

const MILLISECOND: f64 = 1e6;

/// Every case; the first one measures the floor.
pub const CASES: &[CalibrationCase] = &[
    CalibrationCase {
        name: "floor",
        set: "mode = \"none\"",
        load: "connections = 1\nduration = \"2s\"",
        compare: floor,
    },
    CalibrationCase {
        name: "pacing at 1,000/s",
        set: "mode = \"none\", planned_rate = \"1000/s\"",
        load: "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"5s\"",
        compare: |seen| pacing(seen, 5_000),
    },
    CalibrationCase {
        name: "pacing at 10,000/s",
        set: "mode = \"none\", planned_rate = \"10000/s\"",
        load: "rate = \"10000/s\"\narrivals = \"constant\"\nduration = \"3s\"",
        compare: |seen| pacing(seen, 30_000),
    },
    CalibrationCase {
        name: "constant 1 ms",
        set: "mode = \"constant\", service = \"1ms\"",
        load: "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"4s\"",
        compare: constant,
    },
    CalibrationCase {
        name: "freeze of 1 s",
        set: "mode = \"freeze\", at = \"4s\", length = \"1s\", service = \"0s\"",
        load: "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"",
        compare: freeze,
    },
    CalibrationCase {
        name: "M/M/1 at half capacity",
        set: "mode = \"mm1\", rate = \"1000/s\"",
        load: "rate = \"500/s\"\nduration = \"15s\"",
        compare: queue,
    },
];

impl CalibrationCase {
    /// The experiment file.
    pub fn experiment(&self) -> String {
        format!(
            "title = \"calibration: {}\"\nseed = 1\n[system]\nserve = \"truth\"\nset = {{ {} }}\n\
             [[observer]]\nname = \"truth\"\n[load]\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n{}\n\
             [[operation]]\nname = \"ask\"\nhttp = {{ path = \"/\" }}\n",
            self.name, self.set, self.load
        )
    }
}

impl<'a> CaseResult<'a> {
    /// `None` if the run has no trial.
    pub fn of(summary: &'a Summary, floor_ns: f64) -> Option<Self> {
        let trial = summary.arms.first()?.trials.first()?;
        Some(Self { trial, floor_ns })
    }

    /// Median service time.
    pub fn median_service_ns(&self) -> f64 {
        quantile(&self.trial.total.service_time, 0.5)
    }

    /// A figure from the target's own report; NaN if it is missing.
    fn target(&self, group: &str, figure: &str) -> f64 {
        let detail = self.trial.observers.first().and_then(|one| one.detail.get(group));
        detail.and_then(|one| one.get(figure)).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn received(&self) -> u64 {
        self.trial.observers.first().map_or(0, |observer| observer.received)
    }
}

fn quantile(distribution: &Distribution, q: f64) -> f64 {
    let found = distribution.quantiles.iter().find(|quantile| quantile.q == q);
    found.and_then(|quantile| quantile.observed_ns).map_or(f64::NAN, |value| value as f64)
}

fn response(seen: &CaseResult<'_>, q: f64) -> f64 {
    quantile(&seen.trial.total.response_time, q)
}

/// The lowest times that can be measured here; shown without a comparison.
fn floor(seen: &CaseResult<'_>) -> Vec<Reading> {
    let service = &seen.trial.total.service_time;
    let shown = |what, q| Reading::shown(what, plan::number::duration(quantile(service, q) as u64));
    vec![shown("service time p50", 0.5), shown("service time p99", 0.99)]
}

/// A constant rate as the target saw it.
fn pacing(seen: &CaseResult<'_>, planned: u64) -> Vec<Reading> {
    vec![
        Reading::error(
            "schedule error p50",
            seen.target("schedule_error_ns", "p50"),
            0.1 * MILLISECOND,
        ),
        Reading::error("schedule error p99", seen.target("schedule_error_ns", "p99"), MILLISECOND),
        Reading::exact("requests received", planned, seen.received()),
    ]
}

/// A service that takes 1 ms; the rest is the round trip and the target's own lateness.
fn constant(seen: &CaseResult<'_>) -> Vec<Reading> {
    let truth = MILLISECOND + seen.floor_ns + seen.target("answer_lateness_ns", "p50");
    vec![
        Reading::time("response time p50", truth, response(seen, 0.5), 0.1 * MILLISECOND),
        Reading::exact("requests received", 4_000, seen.received()),
    ]
}

/// A tenth of the requests wait uniformly 0 – 1 s.
fn freeze(seen: &CaseResult<'_>) -> Vec<Reading> {
    vec![
        Reading::time(
            "response time p95",
            500.0 * MILLISECOND,
            response(seen, 0.95),
            15.0 * MILLISECOND,
        ),
        Reading::time(
            "response time p99",
            900.0 * MILLISECOND,
            response(seen, 0.99),
            18.0 * MILLISECOND,
        ),
        Reading::exact("requests received", 10_000, seen.received()),
    ]
}

/// Compares with the exact response times of this sequence of arrivals and service times, which the target computes;
/// the closed form (mean 2 ms) is the mean over all sequences.
fn queue(seen: &CaseResult<'_>) -> Vec<Reading> {
    let total = &seen.trial.total.response_time;
    let truth = |figure| seen.target("true_response_ns", figure) + seen.floor_ns;
    vec![
        Reading::time("response time mean", truth("mean"), total.mean_ns as f64, 0.2 * MILLISECOND),
        Reading::time("response time p50", truth("p50"), response(seen, 0.5), 0.2 * MILLISECOND),
        Reading::time("response time p99", truth("p99"), response(seen, 0.99), MILLISECOND),
    ]
}
