//! Rows and the graph of their vectors, from one rebuild to the next: what there is only grows.
//!
//! A row has the numbers of the writes that inserted and removed it; a reader with the number of
//! the last write sees exactly the rows of that instant, without waiting.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hnsw::{AppendList, Graph, Shape};
use serde_json::{Map, Value};

use super::catalog::Catalog;

/// No slot, at the end of a chain.
const NOBODY: u32 = u32::MAX;

/// Not gone.
const ALIVE: u64 = u64::MAX;

/// A row that is to be put.
pub(super) struct NewRow {
    pub(super) id: Arc<str>,
    pub(super) attributes: Arc<Map<String, Value>>,
    /// The node of its vector.
    pub(super) node: u32,
    /// The write that brings it.
    pub(super) born: u64,
}

/// A row as it was written once.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: Arc<str>,
    pub(super) attributes: Arc<Map<String, Value>>,
    /// Where its vector is.
    pub(super) node: u32,
    /// The row before it with the same vector.
    before: u32,
    /// In which write it came.
    pub(super) born: u64,
    /// In which write it went.
    died: AtomicU64,
}

impl Row {
    /// Whether it is there after so many writes.
    pub(super) fn is_there(&self, sequence: u64) -> bool {
        self.born <= sequence && self.died.load(Ordering::Acquire) > sequence
    }

    /// Ends it; whether it was alive.
    pub(super) fn end(&self, sequence: u64) -> bool {
        self.died.swap(sequence, Ordering::AcqRel) == ALIVE
    }

    /// In which write it went, if it did.
    pub(super) fn died(&self) -> Option<u64> {
        Some(self.died.load(Ordering::Acquire)).filter(|died| *died != ALIVE)
    }
}

/// Rows and the graph of their vectors. Rows with the same vector share a node: a graph with many
/// nodes in one place has no links that lead away from there.
#[derive(Debug)]
pub(super) struct Generation {
    pub(super) graph: Graph,
    rows: AppendList<Row>,
    /// For each node its last row.
    last: AppendList<AtomicU32>,
    catalog: RwLock<Catalog>,
}

impl Generation {
    /// Without a row.
    pub(super) fn new(shape: Shape) -> Self {
        Self::on(Graph::new(shape), 0)
    }

    /// Over a graph with so many nodes, without a row.
    pub(super) fn on(graph: Graph, nodes: u32) -> Self {
        let last = AppendList::new();
        for node in 0..nodes {
            last.put(node, AtomicU32::new(NOBODY));
        }
        Self { graph, rows: AppendList::new(), last, catalog: RwLock::default() }
    }

    /// Takes a vector up as a node.
    pub(super) fn put_node(&self, node: u32, vector: Arc<[f32]>) {
        self.graph.put(node, vector);
        self.last.put(node, AtomicU32::new(NOBODY));
    }

    /// Takes a row up; who puts rows, puts them one after the other.
    pub(super) fn put_row(&self, slot: u32, row: NewRow) {
        let NewRow { id, attributes, node, born } = row;
        self.catalog_to_change().insert(&attributes, slot);
        let last = self.last.get(node).expect("a row's node is there before it");
        let before = last.load(Ordering::Relaxed);
        let died = AtomicU64::new(ALIVE);
        self.rows.put(slot, Row { id, attributes, node, before, born, died });
        last.store(slot, Ordering::Release);
    }

    /// A row that was put.
    pub(super) fn row(&self, slot: u32) -> Option<&Row> {
        self.rows.get(slot)
    }

    /// All rows with a node's vector, the last one first.
    pub(super) fn rows_of(&self, node: u32) -> impl Iterator<Item = &Row> {
        let last = self.last.get(node).map_or(NOBODY, |last| last.load(Ordering::Acquire));
        std::iter::successors(self.row(last), |row| self.row(row.before))
    }

    /// Whether a row with a node's vector is not gone.
    pub(super) fn is_alive(&self, node: u32) -> bool {
        self.rows_of(node).any(|row| row.died().is_none())
    }

    pub(super) fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn catalog_to_change(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What readers see: a generation, and how far it is to be read.
#[derive(Debug, Clone)]
pub(super) struct Published {
    pub(super) generation: Arc<Generation>,
    /// Number of the last write.
    pub(super) sequence: u64,
    /// How many rows there are.
    pub(super) size: u64,
    /// How many rows there ever were in this generation.
    pub(super) slots: u32,
    /// How many nodes.
    pub(super) nodes: u32,
    /// How many of these, from the first, are linked.
    pub(super) linked: u32,
}

/// Where readers find what is published.
#[derive(Debug)]
pub(super) struct PublishedCell(RwLock<Arc<Published>>);

impl PublishedCell {
    pub(super) fn new(published: Published) -> Self {
        Self(RwLock::new(Arc::new(published)))
    }

    /// What there is now.
    pub(super) fn now(&self) -> Arc<Published> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on, this.
    pub(super) fn publish(&self, published: Published) {
        let next = Arc::new(published);
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, next);
        drop(now);
        // Perhaps the last one to know a generation: not while readers wait.
        drop(before);
    }
}
