//! The facts of a trial, joined from the reports of its workers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use plan::load::Model;
use plan::schedule::nanos;
use record::summary::{Accounting, InFlight, Load, Model as ModelName, Phases, Traces};
use record::{EarlyEnd, GeneratorFacts, OperationTotals, PoolFacts, Role, Totals, TrialFacts};

use super::host::TrialEnd;
use super::setup::Setup;
use crate::driver::Driver;
use crate::transport::{Address, Endpoint};
use crate::worker::{WorkerReport, Workload};

/// Why a trial was aborted.
#[derive(Debug, Clone)]
pub(super) struct Abort {
    /// Role of the process or worker that ended, if it belonged to this trial.
    pub role: Option<Role>,
    /// A sentence.
    pub why: String,
    /// When it was noticed, if known.
    pub at: Option<u64>,
    /// The last lines that it printed.
    pub last_words: Vec<String>,
}

impl Abort {
    /// A worker of the generator failed.
    pub fn worker(why: String) -> Self {
        Self { role: Some(Role::Worker), why, at: None, last_words: Vec::new() }
    }
}

/// Joins the reports of all workers that did not fail. `ended_early` is set only if the measure phase did end early.
pub(super) fn join<D: Driver>(
    setup: &Setup<'_, D>,
    workload: &Workload<D>,
    reports: &[WorkerReport],
    ended_early: Option<&EarlyEnd>,
) -> TrialFacts {
    let mut totals = Totals::new(&workload.layout);
    for report in reports {
        totals.merge(&report.totals);
    }
    let phases = phases(setup, workload, reports);
    let think = match workload.load.model {
        Model::Users { think, .. } => Some(nanos(think.mean())),
        Model::Open { .. } | Model::Closed => None,
    };
    TrialFacts {
        index: setup.trial.index,
        block: setup.trial.block,
        order: setup.trial.order,
        duet: setup.trial.duet,
        arm: setup.arm.name.clone(),
        started_at: setup.wall_clock.clone(),
        window_ns: workload.timeline.window,
        load: load(workload),
        timeout_ns: workload.timeline.timeout,
        think_mean_ns: think,
        phases,
        totals,
        in_flight: in_flight(reports, phases.measure_ns),
        area_ns: reports.iter().map(|report| report.area).sum(),
        pool: pool(reports),
        generator: GeneratorFacts::default(),
        systems: Vec::new(),
        observers: Vec::new(),
        kernel: BTreeMap::new(),
        samples_dropped: reports.iter().map(|report| report.samples_dropped).sum(),
        interrupted: reports.iter().any(|report| report.interrupted),
        early_end: ended_early.cloned(),
        died_as: None,
        died_at_ns: None,
        last_words: Vec::new(),
        died: None,
        faults: Vec::new(),
        first_failures: Vec::new(),
        traces: traces(workload, reports),
        agent: None,
        merged_from: 0,
        confidence: stats::quantile::CONFIDENCE,
    }
}

/// The operations that are listed one by one; the collector adds the failures.
fn traces<D: Driver>(workload: &Workload<D>, reports: &[WorkerReport]) -> Option<Traces> {
    let listing = workload.listing()?;
    let from = workload.timeline.measure_from;
    let listed = || reports.iter().filter_map(|report| report.listed.as_ref());
    let slowest = listed().flat_map(|one| &one.slowest);
    let failures_total = listed().map(|one| one.failures_total).sum();
    let mut traces = Traces { failures_total, ..Traces::default() };
    traces.add_slowest(slowest.map(|one| one.named(&workload.layout, from)), listing.by);
    Some(traces)
}

/// Adds that a trial was aborted.
pub(super) fn abort(trial: &mut TrialFacts, abort: Abort, end: TrialEnd<'_>) {
    let measure_from = end.measure_from.cast_signed();
    trial.died = Some(abort.why);
    trial.died_as = abort.role;
    trial.died_at_ns = abort.at.map(|at| at.cast_signed() - measure_from);
    trial.last_words = abort.last_words;
    // Neither its results nor the user ended it, unless the user did.
    trial.early_end = None;
    trial.interrupted = end.stopped;
}

/// Where every planned operation went.
///
/// Panics: if the identities of the accounting do not hold, which is a bug of ours
pub(super) fn accounting(total: &OperationTotals) -> Accounting {
    let accounting = total.accounting();
    let Accounting { planned, started, missed, .. } = accounting;
    assert_eq!(planned, started + missed, "accounting: {accounting:?}");
    accounting
}

fn phases<D: Driver>(
    setup: &Setup<'_, D>,
    workload: &Workload<D>,
    reports: &[WorkerReport],
) -> Phases {
    let from = workload.timeline.measure_from;
    let to = reports.iter().map(|report| report.measure_to).max().unwrap_or(from);
    let drained_at = reports.iter().map(|report| report.drained_at).max().unwrap_or(to);
    Phases {
        ramp_up_ns: nanos(workload.load.ramp_up()),
        warm_up_ns: nanos(setup.warm_up()),
        measure_ns: to.saturating_sub(from),
        drain_ns: drained_at.saturating_sub(to),
    }
}

fn load<D: Driver>(workload: &Workload<D>) -> Load {
    let (planned, share) = (&workload.load, workload.share);
    let part = |total: u32| u32::try_from(share.part(u64::from(total))).unwrap_or(total);
    let mut load = Load {
        model: ModelName::Closed,
        arrivals: None,
        scale: None,
        offered_rate: None,
        connections: part(planned.connections),
        streams: Some(planned.streams).filter(|&streams| streams > 1),
        users: None,
        workers: u32::try_from(workload.workers).unwrap_or(u32::MAX),
    };
    match &planned.model {
        Model::Open { arrivals } => {
            load.model = ModelName::Open;
            load.arrivals = Some(arrivals.name().to_owned());
            load.scale = arrivals.scale();
            let rate = arrivals.mean_rate(planned.stop);
            load.offered_rate = rate.map(|rate| rate / f64::from(share.of));
        }
        Model::Closed => {}
        Model::Users { users, .. } => {
            load.model = ModelName::Users;
            load.users = Some(part(*users));
        }
    }
    load
}

/// Which addresses were used, for each target with several.
pub(super) fn address_notes<D: Driver>(
    workload: &Workload<D>,
    reports: &[WorkerReport],
) -> Vec<String> {
    let of_target = |(target, endpoint): (usize, &Endpoint)| {
        let Address::Tcp(addresses) = &endpoint.address else { return None };
        let of_address = |(place, address): (usize, &SocketAddr)| {
            let count: u64 = reports.iter().map(|report| report.addresses[target][place]).sum();
            format!("{count} to {address}")
        };
        let listed: Vec<String> = addresses.iter().enumerate().map(of_address).collect();
        let name = &endpoint.authority;
        (listed.len() > 1).then(|| format!("connections to {name}: {}", listed.join(", ")))
    };
    workload.endpoints.iter().enumerate().filter_map(of_target).collect()
}

/// The maximum is exact for one worker; for several it is the sum of theirs, an upper bound.
fn in_flight(reports: &[WorkerReport], measure_ns: u64) -> InFlight {
    let integral: u128 = reports.iter().map(|report| report.in_flight_integral).sum();
    InFlight {
        mean: if measure_ns == 0 { 0.0 } else { integral as f64 / measure_ns as f64 },
        max: reports.iter().map(|report| report.in_flight_max).sum(),
    }
}

/// Workers share nothing.
fn pool(reports: &[WorkerReport]) -> PoolFacts {
    reports.iter().fold(PoolFacts::default(), |sum, report| sum.joined(&report.pool))
}
