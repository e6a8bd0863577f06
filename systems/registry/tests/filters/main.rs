//! The filter language, compared with an independent evaluator. Random filters on random documents
//! must find the same identities in every way: evaluated one by one, found by a view without
//! indexes, and found by a view with indexes, while identities are added, changed and removed.
//!
//! 100,000 documents, 1,000 filters; `PROOFLOAD_PROOF=1` uses ten times as many filters.

mod naive;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use filtering::{Bounds, Filter};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use registry::identity::Identity;
use registry::store::view::View;
use serde_json::Value;

use random::Source;

/// Each round has its own documents and filters.
const ROUNDS: u64 = 50;

/// Documents per round.
const DOCUMENTS: usize = 2_000;

/// The time of the queries; every tenth identity has expired by then.
const NOW: u64 = 1_000;

/// The same identities in three forms.
struct ThreeStores {
    all: BTreeMap<Arc<str>, Arc<Identity>>,
    plain: View,
    indexed: View,
}

impl ThreeStores {
    fn new() -> Self {
        let indexes = random::INDEXED.map(str::to_owned);
        Self { all: BTreeMap::new(), plain: View::new(&[]), indexed: View::new(&indexes) }
    }

    fn put(&mut self, number: usize, source: &mut Source) {
        let metadata = source.document();
        let expires_at = [None, Some(NOW - 1), Some(NOW), Some(NOW + 1)][source.below(4)];
        let name = format!("i-{number}").into();
        let identity = Arc::new(Identity { name, metadata, registered_at: 0, expires_at });
        self.plain.put(identity.clone());
        self.indexed.put(identity.clone());
        self.all.insert(identity.name.clone(), identity);
    }

    fn remove(&mut self, number: usize) {
        let name = format!("i-{number}");
        let is_there = self.all.remove(&*name).is_some();
        assert_eq!(self.plain.remove(&name).is_some(), is_there);
        assert_eq!(self.indexed.remove(&name).is_some(), is_there);
    }

    /// The number of matches of a filter; checks that all ways agree.
    fn found(&self, json: &Value) -> Option<usize> {
        let filter = match Filter::parse(json, Bounds::default()) {
            Ok(filter) => filter,
            Err(error) => {
                assert!(error.message.contains("at most"), "{json}: {error}");
                return None;
            }
        };
        let alive = || self.all.values().filter(|identity| identity.is_alive(NOW));
        let names = |found: Vec<Arc<str>>| {
            let count = found.len();
            let names: BTreeSet<Arc<str>> = found.into_iter().collect();
            assert_eq!(names.len(), count, "{json} found somebody twice");
            names
        };
        let naive: BTreeSet<Arc<str>> = alive()
            .filter(|identity| naive::matches(json, &identity.metadata))
            .map(|identity| identity.name.clone())
            .collect();
        for identity in alive() {
            let is_match = filter.matches(&identity.metadata);
            let metadata = &identity.metadata;
            assert_eq!(is_match, naive.contains(&identity.name), "{json} on {metadata:?}");
        }
        assert_eq!(names(self.plain.targets(&filter, NOW)), naive, "{json} without indexes");
        assert_eq!(names(self.indexed.targets(&filter, NOW)), naive, "{json} with indexes");
        Some(naive.len())
    }
}

#[test]
fn filters_find_what_a_naive_evaluator_finds() {
    let is_proof = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let filters = if is_proof { 200 } else { 20 };
    let mut telling = 0;
    for seed in 0..ROUNDS {
        let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut trio = ThreeStores::new();
        // Some of the first half are replaced or removed while the second half arrives.
        for number in 0..DOCUMENTS {
            trio.put(number, &mut source);
            match source.below(20) {
                0 => trio.put(source.below(number + 1), &mut source),
                1 => trio.remove(source.below(number + 1)),
                _ => {}
            }
        }
        assert_eq!(trio.plain.len(), trio.all.len());
        for _ in 0..filters {
            let filter = source.filter();
            let found = trio.found(&filter);
            telling += usize::from(found.is_some_and(|found| found > 0 && found < trio.all.len()));
        }
        assert_eq!(trio.plain.expire(NOW).len(), trio.indexed.expire(NOW).len());
        for _ in 0..filters / 10 {
            trio.found(&source.filter());
        }
    }
    // Filters that match some but not all identities; without them the test would show little.
    let all = filters * ROUNDS as usize;
    assert!(telling > all / 3, "{telling} of {all}");
}
