//! A trial in real time: processes, one pinned thread a worker, and the conductor on the caller's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use record::event::{EventKind, Phase};
use record::summary::Placement;
use record::{GeneratorFacts, Trial};
use tokio::runtime::{Builder, LocalOptions};

use super::desk::Desk;
use super::setup::Setup;
use super::{ConductError, Output, facts, observers};
use crate::clock::{Real, monotonic};
use crate::driver::Driver;
use crate::placement;
use crate::process::{Launcher, Processes};
use crate::stop::StopSignal;
use crate::transport::{Endpoint, Kernel};
use crate::worker::{Brief, Message, Report, Stops, work};

/// From the start of the threads to the first intended start: they must be ready by then.
const LEAD: u64 = 100_000_000;
/// Between looks at processes, processors and the user's wish.
const TICK: u64 = 1_000_000_000;
/// Bound for the answer of an observer.
const OBSERVE_WITHIN: Duration = Duration::from_secs(10);

type Ended = Result<Report, String>;

/// Executes a trial in real time. Blocks the caller's thread, on which `on` is called.
///
/// Errors: what kept it from being executed; what fails meanwhile is data
pub fn run_trial<D: Driver>(
    setup: &Setup<'_, D>,
    launcher: &Launcher,
    on: &mut dyn FnMut(Output),
) -> Result<Trial, ConductError> {
    let placement = place(setup)?;
    let launcher = Launcher { cores: placement.systems.clone(), ..launcher.clone() };
    announce(setup, on);
    let mut processes = launcher.start(setup.arm, &|| setup.stop.requests() > 0)?;
    let (endpoints, prepared) = prepare(setup, &processes)?;
    let start = monotonic() + LEAD;
    let brief = Arc::new(setup.brief(prepared, endpoints, placement.workers.len(), start));
    let mut desk = Desk::new(&brief, on);
    for (name, pids) in processes.pids() {
        desk.event(monotonic(), EventKind::ProcessReady { name, pids });
    }
    let mut watch = Watch::new(setup, &mut processes);
    let (threads, said) = start_workers(&brief, &placement, &watch.stops)?;
    watch.conduct(&brief, &mut desk, &said);
    let (reports, notes) = join(threads, &mut watch.died);
    watch.end_measure();
    let died = watch.died.take();
    let mut trial = facts::join(setup, &brief, &reports, died);
    desk.close();
    trial.generator = GeneratorFacts { placement, notes, ..GeneratorFacts::default() };
    trial.systems = processes.facts();
    let observations = processes.observe(OBSERVE_WITHIN);
    let (counted, notes) = observers::observed(observations, &trial.totals);
    trial.observers = counted;
    trial.generator.notes.extend(notes);
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
    // The measure phase is not dated yet; launching takes place before ramp-up and warm-up.
    let at_ns = -setup.lead_ns().cast_signed();
    let started = EventKind::TrialStarted {
        trial: setup.trial.index,
        arm: setup.arm.name.clone(),
        wall_clock: setup.wall_clock.clone(),
    };
    for kind in [started, EventKind::PhaseEntered { phase: Phase::Launch }] {
        on(Output::Event(record::event::Event { at_ns, kind }));
    }
}

type Ready<D> = (Vec<Endpoint>, Vec<crate::worker::Prepared<<D as Driver>::Operation>>);

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

type Threads = Vec<JoinHandle<(Ended, Option<String>)>>;

