//! The single writer of one worker: counts samples, fills windows, hands them over.

mod batch;
mod listed;
mod streak;
#[cfg(test)]
mod tests;

use stats::{COARSE, Histogram};

use crate::event::Lateness;
use crate::window::{LateTime, OpenWindows, WindowSpan};
use crate::{FailureKind, Layout, Outcome, ReplayCounts, Sample, StepOutcome, Totals};
use batch::SampleSpans;
pub use batch::{Batch, RawSample};
use listed::Lister;
pub use listed::{ListedSample, ListedSamples, Listing, StepPlace};
pub use streak::{AllFailed, Failures, Streak};

/// Bounds of the measure phase on the trial's clock, and the length of a window. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseBounds {
    /// Start of the measure phase.
    pub measure_from: u64,
    /// Its end; `u64::MAX` while it is not known (stop by count).
    pub measure_to: u64,
    /// 1 s, or 100 ms when the measure phase is under 30 s.
    pub window: u64,
}

/// Records what one worker sees. Single writer, no lock; memory is asked for per window, not per operation.
#[derive(Debug)]
pub struct Recorder {
    worker: usize,
    /// Number of operations; greater indices are those of journeys.
    operations: usize,
    phases: PhaseBounds,
    totals: Totals,
    open: OpenWindows,
    dense: DenseWindow,
    /// Place of the time to the first event, if any operation streams.
    first_event: Option<usize>,
    /// Times that belong to windows before the dense one.
    late: Vec<LateTime>,
    /// The greatest intended start that was counted.
    newest: u64,
    in_flight: u64,
    /// Counts since the last hand-over.
    since: Since,
    streak: Streak,
    /// By operation and kind.
    seen_failures: Vec<bool>,
    first_failures: Vec<(usize, FailureKind, String)>,
    samples: Option<(SampleSpans, Vec<RawSample>)>,
    /// Where the run is traced.
    lister: Option<Box<Lister>>,
}

/// Histograms of the window that is filled now, by operation.
#[derive(Debug)]
struct DenseWindow {
    number: u64,
    /// For each operation, in the order of [`WindowSpan::ALL`]; those of streams since there was one.
    histograms: Vec<[Option<Histogram>; WindowSpan::ALL.len()]>,
}

#[derive(Debug, Default)]
struct Since {
    started: u64,
    succeeded: u64,
    failed: u64,
    lateness: Lateness,
}

impl PhaseBounds {
    /// Whether an operation with this intended start belongs to the measure phase.
    pub fn measures(&self, intended_at: u64) -> bool {
        (self.measure_from..self.measure_to).contains(&intended_at)
    }

    /// Number of the window that holds this instant; 0 before the measure phase.
    pub fn window_of(&self, instant: u64) -> u64 {
        instant.saturating_sub(self.measure_from) / self.window
    }

    /// Windows of the measure phase, the last one perhaps shorter; none if it ended before it began.
    pub fn windows(&self) -> u64 {
        self.measure_to.saturating_sub(self.measure_from).div_ceil(self.window)
    }
}

impl Recorder {
    /// Late values for which there is room before memory is asked for.
    const LATE_ROOM: usize = 1_024;

    /// An empty recorder; memory touched.
    pub fn new(worker: usize, layout: &Layout, phases: PhaseBounds, keep_samples: bool) -> Self {
        let all = layout.len();
        Self {
            worker,
            operations: layout.operations.len(),
            phases,
            totals: Totals::new(layout),
            open: OpenWindows::new(all),
            dense: DenseWindow::new(all),
            first_event: layout.spans.iter().position(|name| name == WindowSpan::FirstEvent.name()),
            late: Vec::with_capacity(Self::LATE_ROOM),
            newest: 0,
            in_flight: 0,
            since: Since::default(),
            streak: Streak::default(),
            seen_failures: vec![false; all * FailureKind::ALL.len()],
            first_failures: Vec::new(),
            samples: keep_samples.then(|| (SampleSpans::of(layout), Vec::new())),
            lister: None,
        }
    }

    /// The same, and it lists operations.
    #[must_use]
    pub fn listing(self, listing: Option<Listing>) -> Self {
        Self { lister: listing.map(|listing| Box::new(Lister::new(listing))), ..self }
    }

    /// The same, and it counts what is due and sent over time.
    #[must_use]
    pub fn replaying(mut self, counts: Option<ReplayCounts>) -> Self {
        self.totals.replay = counts;
        self
    }

