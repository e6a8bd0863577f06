//! The latest messages, within bounds of bytes and of number: payloads in a ring, the oldest give way.

use std::collections::VecDeque;

use crate::cast::frame::Cast;

/// How much is kept at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Bytes of payloads; 0 keeps nothing.
    pub bytes: usize,
    /// Messages.
    pub messages: usize,
}

/// A message that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecentMessage<'a> {
    /// Place among all that were ever kept, from 0.
    pub arrival: u64,
    /// The caster, its lane, and the message's number there.
    pub caster: u64,
    pub lane: u8,
    pub sequence: u64,
    /// CLOCK_MONOTONIC nanoseconds.
    pub sent_at: u64,
    pub received_at: u64,
    pub payload: &'a [u8],
}

#[derive(Debug)]
struct Entry {
    caster: u64,
    lane: u8,
    sequence: u64,
    sent_at: u64,
    received_at: u64,
    /// Where the payload begins, counted on over every lap of the ring.
    at: u64,
    length: usize,
}

/// The latest messages.
#[derive(Debug)]
pub(super) struct Recent {
    bounds: Bounds,
    /// Grows up to the bound as it is filled for the first time.
    ring: Vec<u8>,
    /// Where the next payload may begin.
    head: u64,
    entries: VecDeque<Entry>,
    evicted: u64,
    too_large: u64,
}

impl Recent {
    pub fn new(bounds: Bounds) -> Self {
        let (ring, entries) = (Vec::new(), VecDeque::new());
        Self { bounds, ring, head: 0, entries, evicted: 0, too_large: 0 }
    }

    /// Keeps a message; those that were kept longest give way to it.
    pub fn keep(&mut self, cast: &Cast<'_>, received_at: u64) {
        let length = cast.payload.len();
        if length > self.bounds.bytes || self.bounds.messages == 0 || self.bounds.bytes == 0 {
            self.too_large += 1;
            return;
        }
        let at = self.place(length);
        self.make_room(at + length as u64);
        let (begin, end) = self.range(at, length);
        if self.ring.len() < end {
            self.ring.resize(end, 0);
        }
        self.ring[begin..end].copy_from_slice(cast.payload);
        self.head = at + length as u64;
        let Cast { caster, lane, sequence, sent_at, .. } = *cast;
        self.entries.push_back(Entry { caster, lane, sequence, sent_at, received_at, at, length });
    }

    /// Where a payload goes: no payload goes around the end of the ring.
    fn place(&self, length: usize) -> u64 {
        let bytes = self.bounds.bytes as u64;
        let rest = bytes - self.head % bytes;
        if (length as u64) <= rest { self.head } else { self.head + rest }
    }

    fn make_room(&mut self, end: u64) {
        while let Some(oldest) = self.entries.front() {
            let is_free = end - oldest.at <= self.bounds.bytes as u64;
            if is_free && self.entries.len() < self.bounds.messages {
                return;
            }
            self.entries.pop_front();
            self.evicted += 1;
        }
    }

    fn range(&self, at: u64, length: usize) -> (usize, usize) {
        let begin = (at % self.bounds.bytes as u64) as usize;
        (begin, begin + length)
    }

