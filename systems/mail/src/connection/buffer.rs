//! The input buffer of a connection: small for commands, larger for content, and always counted.

use crate::session::Counts;

/// Size for commands.
pub(super) const SMALL: usize = 4 << 10;
/// Size for a line of `AUTH`, the longest line that must fit into the buffer.
const LONG: usize = 16 << 10;
/// Size for content.
const LARGE: usize = 64 << 10;

/// Input of one connection. Its bytes come from a limit that all connections share, and are returned when it is
/// dropped.
#[derive(Debug)]
pub(super) struct Buffer<'c> {
    bytes: Vec<u8>,
    used: usize,
    /// Bytes counted for this buffer and for the rest of the connection.
    taken: u64,
    most: u64,
    counts: &'c Counts,
}

impl<'c> Buffer<'c> {
    /// A small buffer, plus `more` bytes for the rest of the connection; `None` if there is not enough memory.
    pub(super) fn new(counts: &'c Counts, most: u64, more: u64) -> Option<Self> {
        let taken = SMALL as u64 + more;
        let is_taken = counts.take_bytes(taken, most);
        is_taken.then(|| Self { bytes: Vec::with_capacity(SMALL), used: 0, taken, most, counts })
    }

    /// The bytes to use.
    pub(super) fn input(&self) -> &[u8] {
        &self.bytes[self.used..]
    }

    /// Removes used bytes.
    pub(super) fn consume(&mut self, used: usize) {
        self.used += used;
    }

    /// Space for at least one more byte; `None` if the input has its greatest length.
    pub(super) fn room(&mut self, is_content: bool) -> Option<&mut Vec<u8>> {
        // If content filled the buffer, more is likely to come.
        let was_full = self.bytes.len() == self.bytes.capacity();
        if self.used == self.bytes.len() {
            self.bytes.clear();
            self.used = 0;
        } else if self.used > 0 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        if self.bytes.len() == self.bytes.capacity() {
            self.grow(LONG);
        }
        if is_content && was_full {
            self.grow(LARGE);
        }
        (self.bytes.len() < self.bytes.capacity()).then_some(&mut self.bytes)
    }

    /// Returns to a small buffer if it is empty.
    pub(super) fn shrink(&mut self) {
        let capacity = self.bytes.capacity();
        if capacity > SMALL && self.used == self.bytes.len() {
            self.bytes = Vec::with_capacity(SMALL);
            self.used = 0;
            self.give(capacity - SMALL);
        }
    }

    /// Counts bytes for the rest of the connection; `false` if there is not enough memory.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let is_taken = self.counts.take_bytes(bytes, self.most);
        self.taken += if is_taken { bytes } else { 0 };
        is_taken
    }

    fn grow(&mut self, capacity: usize) {
        let more = capacity.saturating_sub(self.bytes.capacity());
        if more > 0 && self.take(more as u64) {
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
    }

    pub(super) fn give(&mut self, bytes: usize) {
        self.taken -= bytes as u64;
        self.counts.release_bytes(bytes as u64);
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.counts.release_bytes(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(buffer: &mut Buffer<'_>, is_content: bool) -> Option<usize> {
        buffer.room(is_content).map(|bytes| bytes.capacity() - bytes.len())
    }

    fn fill(buffer: &mut Buffer<'_>) {
        buffer.room(false).unwrap().extend_from_slice(&[7; SMALL]);
    }

    #[test]
    fn a_buffer_grows_within_the_shared_bytes_and_gives_them_back() {
        let counts = Counts::default();
        let most = (LARGE + SMALL) as u64;
        let mut one = Buffer::new(&counts, most, 0).unwrap();
        let two = Buffer::new(&counts, most, 0).unwrap();
        assert_eq!(left(&mut one, true), Some(SMALL));
        fill(&mut one);
        one.consume(SMALL);
        assert_eq!(left(&mut one, true), Some(LARGE));
        assert!(Buffer::new(&counts, most, 0).is_none());
        drop(two);
        assert_eq!(counts.buffered.get(), LARGE as i64);
        one.shrink();
        assert_eq!((counts.buffered.get(), left(&mut one, false)), (SMALL as i64, Some(SMALL)));
        drop(one);
        assert_eq!(counts.buffered.get(), 0);
    }

    #[test]
    fn without_room_a_buffer_stays_small_and_still_serves() {
        let counts = Counts::default();
        let mut buffer = Buffer::new(&counts, SMALL as u64, 0).unwrap();
        fill(&mut buffer);
        assert_eq!(left(&mut buffer, true), None);
        buffer.consume(SMALL - 1);
        assert_eq!(buffer.input(), [7]);
        assert_eq!(left(&mut buffer, true), Some(SMALL - 1));
    }

    #[test]
    fn a_line_that_does_not_fit_gets_a_longer_buffer() {
        let counts = Counts::default();
        let mut buffer = Buffer::new(&counts, u64::MAX, 0).unwrap();
        fill(&mut buffer);
        assert_eq!(left(&mut buffer, false), Some(LONG - SMALL));
        buffer.consume(SMALL);
        buffer.shrink();
        assert_eq!(counts.buffered.get(), SMALL as i64);
    }
}
