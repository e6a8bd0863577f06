//! What is left at the end: the workers' reports joined to the facts of a trial.

use std::collections::BTreeMap;

use plan::load::Model;
use record::summary::{Accounting, InFlight, Load, Model as ModelName, Phases};
use record::{EarlyEnd, GeneratorFacts, OperationTotals, PoolFacts, Role, Totals, Trial};

use super::setup::{Setup, nanos};
use crate::driver::Driver;
use crate::worker::{Brief, Report};

/// Why a trial ended before its time.
#[derive(Debug, Clone)]
pub(super) struct Died {
    /// What it was that ended, if it was something of this trial.
    pub role: Option<Role>,
    /// In words.
    pub why: String,
    /// When that was noticed.
    pub at: Option<u64>,
    /// The last lines that it printed.
    pub last_words: Vec<String>,
}

impl Died {
    /// A worker of ours fell.
    pub fn worker(why: String) -> Self {
        Self { role: Some(Role::Worker), why, at: None, last_words: Vec::new() }
    }
}

/// Joins the reports of all workers that ended well. Early is what ended early, and not what was only wished to.
pub(super) fn join<D: Driver>(
    setup: &Setup<'_, D>,
    brief: &Brief<D>,
    reports: &[Report],
    (died, ended_early): (Option<Died>, Option<&EarlyEnd>),
) -> Trial {
    let mut totals = Totals::new(&brief.layout);
    for report in reports {
        totals.merge(&report.totals);
    }
    let phases = phases(setup, brief, reports);
    let think = match brief.load.model {
        Model::Users { think, .. } => Some(nanos(think.mean())),
        Model::Open { .. } | Model::Closed => None,
    };
    Trial {
        index: setup.trial.index,
        block: setup.trial.block,
        order: setup.trial.order,
        duet: setup.trial.duet,
        arm: setup.arm.name.clone(),
        started_at: setup.wall_clock.clone(),
        window_ns: brief.timeline.window,
        load: load(brief),
        timeout_ns: brief.timeline.timeout,
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
        // Whatever falls stops the workers, too, and worse; but what falls after the user's wish decides nothing.
        interrupted: match died {
            None => reports.iter().any(|report| report.interrupted),
            Some(_) => setup.stop.requests() > 0,
        },
        // Of a trial that fell, nothing was enough.
        early_end: ended_early.filter(|_| died.is_none()).cloned(),
        died_as: died.as_ref().and_then(|died| died.role),
        died_at_ns: died.as_ref().and_then(|died| {
            Some(died.at?.cast_signed() - brief.timeline.measure_from.cast_signed())
        }),
        last_words: died.as_ref().map(|died| died.last_words.clone()).unwrap_or_default(),
        died: died.map(|died| died.why),
        faults: Vec::new(),
        first_failures: Vec::new(),
        confidence: stats::quantile::CONFIDENCE,
    }
}

/// Where every planned operation went.
///
/// Panics: if the identities of the accounting do not hold, which is a bug of ours
pub(super) fn accounting(total: &OperationTotals) -> Accounting {
    let &OperationTotals { planned, missed, succeeded, failed, abandoned, .. } = total;
    let started = succeeded + failed + abandoned;
    assert_eq!(
        planned,
        started + missed,
        "accounting: planned is not started ({succeeded} succeeded, {failed} failed, {abandoned} \
         abandoned) and missed ({missed})"
    );
    Accounting { planned, started, missed, succeeded, failed, abandoned }
}

fn phases<D: Driver>(setup: &Setup<'_, D>, brief: &Brief<D>, reports: &[Report]) -> Phases {
    let from = brief.timeline.measure_from;
    let to = reports.iter().map(|report| report.measure_to).max().unwrap_or(from);
    let drained_at = reports.iter().map(|report| report.drained_at).max().unwrap_or(to);
    Phases {
        ramp_up_ns: nanos(brief.load.ramp_up()),
        warm_up_ns: nanos(setup.warm_up()),
        measure_ns: to.saturating_sub(from),
        drain_ns: drained_at.saturating_sub(to),
    }
}

fn load<D: Driver>(brief: &Brief<D>) -> Load {
    let planned = &brief.load;
    let mut load = Load {
        model: ModelName::Closed,
        arrivals: None,
        offered_rate: None,
        connections: planned.connections,
        streams: Some(planned.streams).filter(|&streams| streams > 1),
        users: None,
        workers: u32::try_from(brief.workers).unwrap_or(u32::MAX),
    };
    match &planned.model {
        Model::Open { arrivals } => {
            load.model = ModelName::Open;
            load.arrivals = Some(arrivals.name().to_owned());
            load.offered_rate = arrivals.mean_rate(planned.stop);
        }
        Model::Closed => {}
        Model::Users { users, .. } => {
            load.model = ModelName::Users;
            load.users = Some(*users);
        }
    }
    load
}

/// The maximum is exact for one worker; for several it is the sum of theirs, an upper bound.
fn in_flight(reports: &[Report], measure_ns: u64) -> InFlight {
    let integral: u128 = reports.iter().map(|report| report.in_flight_integral).sum();
    InFlight {
        mean: if measure_ns == 0 { 0.0 } else { integral as f64 / measure_ns as f64 },
        max: reports.iter().map(|report| report.in_flight_max).sum(),
    }
}

/// Workers share nothing: the pool was saturated for as long as it was on the worst of them.
fn pool(reports: &[Report]) -> PoolFacts {
    reports.iter().map(|report| report.pool).fold(PoolFacts::default(), |sum, part| PoolFacts {
        connections_max: sum.connections_max + part.connections_max,
        connections_opened: sum.connections_opened + part.connections_opened,
        connections_lost: sum.connections_lost + part.connections_lost,
        waited: sum.waited + part.waited,
        saturated_ns: sum.saturated_ns.max(part.saturated_ns),
        saturated_first_ns: [sum.saturated_first_ns, part.saturated_first_ns]
            .into_iter()
            .flatten()
            .min(),
    })
}
