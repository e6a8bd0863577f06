//! Measures the cost of identities in memory: time to find ten of many, and bytes.
//!
//! `cargo run --release -p registry --example identities -- ROLE …`:
//!
//! - `find FEW MANY SECONDS` enumerates, by an indexed field, ten of FEW and ten of MANY in turn;
//! - `bytes COUNT` registers this many, with the workload's metadata and an index, and reports how
//!   much the process grew; `bytes-of-metadata COUNT` does the same for their metadata alone.
//!
//! Each writes a line of JSON. `benchmarks/run --only registry` combines them.

#![expect(clippy::unwrap_used, reason = "a failed measurement is a panic")]

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use filtering::{Bounds, Filter};
use registry::query::Query;
use registry::store::embedded::Embedded;
use registry::store::{Registration, Store, StoredSchema};
use serde_json::{Map, Value, json};

/// Identities that each enumeration finds.
const FOUND: usize = 10;

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1);
    let role = words.next().expect("find, bytes or bytes-of-metadata");
    let mut count = || words.next().expect("a number").parse::<usize>().unwrap();
    let line = match role.as_str() {
        "find" => {
            let sizes = [count(), count()];
            find(sizes, Duration::from_secs(count() as u64)).await
        }
        "bytes" => {
            let (count, before) = (count(), resident());
            let store = Embedded::in_memory();
            fill(&store, "many", count).await;
            json!({ "bytes": resident() - before, "identities": count })
        }
        "bytes-of-metadata" => {
            let (count, before) = (count(), resident());
            let all: Vec<_> = (0..count).map(|number| metadata(number, count)).collect();
            json!({ "bytes": resident() - before, "identities": all.len() })
        }
        _ => panic!("find, bytes or bytes-of-metadata"),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// The workload's metadata, and a field that groups of ten share.
fn metadata(number: usize, count: usize) -> Map<String, Value> {
    let json = json!({
        "status": "online", "loadtest": true, "timestamp": 1_763_700_000_000_u64 + number as u64,
        "worker_id": number % 100, "group": number % (count / FOUND),
    });
    json.as_object().unwrap().clone()
}

async fn fill(store: &Embedded, namespace: &str, count: usize) {
    let schema = json!({ "fields": { "group": { "type": "integer", "index": true } } });
    let schema = StoredSchema { schema: Some(Arc::new(schema)), indexes: vec!["group".into()] };
    store.put_schema(namespace, schema).await.unwrap();
    for number in 0..count {
        let registration = Registration {
            name: format!("loadtest-user-{number}").into(),
            metadata: metadata(number, count),
            ttl_ms: Some(3_600_000),
            replace: false,
            quota: 0,
        };
        store.register(namespace, registration).await.unwrap();
    }
}

async fn find(sizes: [usize; 2], length: Duration) -> Value {
    let store = Embedded::in_memory();
    for size in sizes {
        fill(&store, &size.to_string(), size).await;
    }
    let mut times = [Vec::new(), Vec::new()];
    let begin = Instant::now();
    for turn in 0.. {
        if begin.elapsed() >= length {
            break;
        }
        for (size, times) in sizes.iter().zip(&mut times) {
            let filter = json!({ "group": turn * 7 % (size / FOUND) });
            let filter = Filter::parse(&filter, Bounds::default()).unwrap();
            let query = Query { filter, sort_by: Vec::new(), limit: 100, cursor: None };
            let namespace = size.to_string();
            let start = Instant::now();
            let page = store.find(&namespace, &query).await.unwrap();
            times.push(start.elapsed());
            assert_eq!(page.total_count, FOUND);
        }
    }
    let outcomes = sizes.iter().zip(&mut times).map(|(size, times)| {
        times.sort();
        let us = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
        let (median, p99) = (us(50), us(99));
        json!({ "identities": size, "times": times.len(), "median_us": median, "p99_us": p99 })
    });
    outcomes.collect()
}
