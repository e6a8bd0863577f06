//! Windows of the measure phase: what one worker adds to one, and the whole.
//!
//! Response time, time to the first event and counts belong to the window of the intended start, service time and gaps to
//! that of the finish.

mod assembler;
mod open;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::{COARSE, Histogram};

use crate::event::{OperationCounts, WindowCounts};
use crate::{FailureKind, Outcome};
pub use assembler::WindowAssembler;
pub(crate) use open::OpenWindows;

/// One worker's part of one window. Histograms are coarse.
#[derive(Debug)]
pub struct WindowPart {
    /// Number of the window, from 0 at the start of the measure phase.
    pub window: u64,
    /// By operation, and after those by journey.
    pub operations: Vec<OperationWindow>,
}

/// Which time a histogram of a window holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowSpan {
    /// By intended start.
    ResponseTime,
    /// By finish.
    ServiceTime,
    /// Of streams, the time to the first event, by intended start. Of every operation with one, also if it failed.
    FirstEvent,
    /// Of streams, times from one event to the next, by finish. Of every operation with some, also if it failed.
    Gap,
}

/// A time of an older window, which has no dense histogram of its own any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateTime {
    /// Number of the window.
    pub window: u64,
    /// The operation.
    pub operation: usize,
    /// Which time.
    pub span: WindowSpan,
    /// Nanoseconds.
    pub value: u64,
}

/// All workers' parts of one window.
///
/// A window may come twice if a worker began an operation after it had declared its window closed
/// (a generator that was stopped): the second holds only what the first did not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Window {
    /// Number of the window, from 0 at the start of the measure phase.
    pub number: u64,
    /// By operation.
    pub operations: Vec<OperationWindow>,
    /// By journey: whole journeys, which are made of the operations.
    pub journeys: Vec<OperationWindow>,
}

/// One operation's part of one window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationWindow {
    /// Due in the window.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, by failure kind; empty when none failed.
    pub failed: Vec<(FailureKind, u64)>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    /// By intended start; `None` when empty.
    #[serde(with = "crate::message")]
    pub response_time: Option<Histogram>,
    /// By finish; `None` when empty.
    #[serde(with = "crate::message")]
    pub service_time: Option<Histogram>,
    /// By intended start; `None` when empty.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::message")]
    pub first_event: Option<Histogram>,
    /// By finish; `None` when empty.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::message")]
    pub gap: Option<Histogram>,
}

impl WindowSpan {
    /// All, in the order in which they are stored.
    pub const ALL: [Self; 4] = [Self::ResponseTime, Self::ServiceTime, Self::FirstEvent, Self::Gap];

    /// The time that windows keep of the span with this name, if they do.
    pub fn of_span(name: &str) -> Option<Self> {
        [Self::FirstEvent, Self::Gap].into_iter().find(|span| span.name() == name)
    }

    /// Its name in tags and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::ResponseTime => "response_time",
            Self::ServiceTime => "service_time",
            Self::FirstEvent => "first_event",
            Self::Gap => "gap",
        }
    }
}

impl Window {
    /// Counts of all operations, for the event stream.
    pub fn counts(&self) -> WindowCounts {
        let mut counts = WindowCounts { window: self.number, ..WindowCounts::default() };
        for operation in &self.operations {
            counts.planned += operation.planned;
            counts.succeeded += operation.succeeded;
            counts.missed += operation.missed;
            add_failures(&mut counts.failed, &operation.failed);
            counts.operations.push(operation.counts());
        }
        counts.journeys = self.journeys.iter().map(OperationWindow::counts).collect();
        counts
    }

    /// The window of stored counts, without histograms. Kinds that this version does not know are
    /// left out.
    pub fn of_counts(counts: &WindowCounts) -> Self {
        let operations = counts.operations.iter().map(OperationWindow::of_counts).collect();
        let journeys = counts.journeys.iter().map(OperationWindow::of_counts).collect();
        Self { number: counts.window, operations, journeys }
    }

    /// The window as a part of another.
    pub fn into_part(self) -> WindowPart {
        let operations = self.operations.into_iter().chain(self.journeys).collect();
        WindowPart { window: self.number, operations }
    }

