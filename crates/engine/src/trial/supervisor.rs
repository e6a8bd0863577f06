//! The supervisor's loop: receives the workers' messages and watches processes, faults and the self-check.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use plan::fault::{self, Fault, FaultStep};
use record::event::EventKind;
use record::summary::Placement;
use record::{FaultDone, GeneratorFacts};

use super::collector::Collector;
use super::facts::Abort;
use super::threads::WorkerThreads;
use crate::clock::monotonic;
use crate::process::{Death, Processes};
use crate::selfcheck::{SelfCheck, Timing, WorkerThread};
use crate::worker::{StopSignals, Timeline};

/// Between checks of processes, processors and the user's stop signal, in nanoseconds.
const TICK: u64 = 1_000_000_000;

/// What the supervisor watches while the workers run.
pub(super) struct Supervisor<'a> {
    /// By side.
    pub(super) processes: &'a mut [Processes],
    pub(super) stops: StopSignals,
    pub(super) timing: Timing,
    pub(super) placement: Placement,
    /// The process that failed first, if one did.
    pub(super) failure: Option<ProcessFailure>,
    pub(super) check: SelfCheckState,
    /// By side.
    pub(super) faults: Vec<FaultSchedule>,
}

/// Planned faults of the processes of one trial, and those injected so far.
#[derive(Default)]
pub(super) struct FaultSchedule {
    pending: VecDeque<FaultStep>,
    pub(super) done: Vec<FaultDone>,
}

impl FaultSchedule {
    pub(super) fn new(faults: &[Fault]) -> Self {
        Self { pending: fault::steps(faults).into(), done: Vec::new() }
    }

    /// When the next one is due, on the clock of the trial.
    fn next(&self, measure_from: u64) -> Option<u64> {
        self.pending.front().map(|step| measure_from + step.at.as_nanos() as u64)
    }

    fn inject(
        &mut self,
        processes: &mut Processes,
        collector: &mut Collector<'_>,
        measure_from: u64,
    ) {
        while self.next(measure_from).is_some_and(|due| monotonic() >= due)
            && let Some(step) = self.pending.pop_front()
        {
            let now = monotonic();
            let failed = processes.inject(&step).err();
            let (name, action) = (step.whom.to_string(), step.action.to_string());
            self.done.push(FaultDone {
                process: name.clone(),
                action: action.clone(),
                at_ns: now.cast_signed() - measure_from.cast_signed(),
                failed: failed.clone(),
            });
            collector.event(now, EventKind::Fault { name, action, failed });
        }
    }
}

/// A process that ended during a trial, which ends all concurrent trials.
pub(super) struct ProcessFailure {
    side: usize,
    at: u64,
    why: String,
    /// The process that ended.
    death: Death,
}

impl ProcessFailure {
    /// Why the trial of this side was aborted: its own process ended, or one of the concurrent trial.
    pub(super) fn abort_of(&self, side: usize) -> Abort {
        let Self { at, why, death, .. } = self;
        let (role, why) = match side == self.side {
            true => (Some(death.role), why.clone()),
            false => (None, format!("the trial beside it failed: {why}")),
        };
        Abort { role, why, at: Some(*at), last_words: death.output.clone() }
    }
}

/// State of the self-check.
pub(super) enum SelfCheckState {
    /// The measure phase has not begun.
    NotStarted,
    /// It runs.
    Running(SelfCheck),
    /// It has ended.
    Done(GeneratorFacts, BTreeMap<String, i64>),
}

impl Supervisor<'_> {
    /// Receives messages until every worker has ended.
    pub(super) fn run(
        &mut self,
        timeline: Timeline,
        collectors: &mut [Collector<'_>],
        threads: &WorkerThreads,
    ) {
        // Midway between the ends of windows, so that the workers' messages of each window have arrived.
        let ahead = timeline.measure_from - timeline.start + timeline.window / 2;
        let mut tick = timeline.start + ahead % TICK;
        loop {
            let now = monotonic();
            self.keep_phases(timeline, collectors, now, &threads.workers);
            if collectors.iter().any(|collector| collector.ended_early().is_some()) {
                self.end_measure(now);
            }
            self.inject(collectors, timeline.measure_from);
            if now >= tick {
                self.check_processes(collectors, now);
                collectors.iter_mut().for_each(|collector| collector.emit_progress(now));
                tick += TICK * (1 + (now - tick) / TICK);
            }
            let boundaries = [timeline.measure_from, timeline.measure_to];
            let faults =
                self.faults.iter().filter_map(|schedule| schedule.next(timeline.measure_from));
            let next =
                boundaries.into_iter().chain(faults).filter(|&at| at > now).fold(tick, u64::min);
            let patience = Duration::from_nanos(next.saturating_sub(now));
            match threads.messages.recv_timeout(patience) {
                Ok((side, message)) => collectors[side].receive(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now = monotonic();
        self.keep_phases(timeline, collectors, now, &threads.workers);
        self.end_measure(now);
        self.check_processes(collectors, now);
        collectors.iter_mut().for_each(|collector| collector.drain(now));
    }

    fn keep_phases(
        &mut self,
        timeline: Timeline,
        collectors: &mut [Collector<'_>],
        now: u64,
        workers: &[WorkerThread],
    ) {
        collectors.iter_mut().for_each(|collector| collector.enter_phases(now));
        if now >= timeline.measure_from && matches!(self.check, SelfCheckState::NotStarted) {
            self.processes.iter_mut().for_each(Processes::begin_measure);
            let check = SelfCheck::begin(now, workers, self.timing, self.placement.clone());
            self.check = SelfCheckState::Running(check);
        }
        if now >= timeline.measure_to {
            self.end_measure(now);
        }
    }

    /// Injects the faults that are due.
    fn inject(&mut self, collectors: &mut [Collector<'_>], measure_from: u64) {
        let sides = self.faults.iter_mut().zip(self.processes.iter_mut()).zip(collectors);
        for ((schedule, processes), collector) in sides {
            schedule.inject(processes, collector, measure_from);
        }
    }

    fn end_measure(&mut self, now: u64) {
        self.check = match std::mem::replace(&mut self.check, SelfCheckState::NotStarted) {
            SelfCheckState::Running(check) => {
                self.processes.iter_mut().for_each(Processes::end_measure);
                let (facts, kernel) = check.end(now);
                SelfCheckState::Done(facts, kernel)
            }
            SelfCheckState::NotStarted => {
                let placement = self.placement.clone();
                SelfCheckState::Done(
                    GeneratorFacts { placement, ..Default::default() },
                    BTreeMap::new(),
                )
            }
            done @ SelfCheckState::Done(..) => done,
        };
    }

    fn check_processes(&mut self, collectors: &mut [Collector<'_>], now: u64) {
        if let SelfCheckState::Running(check) = &mut self.check {
            check.sample();
        }
        if self.stops.user.requests() > 0 {
            collectors.iter_mut().for_each(|collector| collector.interrupt(now));
        }
        for (side, (processes, collector)) in self.processes.iter_mut().zip(collectors).enumerate()
        {
            while let Some(death) = processes.died() {
                let Death { name, status, output, .. } = death.clone();
                let why = format!("{name} ended: {status}");
                self.failure.get_or_insert(ProcessFailure { side, at: now, why, death });
                collector.event(now, EventKind::ProcessDied { name, status, last_words: output });
                self.stops.abort.request();
            }
        }
    }
}
