//! What the writer knows of a generation: where each row is, and which vectors there are.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hnsw::{Graph, Shape};

use super::generation::{Generation, NewRow, Published, Row};
use super::intake::CheckedRow;

/// A generation and its changes. There is one writer at a time.
#[derive(Debug)]
pub(super) struct GenerationWriter {
    pub(super) generation: Arc<Generation>,
    by_id: HashMap<Arc<str>, u32>,
    /// By the hash of their bits; two that share one by chance are kept as if they were equal and
    /// found not to be.
    by_vector: HashMap<u64, u32>,
    hasher: RandomState,
    slots: u32,
    nodes: u32,
    linked: u32,
}

impl GenerationWriter {
    /// Without a row.
    pub(super) fn new(shape: Shape) -> Self {
        Self {
            generation: Arc::new(Generation::new(shape)),
            by_id: HashMap::new(),
            by_vector: HashMap::new(),
            hasher: RandomState::new(),
            slots: 0,
            nodes: 0,
            linked: 0,
        }
    }

    /// Over a graph with so many nodes, all linked, without a row.
    pub(super) fn on(graph: Graph, nodes: u32) -> Self {
        let mut book = Self::new(graph.shape());
        book.generation = Arc::new(Generation::on(graph, nodes));
        (book.nodes, book.linked) = (nodes, nodes);
        book
    }

    /// How many rows there are.
    pub(super) fn size(&self) -> u64 {
        self.by_id.len() as u64
    }

    /// Whether there is a row of this name.
    pub(super) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Rows that are gone and still in the way.
    pub(super) fn gone(&self) -> u64 {
        u64::from(self.slots) - self.size()
    }

    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// Inserts a row, or puts it in the place of the one of its name.
    pub(super) fn insert(&mut self, fresh: CheckedRow, sequence: u64) {
        let node = self.node(&fresh.vector);
        self.attach(fresh, node, sequence);
    }

    /// The same where the vector's node is in the graph already, and perhaps others have it.
    pub(super) fn restore(&mut self, fresh: CheckedRow, node: u32, sequence: u64) {
        let hash = self.hash(&fresh.vector);
        self.by_vector.insert(hash, node);
        self.attach(fresh, node, sequence);
    }

    fn attach(&mut self, fresh: CheckedRow, node: u32, sequence: u64) {
        let CheckedRow { id, attributes, .. } = fresh;
        let slot = self.slots;
        let row = NewRow { id: id.clone(), attributes, node, born: sequence };
        self.generation.put_row(slot, row);
        if let Some(before) = self.by_id.insert(id, slot) {
            self.end(before, sequence);
        }
        self.slots += 1;
    }

    /// Deletes a row; whether it was there.
    pub(super) fn delete(&mut self, id: &str, sequence: u64) -> bool {
        let slot = self.by_id.remove(id);
        slot.inspect(|slot| self.end(*slot, sequence)).is_some()
    }

    fn end(&self, slot: u32, sequence: u64) {
        let row = self.generation.row(slot).expect("who has a name has a slot");
        if row.end(sequence) {
            self.generation.catalog_to_change().forget(&row.attributes);
        }
    }

    /// The node of a vector, a new one if no living row has it: the graph may lose the dead.
    fn node(&mut self, vector: &Arc<[f32]>) -> u32 {
        let hash = self.hash(vector);
        if let Some(node) = self.by_vector.get(&hash)
            && self.generation.is_alive(*node)
            && self.generation.graph.vector(*node).is_some_and(|other| is_same(other, vector))
        {
            return *node;
        }
        let node = self.nodes;
        self.generation.put_node(node, vector.clone());
        self.by_vector.insert(hash, node);
        self.nodes += 1;
        node
    }

    fn hash(&self, vector: &[f32]) -> u64 {
        self.hasher.hash_one(vector.iter().map(|one| one.to_bits()).collect::<Vec<u32>>())
    }

    /// Links what is not linked yet, unless so few rows are compared one by one.
    pub(super) fn link(&mut self, brute_force_below: u64, threads: usize) {
        if self.size() >= brute_force_below {
            let Generation { graph, .. } = &*self.generation;
            // Rows lie elsewhere in memory than vectors: they are looked at if any is gone.
            let is_anybody_gone = self.gone() > 0;
            let is_alive = |node| !is_anybody_gone || self.generation.is_alive(node);
            graph.link_all(self.linked..self.nodes, threads, &is_alive);
            self.linked = self.nodes;
        }
    }

    /// Takes up what is there of another generation's rows from a slot on, born as they were.
    pub(super) fn copy(&mut self, from: &Published, first: u32) {
        let there = (first..from.slots).filter_map(|slot| from.generation.row(slot));
        for row in there.filter(|row| row.is_there(from.sequence)) {
            self.take(&from.generation, row);
        }
    }

    fn take(&mut self, generation: &Generation, row: &Row) {
        let vector = generation.graph.vector(row.node).expect("a row has a vector").clone();
        let fresh = CheckedRow { id: row.id.clone(), vector, attributes: row.attributes.clone() };
        self.insert(fresh, row.born);
    }

    /// Ends those rows that went from another generation after they were copied: of slots below
    /// `copied`.
    pub(super) fn end_those_gone(&mut self, from: &Generation, copied: u32) {
        for row in (0..copied).filter_map(|slot| from.row(slot)) {
            let Some(died) = row.died() else { continue };
            let is_same = |slot: &u32| {
                let copy = self.generation.row(*slot).expect("who has a name has a slot");
                copy.born == row.born
            };
            if self.by_id.get(&row.id).is_some_and(is_same) {
                self.delete(&row.id.clone(), died);
            }
        }
    }

    /// As readers are to see it.
    pub(super) fn published(&self, sequence: u64) -> Published {
        Published {
            generation: self.generation.clone(),
            sequence,
            size: self.size(),
            slots: self.slots,
            nodes: self.nodes,
            linked: self.linked,
        }
    }
}

/// Whether two vectors are the same, bit by bit.
pub(super) fn is_same(one: &[f32], other: &[f32]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| one.to_bits() == other.to_bits())
}
