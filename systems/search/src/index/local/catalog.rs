//! Which fields rows have, and which rows may match a filter.

use std::collections::{BTreeSet, HashMap};

use filtering::Filter;
use filtering::lookup::{Lookup, Slot};
use filtering::path::{LONGEST_PATH, Path};
use serde_json::{Map, Value};

/// Most fields that are indexed; filters on others cost more and find the same.
const MOST_INDEXED: usize = 64;

/// Most field names of all rows together: each takes memory.
pub(super) const MOST_NAMES: usize = 1 << 16;

/// How many rows have a field, and its subfields.
#[derive(Debug, Default)]
struct Field {
    count: u64,
    below: HashMap<Box<str>, Field>,
}

/// Fields that no row had before some batches.
#[derive(Debug, Default)]
pub(super) struct NewFields {
    fields: Field,
    count: usize,
}

/// Which fields rows have, and which rows may match a filter. Rows are never taken out of the
/// indexes, so that a search that began before a row went still finds it there.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    lookup: Lookup,
    indexed: BTreeSet<Path>,
    fields: Field,
    /// How many fields there are.
    size: usize,
}

impl Catalog {
    /// Takes a row up.
    pub(super) fn insert(&mut self, attributes: &Map<String, Value>, slot: Slot) {
        let mut new = Vec::new();
        self.fields.add(attributes, &mut Vec::new(), &mut new);
        self.size += new.len();
        let room = MOST_INDEXED.saturating_sub(self.indexed.len());
        let new = new.into_iter().filter_map(|steps| Path::of(steps).ok());
        let new: Vec<Path> = new.filter(|path| !self.indexed.contains(path)).collect();
        let before = self.indexed.len();
        self.indexed.extend(new.into_iter().take(room));
        if self.indexed.len() > before {
            // The field is new or was never indexed for want of space: there is nothing to index.
            self.lookup.reindex(&self.indexed, std::iter::empty());
        }
        self.lookup.insert(attributes, slot);
    }

    /// Removes a row's fields; fields that no other row has are dropped.
    pub(super) fn forget(&mut self, attributes: &Map<String, Value>) {
        self.size -= self.fields.remove(attributes, 1);
    }

    /// Adds the fields of a row that are neither known nor among the new ones; whether all of them
    /// fit, replacing the present rows if `drop`.
    pub(super) fn has_room(
        &self,
        attributes: &Map<String, Value>,
        new: &mut NewFields,
        drop: bool,
    ) -> bool {
        let (known, size) = if drop { (None, 0) } else { (Some(&self.fields), self.size) };
        new.count += new.fields.add_unknown(attributes, known, 1);
        size + new.count <= MOST_NAMES
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

    /// Removes names; returns how many no other row has.
    fn remove(&mut self, members: &Map<String, Value>, depth: usize) -> usize {
        let mut gone = 0;
        for (name, value) in members {
            let Some(field) = self.below.get_mut(name.as_str()) else { continue };
            field.count = field.count.saturating_sub(1);
            if let Value::Object(members) = value
                && depth < LONGEST_PATH
            {
                gone += field.remove(members, depth + 1);
            }
            if field.count == 0 {
                // Its subfields belonged to rows that had it.
                self.below.remove(name.as_str());
                gone += 1;
            }
        }
        gone
    }

    /// Adds names that are not `known`; how many are neither there nor here.
    fn add_unknown(
        &mut self,
        members: &Map<String, Value>,
        known: Option<&Self>,
        depth: usize,
    ) -> usize {
        let mut count = 0;
        for (name, value) in members {
            let known = known.and_then(|known| known.below.get(name.as_str()));
            let inner = value.as_object().filter(|_| depth < LONGEST_PATH);
            if known.is_some() && inner.is_none() {
                continue;
            }
            let is_here = self.below.contains_key(name.as_str());
            count += usize::from(known.is_none() && !is_here);
            let field = self.below.entry(name.as_str().into()).or_default();
            count += inner.map_or(0, |inner| field.add_unknown(inner, known, depth + 1));
        }
        count
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

    impl Field {
        fn entries(&self) -> usize {
            self.below.values().map(|field| 1 + field.entries()).sum()
        }
    }

    #[test]
    fn fields_are_bounded_and_forgotten_with_the_last_row_that_had_them() {
        let row = |n: usize| json!({format!("a{n}"): 1, "place": {format!("b{n}"): 2}});
        let mut catalog = Catalog::default();
        for n in 0..1_000 {
            catalog.insert(row(n).as_object().unwrap(), n as u32);
            if n > 0 {
                let before = row(n - 1);
                catalog.forget(before.as_object().unwrap());
            }
            assert_eq!((catalog.size, catalog.fields.entries()), (3, 3), "after row {n}");
        }
        let mut new = NewFields::default();
        let room = (MOST_NAMES - catalog.size) / 2;
        for n in 2_000..2_000 + room {
            assert!(catalog.has_room(row(n).as_object().unwrap(), &mut new, false), "{n}");
        }
        assert_eq!(new.count, 2 * room);
        assert!(catalog.has_room(row(2_000).as_object().unwrap(), &mut new, false), "known");
        assert!(catalog.has_room(row(999).as_object().unwrap(), &mut new, false), "known");
        assert!(!catalog.has_room(row(1).as_object().unwrap(), &mut new, false));
    }
}
