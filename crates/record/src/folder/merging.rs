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
    /// Of each share, in the order of their numbers.
    pub shares: &'a [RunReader<'a>],
    /// Number of the trial.
    pub trial: u32,
    /// Names of its operations, journeys and items.
    pub layout: &'a Layout,
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
        let mut whole: Option<TrialFacts> = None;
        for (place, share) in self.shares.iter().enumerate() {
            let facts = share.facts(self.trial).map_err(failed(place))?;
            let number = u32::try_from(place).unwrap_or(u32::MAX) + 1;
            write_json(folder, &names::agent(self.trial, number), &facts)?;
            let name = facts.agent.as_ref().map_or_else(String::new, |agent| agent.name());
            match &mut whole {
                Some(whole) => whole.join(facts, &name),
                None => whole = Some(facts.begin_join(&name)),
            }
        }
        let mut whole = whole.ok_or_else(|| io::Error::other("there are no shares"))?;
        whole.merged_from = u32::try_from(self.shares.len()).unwrap_or(u32::MAX);
        Ok(whole)
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
                    stream.at = stream.at.max(window.number + 1);
                    let whole = assembler.add_windows(place, [window.into_part()], stream.at);
                    count(writer, whole)?;
                }
                EventKind::Progress(_) | EventKind::TrialFinished { .. } => {}
                _ if kept.iter().any(|one| is_same(&one.kind, &event.kind)) => {}
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
                    stream.at = stream.at.max(number);
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

/// Whether the second event says nothing new: every share reports the course of the trial, and failures of a kind need
/// no second example.
fn is_same(known: &EventKind, new: &EventKind) -> bool {
    match (known, new) {
        (EventKind::TrialStarted { .. }, EventKind::TrialStarted { .. })
        | (EventKind::Dated { .. }, EventKind::Dated { .. })
        | (EventKind::Interrupted, EventKind::Interrupted)
        | (EventKind::EndedEarly(_), EventKind::EndedEarly(_)) => true,
        (EventKind::PhaseEntered { phase: known }, EventKind::PhaseEntered { phase: new }) => {
            known == new
        }
        (
            EventKind::FailureSeen { operation: known, kind: known_kind, .. },
            EventKind::FailureSeen { operation, kind, .. },
        ) => (known, known_kind) == (operation, kind),
        (EventKind::LimitReached { limit: known, .. }, EventKind::LimitReached { limit, .. }) => {
            known == limit
        }
        _ => false,
    }
}

fn write_json(folder: &dyn Folder, path: &str, facts: &TrialFacts) -> io::Result<()> {
    let mut file = folder.create(path)?;
    serde_json::to_writer(&mut file, facts)?;
    file.flush()
}

fn failed(place: usize) -> impl FnOnce(RecordError) -> MergeError {
    move |error| MergeError::Share { share: place + 1, error }
}
