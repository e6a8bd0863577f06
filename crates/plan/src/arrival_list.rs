//! The arrivals of a replay. They lie in a scratch file, and whoever walks through them holds one block, so that the
//! length of a list costs no memory.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// Bytes of an arrival: its instant and its row, both little-endian.
const ARRIVAL: usize = 12;
/// Arrivals of a block. Reading one takes microseconds, which the arrival that needs it is late.
const BLOCK: usize = 512;
/// Must hold while a list is read; otherwise the worker ends, and the run says so.
const LOST: &str = "the scratch file of a replay can be read";

/// Bytes that are written one after the other, and then read anywhere.
pub trait Scratch: Debug + Send + Sync {
    /// Adds bytes at the end.
    ///
    /// Errors: those of the file system
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `bytes` with what lies at this place.
    ///
    /// Errors: those of the file system; bytes that were never written
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
}

/// For lists that are short.
impl Scratch for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let there = self.get(from..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// One arrival of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// Nanoseconds from the start of the phase.
    pub offset_ns: u64,
    /// Its row among requests or sessions, from 0.
    pub row: u32,
}

/// What says which row an arrival has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowSource {
    /// Nothing: rows are taken in turn.
    #[default]
    Turn,
    /// Its place among so many recorded ones; a list of as many rows is meant.
    Place(u64),
    /// A column of the file.
    Column,
}

/// Arrivals in ascending order. A copy shares the file.
#[derive(Debug, Clone)]
pub struct ArrivalList {
    file: Arc<dyn Scratch>,
    count: u64,
    rows: RowSource,
    greatest_row: u32,
    busiest_second: u64,
}

impl Default for ArrivalList {
    fn default() -> Self {
        Self {
            file: Arc::new(Vec::new()),
            count: 0,
            rows: RowSource::Turn,
            greatest_row: 0,
            busiest_second: 0,
        }
    }
}

impl PartialEq for ArrivalList {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.rows) == (other.count, other.rows) && self.iter().eq(other.iter())
    }
}

/// In memory, with rows in turn.
impl FromIterator<u64> for ArrivalList {
    fn from_iter<T: IntoIterator<Item = u64>>(offsets: T) -> Self {
        let listed = offsets.into_iter().map(|offset_ns| Ok(Listed { offset_ns, row: 0 }));
        Self::write(listed, Box::new(Vec::new()), RowSource::Turn).expect("memory takes all")
    }
}

impl ArrivalList {
    /// Writes ascending arrivals to an empty file.
    ///
    /// Errors: the first of `arrivals`; what the file system says
    pub fn write(
        arrivals: impl Iterator<Item = Result<Listed, String>>,
        mut file: Box<dyn Scratch>,
        rows: RowSource,
    ) -> Result<Self, String> {
        let mut block = Vec::with_capacity(BLOCK * ARRIVAL);
        let (mut count, mut greatest_row) = (0, 0);
        let kept = |error: io::Error| format!("cannot be kept in a scratch file: {error}");
        for one in arrivals {
            let Listed { offset_ns, row } = one?;
            block.extend_from_slice(&offset_ns.to_le_bytes());
            block.extend_from_slice(&row.to_le_bytes());
            count += 1;
            greatest_row = row.max(greatest_row);
            if block.len() == block.capacity() {
                file.append(&block).map_err(kept)?;
                block.clear();
            }
        }
        file.append(&block).map_err(kept)?;
        let list = Self { file: Arc::from(file), count, rows, greatest_row, busiest_second: 0 };
        Ok(Self { busiest_second: list.find_busiest_second(), ..list })
    }

    /// Arrivals in it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What says which row each has.
    pub fn rows(&self) -> RowSource {
        self.rows
    }

    /// The greatest row that an arrival has.
    pub fn greatest_row(&self) -> u32 {
        self.greatest_row
    }

    /// The most arrivals in any span of a second.
    pub fn busiest_second(&self) -> u64 {
        self.busiest_second
    }

    /// The instant of the last arrival; none of an empty list.
    pub fn last_ns(&self) -> Option<u64> {
        self.cursor().at(self.count.checked_sub(1)?).map(|last| last.offset_ns)
    }

