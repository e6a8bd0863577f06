//! Prepared payloads, and copies of them to send.
//!
//! Each payload is made once and cached, the least recently used is dropped first. The channel
//! copies it into a slot once; HTTP and the Unix socket send [`PayloadCopy`] values, which come
//! back here and are patched for the next request of the same content.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::prepared::{Prepared, patch};
use crate::records::Records;
use crate::refusal::Refusal;
use crate::request::{DataRequest, Wanted};

/// Bytes of copies that are kept for the next, and how many copies.
const MOST_IDLE: usize = 64 << 20;
const MOST_COPIES: usize = 256;

/// All that a producer has to give.
#[derive(Debug)]
pub(super) struct PayloadCache {
    records: Mutex<Records>,
    kept: Mutex<CachedPayloads>,
    idle: Mutex<IdleCopies>,
    /// Bytes of copies that are on their way.
    out: AtomicU64,
    max_prepared: u64,
    max_answers: u64,
    latest: AtomicU64,
}

/// Payloads by what they answer.
#[derive(Debug)]
struct CachedPayloads {
    payloads: LruCache<Wanted, Arc<Prepared>>,
    bytes: u64,
}

/// Copies that are not being sent, the newest first.
#[derive(Debug, Default)]
struct IdleCopies {
    copies: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
}

impl PayloadCache {
    /// Over the records of a seed, with bounds in bytes.
    pub(super) fn new(seed: u64, max_prepared: u64, max_answers: u64) -> Self {
        Self {
            records: Mutex::new(Records::new(seed)),
            kept: Mutex::new(CachedPayloads { payloads: LruCache::unbounded(), bytes: 0 }),
            idle: Mutex::default(),
            out: AtomicU64::new(0),
            max_prepared,
            max_answers,
            latest: AtomicU64::new(0),
        }
    }

    /// The payload that answers this; made if it is not there.
    pub(super) fn prepared(&self, what: Wanted) -> Arc<Prepared> {
        if let Some(prepared) = lock(&self.kept).payloads.get(&what) {
            return prepared.clone();
        }
        let id = self.latest.fetch_add(1, Ordering::Relaxed);
        // While it is made, those that are there can be had.
        let prepared = Arc::new(Prepared::new(id, what, &mut lock(&self.records)));
        lock(&self.kept).keep(what, prepared.clone(), self.max_prepared);
        prepared
    }

    /// A copy of the payload with the nonce in it.
    ///
    /// Errors: [`Refusal::Crowded`] if answers in progress use the whole limit
    pub(super) fn copied(self: &Arc<Self>, ask: &DataRequest) -> Result<PayloadCopy, Refusal> {
        let prepared = self.prepared(ask.what);
        let length = prepared.bytes().len() as u64;
        let out = self.out.fetch_add(length, Ordering::Relaxed) + length;
        // From here on dropping it releases the reservation.
        let mut copied = PayloadCopy {
            cache: self.clone(),
            id: prepared.id(),
            bytes: Vec::new(),
            length,
            checksum: 0,
        };
        if out > self.max_answers {
            return Err(Refusal::Crowded);
        }
        let kept = lock(&self.idle).take(prepared.id());
        copied.bytes = kept.unwrap_or_else(|| prepared.bytes().to_vec());
        patch(&mut copied.bytes, ask.nonce);
        copied.checksum = prepared.checksum(ask.nonce);
        Ok(copied)
    }
}

fn lock<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CachedPayloads {
    fn keep(&mut self, what: Wanted, prepared: Arc<Prepared>, most: u64) {
        let length = |one: &Arc<Prepared>| one.bytes().len() as u64;
        if length(&prepared) > most {
            return;
        }
        self.bytes += length(&prepared);
        if let Some((_, former)) = self.payloads.push(what, prepared) {
            self.bytes -= length(&former);
        }
        while self.bytes > most {
            let Some((_, oldest)) = self.payloads.pop_lru() else { return };
            self.bytes -= length(&oldest);
        }
    }
}

impl IdleCopies {
    fn take(&mut self, id: u64) -> Option<Vec<u8>> {
        let at = self.copies.iter().position(|(of, _)| *of == id)?;
        let (_, bytes) = self.copies.remove(at)?;
        self.bytes -= bytes.len();
        Some(bytes)
    }

