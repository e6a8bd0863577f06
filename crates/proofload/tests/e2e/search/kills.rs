//! Killed processes: the service, its parts, its front.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
use serde_json::{Value, json};

use super::asking::{address, ask, first, json_of, search, try_ask};
use crate::lab::Lab;
use crate::lab::process::pid;
use crate::lab::server::{Served, bundled, bundled_at, free_port};

/// Rows to acknowledge before the service is killed.
const ACKNOWLEDGED: usize = 100;
/// Concurrent writers.
const CLIENTS: u64 = 4;
/// Time limit for a restart: a kill is noticed at once, and a loaded machine needs a margin.
const WITHIN: Duration = Duration::from_secs(20);

fn setting(key: &str, path: &Path) -> String {
    format!("{key}={}", path.display())
}

fn row(client: u64, number: u64) -> Value {
    json!({ "id": format!("w-{client}-{number}"), "text": format!("welder c{client} n{number}") })
}

/// Writes single rows and small batches until the service is gone; reports each acknowledged row.
fn write_until_killed(http: &str, client: u64, tell: &mpsc::Sender<(u64, u64)>) {
    for number in (0..).step_by(3) {
        let several = number % 2 == 0;
        let rows: Vec<u64> = if several { (number..number + 3).collect() } else { vec![number] };
        let body: String =
            rows.iter().map(|number| format!("{}\n", row(client, *number))).collect();
        match try_ask(http, "POST", "/v1/workers", &body) {
            Ok((200, _, body)) => {
                assert_eq!(json_of(&body)["accepted"], rows.len());
                rows.into_iter().for_each(|number| {
                    let _ = tell.send((client, number));
                });
            }
            Ok((status, _, body)) => panic!("{status}: {}", String::from_utf8_lossy(&body)),
            Err(_) => return,
        }
    }
}

/// After a kill during writes, acknowledged rows are found with their metadata.
fn assert_acknowledged_are_kept(folder: &Path) {
    let settings =
        [setting("path", folder), "dimension=64".to_owned(), "brute_force_below=50".into()];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let (served, ready) = bundled("search", &settings);
    let http = address(&ready, "http");
    let (tell, told) = mpsc::channel();
    let acknowledged: BTreeSet<(u64, u64)> = thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (http, tell) = (http.clone(), tell.clone());
            scope.spawn(move || write_until_killed(&http, client, &tell));
        }
        drop(tell);
        let first: Vec<_> = told.iter().take(ACKNOWLEDGED).collect();
        assert_eq!(first.len(), ACKNOWLEDGED, "the service went by itself");
        drop(served);
        first.into_iter().chain(told.iter()).collect()
    });
    let (_served, ready) = bundled("search", &settings);
    let http = address(&ready, "http");
    let rows = ready["effective"]["rows"].as_u64().expect("a number of rows");
    assert!(rows >= acknowledged.len() as u64, "{rows} of {}", acknowledged.len());
    assert!(rows <= acknowledged.len() as u64 + 3 * CLIENTS, "{rows} are there");
    for (client, number) in acknowledged {
        let row = row(client, number);
        let (status, answer) =
            search(&http, json!({ "query": row["text"], "k": 1, "exact": true }));
        assert_eq!(
            (status, first(&answer)),
            (200, row["id"].as_str().expect("a name")),
            "{answer}"
        );
        assert!(answer["results"][0]["metadata"].is_object(), "{answer}");
    }
}

#[test]
fn what_was_acknowledged_is_found_after_a_kill() {
    let rounds = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 20 } else { 1 };
    let lab = Lab::new();
    for round in 0..rounds {
        assert_acknowledged_are_kept(&lab.path(&format!("rows-{round}")));
    }
}

/// Checks that a search is refused in time, and that the error names the part and says when to retry.
fn assert_unavailable(http: &str, part: &str) {
    let begun = Instant::now();
    // A new text each time, because the cache answers known texts without the embedder.
    let query = format!("{begun:?}");
    let (status, head, body) =
        ask(http, "POST", "/v1/matrix/search", &json!({ "query": query }).to_string());
    assert!(begun.elapsed() < WITHIN, "{:?}", begun.elapsed());
    let told = json_of(&body);
    assert_eq!((status, &told["error"]["code"]), (503, &json!("UNAVAILABLE")), "{told}");
    assert!(head.contains("\r\nretry-after: 1"), "{head}");
    let what = told["error"]["message"].as_str().expect("a sentence");
    assert!(what.starts_with(&format!("the {part} at ")), "{what}");
    let (status, _, body) = ask(http, "GET", "/healthz", "");
    let body = String::from_utf8_lossy(&body).into_owned();
    assert!(status == 503 && body.contains(&format!("the {part} at ")), "{status}: {body}");
}

