//! A ring of entries in shared memory: one side writes, the other one reads.
//!
//! The entry of message number `n` (from 0, modulo 2³²) is `n mod S`. Its stamp becomes `n + 1` when
//! all else is written, so that a reader looks at one word of one cache line and there are neither
//! heads nor tails: a writer has no more than `S` messages under way, since each holds at least one
//! of `S` slots until it was read. Whatever else a stamp says is damage.
//!
//! The reader copies an entry once and judges the copy: the other side may change it meanwhile.

use super::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// An entry as it lies in memory: 64 bytes, one cache line, all numbers little-endian.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Entry {
    stamp: AtomicU32,
    slot: AtomicU32,
    sequence: AtomicU64,
    length: AtomicU64,
    code: AtomicU32,
    kind: AtomicU32,
    checksum: AtomicU64,
    times: [AtomicU64; 2],
    spare: AtomicU64,
}

/// What an entry says, copied out of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Message {
    /// First slot of the run that the exchange has.
    pub slot: u32,
    /// Number of the request; its answer repeats it.
    pub sequence: u64,
    /// Length of the payload in bytes.
    pub length: u64,
    /// Of a submission: how many slots the run has. Of a completion: how it ended.
    pub code: u32,
    /// Kind of checksum, 0 for none. Carried, not computed.
    pub kind: u32,
    /// Checksum of the payload.
    pub checksum: u64,
    /// Of a submission: what is asked for beside the answer, and zero. Of a completion: when the
    /// request was taken up and when its answer was ready; zero if the client did not ask for them.
    pub times: [u64; 2],
}

/// What the next entry holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A message.
    Ready(Message),
    /// Nothing yet; the stamp as it was seen, which is what a sleeper waits on.
    NotYet(u32),
    /// A stamp that no writer puts there.
    Damaged,
}

/// Writes message number `n`.
pub(crate) fn put(entries: &[Entry], n: u32, message: &Message) {
    let entry = at(entries, n);
    entry.slot.store(message.slot, Ordering::Relaxed);
    entry.sequence.store(message.sequence, Ordering::Relaxed);
    entry.length.store(message.length, Ordering::Relaxed);
    entry.code.store(message.code, Ordering::Relaxed);
    entry.kind.store(message.kind, Ordering::Relaxed);
    entry.checksum.store(message.checksum, Ordering::Relaxed);
    entry.times[0].store(message.times[0], Ordering::Relaxed);
    entry.times[1].store(message.times[1], Ordering::Relaxed);
    entry.stamp.store(n.wrapping_add(1), Ordering::Release);
}

/// Looks for message number `n`.
///
/// Loads are relaxed and followed by a fence: only such loads may touch memory that is mapped for
/// reading alone (see `std::sync::atomic`).
pub(crate) fn look(entries: &[Entry], n: u32) -> Look {
    let entry = at(entries, n);
    let stamp = entry.stamp.load(Ordering::Relaxed);
    let fresh = n.wrapping_add(1);
    if stamp != fresh {
        let size = entries.len() as u32;
        let is_old = stamp == fresh.wrapping_sub(size) || (stamp == 0 && n < size);
        return if is_old { Look::NotYet(stamp) } else { Look::Damaged };
    }
    fence(Ordering::Acquire);
    Look::Ready(Message {
        slot: entry.slot.load(Ordering::Relaxed),
        sequence: entry.sequence.load(Ordering::Relaxed),
        length: entry.length.load(Ordering::Relaxed),
        code: entry.code.load(Ordering::Relaxed),
        kind: entry.kind.load(Ordering::Relaxed),
        checksum: entry.checksum.load(Ordering::Relaxed),
        times: [entry.times[0].load(Ordering::Relaxed), entry.times[1].load(Ordering::Relaxed)],
    })
}

/// The word that changes when message number `n` is there.
pub(crate) fn stamp(entries: &[Entry], n: u32) -> &AtomicU32 {
    &at(entries, n).stamp
}

/// The entry of message number `n`; there is a power of two of them, so that numbers may wrap.
fn at(entries: &[Entry], n: u32) -> &Entry {
    &entries[n as usize & (entries.len() - 1)]
}
