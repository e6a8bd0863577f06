//! The processes of trials that run at the same time: their faults, usage and ends, and the counts of observers.
//!
//! A host does not know who sends the load: threads of this process, or agents on other machines.

use std::collections::VecDeque;
use std::time::Duration;

use plan::fault::{self, FaultStep};
use plan::plan::Arm;
use record::event::EventKind;
use record::{FaultDone, TrialFacts};

use super::facts::{Abort, abort};
use super::observers;
use crate::clock::monotonic;
use crate::process::{Addresses, Death, Launcher, ProcessError, Processes};

/// Time limit for the answer of an observer.
const OBSERVE_WITHIN: Duration = Duration::from_secs(10);

/// Receives events with the index of their trial, and the instant of CLOCK_MONOTONIC.
pub type OnHostEvent<'a> = dyn FnMut(usize, u64, EventKind) + 'a;

/// The end of a trial.
#[derive(Debug, Clone, Copy)]
pub struct TrialEnd<'a> {
    /// When its measure phase began.
    pub measure_from: u64,
    /// Whether the user stopped it.
    pub stopped: bool,
    /// Names of the items of each operation, as in the layout of the totals.
    pub items: &'a [Vec<String>],
}

/// The processes of trials that run at the same time. Dropping it stops them.
#[derive(Debug)]
pub struct Host {
    sides: Vec<Side>,
    /// The process that ended first without being asked to, if one did.
    failure: Option<ProcessFailure>,
    measured: Measured,
}

/// Those of one trial.
#[derive(Debug)]
struct Side {
    processes: Processes,
    pending: VecDeque<FaultStep>,
    done: Vec<FaultDone>,
}

/// A process that ended during a trial, which ends all concurrent trials.
#[derive(Debug)]
struct ProcessFailure {
    side: usize,
    at: u64,
    why: String,
    death: Death,
}

/// How far the usage of the processes has been read.
#[derive(Debug, PartialEq, Eq)]
enum Measured {
    Not,
    Begun,
    Ended,
}

impl Host {
    /// Starts the processes of these arms, whose trials run at the same time.
    ///
    /// Errors: the first that does not start; those that were started are stopped
    pub fn start<'a>(
        launcher: &Launcher,
        arms: impl Iterator<Item = &'a Arm>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, ProcessError> {
        let side = |arm: &Arm| {
            let processes = launcher.start(arm, stopped)?;
            let pending = fault::steps(&arm.faults).into();
            Ok(Side { processes, pending, done: Vec::new() })
        };
        let sides = arms.map(side).collect::<Result<_, _>>()?;
        Ok(Self { sides, failure: None, measured: Measured::Not })
    }

    /// By trial: what placeholders in its targets refer to.
    pub fn addresses(&self) -> impl Iterator<Item = &Addresses> {
        self.sides.iter().map(|side| side.processes.addresses())
    }

    /// Whether no trial has a process.
    pub(super) fn is_empty(&self) -> bool {
        self.sides.iter().all(|side| side.processes.pids().is_empty())
    }

    /// Reports the processes, which are ready.
    pub fn introduce(&self, on: &mut OnHostEvent<'_>) {
        for (number, side) in self.sides.iter().enumerate() {
            for (name, pids) in side.processes.pids() {
                on(number, monotonic(), EventKind::ProcessReady { name, pids });
            }
        }
    }

    /// When the next fault is due in trials whose measure phase begins at this instant.
    pub fn next_fault(&self, measure_from: u64) -> Option<u64> {
        let pending = self.sides.iter().filter_map(|side| side.pending.front());
        pending.map(|step| due(step, measure_from)).min()
    }

    /// Injects the faults that are due.
    pub fn inject(&mut self, measure_from: u64, on: &mut OnHostEvent<'_>) {
        for (number, side) in self.sides.iter_mut().enumerate() {
            side.inject(measure_from, &mut |at, kind| on(number, at, kind));
        }
    }

    /// The measure phase begins. Later calls do nothing.
    pub fn begin_measure(&mut self) {
        if self.measured == Measured::Not {
            self.measured = Measured::Begun;
            self.sides.iter_mut().for_each(|side| side.processes.begin_measure());
        }
    }

    /// It ends. Without a beginning, and later, this does nothing.
    pub fn end_measure(&mut self) {
        if self.measured == Measured::Begun {
            self.measured = Measured::Ended;
            self.sides.iter_mut().for_each(|side| side.processes.end_measure());
        }
    }

    /// Reports processes that have ended since the last call; returns whether there are any.
    pub fn check(&mut self, now: u64, on: &mut OnHostEvent<'_>) -> bool {
        let mut has_died = false;
        for (number, side) in self.sides.iter_mut().enumerate() {
            while let Some(death) = side.processes.died() {
                let Death { name, status, output, .. } = death.clone();
                let why = format!("{name} ended: {status}");
                self.failure.get_or_insert(ProcessFailure { side: number, at: now, why, death });
                on(number, now, EventKind::ProcessDied { name, status, last_words: output });
                has_died = true;
            }
        }
        has_died
    }

    /// Adds to the facts of a trial what is known of its processes, and that one of them ended.
    pub fn complete(&self, number: usize, trial: &mut TrialFacts, end: TrialEnd<'_>) {
        let side = &self.sides[number];
        trial.faults.clone_from(&side.done);
        trial.systems = side.processes.facts();
        let observations = side.processes.observe(OBSERVE_WITHIN);
        let (counted, notes) = observers::observed(observations, &trial.totals, end.items);
        trial.observers = counted;
        trial.generator.notes.extend(notes);
        if let Some(failure) = self.failure.as_ref().filter(|_| trial.died.is_none()) {
            abort(trial, failure.abort_of(number), end);
        }
    }
}

impl Side {
    fn inject(&mut self, measure_from: u64, on: &mut dyn FnMut(u64, EventKind)) {
        while self.pending.front().is_some_and(|step| monotonic() >= due(step, measure_from))
            && let Some(step) = self.pending.pop_front()
        {
            let now = monotonic();
            let failed = self.processes.inject(&step).err();
            let (name, action) = (step.whom.to_string(), step.action.to_string());
            self.done.push(FaultDone {
                process: name.clone(),
                action: action.clone(),
                at_ns: now.cast_signed() - measure_from.cast_signed(),
                failed: failed.clone(),
            });
            on(now, EventKind::Fault { name, action, failed });
        }
    }
}

impl ProcessFailure {
    /// Why the trial of this side was aborted: its own process ended, or one of the concurrent trial.
    fn abort_of(&self, side: usize) -> Abort {
        let Self { at, why, death, .. } = self;
        let (role, why) = match side == self.side {
            true => (Some(death.role), why.clone()),
            false => (None, format!("the trial beside it failed: {why}")),
        };
        Abort { role, why, at: Some(*at), last_words: death.output.clone() }
    }
}

/// When a fault is due.
fn due(step: &FaultStep, measure_from: u64) -> u64 {
    measure_from + step.at.as_nanos() as u64
}
