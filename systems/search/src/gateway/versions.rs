//! What is known about rows, as of the write that an answer saw.
//!
//! Metadata are written before the index learns of a row and removed after it, so a search could
//! find the row of one write and the metadata of another. The metadata before a write are therefore
//! kept here until the write has ended and all searches that began before its end are done. The
//! sequence number of the write that inserted a found row tells which version belongs to it:
//! numbers up to the newest write seen before are of the state before.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::metadata::Record;

/// A row's name, and what is known about it; none if it is not there.
pub(super) type KnownRow = (Box<str>, Option<Arc<Record>>);

/// Earlier versions of metadata that a search in progress may need.
#[derive(Debug, Default)]
pub(super) struct Versions {
    kept: Mutex<KeptVersions>,
    are_some: AtomicBool,
}

#[derive(Debug, Default)]
struct KeptVersions {
    /// Held by each search that began since a write ended last.
    era: Arc<()>,
    writes: u64,
    /// For each row what was known before writes, in their order.
    before: HashMap<Box<str>, VecDeque<Version>>,
    /// Writes that have ended, and the searches that began before each did.
    ended: VecDeque<(Arc<()>, u64, Vec<Box<str>>)>,
}

#[derive(Debug)]
struct Version {
    write: u64,
    /// A row that came in a later write is not of this version.
    newest: u64,
    record: Option<Arc<Record>>,
    has_ended: bool,
}

/// A search under way.
#[derive(Debug)]
pub(super) struct Reading<'v> {
    versions: &'v Versions,
    /// Taken when it ends.
    era: Option<Arc<()>>,
}

/// A write under way; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Writing<'v> {
    versions: &'v Versions,
    number: u64,
    before: Vec<KnownRow>,
}

impl Versions {
    /// Begins a search: before the index is asked.
    pub fn read(&self) -> Reading<'_> {
        Reading { versions: self, era: Some(self.kept().era.clone()) }
    }

    /// Begins a write of rows, before anything is written. `newest` is the number of a write that
    /// the index has made before this one, and not before the last one of these rows; each row is
    /// named once, and locked by the caller.
    ///
    /// A write that has not ended then could not be undone: its earlier version stays the one
    /// before this write.
    pub fn write(&self, newest: u64, mut before: Vec<KnownRow>) -> Writing<'_> {
        let mut kept = self.kept();
        kept.writes += 1;
        let write = kept.writes;
        for (id, record) in &mut before {
            let versions = kept.before.entry(id.clone()).or_default();
            if let Some(at) = versions.iter().position(|version| !version.has_ended) {
                *record = versions.remove(at).and_then(|version| version.record);
            }
            let version = Version { write, newest, record: record.clone(), has_ended: false };
            versions.push_back(version);
        }
        self.are_some.store(!kept.before.is_empty(), Ordering::Release);
        Writing { versions: self, number: write, before }
    }

    /// Drops versions of writes that could not be undone: all rows were dropped, and no write is in
    /// progress.
    pub fn forget_unended(&self) {
        let mut kept = self.kept();
        kept.before.retain(|_, versions| {
            versions.retain(|version| version.has_ended);
            !versions.is_empty()
        });
        self.sweep(kept);
    }

    /// Puts what was known in the place of what is known now, which was read after the index had answered.
    ///
    /// Shape: rows as they were found, by name and the write that they came in; their records
    pub fn look_back<'a>(
        &self,
        found: impl Iterator<Item = (&'a str, u64)>,
        records: &mut [Option<Arc<Record>>],
    ) {
        if !self.are_some.load(Ordering::Acquire) {
            return;
        }
        let kept = self.kept();
        for ((id, born), record) in found.zip(records) {
            let mut versions = kept.before.get(id).into_iter().flatten();
            if let Some(version) = versions.find(|version| born <= version.newest) {
                record.clone_from(&version.record);
            }
        }
    }

    /// What is known about a row as far as it was acknowledged, if that is not what is known now.
    pub fn acknowledged(&self, id: &str) -> Option<Option<Arc<Record>>> {
        if !self.are_some.load(Ordering::Acquire) {
            return None;
        }
        let kept = self.kept();
        let version = kept.before.get(id)?.iter().find(|version| !version.has_ended)?;
        Some(version.record.clone())
    }

    /// How many versions there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.kept().before.values().map(VecDeque::len).sum()
    }

    fn kept(&self) -> MutexGuard<'_, KeptVersions> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sweep(&self, mut kept: MutexGuard<'_, KeptVersions>) {
        kept.sweep();
        self.are_some.store(!kept.before.is_empty(), Ordering::Release);
    }
}

