//! A trial in real time, or several at once: processes, one pinned thread a worker, and the conductor on the caller's.

use std::cell::RefCell;
use std::time::Duration;

use record::event::{Event, EventKind, Phase};
use record::summary::Placement;
use record::{EarlyEnd, Trial};

use super::desk::{Desk, Listener};
use super::facts::Died;
use super::scheduling::{Circumstances, Targets, Wish, is_closed};
use super::setup::{Ready, Setup, briefs};
use super::threads::{Conditions, Harvest, Threads, timing};
use super::watch::{Blows, Check, Fall, Watch};
use super::{ConductError, Output, facts, observers, polling};
use crate::clock::monotonic;
use crate::driver::Driver;
use crate::placement::{self, Aside};
use crate::process::{Launcher, Processes};
use crate::selfcheck::real_time_share;
use crate::transport::Endpoint;
use crate::worker::Brief;

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
    let setups = std::slice::from_ref(setup);
    let mut trials = run_together(setups, launcher, &mut |_, output| on(output))?;
    Ok(trials.remove(0))
}

/// Executes trials at the same time: by the same workers, which begin the operations of each as its own
/// schedule says, against processes of each one's own, which share the processors that are left. `on` is told
/// which of them speaks, by its place. When one of them falls, all end.
///
/// Shape:  at least one; they share their signals, and phases of the same lengths
/// Errors: what kept any of them from being executed; what fails meanwhile is data
pub fn run_together<D: Driver>(
    setups: &[Setup<'_, D>],
    launcher: &Launcher,
    on: &mut dyn FnMut(usize, Output),
) -> Result<Vec<Trial>, ConductError> {
    let placement = place(setups)?;
    let _aside = Aside::of(&placement)?;
    let launcher = Launcher { cores: placement.systems.clone(), ..launcher.clone() };
    announce(setups, on);
    let stopped = || setups.iter().any(|setup| setup.stop.requests() > 0);
    let started = setups.iter().map(|setup| launcher.start(setup.arm, &stopped));
    let mut processes = started.collect::<Result<Vec<_>, _>>()?;
    let ready = setups.iter().zip(&processes).map(|(setup, own)| prepare(setup, own));
    let ready = ready.collect::<Result<Vec<_>, _>>()?;
    let (busy_poll, refused) = polling::wanted(&setups[0].arm.load, &placement);
    let targets = targets::<D>(&processes, &ready, &placement);
    let timing = timing(busy_poll)?;
    let briefs = briefs(setups, ready, placement.workers.len(), monotonic() + LEAD);
    let listener: Listener<'_> = RefCell::new(&mut *on);
    let mut desks: Vec<Desk<'_>> = briefs.iter().map(|brief| Desk::new(brief, &listener)).collect();
    for ((desk, setup), own) in desks.iter_mut().zip(setups).zip(&processes) {
        for (name, pids) in own.pids() {
            desk.event(monotonic(), EventKind::ProcessReady { name, pids });
        }
        desk.event(monotonic(), EventKind::Dated { wall_clock: (setup.calendar)() });
    }
    let stops = setups[0].stops();
    let circumstances = Circumstances {
        real_time: setups[0].real_time,
        polls: busy_poll,
        closed: is_closed(&setups[0].arm.load),
        targets,
        share: real_time_share(),
    };
    let wish = Wish::of(circumstances);
    let conditions = Conditions { cores: &placement.workers, busy_poll, wish };
    let threads = Threads::start(&briefs, conditions, &stops)?;
    let (fell, check, own) = (None, Check::Ahead, &mut processes[..]);
    let blows = setups.iter().map(|setup| Blows::new(&setup.arm.faults)).collect();
    let mut watch = Watch { processes: own, stops, timing, placement, fell, check, blows };
    watch.conduct(briefs[0].timeline, &mut desks, &threads);
    let Watch { fell, check, blows, .. } = watch;
    let mut harvest = threads.join();
    harvest.notes.extend(refused);
    let seen = Seen { fell, check, blows, harvest };
    let sides = setups.iter().zip(&briefs).zip(&processes);
    let trials = sides.zip(&mut desks).map(|(((setup, brief), own), desk)| {
        let trial = seen.trial(setup, brief, (own, desk.ended_early()));
        desk.finish(trial, monotonic())
    });
    Ok(trials.collect())
}

/// What is known once all workers have ended.
struct Seen {
    fell: Option<Fall>,
    check: Check,
    blows: Vec<Blows>,
    harvest: Harvest,
}

impl Seen {
    /// The facts of one of the trials; the generator and the machine were those of all.
    fn trial<D: Driver>(
        &self,
        setup: &Setup<'_, D>,
        brief: &Brief<D>,
        (processes, ended_early): (&Processes, Option<&EarlyEnd>),
    ) -> Trial {
        let fell = self.fell.as_ref().map(|fall| fall.told_to(brief.side));
        // A worker of ours that fell says nothing about whatever else fell meanwhile.
        let died = self.harvest.died.clone().map(Died::worker).or(fell);
        let reports = &self.harvest.reports[brief.side];
        let mut trial = facts::join(setup, brief, reports, (died, ended_early));
        trial.faults.clone_from(&self.blows[brief.side].done);
        if let Check::Done(generator, kernel) = &self.check {
            (trial.generator, trial.kernel) = (generator.clone(), kernel.clone());
        }
        trial.generator.worker_scheduling.clone_from(&self.harvest.scheduling);
        trial.generator.notes.extend_from_slice(&self.harvest.notes);
        trial.generator.notes.extend(brief.notes());
        add_processes(&mut trial, processes, &brief.layout.items);
        trial
    }
}

/// Processors for both sides; no more workers than have something to do.
fn place<D: Driver>(setups: &[Setup<'_, D>]) -> Result<Placement, ConductError> {
    let allowed = placement::allowed_cores()?;
    let wanted = setups[0].arm.load.workers.map(|workers| workers as usize);
    let wanted = placement::place(&allowed, wanted).workers.len();
    let workers = setups.iter().map(|setup| setup.workers(wanted)).min();
    Ok(placement::place(&allowed, workers))
}

fn announce<D: Driver>(setups: &[Setup<'_, D>], on: &mut dyn FnMut(usize, Output)) {
    for (side, setup) in setups.iter().enumerate() {
        // The measure phase is not dated yet: how long launching takes is not known.
        let at_ns = -setup.lead_ns().cast_signed();
        for kind in [setup.started(), EventKind::PhaseEntered { phase: Phase::Launch }] {
            on(side, Output::Event(Event { at_ns, kind }));
        }
    }
}

/// Where the targets run, and whatever was started for them.
fn targets<D: Driver>(
    processes: &[Processes],
    ready: &[Ready<D>],
    placement: &Placement,
) -> Targets {
    let nothing_started = processes.iter().all(|own| own.pids().is_empty());
    let mut endpoints = ready.iter().flat_map(|(endpoints, _)| endpoints);
    match nothing_started && !endpoints.any(Endpoint::is_on_this_machine) {
        true => Targets::Elsewhere,
        false if placement.workers_alone() => Targets::Apart,
        false => Targets::Beside,
    }
}

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
