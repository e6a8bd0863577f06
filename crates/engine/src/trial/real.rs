//! A trial in real time, or several at once: processes, a pinned thread for each worker, and the supervisor on the
//! caller's thread.

use std::cell::RefCell;
use std::time::Duration;

use record::event::{Event, EventKind, Phase};
use record::summary::Placement;
use record::{EarlyEnd, TrialFacts};

use super::collector::{Collector, OutputSink};
use super::facts::Abort;
use super::preparation::CompiledMix;
use super::scheduling::{Circumstances, SchedulingRequest, TargetPlacement, is_closed};
use super::setup::{PreparedMix, Setup, Start, workloads};
use super::supervisor::{FaultSchedule, ProcessFailure, SelfCheckState, Supervisor};
use super::threads::{ThreadSettings, WorkerResults, WorkerThreads, timing};
use super::{TrialError, TrialOutput, facts, observers, polling, preparation};
use crate::clock::monotonic;
use crate::driver::Driver;
use crate::placement::{self, Aside};
use crate::process::{Launcher, Processes};
use crate::selfcheck::real_time_share;
use crate::transport::Endpoint;
use crate::worker::Workload;

/// Time from starting the threads to the first intended start; the threads must be ready by then.
const LEAD: u64 = 100_000_000;
/// Time limit for the answer of an observer.
const OBSERVE_WITHIN: Duration = Duration::from_secs(10);

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
    let started = setups.iter().map(|setup| launcher.start(setup.arm, &stopped));
    let mut processes = started.collect::<Result<Vec<_>, _>>()?;
    let mixes = setups.iter().zip(&processes).map(|(setup, own)| prepare(setup, own));
    let mixes = mixes.collect::<Result<Vec<_>, _>>()?;
    for (setup, mix) in setups.iter().zip(&mixes) {
        if let Some(preparation) = &setup.arm.setup {
            let mix = CompiledMix { operations: &mix.operations, endpoints: &mix.endpoints };
            preparation::perform(setup, ("setup", preparation), mix, 0)??;
        }
    }
    let (busy_poll, refused) = polling::wanted(&setups[0].arm.load, &placement);
    let targets = targets::<D>(&processes, &mixes, &placement);
    let timing = timing(busy_poll)?;
    let workloads = workloads(setups, mixes, placement.workers.len(), start(&setups[0])?);
    let sink: OutputSink<'_> = RefCell::new(&mut *on);
    let mut collectors: Vec<Collector<'_>> =
        workloads.iter().map(|workload| Collector::new(workload, &sink)).collect();
    for ((collector, setup), own) in collectors.iter_mut().zip(setups).zip(&processes) {
        for (name, pids) in own.pids() {
            collector.event(monotonic(), EventKind::ProcessReady { name, pids });
        }
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
    let (failure, check, own) = (None, SelfCheckState::NotStarted, &mut processes[..]);
    let faults = setups.iter().map(|setup| FaultSchedule::new(&setup.arm.faults)).collect();
    let mut supervisor =
        Supervisor { processes: own, stops, timing, placement, failure, check, faults };
    supervisor.run(workloads[0].timeline, &mut collectors, &threads);
    let Supervisor { failure, check, faults, .. } = supervisor;
    let mut results = threads.join();
    results.notes.extend(refused);
    for (setup, workload) in setups.iter().zip(&workloads) {
        results.notes.extend(tear_down(setup, workload)?);
    }
    let results = TrialResults { failure, check, faults, workers: results };
    let sides = setups.iter().zip(&workloads).zip(&processes);
    let trials = sides.zip(&mut collectors).map(|(((setup, workload), own), collector)| {
        let trial = results.trial(setup, workload, own, collector.ended_early());
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
    failure: Option<ProcessFailure>,
    check: SelfCheckState,
    faults: Vec<FaultSchedule>,
    workers: WorkerResults,
}

impl TrialResults {
    /// The facts of one of the trials; generator and machine are the same for all.
    fn trial<D: Driver>(
        &self,
        setup: &Setup<'_, D>,
        workload: &Workload<D>,
        processes: &Processes,
        ended_early: Option<&EarlyEnd>,
    ) -> TrialFacts {
        let failure = self.failure.as_ref().map(|failure| failure.abort_of(workload.side));
        // A failed worker of the generator says nothing about the processes.
        let abort = self.workers.died.clone().map(Abort::worker).or(failure);
        let reports = &self.workers.reports[workload.side];
        let mut trial = facts::join(setup, workload, reports, abort, ended_early);
        trial.faults.clone_from(&self.faults[workload.side].done);
        if let SelfCheckState::Done(generator, kernel) = &self.check {
            (trial.generator, trial.kernel) = (generator.clone(), kernel.clone());
        }
        trial.generator.worker_scheduling.clone_from(&self.workers.scheduling);
        trial.generator.notes.extend_from_slice(&self.workers.notes);
        trial.generator.notes.extend(workload.notes());
        trial.generator.notes.extend(facts::address_notes(workload, reports));
        add_processes(&mut trial, processes, &workload.layout.items);
        trial
    }
}

/// Processors for both sides; no more workers than can be used.
fn place<D: Driver>(setups: &[Setup<'_, D>]) -> Result<Placement, TrialError> {
    let allowed = placement::allowed_cores()?;
    let wanted = setups[0].arm.load.workers.map(|workers| workers as usize);
    let wanted = placement::place(&allowed, wanted).workers.len();
    let workers = setups.iter().map(|setup| setup.workers(wanted)).min();
    Ok(placement::place(&allowed, workers))
}

fn announce<D: Driver>(setups: &[Setup<'_, D>], on: &mut dyn FnMut(usize, TrialOutput)) {
    for (side, setup) in setups.iter().enumerate() {
        // The measure phase is not dated yet: how long launching takes is not known.
        let at_ns = -setup.lead_ns().cast_signed();
        for kind in [setup.started(), EventKind::PhaseEntered { phase: Phase::Launch }] {
            on(side, TrialOutput::Event(Event { at_ns, kind }));
        }
    }
}

/// Where the targets run, and the processes that were started for them.
fn targets<D: Driver>(
    processes: &[Processes],
    mixes: &[PreparedMix<D>],
    placement: &Placement,
) -> TargetPlacement {
    let nothing_started = processes.iter().all(|own| own.pids().is_empty());
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
    processes: &Processes,
) -> Result<PreparedMix<D>, TrialError> {
    let addresses = processes.addresses();
    let targets = setup.arm.targets.iter().map(|target| addresses.fill_target(target));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let endpoints = targets.iter().map(Endpoint::resolve).collect::<Result<Vec<_>, _>>()?;
    Ok(PreparedMix { endpoints, operations: setup.compile(&targets)? })
}

/// Adds the usage of processes, and the counts of the observers among them.
fn add_processes(trial: &mut TrialFacts, processes: &Processes, items: &[Vec<String>]) {
    trial.systems = processes.facts();
    let observations = processes.observe(OBSERVE_WITHIN);
    let (counted, notes) = observers::observed(observations, &trial.totals, items);
    trial.observers = counted;
    trial.generator.notes.extend(notes);
}
