//! Merges the files of a trial that several machines performed in shares.
//!
//! Windows add by number, histograms by bucket, counts by sum: the files are those that one machine would have written.
//! They are streamed, so memory does not grow with the length of the trial. Not here: whether the shares belong
//! together.

use std::io::{self, Write};

use super::reader::WindowQuantity;
use super::{Folder, RunReader, TrialWriter, names};
use crate::event::{Event, EventKind};
use crate::summary::Accounting;
use crate::window::part_of_quantity;
use crate::{
    Layout, OperationWindow, RecordError, TrialFacts, Window, WindowAssembler, WindowPart,
};

/// The shares of a trial, and where they are merged.
pub struct MergedTrial<'a> {
    /// Windows of the measure phase: those have no gaps, and later ones do.
    pub windows: u64,
    /// Of each share, in the order of their numbers.
    pub shares: &'a [RunReader<'a>],
    /// Number of the trial.
    pub trial: u32,
    /// Names of its operations, journeys and items.
    pub layout: &'a Layout,
}

/// Joins the facts of shares, in the order of their numbers, and keeps those of each in the folder.
pub struct JoinedFacts<'f> {
    folder: &'f dyn Folder,
    trial: u32,
    shares: u32,
    whole: Option<TrialFacts>,
}

impl<'f> JoinedFacts<'f> {
    /// Of no share yet.
    pub fn new(folder: &'f dyn Folder, trial: u32) -> Self {
        Self { folder, trial, shares: 0, whole: None }
    }

    /// Adds the next share.
    pub fn add(&mut self, facts: TrialFacts) -> io::Result<()> {
        self.shares += 1;
        let mut file = self.folder.create(&names::agent(self.trial, self.shares))?;
        serde_json::to_writer(&mut file, &facts)?;
        file.flush()?;
        let name = facts.agent.as_ref().map_or_else(String::new, |agent| agent.name());
        match &mut self.whole {
            Some(whole) => whole.join(facts, &name),
            None => self.whole = Some(facts.begin_join(&name)),
        }
        Ok(())
    }

    /// The whole; `None` where there was no share.
    pub fn finish(self) -> Option<TrialFacts> {
        Some(TrialFacts { merged_from: self.shares, ..self.whole? })
    }
}

