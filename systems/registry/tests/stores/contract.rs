//! Behaviour that all stores share.

use std::collections::BTreeSet;
use std::sync::Arc;

use registry::api_error::Code;
use registry::identity::Identity;
use registry::query::{Query, SortKey};
use registry::store::embedded::Embedded;
use registry::store::{Expired, Registration, Store};
use serde_json::json;
use tokio::task::JoinSet;

use crate::requests::*;
use crate::server::Server;
use crate::temp_folder::TempFolder;

/// Makes one test of each name for each kind of store.
macro_rules! conduct {
    ($($name:ident,)*) => {
        mod memory {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(Arc::new(Embedded::in_memory())).await;
            })*
        }
        mod file {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let temp_folder = TempFolder::new(stringify!($name));
                super::$name(Arc::new(Embedded::durable(&temp_folder.path("file")).unwrap())).await;
            })*
        }
        mod redis {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let server = Server::start();
                super::$name(Arc::new(server.store().await)).await;
            })*
        }
    };
}

conduct! {
    who_registers_is_found,
    a_name_is_taken_unless_it_is_replaced,
    who_has_expired_does_not_stand_in_the_way,
    life_ends_at_its_instant,
    expiry_tells_each_name_once,
    a_quota_holds_among_many_at_once,
    renewals_take_no_room,
    a_name_goes_to_one_of_many_at_once,
    pages_hold_everybody_once_in_order,
    a_filter_names_targets,
    namespaces_know_nothing_of_each_other,
    unregistering_is_idempotent,
    a_schema_is_kept_and_opens_its_namespace,
    names_and_values_come_back_as_they_were,
}

async fn who_registers_is_found(store: Arc<impl Store>) {
    let before = store.now();
    let registration = Registration { ttl_ms: Some(60_000), ..with("ada", &json!({"n": 1})) };
    let given = store.register(HERE, registration).await.unwrap();
    let after = store.now();
    assert!((before..=after).contains(&given.registered_at), "{given:?}");
    assert_eq!(given.expires_at, Some(given.registered_at + 60_000));
    assert_eq!(store.get(HERE, "ada").await.unwrap(), Some(given.clone()));
    assert_eq!(store.find(HERE, &query(&json!({}), 10)).await.unwrap().identities, [given]);
    assert_eq!(store.get(HERE, "bob").await.unwrap(), None);
    store.register(HERE, somebody("bob")).await.unwrap();
    assert_eq!(store.get(HERE, "bob").await.unwrap().unwrap().expires_at, None);
}

async fn a_name_is_taken_unless_it_is_replaced(store: Arc<impl Store>) {
    let first = Registration { ttl_ms: Some(60_000), ..with("ada", &json!({"n": 1})) };
    let first = store.register(HERE, first).await.unwrap();
    let second = with("ada", &json!({"m": 2}));
    let error = store.register(HERE, second.clone()).await.unwrap_err();
    assert_eq!((error.code, error.at.as_deref()), (Code::AlreadyExists, Some("/identity")));
    assert_eq!(store.get(HERE, "ada").await.unwrap(), Some(first));
    // Replaced completely: the metadata, and the expiry, which it no longer has.
    let replaced = store.register(HERE, Registration { replace: true, ..second }).await.unwrap();
    assert_eq!((replaced.expires_at, &replaced.metadata["m"]), (None, &json!(2)));
    assert_eq!(store.get(HERE, "ada").await.unwrap(), Some(replaced));
    let brief = store.register(HERE, mortal("bob", 5)).await.unwrap();
    store.register(HERE, Registration { replace: true, ..somebody("bob") }).await.unwrap();
    until_expired(&*store, &brief).await;
    assert_eq!(store.expire(store.now()).await.unwrap(), []);
    assert_eq!(all_identities(&*store, HERE).await, ["ada", "bob"].map(Arc::<str>::from));
}

/// Waits until an identity has expired by the store's clock.
async fn until_expired(store: &impl Store, identity: &Identity) {
    while identity.is_alive(store.now()) {
        tokio::task::yield_now().await;
    }
}

async fn who_has_expired_does_not_stand_in_the_way(store: Arc<impl Store>) {
    let full = |name| Registration { quota: 1, ..mortal(name, 40) };
    let given = store.register(HERE, full("ada")).await.unwrap();
    until_expired(&*store, &given).await;
    // No clean-up has run, but name and quota are free again.
    let again = store.register(HERE, full("ada")).await.unwrap();
    until_expired(&*store, &again).await;
    store.register(HERE, Registration { ttl_ms: None, ..full("bob") }).await.unwrap();
    assert_eq!(all_identities(&*store, HERE).await, ["bob"].map(Arc::<str>::from));
    assert!(!store.unregister(HERE, "ada").await.unwrap());
    let gone = Expired { namespace: HERE.into(), name: "ada".into() };
    assert_eq!(store.expire(store.now()).await.unwrap(), [gone]);
}

async fn life_ends_at_its_instant(store: Arc<impl Store>) {
    // On a busy machine a short life may end before the first check.
    let mut ttl = 60;
    while times_seen_alive(&*store, ttl).await == 0 {
        ttl *= 2;
    }
}

