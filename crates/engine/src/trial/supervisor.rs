//! The supervisor's loop: receives the workers' messages and watches the processes and the self-check.

use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use record::GeneratorFacts;
use record::summary::Placement;

use super::collector::Collector;
use super::host::Host;
use super::threads::WorkerThreads;
use crate::clock::monotonic;
use crate::selfcheck::{SelfCheck, Timing, WorkerThread};
use crate::worker::{StopSignals, Timeline};

/// Between checks of processes, processors and the user's stop signal, in nanoseconds.
const TICK: u64 = 1_000_000_000;

/// What the supervisor watches while the workers run.
pub(super) struct Supervisor<'a> {
    pub(super) host: &'a mut Host,
    pub(super) stops: StopSignals,
    pub(super) timing: Timing,
    pub(super) placement: Placement,
    pub(super) check: SelfCheckState,
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
            let on = &mut |side: usize, at, kind| collectors[side].event(at, kind);
            self.host.inject(timeline.measure_from, on);
            if now >= tick {
                self.check_processes(collectors, now);
                collectors.iter_mut().for_each(|collector| collector.emit_progress(now));
                tick += TICK * (1 + (now - tick) / TICK);
            }
            let boundaries = [timeline.measure_from, timeline.measure_to];
            let fault = self.host.next_fault(timeline.measure_from);
            let next =
                boundaries.into_iter().chain(fault).filter(|&at| at > now).fold(tick, u64::min);
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
            self.host.begin_measure();
            let check = SelfCheck::begin(now, workers, self.timing, self.placement.clone());
            self.check = SelfCheckState::Running(check);
        }
        if now >= timeline.measure_to {
            self.end_measure(now);
        }
    }

    fn end_measure(&mut self, now: u64) {
        self.check = match std::mem::replace(&mut self.check, SelfCheckState::NotStarted) {
            SelfCheckState::Running(check) => {
                self.host.end_measure();
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
        if self.host.check(now, &mut |side, at, kind| collectors[side].event(at, kind)) {
            self.stops.abort.request();
        }
    }
}
