//! Reads a run folder, finished or not.

use std::io::{self, Read};

use serde_json::Value;
use stats::Histogram;

use super::{Folder, RunOrigin, Samples, names};
use crate::event::{Event, EventKind};
use crate::hgrm::{self, SpectrumLine};
use crate::hlog::IntervalLog;
use crate::lines::Lines;
use crate::summary::Summary;
use crate::{MixNames, RecordError, TrialFacts, Window, WindowSpan};

/// Reads a run folder. Whatever a killed run left behind is readable up to its last whole line.
pub struct RunReader<'f> {
    folder: &'f dyn Folder,
}

/// One stored histogram of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowQuantity {
    /// Name of the operation.
    pub operation: String,
    /// Which time.
    pub span: WindowSpan,
    /// Start of the window, from the start of the measure phase. A window may come twice; both parts count.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// The values; coarse. The least is known to its bucket, the greatest to a microsecond.
    pub histogram: Histogram,
}

impl WindowQuantity {
    /// A window that holds this histogram alone, as that of the operation at `place`.
    fn into_window(self, place: usize, (operations, journeys): (usize, usize)) -> Window {
        let number = self.start_ns / self.length_ns.max(1);
        let mut window = Window { number, ..Window::default() };
        window.operations.resize_with(operations, Default::default);
        window.journeys.resize_with(journeys, Default::default);
        let part = match place.checked_sub(operations) {
            None => &mut window.operations[place],
            Some(place) => &mut window.journeys[place],
        };
        *part.histogram_mut(self.span) = Some(self.histogram);
        window
    }
}

impl<'f> RunReader<'f> {
    /// Reads from here.
    pub fn new(folder: &'f dyn Folder) -> Self {
        Self { folder }
    }

    /// The summary; missing in a run that did not finish.
    pub fn summary(&self) -> Result<Summary, RecordError> {
        serde_json::from_str(&self.text(names::SUMMARY)?).map_err(malformed(names::SUMMARY))
    }

    /// The plan as it was executed.
    pub fn plan(&self) -> Result<Value, RecordError> {
        serde_json::from_str(&self.text(names::PLAN)?).map_err(malformed(names::PLAN))
    }

    /// What was asked for.
    pub fn origin(&self) -> Result<RunOrigin, RecordError> {
        serde_json::from_str(&self.text(names::ORIGIN)?).map_err(malformed(names::ORIGIN))
    }

    /// Facts of a trial that has ended.
    pub fn facts(&self, trial: u32) -> Result<TrialFacts, RecordError> {
        self.facts_at(&names::facts(trial))
    }

    /// Facts in this file, such as those of [`names::agent`].
    pub fn facts_at(&self, path: &str) -> Result<TrialFacts, RecordError> {
        TrialFacts::from_json(&self.text(path)?).map_err(malformed(path))
    }

    /// Whether a trial was begun.
    pub fn has_begun(&self, trial: u32) -> bool {
        self.folder.exists(&names::windows(trial))
    }

    /// Numbers of the trials that were begun, in order. Those beyond the plan repeat one of it.
    pub fn trials(&self) -> Vec<u32> {
        let planned = self.plan().ok().and_then(|plan| Some(plan.get("trials")?.as_array()?.len()));
        match planned {
            Some(planned) => {
                let most = u32::try_from(2 * planned).unwrap_or(u32::MAX);
                (1..=most).filter(|&trial| self.has_begun(trial)).collect()
            }
            None => (1..).take_while(|&trial| self.has_begun(trial)).collect(),
        }
    }

