//! Which fields rows have, and which rows may match a filter.

use std::collections::{BTreeSet, HashMap};

use filtering::Filter;
use filtering::lookup::{Lookup, Slot};
use filtering::path::{LONGEST_PATH, Path};
use serde_json::{Map, Value};

/// Most fields that are indexed; filters on others cost more and find the same.
const MOST_INDEXED: usize = 64;

/// How often a name stands in rows, and what stands below it.
#[derive(Debug, Default)]
struct Field {
    count: u64,
    below: HashMap<Box<str>, Field>,
}

/// Which fields rows have, and which rows may match a filter. Rows are never taken out of the
/// indexes, so that a search that began before a row went still finds it there.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    lookup: Lookup,
    indexed: BTreeSet<Path>,
    fields: Field,
}

impl Catalog {
    /// Takes a row up.
    pub(super) fn insert(&mut self, attributes: &Map<String, Value>, slot: Slot) {
        let mut new = Vec::new();
        self.fields.add(attributes, &mut Vec::new(), &mut new);
        let room = MOST_INDEXED.saturating_sub(self.indexed.len());
        let new = new.into_iter().filter_map(|steps| Path::of(steps).ok());
        let before = self.indexed.len();
        self.indexed.extend(new.take(room));
        if self.indexed.len() > before {
            // Nobody before this row has had the field: there is nothing else to index.
            self.lookup.reindex(&self.indexed, std::iter::empty());
        }
        self.lookup.insert(attributes, slot);
    }

    /// Tells that a row is gone.
    pub(super) fn forget(&mut self, attributes: &Map<String, Value>) {
        self.fields.remove(attributes);
    }

    /// Whether a row that is there has the field.
    pub(super) fn has(&self, path: &Path) -> bool {
        let mut field = Some(&self.fields);
        for step in path.steps() {
            field = field.and_then(|field| field.below.get(step));
        }
        field.is_some_and(|field| field.count > 0)
    }

    /// Slots that hold all matches of a filter, if those are at most so many.
    pub(super) fn candidates(&self, filter: &Filter, most: usize) -> Option<Vec<Slot>> {
        self.lookup.candidates(filter, most.saturating_mul(2))
    }
}

impl Field {
    /// Counts names; those with a value to index that were never there are `new`.
    fn add(
        &mut self,
        members: &Map<String, Value>,
        steps: &mut Vec<String>,
        new: &mut Vec<Vec<String>>,
    ) {
        for (name, value) in members {
            if !self.below.contains_key(name.as_str()) {
                self.below.insert(name.as_str().into(), Self::default());
                steps.push(name.clone());
                new.push(steps.clone());
                steps.pop();
            }
            let field = self.below.get_mut(name.as_str()).expect("it was just put there");
            field.count += 1;
            if let Value::Object(members) = value
                && steps.len() + 1 < LONGEST_PATH
            {
                steps.push(name.clone());
                field.add(members, steps, new);
                steps.pop();
            }
        }
    }

    fn remove(&mut self, members: &Map<String, Value>) {
        for (name, value) in members {
            let Some(field) = self.below.get_mut(name.as_str()) else { continue };
            field.count = field.count.saturating_sub(1);
            if let Value::Object(members) = value {
                field.remove(members);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use filtering::Bounds;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_there_as_long_as_a_row_has_it() {
        let row = json!({"city": "Gera", "place": {"floor": 3}});
        let row = row.as_object().unwrap();
        let mut catalog = Catalog::default();
        let path = |text| Path::read(text).unwrap();
        assert!(!catalog.has(&path("city")));
        catalog.insert(row, 0);
        catalog.insert(row, 1);
        for (text, is_there) in
            [("city", true), ("place", true), ("place.floor", true), ("floor", false)]
        {
            assert_eq!(catalog.has(&path(text)), is_there, "{text}");
        }
        catalog.forget(row);
        assert!(catalog.has(&path("place.floor")));
        catalog.forget(row);
        assert!(!catalog.has(&path("place.floor")));
        let filter = Filter::parse(&json!({"place.floor": 3}), Bounds::default()).unwrap();
        assert_eq!(catalog.candidates(&filter, 100), Some(vec![0, 1]));
    }
}