    /// Memory of one recorder in bytes, with a window under way to the disk; what grows with the load
    /// (items, late values, raw samples) is left out.
    pub fn memory(operations: usize, spans: usize) -> u64 {
        // Both times of the window that is filled, and of one that is handed over.
        let windows = 4 * Histogram::memory(COARSE);
        operations as u64 * (Totals::memory(spans) + windows)
    }

    /// An operation of the measure phase was taken up (or its turn came): counts it as planned. The same for a
    /// journey.
    pub fn begin(&mut self, operation: usize, intended_at: u64) {
        let is_operation = operation < self.operations;
        if is_operation {
            self.streak.begin(intended_at);
        }
        let Some(window) = self.plan(operation, intended_at) else { return };
        self.open.begin(window);
        if is_operation {
            self.in_flight += 1;
            self.since.started += 1;
        }
    }

    /// What became of a step of a journey that was due at this instant. `step`: its place in the layout.
    pub fn end_step(&mut self, journey: usize, step: usize, due_at: u64, outcome: StepOutcome) {
        if self.phases.measures(due_at) {
            self.totals.journeys[journey - self.operations].steps[step].end(outcome);
        }
    }

    /// An operation that was begun ended (`Abandoned` included). `detail` is what was seen of a failure.
    /// Operations intended outside the measure phase are only counted, here and in `begin` and `miss`.
    pub fn end(&mut self, sample: &Sample<'_>, detail: Option<&str>) {
        let is_operation = sample.operation < self.operations;
        if is_operation {
            self.streak.end(sample, detail);
        }
        if !self.phases.measures(sample.intended_at) {
            self.totals.part_mut(sample.operation).before.end(sample);
            return;
        }
        self.totals.end(sample, self.phases.measure_to);
        if let Some(counts) = &mut self.totals.replay {
            counts.end(sample, self.phases.measure_from);
        }
        if is_operation {
            self.in_flight -= 1;
            let (time_ns, lag_ns) = (sample.response_time(), sample.dispatch_lag());
            self.since.lateness.add(Lateness { time_ns, lag_ns, max_ns: lag_ns });
        }
        let window = self.window_of(sample.intended_at);
        self.open.end(window, sample.operation).end(sample.outcome);
        match sample.outcome {
            Outcome::Succeeded => {
                self.since.succeeded += u64::from(is_operation);
                self.fill(window, sample);
            }
            Outcome::Failed(kind) => {
                self.since.failed += u64::from(is_operation);
                self.note_failure(sample.operation, kind, detail);
            }
            Outcome::Abandoned => {}
        }
        if sample.outcome != Outcome::Abandoned {
            self.fill_stream(window, sample);
        }
        if let Some((spans, samples)) = self.samples.as_mut().filter(|_| is_operation) {
            samples.push(RawSample::new(sample, self.phases.measure_from, spans));
        }
        if let Some(lister) = self.lister.as_mut().filter(|_| is_operation) {
            lister.end(sample);
        }
    }

    /// An operation was planned and never begun.
    pub fn miss(&mut self, operation: usize, intended_at: u64) {
        let Some(window) = self.plan(operation, intended_at) else { return };
        self.totals.part_mut(operation).missed += 1;
        self.open.touch(window, operation).missed += 1;
    }

    /// Tells when the measure phase ended, for a stop by count or an interruption.
    ///
    /// What was counted already stays in: the phase ends no earlier than the newest counted operation.
    pub fn set_end(&mut self, measure_to: u64) {
        self.phases.measure_to = measure_to.max(self.newest + 1);
    }

    /// Hands over what was gathered since the last call.
    ///
    /// `now`: the clock, or the intended start of the next operation if that is already past, so that no
    /// window is called closed while operations due in it have not been begun.
    pub fn roll(&mut self, now: u64) -> Batch {
        self.dense.store(&mut self.open);
        let limit = self.phases.window_of(now).min(self.phases.windows());
        let (windows, closed_below) = self.open.hand_over(limit);
        self.dense.advance(self.phases.window_of(now));
        let since = std::mem::take(&mut self.since);
        let room = Vec::with_capacity(self.late.len().max(Self::LATE_ROOM));
        Batch {
            worker: self.worker,
            windows,
            late: std::mem::replace(&mut self.late, room),
            closed_below,
            until: now,
            started: since.started,
            succeeded: since.succeeded,
            failed: since.failed,
            in_flight: self.in_flight,
            lateness: since.lateness,
            streak: self.streak.clone(),
            first_failures: std::mem::take(&mut self.first_failures),
            listed_failures: self
                .lister
                .as_mut()
                .map(|one| one.take_failures())
                .unwrap_or_default(),
            samples: self
                .samples
                .as_mut()
                .map(|(_, samples)| std::mem::take(samples))
                .unwrap_or_default(),
        }
    }