/// Why shares cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A share cannot be read.
    #[error("share {share}: {error}")]
    Share {
        /// Its number.
        share: usize,
        /// Why.
        error: RecordError,
    },
    /// The merged record cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl MergedTrial<'_> {
    /// The facts of the whole; those of each share are copied into `folder`.
    pub fn facts(&self, folder: &dyn Folder) -> Result<TrialFacts, MergeError> {
        let mut whole = JoinedFacts::new(folder, self.trial);
        for (place, share) in self.shares.iter().enumerate() {
            whole.add(share.intact_facts(self.trial, self.layout).map_err(failed(place))?)?;
        }
        whole.finish().ok_or_else(|| io::Error::other("there are no shares").into())
    }

    /// Writes events, windows and samples of the whole.
    pub fn write(
        &self,
        writer: &mut TrialWriter<'_>,
        accounting: Accounting,
    ) -> Result<(), MergeError> {
        let end = self.events(writer)?;
        writer.event(&Event { at_ns: end, kind: EventKind::TrialFinished { accounting } })?;
        self.histograms(writer)?;
        self.samples(writer)
    }

    /// Events that each share reports of itself are kept, in the order of time; those that every share reports alike,
    /// once. Returns the instant of the last.
    fn events(&self, writer: &mut TrialWriter<'_>) -> Result<i64, MergeError> {
        let mut assembler = WindowAssembler::new(self.shares.len(), self.layout);
        let mut kept: Vec<Event> = Vec::new();
        let mut streams = self.open(|share| share.events(self.trial))?;
        let mut end = i64::MIN;
        // The share whose windows are furthest back goes on.
        while let Some(place) = furthest_back(&streams) {
            let stream = &mut streams[place];
            let Some(event) = stream.items.next().transpose().map_err(failed(place))? else {
                let rest = assembler.add_windows(place, [], u64::MAX);
                stream.at = u64::MAX;
                count(writer, rest)?;
                continue;
            };
            end = end.max(event.at_ns);
            match event.kind {
                EventKind::WindowClosed(counts) => {
                    let window = Window::of_counts(&counts);
                    // A window may come again, with what it lacked.
                    stream.at = stream.at.max(window.number.saturating_add(1).min(self.windows));
                    let whole = assembler.add_windows(place, [window.into_part()], stream.at);
                    count(writer, whole)?;
                }
                EventKind::Progress(_) | EventKind::TrialFinished { .. } => {}
                _ if kept.iter().any(|one| event.kind.repeats(&one.kind)) => {}
                _ => kept.push(event),
            }
        }
        kept.sort_by_key(|event| event.at_ns);
        for event in kept {
            writer.event(&event)?;
        }
        Ok(end)
    }

    fn histograms(&self, writer: &mut TrialWriter<'_>) -> Result<(), MergeError> {
        let mut assembler = WindowAssembler::new(self.shares.len(), self.layout);
        let mut streams = self.open(|share| share.windows(self.trial))?;
        while let Some(place) = furthest_back(&streams) {
            let stream = &mut streams[place];
            let whole = match stream.items.next().transpose().map_err(failed(place))? {
                Some(quantity) => {
                    let number = quantity.start_ns / quantity.length_ns.max(1);
                    stream.at = stream.at.max(number.min(self.windows));
                    let part = self.part(quantity);
                    assembler.add_windows(place, part, stream.at)
                }
                None => {
                    stream.at = u64::MAX;
                    assembler.add_windows(place, [], u64::MAX)
                }
            };
            for window in whole {
                writer.window(&window)?;
            }
        }
        Ok(())
    }

    /// The histogram as a window that holds nothing else; none of a name that the layout does not have.
    fn part(&self, quantity: WindowQuantity) -> Option<WindowPart> {
        let place =
            (0..self.layout.len()).find(|&at| self.layout.name(at) == quantity.operation)?;
        let mut operations = vec![OperationWindow::default(); self.layout.len()];
        part_of_quantity(&mut operations[place], quantity.span, quantity.histogram);
        Some(WindowPart { window: quantity.start_ns / quantity.length_ns.max(1), operations })
    }

    fn samples(&self, writer: &mut TrialWriter<'_>) -> Result<(), MergeError> {
        for (place, share) in self.shares.iter().enumerate() {
            let samples = share.samples(self.trial, &self.layout.operations);
            for sample in samples.map_err(failed(place))?.into_iter().flatten() {
                writer.samples(&[sample.map_err(failed(place))?])?;
            }
        }
        Ok(())
    }

    fn open<T>(
        &self,
        open: impl Fn(&RunReader<'_>) -> Result<T, RecordError>,
    ) -> Result<Vec<Stream<T>>, MergeError> {
        let shares = self.shares.iter().enumerate();
        let opened = shares
            .map(|(place, share)| Ok(Stream { items: open(share).map_err(failed(place))?, at: 0 }));
        opened.collect()
    }
}

/// What is read of one share.
struct Stream<T> {
    items: T,
    /// Windows below this number are complete; `u64::MAX` at the end.
    at: u64,
}

/// The share to read next; `None` at the end of all.
fn furthest_back<T>(streams: &[Stream<T>]) -> Option<usize> {
    let open = streams.iter().enumerate().filter(|(_, stream)| stream.at < u64::MAX);
    open.min_by_key(|(_, stream)| stream.at).map(|(place, _)| place)
}

fn count(writer: &mut TrialWriter<'_>, whole: Vec<Window>) -> io::Result<()> {
    for window in whole {
        let at_ns = i64::try_from((window.number + 1) * writer.window_ns()).unwrap_or(i64::MAX);
        writer.event(&Event { at_ns, kind: EventKind::WindowClosed(window.counts()) })?;
    }
    Ok(())
}

fn failed(place: usize) -> impl FnOnce(RecordError) -> MergeError {
    move |error| MergeError::Share { share: place + 1, error }
}
