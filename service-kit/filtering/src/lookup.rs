//! Which documents of many to evaluate a filter on: indexes of single fields, and the choice among
//! them.
//!
//! A lookup holds no documents: the owner chooses each document's [`Slot`], and passes the same
//! document again to remove it.

mod field;
mod plan;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::Filter;
use crate::path::Path;
use field::Index;

/// Where its owner keeps a document.
pub type Slot = u32;

/// Indexes of some fields.
#[derive(Debug, Default)]
pub struct Lookup {
    indexes: Vec<Index>,
}

impl Lookup {
    /// Takes a document up.
    pub fn insert(&mut self, document: &Map<String, Value>, slot: Slot) {
        for index in &mut self.indexes {
            index.insert(document, slot);
        }
    }

    /// Takes a document out, the same as it was taken up.
    pub fn remove(&mut self, document: &Map<String, Value>, slot: Slot) {
        for index in &mut self.indexes {
            index.remove(document, slot);
        }
    }

    /// Indexes these fields, and no others; `all` are the documents that are held.
    pub fn reindex<'d>(
        &mut self,
        fields: &BTreeSet<Path>,
        all: impl Iterator<Item = (&'d Map<String, Value>, Slot)> + Clone,
    ) {
        self.indexes.retain(|index| fields.contains(index.field()));
        for field in fields {
            if self.indexes.iter().all(|index| index.field() != field) {
                let mut index = Index::new(field.clone());
                all.clone().for_each(|(document, slot)| index.insert(document, slot));
                self.indexes.push(index);
            }
        }
    }

    /// Where to look for the matches of a filter among so many documents: each of its matches is
    /// there, others may be; in no order, none twice. `None`: everywhere.
    pub fn candidates(&self, filter: &Filter, all: usize) -> Option<Vec<Slot>> {
        plan::candidates(&self.indexes, filter.root(), all)
    }
}

#[cfg(test)]
mod tests;
