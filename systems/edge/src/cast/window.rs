//! What was taken from the lanes and is not yet acknowledged: what is to be written, and what again.
//!
//! Pure: bytes in, bytes out. A chunk is what waited at one moment and the account behind it.

use std::collections::VecDeque;

use super::account::Account;
use super::frame::{self, LENGTH};

/// Buffers that are kept for the next chunks.
const SPARE: usize = 4;

/// Whole frames, and the account that they end with.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub bytes: Vec<u8>,
    /// Casts in it; one account follows them.
    pub casts: u64,
    /// All that was cast up to it.
    pub account: Account,
}

#[derive(Debug)]
struct SentChunk {
    chunk: Chunk,
    /// Where the first frame begins that is not acknowledged.
    start: usize,
    /// Frames from there on.
    frames: u64,
}

/// An acknowledgement of frames that were not written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FalseAcknowledgement;

/// Chunks in order.
#[derive(Debug, Default)]
pub(super) struct Window {
    kept: VecDeque<SentChunk>,
    bytes: usize,
    /// Chunks that are written, and the place in the next one.
    written: usize,
    place: usize,
    spare: Vec<Vec<u8>>,
    /// Casts acknowledged since the beginning.
    taken: u64,
    /// The last account acknowledged.
    confirmed: Account,
}

impl Window {
    /// An empty buffer for a chunk.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Adds a chunk behind all others.
    pub fn push(&mut self, chunk: Chunk) {
        if self.is_written() {
            self.place = 0;
        }
        self.bytes += chunk.bytes.len();
        let frames = chunk.casts + 1;
        self.kept.push_back(SentChunk { chunk, start: 0, frames });
    }

    /// What is to be written next; empty if nothing is.
    pub fn unwritten(&self) -> &[u8] {
        self.kept.get(self.written).map_or(&[], |kept| &kept.chunk.bytes[self.place..])
    }

    /// So many of those bytes were written.
    pub fn wrote(&mut self, bytes: usize) {
        self.place += bytes;
        if self.unwritten().is_empty() {
            self.written += 1;
            self.place = self.kept.get(self.written).map_or(0, |kept| kept.start);
        }
    }

    /// Whether all was written.
    pub fn is_written(&self) -> bool {
        self.written >= self.kept.len()
    }

    /// Whether nothing waits for its acknowledgement.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Bytes that wait for theirs.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Casts acknowledged, and the last account.
    pub fn confirmed(&self) -> (u64, Account) {
        (self.taken, self.confirmed)
    }

    /// What was cast and is either acknowledged or dropped by the last account: from there on a new record counts.
    pub fn base(&self) -> Account {
        Account { cast: self.taken + self.confirmed.all_dropped(), dropped: self.confirmed.dropped }
    }

    /// Forgets this many frames, which are the first.
    ///
    /// Errors: so many were not written
    pub fn acknowledge(&mut self, mut frames: u64) -> Result<(), FalseAcknowledgement> {
        while frames > 0 {
            let kept = self.kept.front_mut().ok_or(FalseAcknowledgement)?;
            if frames < kept.frames {
                let before = kept.start;
                kept.skip(frames);
                self.taken += frames;
                self.bytes -= kept.start - before;
                let is_written = self.written > 0 || self.place >= kept.start;
                return if is_written { Ok(()) } else { Err(FalseAcknowledgement) };
            }
            self.written = self.written.checked_sub(1).ok_or(FalseAcknowledgement)?;
            frames -= kept.frames;
            self.forget_first();
        }
        Ok(())
    }

    /// After a break: forgets what the other side has taken meanwhile, whether or not we know that it was written; all
    /// else is to be written again.
    ///
    /// Errors: there are not so many
    pub fn resume(&mut self, taken: u64) -> Result<(), FalseAcknowledgement> {
        self.written = self.kept.len();
        self.acknowledge(taken)?;
        self.written = 0;
        self.place = self.kept.front().map_or(0, |kept| kept.start);
        Ok(())
    }

    fn forget_first(&mut self) {
        let Some(SentChunk { chunk, start, frames }) = self.kept.pop_front() else { return };
        self.bytes -= chunk.bytes.len() - start;
        // One of the frames is the account.
        self.taken += frames - 1;
        self.confirmed = chunk.account;
        self.keep(chunk.bytes);
    }

