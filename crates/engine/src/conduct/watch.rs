//! The conductor's round: it listens to the workers and looks after everything else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use plan::fault::{self, Fault, Step};
use record::event::EventKind;
use record::summary::Placement;
use record::{FaultDone, GeneratorFacts, Role};

use super::desk::Desk;
use super::threads::Threads;
use crate::clock::monotonic;
use crate::process::Processes;
use crate::selfcheck::{SelfCheck, Timing};
use crate::worker::{Stops, Timeline};

/// Between looks at processes, processors and the user's wish, in nanoseconds.
const TICK: u64 = 1_000_000_000;

/// What the conductor looks after while the workers work.
pub(super) struct Watch<'a> {
    pub(super) processes: &'a mut Processes,
    pub(super) stops: Stops,
    pub(super) timing: Timing,
    pub(super) placement: Placement,
    /// What ended, and why the trial therefore ended before its time.
    pub(super) died: Option<(Role, String)>,
    pub(super) check: Check,
    pub(super) blows: Blows,
}

/// What the plan does to processes, and what was done.
#[derive(Default)]
pub(super) struct Blows {
    ahead: VecDeque<Step>,
    pub(super) done: Vec<FaultDone>,
}

impl Blows {
    pub(super) fn new(faults: &[Fault]) -> Self {
        Self { ahead: fault::steps(faults).into(), done: Vec::new() }
    }

    /// When the next one is due, on the clock of the trial.
    fn next(&self, measure_from: u64) -> Option<u64> {
        self.ahead.front().map(|step| measure_from + step.at.as_nanos() as u64)
    }
}

/// How far the self-check has come.
pub(super) enum Check {
    /// The measure phase has not begun.
    Ahead,
    /// It goes on.
    Running(SelfCheck),
    /// It has ended.
    Done(GeneratorFacts, BTreeMap<String, i64>),
}

impl Watch<'_> {
    /// Listens until every worker has ended.
    pub(super) fn conduct(&mut self, timeline: Timeline, desk: &mut Desk<'_>, threads: &Threads) {
        let mut tick = timeline.start;
        loop {
            let now = monotonic();
            self.keep_phases(timeline, desk, (now, &threads.ids));
            if desk.ended_early().is_some() {
                self.end_measure(now);
            }
            self.strike(desk, timeline.measure_from);
            if now >= tick {
                self.look(desk, now);
                desk.tell_progress(now);
                tick += TICK * (1 + (now - tick) / TICK);
            }
            let boundaries = [timeline.measure_from, timeline.measure_to];
            let blow = self.blows.next(timeline.measure_from);
            let next =
                boundaries.into_iter().chain(blow).filter(|&at| at > now).fold(tick, u64::min);
            let patience = Duration::from_nanos(next.saturating_sub(now));
            match threads.said.recv_timeout(patience) {
                Ok(message) => desk.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now = monotonic();
        self.keep_phases(timeline, desk, (now, &threads.ids));
        self.end_measure(now);
        self.look(desk, now);
        desk.drain(now);
    }

    fn keep_phases(&mut self, timeline: Timeline, desk: &mut Desk<'_>, (now, ids): (u64, &[u32])) {
        desk.enter_phases(now);
        if now >= timeline.measure_from && matches!(self.check, Check::Ahead) {
            self.processes.begin_measure();
            let check = SelfCheck::begin(now, ids, self.timing, self.placement.clone());
            self.check = Check::Running(check);
        }
        if now >= timeline.measure_to {
            self.end_measure(now);
        }
    }

    /// Does what is due of what the plan does to processes.
    fn strike(&mut self, desk: &mut Desk<'_>, measure_from: u64) {
        while self.blows.next(measure_from).is_some_and(|due| monotonic() >= due)
            && let Some(step) = self.blows.ahead.pop_front()
        {
            let now = monotonic();
            let failed = self.processes.strike(&step).err();
            let (name, action) = (step.process, step.action.to_string());
            self.blows.done.push(FaultDone {
                process: name.clone(),
                action: action.clone(),
                at_ns: now.cast_signed() - measure_from.cast_signed(),
                failed: failed.clone(),
            });
            desk.event(now, EventKind::Fault { name, action, failed });
        }
    }

    fn end_measure(&mut self, now: u64) {
        self.check = match std::mem::replace(&mut self.check, Check::Ahead) {
            Check::Running(check) => {
                self.processes.end_measure();
                let (facts, kernel) = check.end(now);
                Check::Done(facts, kernel)
            }
            Check::Ahead => {
                let placement = self.placement.clone();
                Check::Done(GeneratorFacts { placement, ..Default::default() }, BTreeMap::new())
            }
            done @ Check::Done(..) => done,
        };
    }

    fn look(&mut self, desk: &mut Desk<'_>, now: u64) {
        if let Check::Running(check) = &mut self.check {
            check.sample();
        }
        if self.stops.user.requests() > 0 {
            desk.interrupt(now);
        }
        while let Some(death) = self.processes.died() {
            let (name, status) = (death.name, death.status);
            self.died.get_or_insert((death.role, format!("{name} ended: {status}")));
            desk.event(now, EventKind::ProcessDied { name, status });
            self.stops.conduct.request();
        }
    }
}