    fn give(&mut self, id: u64, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.copies.push_front((id, bytes));
        while self.bytes > MOST_IDLE || self.copies.len() > MOST_COPIES {
            let Some((_, oldest)) = self.copies.pop_back() else { return };
            self.bytes -= oldest.len();
        }
    }
}

/// A payload to send, with its nonce; it goes back when dropped.
#[derive(Debug)]
pub(super) struct PayloadCopy {
    cache: Arc<PayloadCache>,
    id: u64,
    bytes: Vec<u8>,
    length: u64,
    checksum: u32,
}

impl PayloadCopy {
    /// CRC-32 of it.
    pub(super) fn checksum(&self) -> u32 {
        self.checksum
    }
}

impl AsRef<[u8]> for PayloadCopy {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PayloadCopy {
    fn drop(&mut self) {
        self.cache.out.fetch_sub(self.length, Ordering::Relaxed);
        let bytes = std::mem::take(&mut self.bytes);
        if !bytes.is_empty() {
            lock(&self.cache.idle).give(self.id, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepared::mismatch;

    fn ask(bytes: u64, nonce: u64) -> DataRequest {
        DataRequest { what: Wanted::Bytes(bytes), nonce }
    }

    #[test]
    fn a_payload_is_made_once_and_copied_once() {
        let cache = Arc::new(PayloadCache::new(1, 1 << 20, 1 << 20));
        let mut places = Vec::new();
        for nonce in 0..5 {
            let copied = cache.copied(&ask(5_000, nonce)).unwrap();
            assert_eq!(mismatch(&ask(5_000, nonce), copied.as_ref(), copied.checksum()), None);
            places.push(copied.as_ref().as_ptr());
        }
        assert!(places.iter().all(|place| *place == places[0]), "the same memory each time");
        assert_eq!(cache.latest.load(Ordering::Relaxed), 1);
        // Two at a time are two copies.
        let [one, two] = [1, 2].map(|nonce| cache.copied(&ask(5_000, nonce)).unwrap());
        assert_ne!(one.as_ref().as_ptr(), two.as_ref().as_ptr());
        drop((one, two));
        let idle = lock(&cache.idle);
        assert_eq!((idle.bytes, idle.copies.len()), (10_000, 2));
    }

    #[test]
    fn what_was_asked_for_longest_ago_is_forgotten() {
        let cache = PayloadCache::new(1, 10_000, 0);
        let first = cache.prepared(Wanted::Bytes(4_000)).id();
        cache.prepared(Wanted::Bytes(5_000));
        assert_eq!(cache.prepared(Wanted::Bytes(4_000)).id(), first);
        cache.prepared(Wanted::Bytes(6_000));
        assert_eq!(lock(&cache.kept).bytes, 10_000);
        assert_eq!(cache.prepared(Wanted::Bytes(4_000)).id(), first, "5,000 had to go");
        // A payload larger than the cache is made each time and evicts nothing.
        let large = [(); 2].map(|()| cache.prepared(Wanted::Bytes(20_000)).id());
        assert_ne!(large[0], large[1]);
        assert_eq!(lock(&cache.kept).bytes, 10_000);
    }

    #[test]
    fn answers_on_their_way_have_bounds() {
        let cache = Arc::new(PayloadCache::new(1, 1 << 20, 10_000));
        let one = cache.copied(&ask(6_000, 1)).unwrap();
        assert_eq!(cache.copied(&ask(6_000, 2)).err(), Some(Refusal::Crowded));
        let other = cache.copied(&ask(4_000, 3)).unwrap();
        drop((one, other));
        assert!(cache.copied(&ask(10_000, 4)).is_ok());
        assert_eq!(cache.out.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn copies_that_are_kept_have_bounds() {
        let cache = Arc::new(PayloadCache::new(1, 1 << 20, u64::MAX));
        let many: Vec<_> =
            (0..300).map(|nonce| cache.copied(&ask(1_024, nonce)).unwrap()).collect();
        drop(many);
        assert_eq!(lock(&cache.idle).copies.len(), MOST_COPIES);
        let large: Vec<_> =
            (0..5).map(|nonce| cache.copied(&ask(16 << 20, nonce)).unwrap()).collect();
        drop(large);
        let idle = lock(&cache.idle);
        assert!(idle.bytes <= MOST_IDLE && idle.bytes > MOST_IDLE / 2, "{}", idle.bytes);
        assert_eq!(idle.bytes, idle.copies.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
    }
}