struct Apart {
    embedder: Served,
    index: Served,
    _service: Served,
    /// Addresses of embedder, index and service.
    at: [String; 3],
}

/// The service with its parts as separate processes.
fn apart(folder: &Path) -> Apart {
    let part = |system: &str, settings: &[&str]| {
        let at = format!("127.0.0.1:{}", free_port());
        (bundled_at(&at, system, settings).0, at)
    };
    let (embedder, embedder_at) = part("search-embedder", &["dimension=64"]);
    let (index, index_at) = part("search-index", &["dimension=64", &setting("path", folder)]);
    let parts = [format!("embedder=http://{embedder_at}"), format!("index=http://{index_at}")];
    let (service, ready) = bundled("search", &["workers=200", &parts[0], &parts[1]]);
    assert_eq!(ready["effective"]["rows"], 200);
    let at = [embedder_at, index_at, address(&ready, "http")];
    Apart { embedder, index, _service: service, at }
}

#[test]
fn a_killed_part_is_a_503_and_is_used_again_when_it_is_back() {
    let lab = Lab::new();
    let folder = lab.path("index");
    let Apart { embedder, index, _service, at: [embedder_at, index_at, http] } = apart(&folder);
    let query = json!({ "query": "forklift driver night shift", "k": 5 });
    let (status, before) = search(&http, query.clone());
    assert_eq!((status, before["results"].as_array().map(Vec::len)), (200, Some(5)));
    drop(index);
    assert_unavailable(&http, "index");
    let (status, _, body) = ask(&http, "POST", "/v1/workers", r#"{"id":"late","text":"x"}"#);
    assert_eq!(status, 503, "{}", String::from_utf8_lossy(&body));
    let settings = ["dimension=64", &setting("path", &folder)];
    let (_index, _) = bundled_at(&index_at, "search-index", &settings);
    let (status, after) = search(&http, query.clone());
    assert_eq!((status, &after["results"]), (200, &before["results"]), "{after}");
    assert_eq!(ask(&http, "GET", "/healthz", "").0, 200);
    drop(embedder);
    assert_unavailable(&http, "embedder");
    assert_eq!(search(&http, query).0, 200, "the cache knows this one");
    let (_embedder, _) = bundled_at(&embedder_at, "search-embedder", &["dimension=64"]);
    let (status, _) = search(&http, json!({ "query": "not known before" }));
    assert_eq!(status, 200);
    assert_eq!(ask(&http, "GET", "/healthz", "").0, 200);
}

/// Only the deadline detects a part that hangs.
#[test]
fn a_part_that_hangs_is_a_503_by_its_deadline() {
    let _lab = Lab::new();
    let (index, ready) = bundled("search-index", &["dimension=64"]);
    let at = format!("index=http://{}", address(&ready, "http"));
    let settings = ["workers=200", "dimension=64", "part_timeout=500ms", &at];
    let (_service, ready) = bundled("search", &settings);
    let http = address(&ready, "http");
    let query = json!({ "query": "forklift", "k": 5 });
    assert_eq!(search(&http, query.clone()).0, 200);
    kill_process(pid(&index.child), Signal::STOP).expect("signals");
    // SIGSTOP takes effect when the threads reach it; the kernel reports that like a child's end.
    waitpid(Some(pid(&index.child)), WaitOptions::UNTRACED).expect("a child");
    let (status, told) = search(&http, query.clone());
    let what = told["error"]["message"].as_str().expect("a sentence");
    assert!(status == 503 && what.ends_with("no answer within 500 ms"), "{told}");
    kill_process(pid(&index.child), Signal::CONT).expect("signals");
    // The first request after it continues may still fail because of older ones in its queue.
    let mut answers = (0..100).map(|_| search(&http, query.clone()));
    assert!(answers.any(|(status, _)| status == 200), "it is not used again");
}

#[test]
fn parts_that_do_not_fit_each_other_do_not_start() {
    let lab = Lab::new();
    let (_embedder, embedder) = bundled("search-embedder", &["dimension=64"]);
    let (_index, index) = bundled("search-index", &["dimension=32"]);
    let parts = [("embedder", &embedder), ("index", &index)]
        .map(|(key, ready)| format!("{key}=http://{}", address(ready, "http")));
    let ran = lab.proofload(&["serve", "search", "--set", &parts[0], "--set", &parts[1]]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("32 numbers, the embedder's 64"), "{}", ran.stderr);
}
