//! A trial in real time: processes, one pinned thread a worker, and the conductor on the caller's.

use std::sync::Arc;
use std::time::Duration;

use record::event::{Event, EventKind, Phase};
use record::summary::Placement;
use record::{Role, Trial};

use super::desk::Desk;
use super::setup::Setup;
use super::threads::{Threads, timing};
use super::watch::{Blows, Check, Watch};
use super::{ConductError, Output, facts, observers};
use crate::clock::monotonic;
use crate::driver::Driver;
use crate::placement::{self, Aside};
use crate::process::{Launcher, Processes};
use crate::stop::StopSignal;
use crate::transport::Endpoint;
use crate::worker::{Prepared, Stops};

/// From the start of the threads to the first intended start: they must be ready by then.
const LEAD: u64 = 100_000_000;
/// Bound for the answer of an observer.
const OBSERVE_WITHIN: Duration = Duration::from_secs(10);

/// Executes a trial in real time. Blocks the caller's thread, on which `on` is called.
///
/// Errors: what kept it from being executed; what fails meanwhile is data
pub fn run_trial<D: Driver>(
    setup: &Setup<'_, D>,
    launcher: &Launcher,
    on: &mut dyn FnMut(Output),
) -> Result<Trial, ConductError> {
    let placement = place(setup)?;
    let _aside = Aside::of(&placement)?;
    let launcher = Launcher { cores: placement.systems.clone(), ..launcher.clone() };
    announce(setup, on);
    let mut processes = launcher.start(setup.arm, &|| setup.stop.requests() > 0)?;
    let (endpoints, prepared) = prepare(setup, &processes)?;
    let timing = timing()?;
    let start = monotonic() + LEAD;
    let brief = Arc::new(setup.brief(prepared, endpoints, placement.workers.len(), start));
    let mut desk = Desk::new(&brief, on);
    for (name, pids) in processes.pids() {
        desk.event(monotonic(), EventKind::ProcessReady { name, pids });
    }
    desk.event(monotonic(), EventKind::Dated { wall_clock: (setup.calendar)() });
    let (user, end) = (setup.stop.clone(), setup.end.clone());
    let stops = Stops { user, conduct: StopSignal::new(), end };
    let threads = Threads::start(&brief, &placement.workers, &stops)?;
    let processes = &mut processes;
    let (died, check) = (None, Check::Ahead);
    let blows = Blows::new(&setup.arm.faults);
    let mut watch = Watch { processes, stops, timing, placement, died, check, blows };
    watch.conduct(brief.timeline, &mut desk, &threads);
    let harvest = threads.join();
    // A worker of ours that fell says nothing about whatever else fell meanwhile.
    let died = harvest.died.map(|why| (Role::Worker, why)).or(watch.died.take());
    let mut trial = facts::join(setup, &brief, &harvest.reports, (died, desk.ended_early()));
    trial.faults = watch.blows.done;
    desk.close();
    if let Check::Done(generator, kernel) = watch.check {
        (trial.generator, trial.kernel) = (generator, kernel);
    }
    trial.generator.notes.extend(harvest.notes);
    add_processes(&mut trial, processes, &brief.layout.items);
    let accounting = facts::accounting(&trial.totals.total());
    desk.event(monotonic(), EventKind::TrialFinished { accounting });
    Ok(trial)
}

/// Processors for both sides; no more workers than have something to do.
fn place<D: Driver>(setup: &Setup<'_, D>) -> Result<Placement, ConductError> {
    let allowed = placement::allowed_cores()?;
    let wanted = setup.arm.load.workers.map(|workers| workers as usize);
    let workers = setup.workers(placement::place(&allowed, wanted).workers.len());
    Ok(placement::place(&allowed, Some(workers)))
}

fn announce<D: Driver>(setup: &Setup<'_, D>, on: &mut dyn FnMut(Output)) {
    // The measure phase is not dated yet: how long launching takes is not known.
    let at_ns = -setup.lead_ns().cast_signed();
    for kind in [setup.started(), EventKind::PhaseEntered { phase: Phase::Launch }] {
        on(Output::Event(Event { at_ns, kind }));
    }
}

type Ready<D> = (Vec<Endpoint>, Vec<Prepared<<D as Driver>::Operation>>);

/// Fills the targets' placeholders, resolves them, and compiles the mix for them.
fn prepare<D: Driver>(
    setup: &Setup<'_, D>,
    processes: &Processes,
) -> Result<Ready<D>, ConductError> {
    let places = processes.places();
    let targets = setup.arm.targets.iter().map(|target| places.fill_target(target));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let endpoints = targets.iter().map(Endpoint::resolve).collect::<Result<Vec<_>, _>>()?;
    Ok((endpoints, setup.compile(&targets)?))
}

/// What the processes used, and what the observers among them counted.
fn add_processes(trial: &mut Trial, processes: &Processes, items: &[Vec<String>]) {
    trial.systems = processes.facts();
    let observations = processes.observe(OBSERVE_WITHIN);
    let (counted, notes) = observers::observed(observations, &trial.totals, items);
    trial.observers = counted;
    trial.generator.notes.extend(notes);
}