    /// Keeps a buffer for later.
    pub fn keep(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

impl SentChunk {
    /// Leaves out the first frames; all of them are casts, as the account is the last.
    fn skip(&mut self, frames: u64) {
        for _ in 0..frames {
            let body = frame::cut(&self.chunk.bytes[self.start..], usize::MAX);
            let body = body.ok().flatten().expect("frames that we wrote are whole");
            self.start += LENGTH + body.len();
        }
        self.frames -= frames;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::frame::{Cast, Frame};

    /// Casts of these sequences, and of so many others that were dropped before.
    fn chunk(sequences: std::ops::Range<u64>, dropped: u64) -> Chunk {
        let mut bytes = Vec::new();
        let casts = sequences.end - sequences.start;
        let account = Account { cast: sequences.end, dropped: [dropped, 0, 0, 0] };
        for sequence in sequences {
            let cast = Cast { lane: 0, caster: 1, sequence, sent_at: 0, payload: b"payload" };
            Frame::Cast(cast).write(&mut bytes);
        }
        Frame::Account(1, account).write(&mut bytes);
        Chunk { bytes, casts, account }
    }

    fn write_all(window: &mut Window) -> Vec<u8> {
        let mut written = Vec::new();
        while !window.is_written() {
            // In small pieces, so that each place within a chunk is met.
            let piece = window.unwritten().len().min(5);
            written.extend_from_slice(&window.unwritten()[..piece]);
            window.wrote(piece);
        }
        written
    }

    fn sequences(bytes: &[u8]) -> Vec<u64> {
        let (mut rest, mut found) = (bytes, Vec::new());
        while let Some(body) = frame::cut(rest, usize::MAX).unwrap() {
            if let Frame::Cast(cast) = Frame::read(body).unwrap() {
                found.push(cast.sequence);
            }
            rest = &rest[LENGTH + body.len()..];
        }
        assert!(rest.is_empty(), "whole frames");
        found
    }

    #[test]
    fn what_is_not_acknowledged_is_written_again_and_nothing_else() {
        for taken in 0..=8 {
            let mut window = Window::default();
            window.push(chunk(0..3, 0));
            window.push(chunk(3..6, 0));
            assert_eq!(sequences(&write_all(&mut window)), [0, 1, 2, 3, 4, 5]);
            window.acknowledge(taken).unwrap();
            // Frames 3 and 7 are accounts.
            let casts = match taken {
                0..=3 => taken,
                4..=7 => taken - 1,
                _ => 6,
            };
            assert_eq!(window.confirmed().0, casts.min(6), "{taken}");
            window.resume(0).unwrap();
            let again: Vec<u64> = (casts..6).collect();
            assert_eq!(sequences(&write_all(&mut window)), again, "{taken}");
            assert_eq!(window.is_empty(), taken == 8);
        }
    }

    #[test]
    fn what_the_other_side_took_before_a_break_is_not_written_again() {
        let mut window = Window::default();
        window.push(chunk(0..3, 0));
        window.push(chunk(3..6, 0));
        // Of the second chunk nobody here knows that it was written.
        window.wrote(window.unwritten().len());
        window.resume(6).unwrap();
        assert_eq!(sequences(&write_all(&mut window)), [5]);
        assert_eq!(window.resume(3), Err(FalseAcknowledgement), "two frames are left");
    }

    #[test]
    fn an_acknowledgement_of_what_was_not_written_is_a_lie() {
        let mut window = Window::default();
        assert_eq!(window.acknowledge(1), Err(FalseAcknowledgement));
        window.push(chunk(0..3, 0));
        window.wrote(frame::size(7));
        assert_eq!(window.acknowledge(1), Ok(()));
        assert_eq!(window.acknowledge(1), Err(FalseAcknowledgement));
        let mut window = Window::default();
        window.push(chunk(0..3, 0));
        window.wrote(10);
        assert_eq!(
            window.acknowledge(4),
            Err(FalseAcknowledgement),
            "a chunk that is written in part"
        );
    }

    #[test]
    fn a_new_record_begins_where_the_last_one_is_acknowledged() {
        let mut window = Window::default();
        // Five cast, two of them dropped; then four more, one of them dropped.
        let mut first = chunk(0..3, 2);
        first.account.cast = 5;
        let mut second = chunk(5..8, 3);
        second.account.cast = 9;
        window.push(first);
        window.push(second);
        write_all(&mut window);
        assert_eq!(window.base(), Account::default());
        window.acknowledge(4).unwrap();
        assert_eq!(window.base(), Account { cast: 5, dropped: [2, 0, 0, 0] });
        window.acknowledge(1).unwrap();
        // One more was taken: a new record gets two of nine, with one drop among them.
        let base = window.base();
        let rest = window.kept[0].chunk.account.since(&base).unwrap();
        assert_eq!((rest.cast, rest.all_dropped(), window.kept[0].frames - 1), (3, 1, 2));
    }

    #[test]
    fn bytes_are_counted_until_they_are_acknowledged_and_buffers_come_back() {
        let mut window = Window::default();
        window.push(chunk(0..3, 0));
        window.push(chunk(3..6, 0));
        let each = window.bytes() / 2;
        write_all(&mut window);
        window.acknowledge(5).unwrap();
        assert_eq!(window.bytes(), each - frame::size(7));
        window.acknowledge(3).unwrap();
        assert_eq!((window.bytes(), window.is_empty()), (0, true));
        assert!(window.buffer().capacity() >= each && window.buffer().is_empty());
        assert_eq!(window.unwritten(), b"");
        window.push(chunk(6..7, 0));
        assert_eq!(sequences(&write_all(&mut window)), [6]);
    }
}
