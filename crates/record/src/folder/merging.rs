//! Merges the files of a trial that several machines performed in shares.
//!
//! Windows add by number, histograms by bucket, counts by sum: the files are those that one machine would have written.
//! They are streamed, so memory does not grow with the length of the trial. Not here: whether the shares belong
//! together.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::reader::WindowQuantity;
use super::{Folder, RunReader, TrialWriter, names};
use crate::event::{Event, EventKind};
use crate::summary::{Accounting, AgentFacts};
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
    kernels: KernelCounters,
}

impl<'f> JoinedFacts<'f> {
    /// Of no share yet.
    pub fn new(folder: &'f dyn Folder, trial: u32) -> Self {
        Self { folder, trial, shares: 0, whole: None, kernels: KernelCounters::default() }
    }

    /// Adds the next share.
    pub fn add(&mut self, mut facts: TrialFacts) -> io::Result<()> {
        self.shares += 1;
        let mut file = self.folder.create(&names::agent(self.trial, self.shares))?;
        serde_json::to_writer(&mut file, &facts)?;
        file.flush()?;
        let name = facts.agent.as_ref().map_or_else(String::new, |agent| agent.name());
        self.kernels.add(facts.agent.as_ref(), std::mem::take(&mut facts.kernel));
        match &mut self.whole {
            Some(whole) => whole.join(facts, &name),
            None => self.whole = Some(facts.begin_join(&name)),
        }
        Ok(())
    }

    /// The whole; `None` where there was no share.
    pub fn finish(self) -> Option<TrialFacts> {
        let kernel = self.kernels.total();
        Some(TrialFacts { merged_from: self.shares, kernel, ..self.whole? })
    }
}

/// Counters of the kernels under which shares were performed.
#[derive(Debug, Default)]
struct KernelCounters {
    /// By boot id and network namespace.
    known: BTreeMap<(String, String), BTreeMap<String, i64>>,
    /// Of shares that do not say where they were.
    unknown: Vec<BTreeMap<String, i64>>,
}

impl KernelCounters {
    /// Adds those of a share. Shares in one network namespace have read the same counters, at slightly different
    /// instants: the largest reading counts.
    fn add(&mut self, agent: Option<&AgentFacts>, counters: BTreeMap<String, i64>) {
        let place = agent.map(|agent| (agent.boot_id.clone(), agent.network.clone()));
        let Some(place) = place.filter(|(boot, network)| !boot.is_empty() && !network.is_empty())
        else {
            self.unknown.push(counters);
            return;
        };
        let known = self.known.entry(place).or_default();
        for (counter, delta) in counters {
            let most = known.entry(counter).or_insert(delta);
            *most = delta.max(*most);
        }
    }

    fn total(self) -> BTreeMap<String, i64> {
        let mut total = BTreeMap::new();
        for (counter, delta) in self.known.into_values().chain(self.unknown).flatten() {
            *total.entry(counter).or_insert(0) += delta;
        }
        total
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_under_one_kernel_have_its_counters_in_common() {
        let agent = |boot: &str, network: &str| AgentFacts {
            boot_id: boot.to_owned(),
            network: network.to_owned(),
            ..AgentFacts::default()
        };
        let counters = |resent: i64| BTreeMap::from([("resent".to_owned(), resent)]);
        let mut kernels = KernelCounters::default();
        kernels.add(Some(&agent("a", "net:[1]")), counters(5));
        kernels.add(Some(&agent("a", "net:[1]")), counters(7));
        kernels.add(Some(&agent("a", "net:[2]")), counters(10));
        kernels.add(Some(&agent("b", "net:[1]")), counters(100));
        // Records of earlier versions do not name the namespace.
        kernels.add(Some(&agent("b", "")), counters(1_000));
        kernels.add(None, counters(1_000));
        assert_eq!(kernels.total(), counters(2_117));
    }
}
