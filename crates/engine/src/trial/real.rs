//! A trial in real time, or several at once: processes, a pinned thread for each worker, and the supervisor on the
//! caller's thread.

use std::cell::RefCell;

use record::event::EventKind;
use record::summary::Placement;
use record::{EarlyEnd, TrialFacts};

use super::collector::{Collector, OutputSink};
use super::facts::Abort;
use super::host::Host;
use super::preparation::CompiledMix;
use super::scheduling::{Circumstances, SchedulingRequest, TargetPlacement, is_closed};
use super::setup::{PreparedMix, Setup, Start, workloads};
use super::supervisor::{SelfCheckState, Supervisor};
use super::threads::{ThreadSettings, WorkerResults, WorkerThreads, timing};
use super::{TrialError, TrialOutput, facts, polling, preparation};
use crate::clock::monotonic;
use crate::driver::Driver;
use crate::placement::{self, Aside};
use crate::process::{Addresses, Launcher};
use crate::selfcheck::real_time_share;
use crate::transport::Endpoint;
use crate::worker::Workload;

/// Time from starting the threads to the first intended start; the threads must be ready by then.
const LEAD: u64 = 100_000_000;

/// Executes a trial in real time. Blocks the caller's thread, and calls `on` on it.
///
/// Errors: why it could not be executed; failures during the trial are data
pub fn run_trial<D: Driver>(
    setup: &Setup<'_, D>,
    launcher: &Launcher,
    on: &mut dyn FnMut(TrialOutput),
) -> Result<TrialFacts, TrialError> {
    let setups = std::slice::from_ref(setup);
    let mut trials = run_together(setups, launcher, &mut |_, output| on(output))?;
    Ok(trials.remove(0))
}