/// Registers an identity and checks until it is gone; each check agrees with the time.
async fn times_seen_alive(store: &impl Store, ttl: u64) -> usize {
    let given = store.register(HERE, mortal("ada", ttl)).await.unwrap();
    let end = given.expires_at.unwrap();
    let mut seen = 0;
    loop {
        let before = store.now();
        let found = all_identities(store, HERE).await.len();
        let is_there = is_there(store, "ada").await;
        let after = store.now();
        // The answer was true at some instant between `before` and `after`.
        assert!(found == 1 || after >= end, "gone {} ms early", end - after);
        assert!(!is_there || before < end, "there {} ms late", before - end);
        seen += found;
        if found == 0 {
            return seen;
        }
    }
}

async fn expiry_tells_each_name_once(store: Arc<impl Store>) {
    let mut due = BTreeSet::new();
    let mut last = None;
    for number in 0..30 {
        let namespace = ["a", "b", "c"][number % 3];
        let name = format!("mortal-{number}");
        last = Some(store.register(namespace, mortal(&name, 5)).await.unwrap());
        store.register(namespace, mortal(&format!("later-{number}"), 600_000)).await.unwrap();
        store.register(namespace, somebody(&format!("never-{number}"))).await.unwrap();
        due.insert((Arc::from(namespace), Arc::from(name)));
    }
    until_expired(&*store, &last.unwrap()).await;
    let gone = store.expire(store.now()).await.unwrap();
    assert_eq!(gone.len(), 30);
    let gone: BTreeSet<_> = gone.into_iter().map(|gone| (gone.namespace, gone.name)).collect();
    assert_eq!(gone, due);
    assert_eq!(store.expire(store.now()).await.unwrap(), []);
    for namespace in ["a", "b", "c"] {
        assert_eq!(all_identities(&*store, namespace).await.len(), 20);
    }
}

async fn a_quota_holds_among_many_at_once(store: Arc<impl Store>) {
    let mut all = JoinSet::new();
    for number in 0..100 {
        let store = store.clone();
        let wanted = Registration { quota: 50, ..somebody(&format!("user-{number}")) };
        all.spawn(async move { store.register(HERE, wanted).await });
    }
    let results = all.join_all().await;
    let admitted = results.iter().filter(|result| result.is_ok()).count();
    let refused = |code| code == Code::QuotaExceeded;
    assert_eq!(admitted, 50);
    assert!(results.into_iter().filter(Result::is_err).all(|error| refused(code(error))));
    let there = all_identities(&*store, HERE).await;
    assert_eq!(there.len(), 50);
    // Existing identities may stay and change; a removed one makes space for another.
    let stay = Registration { quota: 50, replace: true, ..somebody(&there[0]) };
    store.register(HERE, stay).await.unwrap();
    assert!(store.unregister(HERE, &there[0]).await.unwrap());
    let next = |name| Registration { quota: 50, ..somebody(name) };
    store.register(HERE, next("next")).await.unwrap();
    assert!(refused(code(store.register(HERE, next("one-more")).await)));
}

async fn renewals_take_no_room(store: Arc<impl Store>) {
    let mut all = JoinSet::new();
    for round in 0..2 {
        // In the second round all forty exist, and the new one comes last.
        for number in 0..40 + round {
            let store = store.clone();
            let name = format!("user-{number}");
            let wanted = Registration { quota: 41, replace: true, ..somebody(&name) };
            all.spawn(async move { store.register(HERE, wanted).await.unwrap() });
        }
        while let Some(done) = all.join_next().await {
            done.unwrap();
        }
    }
    assert_eq!(all_identities(&*store, HERE).await.len(), 41);
}

async fn a_name_goes_to_one_of_many_at_once(store: Arc<impl Store>) {
    let mut all = JoinSet::new();
    for number in 0..100 {
        let store = store.clone();
        let wanted = with("ada", &json!({"number": number}));
        all.spawn(async move { store.register(HERE, wanted).await });
    }
    let results = all.join_all().await;
    let (admitted, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert!(refused.into_iter().all(|error| code(error) == Code::AlreadyExists));
    assert_eq!(admitted.len(), 1);
    assert_eq!(store.get(HERE, "ada").await.unwrap(), admitted[0].clone().ok());
}

async fn pages_hold_everybody_once_in_order(store: Arc<impl Store>) {
    for number in 0..25 {
        let metadata = json!({"number": number, "even": number % 2 == 0});
        store.register(HERE, with(&format!("user-{number:02}"), &metadata)).await.unwrap();
    }
    let sort_by = vec![SortKey { field: "metadata.number".into(), is_descending: true }];
    let mut asked = Query { sort_by, ..query(&json!({"even": true}), 5) };
    let mut seen = Vec::new();
    loop {
        let page = store.find(HERE, &asked).await.unwrap();
        assert_eq!(page.total_count, 13);
        seen.extend(page.identities.iter().map(|identity| identity.metadata["number"].clone()));
        asked.cursor = page.next_cursor;
        if asked.cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..25).rev().filter(|n| n % 2 == 0).map(|n| json!(n)).collect::<Vec<_>>());
    let foreign = Query { cursor: Some("nonsense".into()), ..query(&json!({}), 5) };
    assert_eq!(code(store.find(HERE, &foreign).await), Code::InvalidCursor);
}