    /// The operation with this index, or the journey where it is beyond the operations.
    pub fn part(&self, index: usize) -> Option<&OperationWindow> {
        match self.operations.len() {
            operations if index < operations => self.operations.get(index),
            operations => self.journeys.get(index - operations),
        }
    }

    /// This time of all operations together; `None` when empty.
    pub fn all(&self, span: WindowSpan) -> Option<Histogram> {
        let mut sum: Option<Histogram> = None;
        for histogram in self.operations.iter().filter_map(|operation| operation.histogram(span)) {
            sum.get_or_insert_with(|| Histogram::new(COARSE)).merge(histogram);
        }
        sum
    }
}

impl OperationWindow {
    fn counts(&self) -> OperationCounts {
        let mut counts = OperationCounts {
            planned: self.planned,
            succeeded: self.succeeded,
            missed: self.missed,
            ..OperationCounts::default()
        };
        add_failures(&mut counts.failed, &self.failed);
        counts
    }

    fn of_counts(counts: &OperationCounts) -> Self {
        let known = FailureKind::ALL.iter();
        let failed = known.filter_map(|&kind| Some((kind, *counts.failed.get(kind.name())?)));
        Self {
            planned: counts.planned,
            succeeded: counts.succeeded,
            failed: failed.collect(),
            missed: counts.missed,
            ..Self::default()
        }
    }

    /// Ended badly, of any kind.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().map(|(_, count)| count).sum()
    }

    /// Without a time, hence slower than all others: failed, missed or abandoned.
    pub fn without_time(&self) -> u64 {
        self.missed + self.failed_total()
    }

    /// The histogram of this time, if it has values.
    pub fn histogram(&self, span: WindowSpan) -> Option<&Histogram> {
        match span {
            WindowSpan::ResponseTime => self.response_time.as_ref(),
            WindowSpan::ServiceTime => self.service_time.as_ref(),
            WindowSpan::FirstEvent => self.first_event.as_ref(),
            WindowSpan::Gap => self.gap.as_ref(),
        }
    }

    pub(crate) fn histogram_mut(&mut self, span: WindowSpan) -> &mut Option<Histogram> {
        match span {
            WindowSpan::ResponseTime => &mut self.response_time,
            WindowSpan::ServiceTime => &mut self.service_time,
            WindowSpan::FirstEvent => &mut self.first_event,
            WindowSpan::Gap => &mut self.gap,
        }
    }

    /// Counts how an operation that was due in this window ended.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Succeeded => self.succeeded += 1,
            Outcome::Failed(kind) => self.fail(kind, 1),
            Outcome::Abandoned => self.missed += 1,
        }
    }

    fn fail(&mut self, kind: FailureKind, count: u64) {
        match self.failed.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, failures)) => *failures += count,
            None => self.failed.push((kind, count)),
        }
    }

    /// Adds another worker's part.
    pub(crate) fn merge(&mut self, other: Self) {
        self.planned += other.planned;
        self.succeeded += other.succeeded;
        self.missed += other.missed;
        for (kind, count) in other.failed {
            self.fail(kind, count);
        }
        // The order of the table, so that the result does not depend on who failed first.
        self.failed.sort_unstable();
        merge_into(&mut self.response_time, other.response_time);
        merge_into(&mut self.service_time, other.service_time);
        merge_into(&mut self.first_event, other.first_event);
        merge_into(&mut self.gap, other.gap);
    }
}

/// Adds a stored histogram.
pub(crate) fn part_of_quantity(part: &mut OperationWindow, span: WindowSpan, times: Histogram) {
    merge_into(part.histogram_mut(span), Some(times));
}

fn add_failures(sums: &mut BTreeMap<String, u64>, failed: &[(FailureKind, u64)]) {
    for (kind, count) in failed {
        *sums.entry(kind.name().to_owned()).or_insert(0) += count;
    }
}

fn merge_into(mine: &mut Option<Histogram>, theirs: Option<Histogram>) {
    match (mine.as_mut(), theirs) {
        (Some(mine), Some(theirs)) => mine.merge(&theirs),
        (None, Some(theirs)) => *mine = Some(theirs),
        (_, None) => {}
    }
}
