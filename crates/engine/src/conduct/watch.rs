//! The conductor's round: it listens to the workers and looks after everything else.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use plan::fault::{self, Fault, Step};
use record::event::EventKind;
use record::summary::Placement;
use record::{FaultDone, GeneratorFacts};

use super::desk::Desk;
use super::facts::Died;
use super::threads::Threads;
use crate::clock::monotonic;
use crate::process::{Death, Processes};
use crate::selfcheck::{SelfCheck, Timing, WorkerThread};
use crate::worker::{Stops, Timeline};

/// Between looks at processes, processors and the user's wish, in nanoseconds.
const TICK: u64 = 1_000_000_000;

/// What the conductor looks after while the workers work.
pub(super) struct Watch<'a> {
    /// By side.
    pub(super) processes: &'a mut [Processes],
    pub(super) stops: Stops,
    pub(super) timing: Timing,
    pub(super) placement: Placement,
    /// Why all ended before their time.
    pub(super) fell: Option<Fall>,
    pub(super) check: Check,
    /// By side.
    pub(super) blows: Vec<Blows>,
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

    fn strike(&mut self, processes: &mut Processes, desk: &mut Desk<'_>, measure_from: u64) {
        while self.next(measure_from).is_some_and(|due| monotonic() >= due)
            && let Some(step) = self.ahead.pop_front()
        {
            let now = monotonic();
            let failed = processes.strike(&step).err();
            let (name, action) = (step.whom.to_string(), step.action.to_string());
            self.done.push(FaultDone {
                process: name.clone(),
                action: action.clone(),
                at_ns: now.cast_signed() - measure_from.cast_signed(),
                failed: failed.clone(),
            });
            desk.event(now, EventKind::Fault { name, action, failed });
        }
    }
}

/// A trial that fell.
pub(super) struct Fall {
    side: usize,
    at: u64,
    why: String,
    /// What ended.
    death: Death,
}

impl Fall {
    /// What ended, and why the trial at this place therefore ended before its time: beside the one that fell,
    /// nothing did.
    pub(super) fn told_to(&self, side: usize) -> Died {
        let Self { at, why, death, .. } = self;
        let (role, why) = match side == self.side {
            true => (Some(death.role), why.clone()),
            false => (None, format!("the trial beside it fell: {why}")),
        };
        Died { role, why, at: Some(*at), last_words: death.output.clone() }
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
    pub(super) fn conduct(
        &mut self,
        timeline: Timeline,
        desks: &mut [Desk<'_>],
        threads: &Threads,
    ) {
        // Midway between the ends of windows, so that what workers hand over there has come in.
        let ahead = timeline.measure_from - timeline.start + timeline.window / 2;
        let mut tick = timeline.start + ahead % TICK;
        loop {
            let now = monotonic();
            self.keep_phases(timeline, desks, (now, &threads.workers));
            if desks.iter().any(|desk| desk.ended_early().is_some()) {
                self.end_measure(now);
            }
            self.strike(desks, timeline.measure_from);
            if now >= tick {
                self.look(desks, now);
                desks.iter_mut().for_each(|desk| desk.tell_progress(now));
                tick += TICK * (1 + (now - tick) / TICK);
            }
            let boundaries = [timeline.measure_from, timeline.measure_to];
            let blows = self.blows.iter().filter_map(|blows| blows.next(timeline.measure_from));
            let next =
                boundaries.into_iter().chain(blows).filter(|&at| at > now).fold(tick, u64::min);
            let patience = Duration::from_nanos(next.saturating_sub(now));
            match threads.said.recv_timeout(patience) {
                Ok((side, message)) => desks[side].take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let now = monotonic();
        self.keep_phases(timeline, desks, (now, &threads.workers));
        self.end_measure(now);
        self.look(desks, now);
        desks.iter_mut().for_each(|desk| desk.drain(now));
    }

    fn keep_phases(
        &mut self,
        timeline: Timeline,
        desks: &mut [Desk<'_>],
        (now, workers): (u64, &[WorkerThread]),
    ) {
        desks.iter_mut().for_each(|desk| desk.enter_phases(now));
        if now >= timeline.measure_from && matches!(self.check, Check::Ahead) {
            self.processes.iter_mut().for_each(Processes::begin_measure);
            let check = SelfCheck::begin(now, workers, self.timing, self.placement.clone());
            self.check = Check::Running(check);
        }
        if now >= timeline.measure_to {
            self.end_measure(now);
        }
    }

    /// Does what is due of what the plan does to processes.
    fn strike(&mut self, desks: &mut [Desk<'_>], measure_from: u64) {
        let sides = self.blows.iter_mut().zip(self.processes.iter_mut()).zip(desks);
        for ((blows, processes), desk) in sides {
            blows.strike(processes, desk, measure_from);
        }
    }

    fn end_measure(&mut self, now: u64) {
        self.check = match std::mem::replace(&mut self.check, Check::Ahead) {
            Check::Running(check) => {
                self.processes.iter_mut().for_each(Processes::end_measure);
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

    fn look(&mut self, desks: &mut [Desk<'_>], now: u64) {
        if let Check::Running(check) = &mut self.check {
            check.sample();
        }
        if self.stops.user.requests() > 0 {
            desks.iter_mut().for_each(|desk| desk.interrupt(now));
        }
        for (side, (processes, desk)) in self.processes.iter_mut().zip(desks).enumerate() {
            while let Some(death) = processes.died() {
                let Death { name, status, output, .. } = death.clone();
                let why = format!("{name} ended: {status}");
                self.fell.get_or_insert(Fall { side, at: now, why, death });
                desk.event(now, EventKind::ProcessDied { name, status, last_words: output });
                self.stops.conduct.request();
            }
        }
    }
}