    /// Messages from this arrival on, the oldest first.
    pub fn from(&self, arrival: u64) -> impl Iterator<Item = RecentMessage<'_>> {
        let skip = usize::try_from(arrival.saturating_sub(self.evicted)).unwrap_or(usize::MAX);
        self.entries.iter().enumerate().skip(skip).map(|(place, entry)| {
            let (begin, end) = self.range(entry.at, entry.length);
            let Entry { caster, lane, sequence, sent_at, received_at, .. } = *entry;
            let (arrival, payload) = (self.evicted + place as u64, &self.ring[begin..end]);
            RecentMessage { arrival, caster, lane, sequence, sent_at, received_at, payload }
        })
    }

    /// Messages that are kept.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Messages that gave way.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Messages that were not kept, as one of them had no room.
    pub fn too_large(&self) -> u64 {
        self.too_large
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(recent: &mut Recent, sequence: u64, payload: &[u8]) {
        let cast = Cast { lane: 1, caster: 2, sequence, sent_at: 3, payload };
        recent.keep(&cast, 4);
    }

    fn kept(recent: &Recent, from: u64) -> Vec<(u64, u64, Vec<u8>)> {
        recent.from(from).map(|one| (one.arrival, one.sequence, one.payload.to_vec())).collect()
    }

    #[test]
    fn the_oldest_give_way_by_number() {
        let mut recent = Recent::new(Bounds { bytes: 1000, messages: 2 });
        for sequence in 10..13 {
            keep(&mut recent, sequence, &[sequence as u8]);
        }
        assert_eq!(kept(&recent, 0), [(1, 11, vec![11]), (2, 12, vec![12])]);
        assert_eq!(kept(&recent, 2), [(2, 12, vec![12])]);
        assert_eq!(kept(&recent, u64::MAX), []);
        assert_eq!((recent.len(), recent.evicted(), recent.too_large()), (2, 1, 0));
    }

    #[test]
    fn what_has_no_room_at_all_is_not_kept_and_drives_nobody_out() {
        let mut recent = Recent::new(Bounds { bytes: 4, messages: 9 });
        keep(&mut recent, 0, b"abcd");
        keep(&mut recent, 1, b"abcde");
        assert_eq!(kept(&recent, 0), [(0, 0, b"abcd".to_vec())]);
        assert_eq!(recent.too_large(), 1);
        for bounds in [Bounds { bytes: 0, messages: 9 }, Bounds { bytes: 9, messages: 0 }] {
            let mut recent = Recent::new(bounds);
            keep(&mut recent, 0, b"");
            assert_eq!((recent.len(), recent.too_large()), (0, 1));
        }
    }

    #[test]
    fn the_oldest_give_way_by_bytes_and_none_before_it_must() {
        let mut recent = Recent::new(Bounds { bytes: 10, messages: 9 });
        let steps: [(&[u8], &[u64]); 5] = [
            (b"aaaa", &[0]),
            (b"bbbb", &[0, 1]),
            // Two bytes are left at the end: it goes to the beginning, where the first one lies.
            (b"cccc", &[1, 2]),
            (b"dd", &[2, 3]),
            (b"eeee", &[2, 3, 4]),
        ];
        for (sequence, (payload, left)) in (0..).zip(steps) {
            keep(&mut recent, sequence, payload);
            let numbers: Vec<u64> = recent.from(0).map(|one| one.sequence).collect();
            assert_eq!(numbers, left);
        }
        let payloads: Vec<Vec<u8>> =
            kept(&recent, 0).into_iter().map(|(.., payload)| payload).collect();
        assert_eq!(payloads, [b"cccc".to_vec(), b"dd".to_vec(), b"eeee".to_vec()]);
    }

    /// Payloads of every length over many laps, beside a list that forgets by the same bounds.
    #[test]
    fn payloads_stay_whole_over_many_laps() {
        let bounds = Bounds { bytes: 64, messages: 7 };
        let mut recent = Recent::new(bounds);
        let mut all: Vec<Vec<u8>> = Vec::new();
        for sequence in 0..2_000_u64 {
            let length = (sequence * 31 % 23) as usize;
            let payload: Vec<u8> = (0..length).map(|at| (sequence as usize + at) as u8).collect();
            keep(&mut recent, sequence, &payload);
            all.push(payload);
            let found = kept(&recent, 0);
            let evicted = recent.evicted();
            assert!((1..=bounds.messages).contains(&found.len()));
            assert_eq!(evicted + found.len() as u64, sequence + 1);
            for (arrival, number, payload) in &found {
                assert_eq!((arrival, payload), (number, &all[*number as usize]));
            }
            let bytes: usize = found.iter().map(|(.., payload)| payload.len()).sum();
            assert!(bytes <= bounds.bytes);
            assert!(recent.ring.len() <= bounds.bytes);
        }
    }
}
