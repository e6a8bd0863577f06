//! Patterns in the fine histograms of a trial. These histograms are in memory only while the trial is summarised.

use record::{OperationTotals, TrialFacts};
use stats::Histogram;
use stats::modes::{self, Modes};
use stats::signature::{self, Cluster, Comb};

const MILLISECOND: u64 = 1_000_000;

/// Patterns in the times of one trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shape {
    /// Connect times just above the times at which this kernel retransmits a SYN.
    pub syn_retries: Vec<Cluster>,
    /// Service times just above the times at which a first request is retransmitted.
    pub request_retries: Vec<Cluster>,
    /// Service times just above the least retransmission time-out.
    pub retransmission: Option<Cluster>,
    /// Service times just above the minimum delay of an acknowledgement, where the first byte came earlier.
    pub delayed_ack: Option<Cluster>,
    /// Service times just above the time-outs that programs often use.
    pub time_outs: Vec<Cluster>,
    /// Response times just above whole periods of a CPU quota.
    pub quota: Vec<Cluster>,
    /// Steps in the service times.
    pub comb: Option<Comb>,
    /// Each operation, in the order of the mix.
    pub operations: Vec<OperationShape>,
}

/// Patterns in the times of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationShape {
    /// Its name.
    pub name: String,
    /// Two modes of its service time.
    pub modes: Option<Modes>,
}

impl Shape {
    /// Finds the patterns in the histograms of an executed trial with these span names.
    pub fn of(trial: &TrialFacts, names: &[String]) -> Self {
        let total = trial.totals.total();
        let span = |name: &str| {
            let place = names.iter().position(|span| span == name);
            place.and_then(|place| total.spans.get(place))
        };
        let retries = signature::syn_retries(trial.generator.syn_linear_timeouts);
        let service = &total.service_time;
        let operations = trial.totals.operations.iter();
        Self {
            syn_retries: span("connect").map_or_else(Vec::new, |connect| {
                retries.iter().filter_map(|&at| timer(connect, at)).collect()
            }),
            request_retries: [200, 600, 1_400, 3_000]
                .iter()
                .filter_map(|ms| timer_in_tail(service, ms * MILLISECOND))
                .collect(),
            retransmission: timer_in_tail(service, 200 * MILLISECOND),
            delayed_ack: span("first_byte").and_then(|first| delayed_ack(service, first)),
            time_outs: time_outs(service),
            quota: quota(&total.response_time),
            comb: [10, 4, 1].iter().find_map(|ms| signature::comb(service, ms * MILLISECOND)),
            operations: operations.map(OperationShape::of).collect(),
        }
    }
}

impl OperationShape {
    fn of(totals: &OperationTotals) -> Self {
        Self { name: totals.name.clone(), modes: modes::two(&totals.service_time) }
    }
}

/// A cluster above a time at which a kernel timer fires.
fn timer(times: &Histogram, at: u64) -> Option<Cluster> {
    signature::cluster(times, at, signature::wheel_width(at))
}

fn timer_in_tail(times: &Histogram, at: u64) -> Option<Cluster> {
    timer(times, at).filter(|_| in_tail(times, at))
}

/// If most operations take that long, the target is slow, and no timer is the cause.
fn in_tail(times: &Histogram, at: u64) -> bool {
    times.quantile(0.5).is_some_and(|median| median < at / 4)
}

/// A delayed acknowledgement delays the rest of an answer, while its first bytes come early. Without that evidence,
/// 40 ms may have any cause.
fn delayed_ack(service: &Histogram, first_byte: &Histogram) -> Option<Cluster> {
    const AT: u64 = 40 * MILLISECOND;
    let late = timer(service, AT)?;
    let first = first_byte.count_between(AT, AT + late.width_ns);
    let stamped = first_byte.count() >= service.count();
    (stamped && first * 2 < late.count).then_some(late)
}

fn time_outs(service: &Histogram) -> Vec<Cluster> {
    let at = [5_000, 10_000, 30_000].map(|ms| ms * MILLISECOND).into_iter();
    at.filter(|&at| in_tail(service, at))
        .filter_map(|at| signature::cluster(service, at, signature::width(at)))
        .collect()
}

fn quota(response: &Histogram) -> Vec<Cluster> {
    let at = (1..=10).map(|periods| periods * 100 * MILLISECOND);
    at.filter(|&at| in_tail(response, at))
        .filter_map(|at| signature::cluster(response, at, signature::width(at)))
        .collect()
}
