//! Nearest vectors by a walk through a graph: hierarchical navigable small worlds (HNSW).
//!
//! After Malkov and Yashunin, *Efficient and robust approximate nearest neighbor search using
//! Hierarchical Navigable Small World graphs*, 2016 (arXiv 1603.09320), with its numbers of
//! algorithms. `docs/decisions/006-own-hnsw.md` says why this is not a library.
//!
//! A crate of its own, because its loops are too slow without optimisation and the rest of the
//! search service is not. Not here: rows, filters, files and their checksums.
//!
//! The caller numbers nodes, which are never removed. Readers never wait: links are atomic numbers,
//! and a list that is read during a change has some old and some new links, each to an existing
//! node. Writers lock one node at a time. Beyond the paper, new nodes link to living ones only, and
//! each has a permanent link to and from the nearest older node with space, so that a cluster
//! cannot cut off other nodes; a dead node on which no other depends gives its link up. In reading
//! order: a node ([`node`]), search ([`walk`]), insertion ([`link`]), the file ([`image`]); beneath
//! them the list of nodes ([`append_list`]) and the product of two vectors ([`dot`]).

mod append_list;
mod dot;
mod image;
mod link;
mod node;
mod walk;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use append_list::AppendList;
use dot::Dot;
use node::Node;
use walk::Visits;

/// What a graph is made by; other parameters make another graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How many numbers a vector has.
    pub dimension: usize,
    /// Most links of a node on each level, at least 2; twice as many on the lowest.
    pub m: usize,
    /// How many of the nearest are looked at when a node is linked, at least 1.
    pub ef_construction: usize,
}

/// A node and how near it is. The nearest is the greatest; of those equally near, the first added.
#[derive(Debug, Clone, Copy)]
pub struct Near {
    /// Cosine of the angle, in \[−1, 1\] but for rounding.
    pub score: f32,
    /// Its number, as the caller gave it.
    pub node: u32,
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.score.total_cmp(&other.score).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Near {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Near {}

/// Vectors of length 1, and links between them.
#[derive(Debug)]
pub struct Graph {
    shape: Shape,
    dot: Dot,
    nodes: AppendList<Node>,
    /// Where walks begin: level and node; [`NOWHERE`] at first.
    entry: AtomicU64,
    /// Held while adding a node above all others.
    growing: Mutex<()>,
    visits: Mutex<Vec<Visits>>,
}

/// No entry yet.
const NOWHERE: u64 = u64::MAX;

impl Graph {
    /// Without a node.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            dot: Dot::new(),
            nodes: AppendList::new(),
            entry: AtomicU64::new(NOWHERE),
            growing: Mutex::new(()),
            visits: Mutex::default(),
        }
    }

    /// What it is made by.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Takes a vector up without linking it: found by its number, and by no walk.
    ///
    /// Shape: a number that no node has; [`Shape::dimension`] numbers, length 1
    pub fn put(&self, node: u32, vector: Arc<[f32]>) {
        self.nodes.put(node, Node::new(node, vector, self.shape.m));
    }

    /// A node's vector, linked or not; none if the number was not put.
    pub fn vector(&self, node: u32) -> Option<&Arc<[f32]>> {
        self.nodes.get(node).map(|node| &node.vector)
    }

    /// How near a node is, linked or not; none if the number was not put.
    ///
    /// Shape: [`Shape::dimension`] numbers, length 1 → the cosine of the angle, but for rounding
    pub fn score(&self, node: u32, vector: &[f32]) -> Option<f32> {
        self.nodes.get(node).map(|node| self.dot.of(vector, &node.vector))
    }

    /// Where walks begin.
    fn entry(&self) -> Option<(usize, u32)> {
        let entry = self.entry.load(Ordering::Acquire);
        (entry != NOWHERE).then_some(((entry >> 32) as usize, entry as u32))
    }

    fn begin_at(&self, level: usize, node: u32) {
        self.entry.store((level as u64) << 32 | u64::from(node), Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
