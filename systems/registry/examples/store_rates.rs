//! Measures operations per second of each store. For comparison, the same run measures the medium
//! itself: Redis through its client, and a file that is written and synced.
//!
//! `cargo run --release -p registry --example store_rates -- [redis://127.0.0.1:6379/0]`; it
//! deletes the data of that Redis. The figures hold for one machine and one moment; the ratios are
//! more general.

#![expect(clippy::unwrap_used, reason = "a failed measurement is a panic")]

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use filtering::{Bounds, Filter};
use registry::query::Query;
use registry::store::embedded::Embedded;
use registry::store::redis::Redis;
use registry::store::{Registration, Store};
use serde_json::json;
use tokio::task::JoinSet;

const NAMESPACE: &str = "rates";

/// Number of registered identities, and of concurrent operations.
const IDENTITIES: usize = 3_000;
const AT_ONCE: usize = 64;

/// Reads of each kind.
const READS: usize = 6_400;

#[tokio::main]
async fn main() {
    let folder = std::env::temp_dir().join(format!("store-rates-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    print("in memory");
    measure(Arc::new(Embedded::in_memory())).await;
    print("in a file");
    let synced = synced_writes(&folder.join("bare"));
    print(&format!("  bare: one write and sync after the other      {synced:>9.0}/s"));
    let ours = measure(Arc::new(Embedded::durable(&folder.join("file")).unwrap())).await;
    print(&format!("  registrations to bare writes                  {:>9.2}", ours / synced));
    std::fs::remove_dir_all(&folder).unwrap();
    if let Some(url) = std::env::args().nth(1) {
        print("in Redis");
        let bare = bare_redis(&url).await;
        print(&format!("  bare: HSET by {AT_ONCE} at a time                     {bare:>9.0}/s"));
        let ours = measure(Arc::new(Redis::connect(&url).await.unwrap())).await;
        print(&format!("  registrations to bare HSET                    {:>9.2}", ours / bare));
    }
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}

/// Prints the rates of a store; returns that of registrations.
async fn measure(store: Arc<impl Store>) -> f64 {
    let everybody = Filter::parse(&json!({"status": "online"}), Bounds::default()).unwrap();
    let filter = Filter::parse(&json!({"worker_id": 7}), Bounds::default()).unwrap();
    let query = Arc::new(Query { filter, sort_by: Vec::new(), limit: 20, cursor: None });
    let registrations = rate(IDENTITIES, &store, |store, number| async move {
        store.register(NAMESPACE, registration(number)).await.unwrap();
    });
    let registrations = registrations.await;
    print(&format!("  register                                      {registrations:>9.0}/s"));
    let gets = rate(READS, &store, |store, number| async move {
        let name = format!("user-{}", number % IDENTITIES);
        assert!(store.get(NAMESPACE, &name).await.unwrap().is_some());
    });
    print(&format!("  get                                           {:>9.0}/s", gets.await));
    let finds = rate(READS, &store, |store, _| {
        let query = query.clone();
        async move {
            assert_eq!(store.find(NAMESPACE, &query).await.unwrap().total_count, IDENTITIES / 100);
        }
    });
    print(&format!(
        "  find, 30 of {IDENTITIES} match                       {:>9.0}/s",
        finds.await
    ));
    let targets = rate(READS / 8, &store, |store, _| {
        let filter = everybody.clone();
        async move {
            assert_eq!(store.targets(NAMESPACE, &filter).await.unwrap().len(), IDENTITIES);
        }
    });
    print(&format!(
        "  targets, all {IDENTITIES} match                      {:>9.0}/s",
        targets.await
    ));
    for figure in store.figures() {
        print(&format!("  {:<45} {:>9}", figure.name, figure.value));
    }
    registrations
}

fn registration(number: usize) -> Registration {
    let metadata = json!({
        "status": "online", "loadtest": true, "timestamp": 1_763_700_000, "worker_id": number % 100,
    });
    Registration {
        name: format!("user-{number}").into(),
        metadata: metadata.as_object().unwrap().clone(),
        ttl_ms: Some(600_000),
        replace: false,
        quota: 1_000_000,
    }
}

/// Runs an operation this many times, some concurrently, and returns the rate per second.
async fn rate<S, F>(times: usize, shared: &Arc<S>, operation: impl Fn(Arc<S>, usize) -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let from = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..times {
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        running.spawn(operation(shared.clone(), number));
    }
    running.join_all().await;
    times as f64 / from.elapsed().as_secs_f64()
}

async fn bare_redis(url: &str) -> f64 {
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    redis::cmd("FLUSHALL").exec_async(&mut connection).await.unwrap();
    rate(IDENTITIES, &Arc::new(connection), |connection, number| async move {
        let value = json!(registration(number).metadata).to_string();
        let mut call = redis::cmd("HSET");
        call.arg("bare").arg(format!("user-{number}")).arg(value);
        call.exec_async(&mut (*connection).clone()).await.unwrap();
    })
    .await
}

fn synced_writes(path: &std::path::Path) -> f64 {
    let mut file = std::fs::File::create(path).unwrap();
    let from = Instant::now();
    for _ in 0..200 {
        file.write_all(&[b'x'; 4096]).unwrap();
        file.sync_data().unwrap();
    }
    200.0 / from.elapsed().as_secs_f64()
}