    /// How many arrivals lie before this instant.
    ///
    /// Cost: some reads of the file, more for a longer list
    pub fn count_before(&self, end_ns: u64) -> u64 {
        let (mut low, mut high, mut cursor) = (0, self.count, self.cursor());
        while low < high {
            let middle = low + (high - low) / 2;
            match cursor.at(middle) {
                Some(one) if one.offset_ns < end_ns => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Listed> + use<> {
        let mut cursor = self.cursor();
        (0..self.count).map_while(move |index| cursor.at(index))
    }

    /// A reader of this list.
    pub fn cursor(&self) -> Cursor {
        Cursor { list: self.clone(), first: 0, block: Vec::with_capacity(BLOCK * ARRIVAL) }
    }

    fn find_busiest_second(&self) -> u64 {
        let (mut first, mut most) = (0, 0);
        let mut trailing = self.cursor();
        for (last, one) in (0..).zip(self.iter()) {
            let is_gone = |early: Listed| one.offset_ns - early.offset_ns >= 1_000_000_000;
            while trailing.at(first).is_some_and(is_gone) {
                first += 1;
            }
            most = most.max(last - first + 1);
        }
        most
    }
}

/// Reads a list, one block at a time.
#[derive(Debug, Clone)]
pub struct Cursor {
    list: ArrivalList,
    /// Index of the first arrival of the block.
    first: u64,
    block: Vec<u8>,
}

impl Cursor {
    /// The list that it reads.
    pub fn list(&self) -> &ArrivalList {
        &self.list
    }

    /// The arrival with this index, from 0; none after the last.
    ///
    /// Cost: one read of the file where a block begins, or where the index lies in another than before
    /// Panics: if the file cannot be read any more
    pub fn at(&mut self, index: u64) -> Option<Listed> {
        if index >= self.list.count {
            return None;
        }
        let first = index / BLOCK as u64 * BLOCK as u64;
        if self.block.is_empty() || self.first != first {
            let length = (self.list.count - first).min(BLOCK as u64) as usize;
            self.block.resize(length * ARRIVAL, 0);
            self.list.file.read_at(&mut self.block, first * ARRIVAL as u64).expect(LOST);
            self.first = first;
        }
        let bytes = &self.block[(index - first) as usize * ARRIVAL..][..ARRIVAL];
        let (offset, row) = bytes.split_first_chunk()?;
        let row = row.first_chunk()?;
        Some(Listed { offset_ns: u64::from_le_bytes(*offset), row: u32::from_le_bytes(*row) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_busiest_second_slides() {
        let busiest = |ms: &[u64]| ms.iter().map(|at| at * MS).collect::<ArrivalList>();
        assert_eq!(busiest(&[]).busiest_second(), 0);
        assert_eq!(busiest(&[0, 900, 1100, 1200, 5000]).busiest_second(), 3);
    }

    /// Lists that end within a block, with it and after it.
    #[test]
    fn every_arrival_is_found_in_any_order() {
        let whole = BLOCK as u64;
        for count in [0, 1, whole - 1, whole, whole + 1, 3 * whole + 7] {
            let all = (0..count).map(|index| Listed { offset_ns: index * 3, row: index as u32 });
            let file = Box::new(Vec::new());
            let list = ArrivalList::write(all.clone().map(Ok), file, RowSource::Column).unwrap();
            assert_eq!(list.count(), count);
            assert!(list.iter().eq(all.clone()));
            let mut cursor = list.cursor();
            for one in all.clone().rev() {
                assert_eq!(cursor.at(u64::from(one.row)), Some(one));
            }
            assert_eq!(cursor.at(count), None);
            let last = all.clone().next_back();
            assert_eq!(list.last_ns(), last.map(|one| one.offset_ns));
            assert_eq!(list.greatest_row(), last.map_or(0, |one| one.row));
            for end_ns in [0, 1, 3, 4, 3 * whole, 3 * count, u64::MAX] {
                assert_eq!(list.count_before(end_ns), count.min(end_ns.div_ceil(3)), "{end_ns}");
            }
        }
    }

    #[test]
    fn a_full_disk_is_said() {
        #[derive(Debug)]
        struct Full;
        impl Scratch for Full {
            fn append(&mut self, _: &[u8]) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let one = std::iter::once(Ok(Listed { offset_ns: 0, row: 0 }));
        let refused = ArrivalList::write(one, Box::new(Full), RowSource::Turn).unwrap_err();
        assert_eq!(refused, "cannot be kept in a scratch file: no storage space");
    }
}