async fn a_filter_names_targets(store: Arc<impl Store>) {
    for (name, floor) in [("ada", 1), ("bob", 2), ("cleo", 3)] {
        let metadata = json!({"place": {"floor": floor}});
        store.register(HERE, with(name, &metadata)).await.unwrap();
    }
    let mut targets = store.targets(HERE, &filter(&json!({"place.floor.gte": 2}))).await.unwrap();
    targets.sort();
    assert_eq!(targets, ["bob", "cleo"].map(Arc::<str>::from));
}

async fn namespaces_know_nothing_of_each_other(store: Arc<impl Store>) {
    store.register("a", with("ada", &json!({"of": "a"}))).await.unwrap();
    store.register("b", with("ada", &json!({"of": "b"}))).await.unwrap();
    store.register("b", Registration { quota: 2, ..somebody("bob") }).await.unwrap();
    assert!(store.unregister("a", "ada").await.unwrap());
    assert_eq!(store.get("a", "ada").await.unwrap(), None);
    assert_eq!(store.get("b", "ada").await.unwrap().unwrap().metadata["of"], "b");
    assert_eq!(store.find("a", &query(&json!({}), 5)).await.unwrap().total_count, 0);
    // A namespace that was never opened differs from an empty one.
    let nowhere = query(&json!({}), 5);
    assert_eq!(code(store.find("c", &nowhere).await), Code::UnknownNamespace);
    assert_eq!(code(store.targets("c", &nowhere.filter).await), Code::UnknownNamespace);
    assert_eq!(store.get("c", "ada").await.unwrap(), None);
    assert_eq!(store.schema("c").await.unwrap(), None);
    assert!(!store.unregister("c", "ada").await.unwrap());
    assert_eq!(code(store.find("c", &nowhere).await), Code::UnknownNamespace);
    store.open("c").await.unwrap();
    store.open("c").await.unwrap();
    assert_eq!(store.find("c", &nowhere).await.unwrap().total_count, 0);
    let mut counts = store.counts();
    counts.sort();
    assert_eq!(counts, [("a".into(), 0), ("b".into(), 2), ("c".into(), 0)]);
}

async fn unregistering_is_idempotent(store: Arc<impl Store>) {
    store.register(HERE, mortal("ada", 600_000)).await.unwrap();
    assert!(store.unregister(HERE, "ada").await.unwrap());
    assert!(!is_there(&*store, "ada").await);
    assert!(!store.unregister(HERE, "ada").await.unwrap());
    assert!(!store.unregister(HERE, "nobody").await.unwrap());
    assert_eq!(store.expire(store.now() + 1_200_000).await.unwrap(), []);
    store.register(HERE, somebody("ada")).await.unwrap();
    assert!(is_there(&*store, "ada").await);
}

async fn a_schema_is_kept_and_opens_its_namespace(store: Arc<impl Store>) {
    let schema =
        |name: &str| Arc::new(json!({"fields": {name: {"type": "string", "index": true}}}));
    store.put_schema(HERE, stored(schema("status"), &["status"])).await.unwrap();
    assert_eq!(store.schema(HERE).await.unwrap(), Some(schema("status")));
    for number in 0..10 {
        let status = if number % 2 == 0 { "on" } else { "off" };
        let metadata = json!({"status": status, "room": number});
        store.register(HERE, with(&format!("user-{number}"), &metadata)).await.unwrap();
    }
    let (on, in_three) = (query(&json!({"status": "on"}), 9), query(&json!({"room": 3}), 9));
    assert_eq!(store.find(HERE, &on).await.unwrap().total_count, 5);
    // With other indexes the results are the same.
    store.put_schema(HERE, stored(schema("room"), &["room"])).await.unwrap();
    assert_eq!(store.schema(HERE).await.unwrap(), Some(schema("room")));
    assert_eq!(store.find(HERE, &on).await.unwrap().total_count, 5);
    assert_eq!(names(&store.find(HERE, &in_three).await.unwrap()), ["user-3"]);
}

async fn names_and_values_come_back_as_they_were(store: Arc<impl Store>) {
    let metadata = json!({
        "text": "a \"quote\", a \\, a line\nfeed, a \u{0}, an é and a 🦀 and a %s",
        "numbers": [0, -1, 1.5, 1e300, 9_007_199_254_740_993_u64, u64::MAX, i64::MIN, 0.1],
        "deep": {"a": {"b": {"c": [null, true, {}]}}}, "": "no name",
    });
    let long = "n".repeat(256);
    for name in ["é\"'\\{}", "a:b/c.d", "%d%s", "0", &long] {
        let given = store.register(HERE, with(name, &metadata)).await.unwrap();
        let found = store.get(HERE, name).await.unwrap().unwrap();
        assert_eq!(*found, *given);
        assert_eq!(json!(found.metadata), metadata);
    }
}
