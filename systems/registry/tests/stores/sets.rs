//! Redis and the embedded store contain the same sets: random changes go to both, and random
//! filters find the same in both.
//!
//! The short form takes 40 rounds; `PROOFLOAD_PROOF=1` takes 1,000.

use std::sync::Arc;

use filtering::{Bounds, Filter};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use registry::query::Query;
use registry::store::embedded::Embedded;
use registry::store::redis::Redis;
use registry::store::{Registration, Store};

use crate::random::{INDEXED, Source};
use crate::requests::*;
use crate::server::Server;

/// Number of changes between filters, and of filters in a round.
const CHANGES: usize = 60;
const FILTERS: usize = 12;

/// Applies the same change to both; the second Redis only reads.
async fn change(source: &mut Source, redis: &Redis, embedded: &Embedded) {
    let name = format!("user-{}", source.below(150));
    if source.below(4) == 0 {
        let gone = redis.unregister(HERE, &name).await.unwrap();
        assert_eq!(embedded.unregister(HERE, &name).await.unwrap(), gone, "{name}");
        return;
    }
    let wanted = Registration {
        metadata: source.document(),
        ttl_ms: [None, Some(3_600_000)][source.below(2)],
        replace: source.below(2) == 0,
        quota: 120,
        ..somebody(&name)
    };
    let one = redis.register(HERE, wanted.clone()).await;
    let other = embedded.register(HERE, wanted).await;
    assert_eq!(
        one.map(drop).map_err(|error| error.code),
        other.map(drop).map_err(|error| error.code)
    );
}

async fn names_by_pages(store: &impl Store, query: &Query) -> (usize, Vec<String>) {
    let mut query = query.clone();
    let mut all = Vec::new();
    loop {
        let page = store.find(HERE, &query).await.unwrap();
        all.extend(names(&page).into_iter().map(str::to_owned));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return (page.total_count, all);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_and_memory_give_the_same_sets() {
    let rounds = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 1_000 } else { 40 };
    let server = Server::start();
    let (writer, reader) = (server.store().await, server.store().await);
    let embedded = Embedded::in_memory();
    let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(4));
    writer.put_schema(HERE, stored(Arc::default(), &INDEXED)).await.unwrap();
    embedded.put_schema(HERE, stored(Arc::default(), &INDEXED)).await.unwrap();
    let bounds = Bounds { depth: 10, clauses: 1_000 };
    let mut found = 0;
    for round in 0..rounds {
        for _ in 0..CHANGES {
            change(&mut source, &writer, &embedded).await;
        }
        for _ in 0..FILTERS {
            let text = source.filter();
            let filter = Filter::parse(&text, bounds).unwrap();
            let query =
                Query { filter, sort_by: Vec::new(), limit: 1 + source.below(40), cursor: None };
            let expected = names_by_pages(&embedded, &query).await;
            found += expected.0;
            assert_eq!(names_by_pages(&reader, &query).await, expected, "round {round}: {text}");
            let mut targets = reader.targets(HERE, &query.filter).await.unwrap();
            targets.sort();
            assert_eq!(targets.iter().map(|name| &**name).collect::<Vec<_>>(), expected.1);
        }
    }
    let asked = rounds * FILTERS;
    assert!(
        (asked..asked * 110).contains(&found),
        "{asked} filters found {found}: they test little"
    );
}