    /// The totals, when everything has ended. Whatever was not rolled yet is lost to the windows: roll first.
    pub fn finish(self) -> Totals {
        self.totals
    }

    /// What it lists, when everything has ended; failures that were not rolled yet are lost: roll first.
    pub fn take_listed(&mut self) -> Option<ListedSamples> {
        self.lister.take().map(|lister| lister.finish())
    }

    /// Counts an operation as planned and gives its window; `None` outside the measure phase.
    fn plan(&mut self, operation: usize, intended_at: u64) -> Option<u64> {
        if !self.phases.measures(intended_at) {
            self.totals.part_mut(operation).before.planned += 1;
            return None;
        }
        self.newest = self.newest.max(intended_at);
        self.totals.part_mut(operation).planned += 1;
        if let Some(counts) = &mut self.totals.replay {
            counts.plan(intended_at - self.phases.measure_from);
        }
        let window = self.window_of(intended_at);
        self.open.touch(window, operation).planned += 1;
        Some(window)
    }

    /// Puts the times of a succeeded operation into their windows.
    fn fill(&mut self, window: u64, sample: &Sample<'_>) {
        let finished = self.finished(sample);
        self.place(finished, sample.operation, WindowSpan::ServiceTime, sample.service_time());
        self.place(window, sample.operation, WindowSpan::ResponseTime, sample.response_time());
    }

    /// Puts the times of a stream into their windows.
    fn fill_stream(&mut self, window: u64, sample: &Sample<'_>) {
        let Some(time) = self.first_event.and_then(|place| sample.spans.get(place)) else { return };
        let finished = self.finished(sample);
        self.place(window, sample.operation, WindowSpan::FirstEvent, time);
        if finished == self.dense.number {
            let gaps = self.dense.histogram(sample.operation, WindowSpan::Gap);
            sample.spans.count_repetitions(gaps);
        } else {
            let part = self.open.touch(finished, sample.operation);
            let gaps = part.histogram_mut(WindowSpan::Gap);
            sample.spans.count_repetitions(gaps.get_or_insert_with(|| Histogram::new(COARSE)));
        }
    }

    /// The window in which an operation finished; the dense one is no older.
    fn finished(&mut self, sample: &Sample<'_>) -> u64 {
        let finished = self.window_of(sample.finished_at);
        if finished > self.dense.number {
            self.dense.store(&mut self.open);
            self.dense.advance(finished);
        }
        finished
    }

    /// The window of an instant. Most lie in the dense one, which is found without a division.
    fn window_of(&self, instant: u64) -> u64 {
        let PhaseBounds { measure_from, window, .. } = self.phases;
        let into_dense = instant.checked_sub(measure_from + self.dense.number * window);
        match into_dense {
            Some(into_dense) if into_dense < window => self.dense.number,
            _ => self.phases.window_of(instant),
        }
    }

    fn place(&mut self, window: u64, operation: usize, span: WindowSpan, value: u64) {
        if window == self.dense.number {
            self.dense.histogram(operation, span).record(value);
        } else {
            self.late.push(LateTime { window, operation, span, value });
        }
    }

    fn note_failure(&mut self, operation: usize, kind: FailureKind, detail: Option<&str>) {
        let seen = &mut self.seen_failures[operation * FailureKind::ALL.len() + kind.index()];
        if !*seen {
            *seen = true;
            self.first_failures.push((operation, kind, detail.unwrap_or_default().to_owned()));
        }
    }
}

impl DenseWindow {
    fn new(operations: usize) -> Self {
        let times = || Some(Histogram::new(COARSE));
        Self { number: 0, histograms: vec![[times(), times(), None, None]; operations] }
    }

    fn histogram(&mut self, operation: usize, span: WindowSpan) -> &mut Histogram {
        self.histograms[operation][span as usize].get_or_insert_with(|| Histogram::new(COARSE))
    }

    /// Moves what it holds to the window it belongs to.
    fn store(&mut self, open: &mut OpenWindows) {
        for (operation, pair) in self.histograms.iter_mut().enumerate() {
            for (span, filled) in WindowSpan::ALL.into_iter().zip(pair) {
                let Some(filled) = filled else { continue };
                if filled.count() > 0 {
                    let full = std::mem::replace(filled, Histogram::new(COARSE));
                    *open.touch(self.number, operation).histogram_mut(span) = Some(full);
                }
            }
        }
    }

    /// Goes on with a newer window; the histograms are empty.
    fn advance(&mut self, number: u64) {
        self.number = self.number.max(number);
    }
}
