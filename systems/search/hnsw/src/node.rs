//! A vector with its links, all levels in one array.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// No node is on more levels: with the fewest links, one in 4³² would be.
const HIGHEST: usize = 31;

/// One vector in the graph.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) vector: Arc<[f32]>,
    /// For each level the number of links and space for the maximum.
    links: Box<[AtomicU32]>,
    /// How many links of the lowest level, from the first, are permanent; none of a node that may
    /// be lost. The lock for changing links.
    pub(super) lasting: Mutex<Option<usize>>,
}

/// Most links of a node on a level.
pub(super) fn room(m: usize, level: usize) -> usize {
    if level == 0 { 2 * m } else { m }
}

/// Where a level's links begin.
fn start(m: usize, level: usize) -> usize {
    match level {
        0 => 0,
        _ => 1 + 2 * m + (level - 1) * (1 + m),
    }
}

/// How many levels above the lowest one a node is on: of each level's nodes, one in `m` is on the
/// next. It depends on the number alone, so that a graph built twice is the same twice.
pub(super) fn level(node: u32, m: usize) -> usize {
    let uniform = (mix(u64::from(node)) >> 11) as f64 + 1.0;
    let exponential = -(uniform / (1_u64 << 53) as f64).ln();
    ((exponential / (m as f64).ln()) as usize).min(HIGHEST)
}

/// Steele, Lea and Flood's SplitMix64: numbers that look random from numbers in order.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Node {
    pub(super) fn new(number: u32, vector: Arc<[f32]>, m: usize) -> Self {
        let words = start(m, level(number, m) + 1);
        let links = (0..words).map(|_| AtomicU32::new(0)).collect();
        Self { vector, links, lasting: Mutex::new(None) }
    }

    /// Its links are not changed by others meanwhile.
    pub(super) fn lasting(&self) -> MutexGuard<'_, Option<usize>> {
        self.lasting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its links on a level that it is on.
    pub(super) fn links(&self, m: usize, level: usize) -> impl Iterator<Item = u32> + '_ {
        let at = start(m, level);
        let count = self.links[at].load(Ordering::Acquire) as usize;
        self.links[at + 1..=at + count].iter().map(|link| link.load(Ordering::Relaxed))
    }

    /// Adds a link; `false` if there is no space.
    pub(super) fn add(&self, m: usize, level: usize, link: u32) -> bool {
        let at = start(m, level);
        let count = self.links[at].load(Ordering::Relaxed);
        let has_room = (count as usize) < room(m, level);
        if has_room {
            self.links[at + 1 + count as usize].store(link, Ordering::Relaxed);
            self.links[at].store(count + 1, Ordering::Release);
        }
        has_room
    }

    /// Replaces all links; at most as many as there is space for.
    pub(super) fn set(&self, m: usize, level: usize, links: impl Iterator<Item = u32>) {
        let at = start(m, level);
        let mut count = 0;
        for link in links.take(room(m, level)) {
            self.links[at + 1 + count as usize].store(link, Ordering::Relaxed);
            count += 1;
        }
        self.links[at].store(count, Ordering::Release);
    }
}
