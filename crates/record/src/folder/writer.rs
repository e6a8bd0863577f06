//! Writes the files of one trial while it runs.

use std::io::{self, Write};

use super::{Folder, names, samples};
use crate::event::Event;
use crate::hlog::IntervalLogWriter;
use crate::{ItemTotals, Layout, RawSample, Totals, TrialFacts, Window, WindowSpan, hgrm};

/// What the files of a trial begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialHeader {
    /// Number of the trial in the run, from 1.
    pub trial: u32,
    /// Start of the measure phase, in milliseconds since the Unix epoch; see [`TrialWriter::date`].
    pub start_ms: u64,
    /// Length of a window.
    pub window_ns: u64,
    /// Names of operations and items.
    pub layout: Layout,
    /// Whether raw samples are kept.
    pub samples: bool,
}

/// Writes the files of one trial. After each call, what was given is in the files.
pub struct TrialWriter<'f> {
    folder: &'f dyn Folder,
    header: TrialHeader,
    windows: IntervalLogWriter,
    events: Box<dyn Write + Send>,
    samples: Option<Box<dyn Write + Send>>,
    /// End of the last window written, from the start of the measure phase.
    end_ns: u64,
}

impl<'f> TrialWriter<'f> {
    /// Begins the files of a trial, headers included.
    pub fn new(folder: &'f dyn Folder, header: TrialHeader) -> io::Result<Self> {
        let windows =
            IntervalLogWriter::new(folder.create(&names::windows(header.trial))?, header.start_ms)?;
        let events = folder.create(&names::events(header.trial))?;
        let facts = names::facts(header.trial);
        if folder.exists(&facts) {
            // Those of an earlier attempt, which was stopped.
            folder.create(&facts)?;
        }
        let mut samples = None;
        if header.samples {
            let file = samples.insert(folder.create(&names::samples(header.trial))?);
            samples::write_header(file)?;
        }
        Ok(Self { folder, header, windows, events, samples, end_ns: 0 })
    }

    /// Length of a window.
    pub(super) fn window_ns(&self) -> u64 {
        self.header.window_ns
    }

    /// Corrects the start of the measure phase, which is known only once everything is launched.
    ///
    /// Shape:  before the first window, since the log begins anew
    pub fn date(&mut self, start_ms: u64) -> io::Result<()> {
        let file = self.folder.create(&names::windows(self.header.trial))?;
        self.windows = IntervalLogWriter::new(file, start_ms)?;
        self.header.start_ms = start_ms;
        Ok(())
    }

    /// Appends a window: one line for each operation and span that has values.
    pub fn window(&mut self, window: &Window) -> io::Result<()> {
        let length = self.header.window_ns;
        let all = window.operations.iter().chain(&window.journeys);
        for (place, operation) in all.enumerate() {
            let name = self.header.layout.name(place);
            for span in WindowSpan::ALL {
                if let Some(histogram) = operation.histogram(span) {
                    self.windows.write(
                        &names::tag(name, span),
                        window.number * length,
                        length,
                        histogram,
                    )?;
                }
            }
        }
        self.end_ns = self.end_ns.max((window.number + 1) * length);
        self.windows.flush()
    }

    /// Appends an event.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.events.write_all(&line)?;
        self.events.flush()
    }

    /// Appends raw samples, if they are kept.
    pub fn samples(&mut self, samples: &[RawSample]) -> io::Result<()> {
        let Some(file) = &mut self.samples else { return Ok(()) };
        for sample in samples {
            samples::write_sample(file, &self.header.layout.operations[sample.operation], sample)?;
        }
        file.flush()
    }

    /// Writes the spectra and the logs of items.
    pub fn finish(self, totals: &Totals) -> io::Result<()> {
        let total = totals.total();
        let journeys = totals.journeys.iter().map(|journey| &journey.totals);
        for operation in totals.operations.iter().chain(journeys).chain(Some(&total)) {
            let mut file =
                self.folder.create(&names::spectrum(self.header.trial, &operation.name))?;
            hgrm::write(&mut file, &operation.response_time)?;
        }
        for (operation, items) in totals.operations.iter().zip(&self.header.layout.items) {
            for (name, item) in items.iter().zip(&operation.items) {
                self.item(&names::item(self.header.trial, &operation.name, name), item)?;
            }
        }
        Ok(())
    }

    fn item(&self, path: &str, item: &ItemTotals) -> io::Result<()> {
        let mut log = IntervalLogWriter::new(self.folder.create(path)?, self.header.start_ms)?;
        for (&power, histogram) in &item.response_time {
            log.write(&names::item_tag(power), 0, self.end_ns, histogram)?;
        }
        log.flush()
    }
}

/// Writes the facts of a trial that has ended; last of all its files, since they say that it has.
pub fn write_facts(folder: &dyn Folder, trial: &TrialFacts) -> io::Result<()> {
    let mut file = folder.create(&names::facts(trial.index))?;
    serde_json::to_writer(&mut file, trial)?;
    file.write_all(b"\n")?;
    file.flush()
}