    /// Histograms of a trial's windows, streamed in the order in which windows closed; tags that are not ours
    /// are passed over.
    pub fn windows(
        &self,
        trial: u32,
    ) -> Result<impl Iterator<Item = Result<WindowQuantity, RecordError>> + use<>, RecordError>
    {
        let path = names::windows(trial);
        let log = IntervalLog::new(&path, self.open(&path)?);
        Ok(log.filter_map(|interval| match interval {
            Ok(interval) => {
                let (operation, span) = names::parse_tag(interval.tag.as_deref()?)?;
                Some(Ok(WindowQuantity {
                    operation: operation.to_owned(),
                    span,
                    start_ns: interval.start_ns,
                    length_ns: interval.length_ns,
                    histogram: interval.histogram,
                }))
            }
            Err(error) => Some(Err(error)),
        }))
    }

    /// Shows the windows of a trial: first their counts, then their histograms, one at a time.
    ///
    /// A window comes several times, each with what the others lack; nothing is kept. `names`: those of the
    /// trial.
    pub fn visit_windows(
        &self,
        trial: u32,
        names: &MixNames,
        show: &mut dyn FnMut(&Window),
    ) -> Result<(), RecordError> {
        for event in self.events(trial)? {
            if let EventKind::WindowClosed(counts) = event?.kind {
                show(&Window::of_counts(&counts));
            }
        }
        for quantity in self.windows(trial)? {
            let quantity = quantity?;
            let place = names
                .operations
                .iter()
                .chain(&names.journeys)
                .position(|name| *name == quantity.operation);
            if let Some(place) = place {
                show(&quantity.into_window(place, (names.operations.len(), names.journeys.len())));
            }
        }
        Ok(())
    }

    /// Events of a trial, streamed.
    pub fn events(&self, trial: u32) -> Result<Events, RecordError> {
        let path = names::events(trial);
        Ok(Events { lines: Lines::new(&path, self.open(&path)?) })
    }

    /// Percentile spectrum of an operation's response time; [`names::ALL`] for the total.
    pub fn spectrum(&self, trial: u32, operation: &str) -> Result<Vec<SpectrumLine>, RecordError> {
        let path = names::spectrum(trial, operation);
        hgrm::read(&path, self.open(&path)?)
    }

    /// Response time by power of two of a declared item: (k, values) for items in [2^(k−1), 2^k).
    pub fn item(
        &self,
        trial: u32,
        operation: &str,
        item: &str,
    ) -> Result<Vec<(u32, Histogram)>, RecordError> {
        let path = names::item(trial, operation, item);
        let powers =
            IntervalLog::new(&path, self.open(&path)?).filter_map(|interval| match interval {
                Ok(interval) => {
                    let power = names::parse_item_tag(interval.tag.as_deref()?)?;
                    Some(Ok((power, interval.histogram)))
                }
                Err(error) => Some(Err(error)),
            });
        powers.collect()
    }

    /// Raw samples of a trial, streamed; `None` when they were not kept. `operations`: the names that
    /// [`RawSample::operation`](crate::RawSample::operation) is to refer to.
    pub fn samples(
        &self,
        trial: u32,
        operations: &[String],
    ) -> Result<Option<Samples>, RecordError> {
        let path = names::samples(trial);
        if !self.folder.exists(&path) {
            return Ok(None);
        }
        Ok(Some(Samples::new(&path, self.open(&path)?, operations)))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read>, RecordError> {
        self.folder.open(path).map_err(RecordError::io(path))
    }

    /// The text of a file.
    ///
    /// Errors: it is missing, or is no text
    pub fn text(&self, path: &str) -> Result<String, RecordError> {
        io::read_to_string(self.open(path)?).map_err(RecordError::io(path))
    }
}

/// Events of a trial.
pub struct Events {
    lines: Lines,
}

impl Iterator for Events {
    type Item = Result<Event, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lines
            .next(|line| serde_json::from_str(line).map(Some).map_err(|error| error.to_string()))
    }
}

fn malformed(file: &str) -> impl FnOnce(serde_json::Error) -> RecordError + '_ {
    move |error| RecordError::Malformed {
        file: file.to_owned(),
        line: error.line() as u64,
        problem: error.to_string(),
    }
}