/// Executes trials at the same time. The same workers begin the operations of each trial by its own schedule. Each
/// trial has its own processes, and all share the remaining processors. `on` gets the index of the trial with each
/// output. If one trial fails, all end.
///
/// Shape:  at least one; they share their signals, and phases of the same lengths
/// Errors: why one of them could not be executed; failures during the trials are data
pub fn run_together<D: Driver>(
    setups: &[Setup<'_, D>],
    launcher: &Launcher,
    on: &mut dyn FnMut(usize, TrialOutput),
) -> Result<Vec<TrialFacts>, TrialError> {
    let placement = place(setups)?;
    let _aside = Aside::of(&placement)?;
    let launcher = Launcher { cores: placement.systems.clone(), ..launcher.clone() };
    announce(setups, on);
    let stopped = || setups.iter().any(|setup| setup.stop.requests() > 0);
    let mut host = Host::start(&launcher, setups.iter().map(|setup| setup.arm), &stopped)?;
    let mixes = setups.iter().zip(host.addresses()).map(|(setup, known)| prepare(setup, known));
    let mixes = mixes.collect::<Result<Vec<_>, _>>()?;
    for (setup, mix) in setups.iter().zip(&mixes) {
        if let Some(preparation) = &setup.arm.setup {
            let mix = CompiledMix { operations: &mix.operations, endpoints: &mix.endpoints };
            preparation::perform(setup, ("setup", preparation), mix, 0)??;
        }
    }
    let (busy_poll, refused) = polling::wanted(&setups[0].arm.load, &placement);
    let targets = targets::<D>(&host, &mixes, &placement);
    let timing = timing(busy_poll)?;
    let workloads = workloads(setups, mixes, placement.workers.len(), start(&setups[0])?);
    let sink: OutputSink<'_> = RefCell::new(&mut *on);
    let mut collectors: Vec<Collector<'_>> =
        workloads.iter().map(|workload| Collector::new(workload, &sink)).collect();
    host.introduce(&mut |side, at, kind| collectors[side].event(at, kind));
    for (collector, setup) in collectors.iter_mut().zip(setups) {
        let (at, wall_clock) = dated(setup.calendar);
        collector.event(at, EventKind::Dated { wall_clock });
    }
    let stops = setups[0].stops();
    let circumstances = Circumstances {
        real_time: setups[0].real_time,
        polls: busy_poll,
        closed: is_closed(&setups[0].arm.load),
        targets,
        share: real_time_share(),
    };
    let request = SchedulingRequest::of(circumstances);
    let settings = ThreadSettings { cores: &placement.workers, busy_poll, request };
    let threads = WorkerThreads::start(&workloads, settings, &stops)?;
    let check = SelfCheckState::NotStarted;
    let mut supervisor = Supervisor { host: &mut host, stops, timing, placement, check };
    supervisor.run(workloads[0].timeline, &mut collectors, &threads);
    let Supervisor { check, .. } = supervisor;
    let mut results = threads.join();
    results.notes.extend(refused);
    for (setup, workload) in setups.iter().zip(&workloads) {
        results.notes.extend(tear_down(setup, workload)?);
    }
    let results = TrialResults { host, check, workers: results };
    let sides = setups.iter().zip(&workloads);
    let trials = sides.zip(&mut collectors).map(|((setup, workload), collector)| {
        let trial = results.trial(setup, workload, collector.ended_early());
        collector.finish(trial, monotonic())
    });
    Ok(trials.collect())
}

/// The time of day at an instant, both read as close together as a busy machine allows.
fn dated(calendar: fn() -> String) -> (u64, String) {
    const READINGS: usize = 10;
    let reading = || {
        let before = monotonic();
        let wall_clock = calendar();
        let gap = monotonic() - before;
        (gap, before + gap / 2, wall_clock)
    };
    let closest = (0..READINGS).map(|_| reading()).min_by_key(|(gap, ..)| *gap);
    closest.map_or_else(|| (monotonic(), calendar()), |(_, at, wall_clock)| (at, wall_clock))
}

/// When the first phase with load begins.
fn start<D: Driver>(setup: &Setup<'_, D>) -> Result<u64, TrialError> {
    let at = match setup.start {
        Start::Ready => return Ok(monotonic() + LEAD),
        Start::At(at) => at,
        Start::Appointed(appointed) => appointed().ok_or(TrialError::CalledOff)?,
    };
    let earliest = monotonic() + LEAD;
    match at < earliest {
        true => Err(TrialError::TooLate { late_ns: earliest - at }),
        false => Ok(at),
    }
}

/// Performs `[teardown]`. Returns what failed: the load is over, so that its figures stand.
fn tear_down<D: Driver>(
    setup: &Setup<'_, D>,
    workload: &Workload<D>,
) -> Result<Option<String>, TrialError> {
    let Some(preparation) = &setup.arm.teardown else { return Ok(None) };
    let mix = CompiledMix { operations: &workload.prepared, endpoints: &workload.endpoints };
    let timeline = workload.timeline;
    // Other shares may still send, up to this instant.
    let not_before = match setup.share.is_whole() {
        true => 0,
        false => timeline.measure_to.saturating_add(timeline.timeout),
    };
    let not_before = if timeline.measure_to == u64::MAX { 0 } else { not_before };
    let ended = preparation::perform(setup, ("teardown", preparation), mix, not_before)?;
    Ok(ended.err().map(|failed| failed.to_string()))
}

/// The results after all workers have ended.
struct TrialResults {
    host: Host,
    check: SelfCheckState,
    workers: WorkerResults,
}

impl TrialResults {
    /// The facts of one of the trials; generator and machine are the same for all.
    fn trial<D: Driver>(
        &self,
        setup: &Setup<'_, D>,
        workload: &Workload<D>,
        ended_early: Option<&EarlyEnd>,
    ) -> TrialFacts {
        let reports = &self.workers.reports[workload.side];
        let mut trial = facts::join(setup, workload, reports, ended_early);
        let end = setup.ending(workload);
        // A failed worker of the generator says nothing about the processes.
        if let Some(why) = &self.workers.died {
            facts::abort(&mut trial, Abort::worker(why.clone()), end);
        }
        if let SelfCheckState::Done(generator, kernel) = &self.check {
            (trial.generator, trial.kernel) = (generator.clone(), kernel.clone());
        }
        trial.generator.worker_scheduling.clone_from(&self.workers.scheduling);
        trial.generator.notes.extend_from_slice(&self.workers.notes);
        trial.generator.notes.extend(workload.notes());
        trial.generator.notes.extend(facts::address_notes(workload, reports));
        self.host.complete(workload.side, &mut trial, end);
        trial
    }
}

/// Processors for both sides; no more workers than can be used.
fn place<D: Driver>(setups: &[Setup<'_, D>]) -> Result<Placement, TrialError> {
    let allowed = placement::allowed_cores()?;
    let wanted = setups[0].arm.load.workers.map(|workers| workers as usize);
    let wanted = wanted.map_or_else(|| placement::usual_workers(&allowed), |wanted| wanted.max(1));
    let workers = setups.iter().map(|setup| setup.workers(wanted)).min();
    Ok(placement::place(&allowed, workers))
}

fn announce<D: Driver>(setups: &[Setup<'_, D>], on: &mut dyn FnMut(usize, TrialOutput)) {
    for (side, setup) in setups.iter().enumerate() {
        setup.launched().into_iter().for_each(|event| on(side, TrialOutput::Event(event)));
    }
}

/// Where the targets run, and the processes that were started for them.
fn targets<D: Driver>(
    host: &Host,
    mixes: &[PreparedMix<D>],
    placement: &Placement,
) -> TargetPlacement {
    let nothing_started = host.is_empty();
    let mut endpoints = mixes.iter().flat_map(|mix| &mix.endpoints);
    match nothing_started && !endpoints.any(Endpoint::is_on_this_machine) {
        true => TargetPlacement::OtherMachines,
        false if placement.workers_alone() => TargetPlacement::OtherProcessors,
        false => TargetPlacement::SameProcessors,
    }
}

/// Fills in the targets' placeholders, resolves the targets, and compiles the mix for them.
fn prepare<D: Driver>(
    setup: &Setup<'_, D>,
    addresses: &Addresses,
) -> Result<PreparedMix<D>, TrialError> {
    let targets = setup.arm.targets.iter().map(|target| addresses.fill_target(target));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let endpoints = targets.iter().map(Endpoint::resolve).collect::<Result<Vec<_>, _>>()?;
    Ok(PreparedMix::new(&*setup.driver, endpoints, setup.compile(&targets)?))
}
