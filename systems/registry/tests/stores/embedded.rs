//! The embedded store's file.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use registry::api_error::Code;
use registry::identity;
use registry::store::embedded::Embedded;
use registry::store::{Registration, Store};
use serde_json::json;
use tokio::task::JoinSet;

use crate::requests::*;
use crate::temp_folder::TempFolder;

#[tokio::test]
async fn a_store_that_is_opened_again_knows_everything() {
    let temp_folder = TempFolder::new("again");
    let path = temp_folder.path("file");
    let store = Embedded::durable(&path).unwrap();
    let mortal = Registration { ttl_ms: Some(600_000), ..with("ada", &json!({"n": [1, 2.5]})) };
    let ada = store.register(HERE, mortal).await.unwrap();
    store.register(HERE, somebody("bob")).await.unwrap();
    store.unregister(HERE, "bob").await.unwrap();
    store.register("there", Registration { ttl_ms: Some(0), ..somebody("cleo") }).await.unwrap();
    store.expire(identity::now()).await.unwrap();
    store.open("empty").await.unwrap();
    let schema = Arc::new(json!({"fields": {}}));
    store.put_schema(HERE, stored(schema.clone(), &["n"])).await.unwrap();
    let counts = store.counts();
    drop(store);
    let store = Embedded::durable(&path).unwrap();
    assert_eq!(store.get(HERE, "ada").await.unwrap(), Some(ada));
    assert_eq!(store.counts(), counts);
    assert_eq!(counts, [("empty".into(), 0), (HERE.into(), 1), ("there".into(), 0)]);
    assert_eq!(store.schema(HERE).await.unwrap(), Some(schema));
    assert_eq!(store.schema("empty").await.unwrap(), None);
    assert_eq!(store.expire(identity::now()).await.unwrap(), []);
}

#[tokio::test]
async fn a_file_has_one_store_and_must_be_one() {
    let temp_folder = TempFolder::new("one");
    let path = temp_folder.path("file");
    let store = Embedded::durable(&path).unwrap();
    assert_eq!(code(Embedded::durable(&path)), Code::Unavailable);
    drop(store);
    std::fs::write(&path, "something else").unwrap();
    assert_eq!(code(Embedded::durable(&path)), Code::Unavailable);
    assert_eq!(code(Embedded::durable(&temp_folder.path("no/folder"))), Code::Unavailable);
}

#[tokio::test]
async fn many_at_once_share_a_commit() {
    let temp_folder = TempFolder::new("shared");
    let store = Arc::new(Embedded::durable(&temp_folder.path("file")).unwrap());
    let mut all = JoinSet::new();
    for number in 0..500 {
        let (store, wanted) = (store.clone(), somebody(&format!("user-{number}")));
        all.spawn(async move { store.register(HERE, wanted).await.unwrap() });
    }
    all.join_all().await;
    let commits = figure(&*store, "registry_store_commits_total");
    assert_eq!(figure(&*store, "registry_store_committed_changes_total"), 500);
    assert!(commits < 250, "{commits} commits for 500 registrations");
}

/// The environment variable with the file's path, for a child process of the test.
const FILE: &str = "PROOFLOAD_TEST_STORE_FILE";

/// The child process: registers identities and prints acknowledgements, until it is killed.
async fn register_for_ever(path: &Path) {
    let store = Arc::new(Embedded::durable(path).unwrap());
    let mut all = JoinSet::new();
    for task in 0..32 {
        let store = store.clone();
        all.spawn(async move {
            for number in 0.. {
                let name = format!("user-{}-{task}-{number}", std::process::id());
                store.register(HERE, with(&name, &json!({"of": name}))).await.unwrap();
                // One write per line, so that the last line is complete.
                std::io::stdout().write_all(format!("ack {name}\n").as_bytes()).unwrap();
            }
        });
    }
    all.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_killed_amid_registrations_loses_none() {
    if let Some(path) = std::env::var_os(FILE) {
        return register_for_ever(Path::new(&path)).await;
    }
    let temp_folder = TempFolder::new("killed");
    let path = temp_folder.path("file");
    let mut acknowledged = BTreeSet::new();
    // Several rounds on the same file, because a store must also start from what a crash left.
    for round in 1..=3 {
        let before = acknowledged.len();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "embedded::a_store_killed_amid_registrations_loses_none"])
            .args(["--nocapture", "--quiet"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            let name = line.strip_prefix("ack ").map(Arc::<str>::from);
            acknowledged.extend(name);
            if acknowledged.len() == before + 300 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(acknowledged.len() >= before + 300, "round {round} ended before it was killed");
        let store = Embedded::durable(&path).unwrap();
        let there: BTreeSet<_> = all_identities(&store, HERE).await.into_iter().collect();
        assert_eq!(acknowledged.difference(&there).count(), 0, "round {round} lost somebody");
        for name in &there {
            let found = store.get(HERE, name).await.unwrap().unwrap();
            assert_eq!(found.metadata["of"], **name);
        }
    }
}