impl KeptVersions {
    /// Drops versions that no search can need.
    fn sweep(&mut self) {
        // An older search may need everything that a later one may.
        while self.ended.front().is_some_and(|(era, ..)| Arc::strong_count(era) == 1) {
            let Some((_, write, ids)) = self.ended.pop_front() else { return };
            for id in ids {
                let Some(versions) = self.before.get_mut(&id) else { continue };
                versions.retain(|version| version.write != write);
                if versions.is_empty() {
                    self.before.remove(&id);
                }
            }
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.era = None;
        if self.versions.are_some.load(Ordering::Acquire) {
            self.versions.sweep(self.versions.kept());
        }
    }
}

impl Writing<'_> {
    /// What was known of the rows as far as it was acknowledged.
    pub fn before(&self) -> &[KnownRow] {
        &self.before
    }

    /// It neither took place nor could be taken back: what was before is shown until the rows are written again.
    pub fn stays(self) {
        std::mem::forget(self);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let number = self.number;
        let ids: Vec<_> = std::mem::take(&mut self.before).into_iter().map(|(id, _)| id).collect();
        let mut kept = self.versions.kept();
        for id in &ids {
            let versions = kept.before.get_mut(id).into_iter().flatten();
            versions.filter(|it| it.write == number).for_each(|it| it.has_ended = true);
        }
        let era = std::mem::take(&mut kept.era);
        kept.ended.push_back((era, number, ids));
        self.versions.sweep(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Option<Arc<Record>> {
        let metadata = serde_json::value::RawValue::from_string("{}".into()).unwrap();
        Some(Arc::new(Record { text: text.into(), metadata, vector: None }))
    }

    /// What is shown of row `a` that came in a write, where `now` is known.
    fn shown(versions: &Versions, born: u64, now: &str) -> Option<String> {
        let mut records = [record(now)];
        versions.look_back([("a", born)].into_iter(), &mut records);
        let [record] = records;
        record.map(|record| record.text.to_string())
    }

    #[test]
    fn each_row_is_shown_as_it_was_when_it_came() {
        let versions = Versions::default();
        let reading = versions.read();
        let first = versions.write(3, vec![("a".into(), record("one"))]);
        assert_eq!(versions.acknowledged("a").flatten().unwrap().text.as_ref(), "one");
        assert_eq!(shown(&versions, 2, "two").as_deref(), Some("one"));
        assert_eq!(shown(&versions, 4, "two").as_deref(), Some("two"));
        drop(first);
        assert!(versions.acknowledged("a").is_none());
        let second = versions.write(4, vec![("a".into(), record("two"))]);
        for (born, expected) in [(1, "one"), (3, "one"), (4, "two"), (5, "three")] {
            assert_eq!(shown(&versions, born, "three").as_deref(), Some(expected), "{born}");
        }
        drop(second);
        assert_eq!(versions.count(), 2, "a search is under way that began before");
        drop(reading);
        assert_eq!(versions.count(), 0);
    }

    #[test]
    fn what_no_search_can_ask_for_is_not_kept() {
        let versions = Versions::default();
        drop(versions.write(0, vec![("a".into(), None), ("b".into(), record("x"))]));
        assert_eq!(versions.count(), 0);
        let early = versions.read();
        drop(versions.write(1, vec![("a".into(), record("1"))]));
        let late = versions.read();
        drop(versions.write(2, vec![("b".into(), record("2"))]));
        drop(early);
        assert_eq!(versions.count(), 1, "only what the late one may ask for");
        drop(late);
        assert_eq!(versions.count(), 0);
        assert_eq!(versions.kept().ended.len(), 0);
    }
}
