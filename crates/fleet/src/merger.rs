//! Merges the output of the shares of a trial while it runs, to what one machine would have put out.

use std::collections::BTreeMap;

use engine::trial::TrialOutput;
use record::event::{Event, EventKind, Phase, Progress};
use record::{AllFailed, Layout, Window, WindowAssembler, WindowSpan};
use stats::{COARSE, Histogram};

/// Merges the output of shares, which are numbered from 0.
pub struct OutputMerger {
    assembler: WindowAssembler,
    window_ns: u64,
    /// By share: whether more comes.
    open: Vec<bool>,
    /// By share: its progress since all were merged last.
    progress: BTreeMap<usize, Progress>,
    /// By share: how all of its operations have failed so far.
    all_failed: BTreeMap<usize, AllFailed>,
    /// Events that every share reports alike.
    known: Vec<EventKind>,
    /// Times of the windows that closed since the last progress.
    times: Histogram,
    span: WindowSpan,
}

impl OutputMerger {
    /// For so many shares of a trial with this layout. `span`: the time that progress shows.
    pub fn new(shares: usize, layout: &Layout, window_ns: u64, span: WindowSpan) -> Self {
        Self {
            assembler: WindowAssembler::new(shares, layout),
            window_ns,
            open: vec![true; shares],
            progress: BTreeMap::new(),
            all_failed: BTreeMap::new(),
            known: Vec::new(),
            times: Histogram::new(COARSE),
            span,
        }
    }

    /// Takes a part of a window of a share, whose rest follows.
    pub fn part(&mut self, share: usize, window: Window) -> Vec<TrialOutput> {
        let below = window.number;
        let whole = self.assembler.add_windows(share, [window.into_part()], below);
        self.emit(whole)
    }

    /// Takes the output of a share; returns what that completes.
    pub fn receive(&mut self, share: usize, output: TrialOutput) -> Vec<TrialOutput> {
        match output {
            TrialOutput::Window(window) => {
                let below = window.number + 1;
                let whole = self.assembler.add_windows(share, [window.into_part()], below);
                self.emit(whole)
            }
            TrialOutput::Event(event) => self.event(share, event),
            TrialOutput::AllFailed(failed) => {
                self.all_failed.insert(share, failed);
                self.together().map(TrialOutput::AllFailed).into_iter().collect()
            }
            // Agents send none of these.
            TrialOutput::Open { .. } | TrialOutput::Samples(_) => Vec::new(),
        }
    }

    /// Nothing more comes from this share: it has ended, or it is lost.
    pub fn end(&mut self, share: usize) -> Vec<TrialOutput> {
        self.open[share] = false;
        let whole = self.assembler.add_windows(share, [], u64::MAX);
        self.emit(whole)
    }

    fn emit(&mut self, windows: Vec<Window>) -> Vec<TrialOutput> {
        let mut outputs = Vec::new();
        for window in windows {
            if let Some(times) = window.all(self.span) {
                self.times.merge(&times);
            }
            let at_ns = i64::try_from((window.number + 1) * self.window_ns).unwrap_or(i64::MAX);
            let kind = EventKind::WindowClosed(window.counts());
            outputs.push(TrialOutput::Event(Event { at_ns, kind }));
            outputs.push(TrialOutput::Window(window));
        }
        outputs
    }

    fn event(&mut self, share: usize, event: Event) -> Vec<TrialOutput> {
        match event.kind {
            // Those of the whole come from the merged windows, and from whoever begins and ends the trial. The time of day
            // is the coordinator's: those of agents may be anything.
            EventKind::WindowClosed(_)
            | EventKind::Dated { .. }
            | EventKind::TrialStarted { .. }
            | EventKind::PhaseEntered { phase: Phase::Launch }
            | EventKind::TrialFinished { .. } => Vec::new(),
            EventKind::Progress(progress) => {
                let pending = self.progress.entry(share).or_default();
                pending.started += progress.started;
                pending.succeeded += progress.succeeded;
                pending.failed += progress.failed;
                pending.lateness.add(progress.lateness);
                *pending = Progress {
                    started: pending.started,
                    succeeded: pending.succeeded,
                    failed: pending.failed,
                    lateness: pending.lateness,
                    ..progress
                };
                let open = (0..self.open.len()).filter(|&share| self.open[share]);
                let has_all = open.clone().all(|share| self.progress.contains_key(&share));
                let kind = has_all.then(|| EventKind::Progress(self.whole_progress()));
                kind.map(|kind| TrialOutput::Event(Event { kind, ..event })).into_iter().collect()
            }
            // Long, and never the same twice.
            kind @ EventKind::FailuresListed { .. } => {
                vec![TrialOutput::Event(Event { kind, ..event })]
            }
            kind if self.known.iter().any(|known| kind.repeats(known)) => Vec::new(),
            kind => {
                self.known.push(kind.clone());
                vec![TrialOutput::Event(Event { kind, ..event })]
            }
        }
    }

    fn whole_progress(&mut self) -> Progress {
        let mut whole = Progress::default();
        for progress in std::mem::take(&mut self.progress).into_values() {
            whole.phase = whole.phase.max(progress.phase);
            whole.started += progress.started;
            whole.succeeded += progress.succeeded;
            whole.failed += progress.failed;
            whole.in_flight += progress.in_flight;
            whole.lateness.add(progress.lateness);
            let rates = [whole.finished_rate, progress.finished_rate];
            whole.finished_rate = rates.into_iter().flatten().reduce(|sum, rate| sum + rate);
        }
        whole.p50_ns = self.times.quantile(0.5);
        whole.p99_ns = self.times.quantile(0.99);
        self.times.clear();
        whole
    }

    /// How the operations of all shares failed, if every share reports the same.
    fn together(&self) -> Option<AllFailed> {
        let open = (0..self.open.len()).filter(|&share| self.open[share]);
        let all: Option<Vec<&AllFailed>> = open.map(|share| self.all_failed.get(&share)).collect();
        let all = all?;
        let mut whole = (*all.first()?).clone();
        for failed in &all[1..] {
            let kinds = [&whole, failed].map(|one| (one.failures.kind, one.failures.status));
            if kinds[0] != kinds[1] {
                return None;
            }
            whole.failures.count += failed.failures.count;
            whole.elapsed_ns = whole.elapsed_ns.min(failed.elapsed_ns);
            whole.pending += failed.pending;
        }
        Some(whole)
    }
}
