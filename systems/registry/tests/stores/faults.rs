//! Redis that becomes unavailable, hangs, returns, and returns without its data.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use registry::api_error::{ApiError, Code};
use registry::identity;
use registry::store::Store;
use registry::store::redis::Redis;
use serde_json::json;
use tokio::task::JoinSet;

use crate::requests::*;
use crate::server::Server;

/// Far longer than the two seconds that an operation may take.
const BOUND: Duration = Duration::from_secs(10);

/// Runs each operation once; all must end within the limit.
async fn everything(store: &Redis) -> Vec<Result<(), ApiError>> {
    let all = query(&json!({}), 5);
    let operations = async {
        vec![
            store.register(HERE, somebody("late")).await.map(drop),
            store.unregister(HERE, "late").await.map(drop),
            store.get(HERE, "late").await.map(drop),
            store.find(HERE, &all).await.map(drop),
            store.targets(HERE, &all.filter).await.map(drop),
            store.open("another").await,
            store.put_schema("another", stored(Arc::default(), &[])).await,
            store.schema(HERE).await.map(drop),
            store.expire(identity::now()).await.map(drop),
        ]
    };
    tokio::time::timeout(BOUND, operations).await.expect("an operation hangs")
}

async fn nothing_is_available(store: &Redis) {
    for result in everything(store).await {
        let error = result.unwrap_err();
        assert_eq!(error.code, Code::Unavailable);
        assert!(error.retry_after.is_some() && error.message.contains("Redis at 127.0.0.1"));
    }
}

/// Retries until the store is available again, as a client would; the limit is only for a store
/// that never returns.
async fn until_available(store: &Redis) {
    let tries = async {
        while store.schema(HERE).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, tries).await.expect("the store does not come back");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_answers_where_there_is_no_redis() {
    let mut server = Server::start();
    server.kill();
    assert_eq!(code(Redis::connect(&server.url()).await), Code::Unavailable);
    assert_eq!(code(Redis::connect("no address").await), Code::Unavailable);
}

/// Registers one after another until Redis is killed; returns the acknowledged names.
async fn register_until_killed(
    store: Arc<Redis>,
    is_killed: Arc<AtomicBool>,
    task: usize,
) -> Vec<Arc<str>> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let was_killed = is_killed.load(Ordering::SeqCst);
        match store.register(HERE, mortal(&format!("user-{task}-{number}"), 600_000)).await {
            Ok(given) => acknowledged.push(given.name.clone()),
            Err(error) => assert_eq!(error.code, Code::Unavailable),
        }
        if was_killed {
            break;
        }
        // A slow disk may make a running Redis seem unavailable; then the next ones are tried.
        tokio::task::yield_now().await;
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_killed_amid_registrations_loses_none_and_halves_none() {
    let mut server = Server::durable();
    let store = Arc::new(server.store().await);
    let mut all = JoinSet::new();
    let is_killed = Arc::new(AtomicBool::new(false));
    for task in 0..16 {
        all.spawn(register_until_killed(store.clone(), is_killed.clone(), task));
    }
    while store.find(HERE, &query(&json!({}), 1)).await.map_or(0, |page| page.total_count) < 500 {
        tokio::task::yield_now().await;
    }
    server.kill();
    is_killed.store(true, Ordering::SeqCst);
    let acknowledged = tokio::time::timeout(BOUND, all.join_all()).await.expect("one hangs");
    let acknowledged = acknowledged.concat();
    nothing_is_available(&store).await;
    server.restart();
    until_available(&store).await;
    let there: BTreeSet<_> = all_identities(&*store, HERE).await.into_iter().collect();
    assert!(there.len() >= 500);
    assert!(acknowledged.iter().all(|name| there.contains(name)), "one is lost");
    // Every identity is stored completely: in the hash, in the expiry set, and for other
    // coordinators.
    let count = |words: &[&str]| server.tell::<usize>(words);
    assert_eq!(count(&["HLEN", "registry:here:identities"]), there.len());
    assert_eq!(count(&["ZCARD", "registry:here:expiry"]), there.len());
    assert_eq!(count(&["XLEN", "registry:here:log"]), there.len());
    assert!(everything(&store).await.into_iter().all(|result| result.is_ok()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_is_away_until_it_goes_on() {
    let server = Server::start();
    let store = Arc::new(server.store().await);
    store.register(HERE, somebody("ada")).await.unwrap();
    assert!(is_there(&*store, "ada").await);
    server.freeze();
    let mut all = JoinSet::new();
    for number in 0..200 {
        let (store, wanted) = (store.clone(), somebody(&format!("asked-{number}")));
        all.spawn(async move { code(store.register(HERE, wanted).await) });
    }
    let codes = tokio::time::timeout(BOUND, all.join_all()).await.expect("one hangs");
    assert!(codes.into_iter().all(|code| code == Code::Unavailable));
    nothing_is_available(&store).await;
    server.thaw();
    until_available(&store).await;
    assert_eq!(figure(&*store, "registry_store_reloads_total"), 1, "it is still the same Redis");
    // An operation that failed by time-out may still be executed later, but then for every
    // coordinator.
    let other = server.store().await;
    let same = async {
        while all_identities(&*store, HERE).await != all_identities(&other, HERE).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, same).await.expect("two coordinators see different things");
    assert!(is_there(&*store, "ada").await);
    store.register(HERE, somebody("bob")).await.unwrap();
    assert!(is_there(&other, "bob").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_forgot_everything_is_believed() {
    let mut server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    one.open("another").await.unwrap();
    for name in ["ada", "bob"] {
        one.register(HERE, somebody(name)).await.unwrap();
        assert!(is_there(&other, name).await);
    }
    server.kill();
    server.restart();
    until_available(&one).await;
    until_available(&other).await;
    let all = query(&json!({}), 5);
    assert_eq!(code(other.find(HERE, &all).await), Code::UnknownNamespace);
    for name in ["cleo", "dan"] {
        one.register(HERE, somebody(name)).await.unwrap();
    }
    let them = ["cleo", "dan"].map(Arc::<str>::from);
    assert_eq!(all_identities(&one, HERE).await, them);
    assert_eq!(all_identities(&other, HERE).await, them);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_forgot_its_last_changes_is_believed() {
    let mut server = Server::start();
    let store = server.store().await;
    store.register(HERE, somebody("ada")).await.unwrap();
    server.tell::<()>(&["SAVE"]);
    store.register(HERE, somebody("bob")).await.unwrap();
    assert_eq!(all_identities(&store, HERE).await.len(), 2);
    server.kill();
    server.restart();
    // The same epoch, and as many entries as before: only the run shows that one is different.
    server.store().await.register(HERE, somebody("cleo")).await.unwrap();
    until_available(&store).await;
    assert_eq!(all_identities(&store, HERE).await, ["ada", "cleo"].map(Arc::<str>::from));
}

#[tokio::test]
async fn scripts_that_redis_forgot_are_given_again() {
    let server = Server::start();
    let store = server.store().await;
    store.register(HERE, somebody("ada")).await.unwrap();
    server.tell::<()>(&["SCRIPT", "FLUSH"]);
    store.register(HERE, somebody("bob")).await.unwrap();
    assert_eq!(all_identities(&store, HERE).await.len(), 2);
}