fn start_workers<D: Driver>(
    brief: &Arc<Brief<D>>,
    placement: &Placement,
    stops: &Stops,
) -> Result<(Threads, Receiver<Message>), ConductError> {
    let (messages, said) = channel();
    let mut threads = Vec::new();
    for (worker, &core) in placement.workers.iter().enumerate() {
        let (brief, ends) = (Arc::clone(brief), (stops.clone(), messages.clone()));
        let conduct = stops.conduct.clone();
        let body = move || {
            let note = placement::pin(&[core]).err();
            let note = note.map(|error| format!("worker {worker} could not be pinned: {error}"));
            let ended = catch_unwind(AssertUnwindSafe(|| run(brief, worker, ends)));
            let ended = ended.unwrap_or_else(|_| Err(format!("worker {worker} panicked")));
            if ended.is_err() {
                conduct.request();
            }
            (ended, note)
        };
        let thread = thread::Builder::new().name(format!("worker-{worker}")).spawn(body);
        if thread.is_err() {
            stops.conduct.request();
        }
        threads.push(thread?);
    }
    Ok((threads, said))
}

/// The whole of a worker's thread.
fn run<D: Driver>(brief: Arc<Brief<D>>, worker: usize, ends: (Stops, Sender<Message>)) -> Ended {
    let runtime = Builder::new_current_thread().enable_io().build_local(LocalOptions::default());
    let runtime = runtime.map_err(|error| format!("worker {worker} has no runtime: {error}"))?;
    runtime.block_on(async move {
        let clock = Real::start();
        let clock = clock.map_err(|error| format!("worker {worker} has no timer: {error}"))?;
        work((clock, Kernel), brief, worker, ends).await
    })
}

fn join(threads: Threads, died: &mut Option<String>) -> (Vec<Report>, Vec<String>) {
    let (mut reports, mut notes) = (Vec::new(), Vec::new());
    for thread in threads {
        match thread.join() {
            Ok((ended, note)) => {
                notes.extend(note);
                match ended {
                    Ok(report) => reports.push(report),
                    Err(reason) => _ = died.get_or_insert(reason),
                }
            }
            Err(_) => _ = died.get_or_insert("a worker panicked while it ended".to_owned()),
        }
    }
    (reports, notes)
}

/// What the conductor looks at while the workers work.
struct Watch<'a> {
    processes: &'a mut Processes,
    stops: Stops,
    died: Option<String>,
    measuring: Option<bool>,
}

impl<'a> Watch<'a> {
    fn new<D: Driver>(setup: &Setup<'_, D>, processes: &'a mut Processes) -> Self {
        let stops = Stops { user: setup.stop.clone(), conduct: StopSignal::new() };
        Self { processes, stops, died: None, measuring: None }
    }

    /// Listens until every worker has ended.
    fn conduct<D: Driver>(
        &mut self,
        brief: &Brief<D>,
        desk: &mut Desk<'_>,
        said: &Receiver<Message>,
    ) {
        let timeline = brief.timeline;
        let mut tick = timeline.start;
        loop {
            let now = monotonic();
            desk.enter_phases(now);
            if now >= timeline.measure_from && self.measuring.is_none() {
                self.begin_measure();
            }
            if now >= timeline.measure_to {
                self.end_measure();
            }
            if now >= tick {
                self.look(desk, now);
                desk.tell_progress(now);
                tick += TICK * (1 + (now - tick) / TICK);
            }
            let next = [timeline.measure_from, timeline.measure_to]
                .into_iter()
                .filter(|&at| at > now)
                .fold(tick, u64::min);
            match said.recv_timeout(Duration::from_nanos(next.saturating_sub(now))) {
                Ok(message) => desk.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.look(desk, monotonic());
        desk.drain(monotonic());
    }

    fn look(&mut self, desk: &mut Desk<'_>, now: u64) {
        if self.stops.user.requests() > 0 {
            desk.interrupt(now);
        }
        while let Some(death) = self.processes.died() {
            let (name, status) = (death.name, death.status);
            self.died.get_or_insert(format!("{name} ended: {status}"));
            desk.event(now, EventKind::ProcessDied { name, status });
            self.stops.conduct.request();
        }
    }

    fn begin_measure(&mut self) {
        self.measuring = Some(true);
        self.processes.begin_measure();
    }

    fn end_measure(&mut self) {
        if self.measuring == Some(true) {
            self.measuring = Some(false);
            self.processes.end_measure();
        }
    }
}
