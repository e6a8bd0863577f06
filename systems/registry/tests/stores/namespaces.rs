//! The limit of namespaces.

use std::collections::BTreeSet;
use std::sync::Arc;

use registry::api_error::Code;
use registry::store::Store;
use registry::store::embedded::{Embedded, Settings};
use tokio::task::JoinSet;

use crate::requests::*;
use crate::server::Server;
use crate::temp_folder::TempFolder;

const MOST: u64 = 5;

/// Each store belongs to one coordinator; both share their data.
async fn there_may_be_so_many(stores: [Arc<impl Store>; 2]) {
    let [store, other] = &stores;
    store.register("a", somebody("ada")).await.unwrap();
    other.open("b").await.unwrap();
    store.put_schema("c", stored(Arc::default(), &[])).await.unwrap();
    // Many new ones at once, some of which may share a commit: each could be the last allowed one.
    let mut all = JoinSet::new();
    for number in 0..40 {
        let store = stores[number % 2].clone();
        let namespace = format!("n{number}");
        all.spawn(async move { store.register(&namespace, somebody("ada")).await });
    }
    let results = all.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 2);
    assert!(results.into_iter().filter(Result::is_err).all(|it| code(it) == Code::QuotaExceeded));
    // Refused ones left nothing behind, and existing ones still work.
    let there: BTreeSet<_> = store.counts().into_iter().map(|(namespace, _)| namespace).collect();
    assert!(there.len() as u64 <= MOST, "{there:?}");
    assert_eq!(code(store.register("d", somebody("ada")).await), Code::QuotaExceeded);
    assert_eq!(code(other.open("d").await), Code::QuotaExceeded);
    let schema = stored(Arc::default(), &[]);
    assert_eq!(code(store.put_schema("d", schema).await), Code::QuotaExceeded);
    let all_identities = query(&serde_json::json!({}), 1);
    assert_eq!(code(other.find("d", &all_identities).await), Code::UnknownNamespace);
    for namespace in ["a", "b", "c"] {
        other.register(namespace, somebody("bob")).await.unwrap();
        store.open(namespace).await.unwrap();
        store.put_schema(namespace, stored(Arc::default(), &[])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_memory() {
    let settings = Settings { namespaces: MOST, ..Settings::default() };
    let store = Arc::new(Embedded::open(settings).unwrap());
    there_may_be_so_many([store.clone(), store]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_file() {
    let temp_folder = TempFolder::new("namespaces");
    let file = Some(temp_folder.path("file"));
    let settings = Settings { file, namespaces: MOST, ..Settings::default() };
    let store = Arc::new(Embedded::open(settings.clone()).unwrap());
    there_may_be_so_many([store.clone(), store]).await;
    // Namespaces in the file count, too.
    let again = Embedded::open(settings).unwrap();
    assert_eq!(again.counts().len() as u64, MOST);
    assert_eq!(code(again.open("one-more").await), Code::QuotaExceeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_redis() {
    let server = Server::start();
    let (one, other) = (server.store().await, server.store().await);
    there_may_be_so_many([one, other].map(|store| Arc::new(store.with_at_most(MOST)))).await;
    assert_eq!(server.tell::<u64>(&["SCARD", "registry:namespaces"]), MOST);
    // A coordinator with another limit uses its own.
    server.store().await.open("one-more").await.unwrap();
}
