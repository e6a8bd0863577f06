//! Receives the messages of all workers, joins their windows, and emits events.

use std::cell::RefCell;
use std::collections::BTreeSet;

use record::event::{Event, EventKind, Phase, Progress};
use record::summary::FirstFailure;
use record::{
    Batch, EarlyEnd, FailureKind, Layout, ListedSample, Streak, TrialFacts, Window,
    WindowAssembler, WindowSpan,
};
use stats::{COARSE, Histogram};

use super::completion_rate::CompletionRate;
use super::failure_list::FailureList;
use super::{TrialOutput, facts};
use crate::driver::Driver;
use crate::worker::judged_by;
use crate::worker::{Backlog, Message, Timeline, Workload};

/// Receives the output of trials, with the index of the trial.
pub(super) type OutputSink<'a> = RefCell<&'a mut dyn FnMut(usize, TrialOutput)>;

/// Windows that wait for answers and are shown before those come, at most: a hang keeps all later ones open.
const OPEN_SHOWN: usize = 60;

/// Joins the messages of the workers of one trial.
pub(super) struct Collector<'a> {
    sink: &'a OutputSink<'a>,
    side: usize,
    assembler: Option<WindowAssembler>,
    layout: Layout,
    timeline: Timeline,
    span: WindowSpan,
    phase: Phase,
    /// By worker.
    in_flight: Vec<u64>,
    backlog: Option<Backlog>,
    progress: Progress,
    completion_rate: CompletionRate,
    /// Times of the windows that closed since the last progress event.
    times: Histogram,
    limits: BTreeSet<&'static str>,
    failures: BTreeSet<(usize, FailureKind)>,
    first_failures: Vec<FirstFailure>,
    /// Where the run is traced.
    failure_list: Option<FailureList>,
    /// By worker: the outcomes of its operations, and the instant up to which they are known.
    streaks: Vec<(Streak, u64)>,
    interrupted: bool,
    /// Why the measure phase ended before the plan did, if it did.
    ended_early: Option<EarlyEnd>,
}

impl<'a> Collector<'a> {
    pub(super) fn new<D: Driver>(workload: &Workload<D>, sink: &'a OutputSink<'a>) -> Self {
        let span = judged_by(&workload.load.model);
        Self {
            sink,
            side: workload.side,
            assembler: Some(WindowAssembler::new(workload.workers, &workload.layout)),
            layout: workload.layout.clone(),
            timeline: workload.timeline,
            span,
            phase: Phase::Launch,
            in_flight: vec![0; workload.workers],
            backlog: workload.samples.clone(),
            progress: Progress::default(),
            completion_rate: CompletionRate::new(workload.workers, &workload.timeline),
            times: Histogram::new(COARSE),
            limits: BTreeSet::new(),
            failures: BTreeSet::new(),
            first_failures: Vec::new(),
            failure_list: workload.listing().map(FailureList::new),
            streaks: vec![Default::default(); workload.workers],
            interrupted: false,
            ended_early: None,
        }
    }

    /// Emits an event at this instant of the trial's clock.
    pub(super) fn event(&mut self, at: u64, kind: EventKind) {
        let at_ns = at.cast_signed() - self.timeline.measure_from.cast_signed();
        self.emit(TrialOutput::Event(Event { at_ns, kind }));
    }

    /// Receives a message of a worker.
    pub(super) fn receive(&mut self, message: Message) {
        match message {
            Message::Batch(batch) => self.take_batch(batch),
            Message::Limit { name, value, at } => {
                if self.limits.insert(name) {
                    self.event(at, EventKind::LimitReached { limit: name.to_owned(), value });
                }
            }
            Message::Lost { count, at } => self.event(at, EventKind::ConnectionLost { count }),
            Message::EndedEarly { why, at } => self.end_early(at, why),
        }
    }

    /// Emits the phases that have begun by now; the drain by [`Collector::drain`].
    pub(super) fn enter_phases(&mut self, now: u64) {
        let timeline = self.timeline;
        let begins = [
            (Phase::RampUp, timeline.start, timeline.warm_from),
            (Phase::WarmUp, timeline.warm_from, timeline.measure_from),
            (Phase::Measure, timeline.measure_from, timeline.measure_to),
        ];
        for (phase, from, to) in begins {
            if phase > self.phase && from <= now && from < to {
                self.phase = phase;
                self.event(from, EventKind::PhaseEntered { phase });
            }
        }
        if now >= timeline.measure_to {
            self.drain(timeline.measure_to);
        }
    }

    /// Emits the drain phase, once: planning has ended.
    pub(super) fn drain(&mut self, at: u64) {
        if self.phase < Phase::Drain {
            self.phase = Phase::Drain;
            self.event(at, EventKind::PhaseEntered { phase: Phase::Drain });
        }
    }

