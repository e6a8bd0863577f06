//! Several coordinators on one Redis.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use registry::api_error::Code;
use registry::identity;
use registry::store::redis::Redis;
use registry::store::{Registration, Store};
use serde_json::json;
use tokio::task::JoinSet;

use crate::requests::*;
use crate::server::Server;

/// Changes one identity through one of two coordinators and reads it through the other, repeatedly.
async fn change_here_look_there(pair: [Arc<Redis>; 2], name: String, seed: u64) -> u64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for round in 0_u64..150 {
        let writer = (random.next_u64() % 2) as usize;
        let (here, there) = (&pair[writer], &pair[1 - writer]);
        let metadata = json!({"round": round, "whose": name});
        let wanted = Registration { replace: true, ..with(&name, &metadata) };
        let given = here.register(HERE, wanted).await.unwrap();
        assert_eq!(there.get(HERE, &name).await.unwrap(), Some(given), "round {round}");
        let mine = filter(&json!({"whose": name, "round": round}));
        assert_eq!(*there.targets(HERE, &mine).await.unwrap(), [Arc::<str>::from(&*name)]);
        if random.next_u64().is_multiple_of(3) {
            assert!(there.unregister(HERE, &name).await.unwrap());
            assert_eq!(here.get(HERE, &name).await.unwrap(), None, "round {round}");
        }
    }
    150
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_changes_the_other_sees_at_once() {
    let server = Server::start();
    let pair = [Arc::new(server.store().await), Arc::new(server.store().await)];
    let mut all = JoinSet::new();
    for number in 0..8 {
        all.spawn(change_here_look_there(pair.clone(), format!("user-{number}"), number));
    }
    assert_eq!(all.join_all().await.iter().sum::<u64>(), 1_200);
    assert_eq!(all_identities(&*pair[0], HERE).await, all_identities(&*pair[1], HERE).await);
    // Everything was read only once, at the start; after that the log was enough.
    assert!(pair.iter().all(|store| figure(&**store, "registry_store_reloads_total") == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_put_by_one_is_the_others() {
    let server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    one.register(HERE, with("ada", &json!({"status": "on"}))).await.unwrap();
    assert_eq!(other.schema(HERE).await.unwrap(), None);
    let schema = Arc::new(json!({"fields": {"status": {"type": "string"}}}));
    one.put_schema(HERE, stored(schema.clone(), &["status"])).await.unwrap();
    assert_eq!(other.schema(HERE).await.unwrap(), Some(schema.clone()));
    // A coordinator that starts later reads it with everything else.
    assert_eq!(server.store().await.schema(HERE).await.unwrap(), Some(schema));
}

async fn clean_up(store: Arc<Redis>, until: u64) -> Vec<(Arc<str>, Arc<str>)> {
    let mut gone = Vec::new();
    loop {
        let is_over = identity::now() > until;
        let expired = store.expire(identity::now()).await.unwrap();
        gone.extend(expired.into_iter().map(|gone| (gone.namespace, gone.name)));
        // Only a call that began after all of them were due may be the last.
        if is_over {
            return gone;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_name_that_expires_goes_to_one_coordinator() {
    let server = Server::start();
    let mut coordinators = Vec::new();
    for _ in 0..3 {
        coordinators.push(Arc::new(server.store().await));
    }
    let mut all = BTreeSet::new();
    let mut last = 0;
    for number in 0..2_500 {
        let namespace = ["a", "b"][number % 2];
        let name = format!("user-{number}");
        let wanted = mortal(&name, number as u64 % 100);
        let given = coordinators[number % 3].register(namespace, wanted).await.unwrap();
        last = last.max(given.expires_at.unwrap());
        all.insert((Arc::from(namespace), Arc::from(name)));
    }
    let mut cleaning = JoinSet::new();
    for store in &coordinators {
        cleaning.spawn(clean_up(store.clone(), last));
    }
    let gone = cleaning.join_all().await.concat();
    assert_eq!(gone.len(), 2_500, "somebody was told twice, or not at all");
    assert_eq!(gone.into_iter().collect::<BTreeSet<_>>(), all);
    assert_eq!(server.tell::<u64>(&["HLEN", "registry:a:identities"]), 0);
    assert_eq!(server.tell::<u64>(&["ZCARD", "registry:a:expiry"]), 0);
    for store in &coordinators {
        for namespace in ["a", "b"] {
            assert!(all_identities(&**store, namespace).await.is_empty());
        }
        assert_eq!(store.counts(), [("a".into(), 0), ("b".into(), 0)]);
    }
}

#[tokio::test]
async fn a_coordinator_that_starts_again_knows_everything() {
    let server = Server::start();
    let first = server.store().await;
    for number in 0..3_000 {
        let wanted = Registration { ttl_ms: Some(600_000), ..somebody(&format!("user-{number}")) };
        first.register(HERE, wanted).await.unwrap();
    }
    first.unregister(HERE, "user-7").await.unwrap();
    let known = all_identities(&first, HERE).await;
    drop(first);
    let second = server.store().await;
    assert_eq!(all_identities(&second, HERE).await, known);
    assert_eq!(known.len(), 2_999);
    assert_eq!(figure(&second, "registry_store_entries_total"), 0, "all of it was read at once");
}

#[tokio::test]
async fn a_coordinator_follows_namespaces_that_others_opened() {
    let server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    one.register("a", somebody("ada")).await.unwrap();
    assert_eq!(other.counts(), []);
    other.expire(identity::now()).await.unwrap();
    // Work in the background finishes before a later query is answered.
    other.get("a", "ada").await.unwrap();
    assert_eq!(other.counts(), [("a".into(), 1)]);
}

#[tokio::test]
async fn a_gap_in_the_log_is_seen_and_everything_read_anew() {
    let server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    one.register(HERE, somebody("ada")).await.unwrap();
    assert_eq!(all_identities(&other, HERE).await.len(), 1);
    for number in 0..50 {
        one.register(HERE, somebody(&format!("user-{number}"))).await.unwrap();
    }
    one.unregister(HERE, "ada").await.unwrap();
    // First some entries that the other coordinator needs are removed, then all.
    for (length, expected, next) in [("10", 50, "bob"), ("0", 51, "cleo")] {
        server.tell::<u64>(&["XTRIM", "registry:here:log", "MAXLEN", "=", length]);
        let before = figure(&other, "registry_store_reloads_total");
        assert_eq!(all_identities(&other, HERE).await.len(), expected);
        assert_eq!(figure(&other, "registry_store_reloads_total"), before + 1);
        one.register(HERE, somebody(next)).await.unwrap();
    }
    // Without a gap, nothing is read again.
    let before = figure(&other, "registry_store_reloads_total");
    assert!(is_there(&other, "cleo").await);
    assert_eq!(figure(&other, "registry_store_reloads_total"), before);
}

#[tokio::test]
async fn a_long_way_behind_is_caught_up_in_several_looks() {
    let server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    one.open(HERE).await.unwrap();
    assert_eq!(all_identities(&other, HERE).await.len(), 0);
    for number in 0..2_500 {
        one.register(HERE, somebody(&format!("user-{number}"))).await.unwrap();
    }
    assert_eq!(all_identities(&other, HERE).await.len(), 2_500);
    assert_eq!(figure(&other, "registry_store_entries_total"), 2_500);
    assert_eq!(figure(&other, "registry_store_entries_behind"), 2_500);
    assert_eq!(figure(&other, "registry_store_reloads_total"), 1);
}

#[tokio::test]
async fn data_that_are_deleted_are_gone_for_everybody() {
    let server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    for name in ["ada", "bob"] {
        one.register(HERE, somebody(name)).await.unwrap();
        assert!(is_there(&other, name).await);
    }
    server.tell::<()>(&["FLUSHALL"]);
    // As many entries as before: only the epoch shows that they are different.
    for name in ["cleo", "dan"] {
        one.register(HERE, somebody(name)).await.unwrap();
    }
    let them = ["cleo", "dan"].map(Arc::<str>::from);
    assert_eq!(all_identities(&one, HERE).await, them);
    assert_eq!(all_identities(&other, HERE).await, them);
    server.tell::<()>(&["FLUSHALL"]);
    let all = query(&json!({}), 5);
    assert_eq!(code(other.find(HERE, &all).await), Code::UnknownNamespace);
}