    /// Emits the progress since the last call.
    pub(super) fn emit_progress(&mut self, now: u64) {
        let progress = Progress {
            phase: Some(self.phase),
            finished_rate: self.completion_rate.take(),
            in_flight: self.in_flight.iter().sum(),
            p50_ns: self.times.quantile(0.5),
            p99_ns: self.times.quantile(0.99),
            ..std::mem::take(&mut self.progress)
        };
        self.times.clear();
        let open = self.assembler.as_ref().map(|assembler| assembler.open(OPEN_SHOWN));
        let until_ns = self.until().cast_signed() - self.timeline.measure_from.cast_signed();
        self.emit(TrialOutput::Open { windows: open.unwrap_or_default(), until_ns });
        self.event(now, EventKind::Progress(progress));
    }

    /// Emits that the user wants to stop, once.
    pub(super) fn interrupt(&mut self, now: u64) {
        if !std::mem::replace(&mut self.interrupted, true) {
            self.event(now, EventKind::Interrupted);
        }
    }

    /// Why the measure phase ended before the plan did, if it did.
    pub(super) fn ended_early(&self) -> Option<&EarlyEnd> {
        self.ended_early.as_ref()
    }

    /// Ends the trial: emits the last windows and the final event, and completes the facts.
    pub(super) fn finish(&mut self, mut trial: TrialFacts, now: u64) -> TrialFacts {
        self.close();
        trial.first_failures = std::mem::take(&mut self.first_failures);
        if let (Some(list), Some(traces)) = (&mut self.failure_list, &mut trial.traces) {
            list.complete(traces);
        }
        let accounting = facts::accounting(&trial.totals.total());
        self.event(now, EventKind::TrialFinished { accounting });
        trial
    }

    fn close(&mut self) {
        if let Some(assembler) = self.assembler.take() {
            for window in assembler.finish() {
                self.emit_window(window);
            }
        }
    }

    /// Emits once that the measure phase has ended early.
    fn end_early(&mut self, at: u64, why: EarlyEnd) {
        if self.ended_early.is_none() {
            self.event(at, EventKind::EndedEarly(why.clone()));
            self.drain(at);
            self.ended_early = Some(why);
        }
    }

    fn take_batch(&mut self, mut batch: Batch) {
        self.progress.started += batch.started;
        self.progress.succeeded += batch.succeeded;
        self.progress.failed += batch.failed;
        self.progress.lateness.add(batch.lateness);
        self.in_flight[batch.worker] = batch.in_flight;
        self.completion_rate.add(&batch);
        let now = self.instant_of(batch.closed_below);
        for (operation, kind, detail) in std::mem::take(&mut batch.first_failures) {
            if self.failures.insert((operation, kind)) {
                let operation = self.layout.name(operation).to_owned();
                let kind = kind.name().to_owned();
                if !detail.is_empty() {
                    self.first_failures.push(FirstFailure {
                        operation: operation.clone(),
                        kind: kind.clone(),
                        seen: detail.clone(),
                    });
                }
                self.event(now, EventKind::FailureSeen { operation, kind, detail });
            }
        }
        self.list_failures(&batch.listed_failures, now);
        self.streaks[batch.worker] = (std::mem::take(&mut batch.streak), batch.until);
        self.emit_if_all_failed();
        let complete = self.assembler.as_mut().map(|assembler| assembler.add(&mut batch));
        for window in complete.into_iter().flatten() {
            self.emit_window(window);
        }
        if let Some(backlog) = self.backlog.as_ref().filter(|_| !batch.samples.is_empty()) {
            let samples = batch.samples.len() as u64;
            self.emit(TrialOutput::Samples(batch.samples));
            backlog.taken(batch.worker, samples);
        }
    }

    fn list_failures(&mut self, failures: &[ListedSample], now: u64) {
        let Some(list) = self.failure_list.as_mut().filter(|_| !failures.is_empty()) else {
            return;
        };
        for event in list.add(failures, &self.layout, self.timeline.measure_from) {
            self.event(now, event);
        }
    }

    /// Emits that every operation has failed in the same way, up to the instant that all workers have reported.
    fn emit_if_all_failed(&self) {
        let streaks = self.streaks.iter().map(|(streak, _)| streak);
        if let Some(failed) = Streak::together(streaks, self.until()) {
            self.emit(TrialOutput::AllFailed(failed));
        }
    }

    /// The instant up to which every worker has reported.
    fn until(&self) -> u64 {
        self.streaks.iter().map(|(_, until)| *until).min().unwrap_or(0)
    }

    fn emit_window(&mut self, window: Window) {
        if let Some(times) = window.all(self.span) {
            self.times.merge(&times);
        }
        let end = self.instant_of(window.number + 1);
        self.event(end, EventKind::WindowClosed(window.counts()));
        self.emit(TrialOutput::Window(window));
    }

    fn emit(&self, output: TrialOutput) {
        (self.sink.borrow_mut())(self.side, output);
    }

    /// When the window with this number begins.
    fn instant_of(&self, window: u64) -> u64 {
        self.timeline.measure_from + window * self.timeline.window
    }
}
