use http_body_util::BodyExt;
use serving::metrics::Registry;

use super::*;
use crate::ledger::CountedStore;
use crate::store::discard::Discard;
use crate::store::fixtures::{TempFolder, send_to};
use crate::store::maildir::Maildir;
use crate::store::memory::Memory;
use crate::store::retained::{RetentionLimits, WhenFull};

const BOUNDS: RetentionLimits =
    RetentionLimits { messages: 2_000, bytes: 16 << 20, full: WhenFull::Oldest };

/// An HTTP API over an in-memory store.
struct TestApi {
    api: Arc<MailApi>,
    store: CountedStore<Memory>,
    stopper: serving::stop::Stopper,
}

impl TestApi {
    fn new() -> Self {
        let metrics = Registry::default();
        let (retained, ledger) = (RetainedMessages::new(BOUNDS, &metrics), Ledger::new(&metrics));
        let (stopper, stop) = Stop::pair();
        let store = CountedStore::new(Memory::new(retained.clone()), ledger.clone());
        Self { api: Arc::new(MailApi::new(ledger, Some(retained), stop)), store, stopper }
    }

    async fn receive(&self, recipients: &[&str], subject: &str) -> String {
        let content = format!("Subject: {subject}\r\nFrom: a@x\r\n\r\nhello\r\n");
        send_to(&self.store, recipients, content.as_bytes()).await.unwrap()
    }
}

async fn ask(api: &MailApi, method: &str, path: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).body(Bytes::new()).unwrap();
    let answer = api.handle(request).await;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn get(api: &MailApi, path: &str) -> Value {
    let (status, body) = ask(api, "GET", path).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn ids(page: &Value) -> Vec<&str> {
    page["messages"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn messages_are_listed_newest_first_page_by_page() {
    let test = TestApi::new();
    assert_eq!(get(&test.api, "/messages").await, json!({ "messages": [] }));
    for number in 0..600 {
        test.receive(&["b@y"], &format!("number {number}")).await;
    }
    let mut seen = Vec::new();
    let mut path = "/messages".to_owned();
    loop {
        let page = get(&test.api, &path).await;
        seen.extend(ids(&page).into_iter().map(|id| id.parse::<u64>().unwrap()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/messages?cursor={cursor}");
    }
    assert_eq!(seen, (1..=600).rev().collect::<Vec<u64>>());
    let page = get(&test.api, "/messages?limit=2").await;
    assert_eq!(page["messages"][0]["subject"], "number 599");
    assert_eq!(ids(&page), ["600", "599"]);
    let exact = get(&test.api, "/messages?limit=600").await;
    assert!(exact.get("next_cursor").is_none());
    let sparse = get(&test.api, "/messages?limit=1&subject=number%205").await;
    assert_eq!((ids(&sparse), &sparse["next_cursor"]), (vec!["600"], &json!("600")));
    let rest = get(&test.api, "/messages?cursor=600&subject=number%205&limit=1000").await;
    // 5, 50 to 59, and 500 to 598.
    assert_eq!(ids(&rest).len(), 1 + 10 + 99);
}

#[tokio::test]
async fn filters_hold_together() {
    let test = TestApi::new();
    test.receive(&["b@y"], "=?utf-8?q?Gr=C3=BC=C3=9Fe?= an alle").await;
    test.receive(&["c@z", "B@Y"], "another").await;
    let found = |path: &'static str| {
        let api = Arc::clone(&test.api);
        async move {
            let page = get(&api, path).await;
            ids(&page).join(" ")
        }
    };
    assert_eq!(found("/messages?to=b@Y").await, "2 1");
    assert_eq!(found("/messages?to=c%40z").await, "2");
    assert_eq!(found("/messages?to=b").await, "");
    assert_eq!(found("/messages?from=a@x&subject=GR%C3%9C").await, "1");
    assert_eq!(found("/messages?subject=another&to=b@y").await, "2");
    assert_eq!(found("/messages?subject=nothing").await, "");
    assert_eq!(found("/messages?from=").await, "");
}

#[tokio::test]
async fn a_message_is_shown_decoded_and_as_it_came() {
    let test = TestApi::new();
    let id = test.receive(&["b@y"], "=?utf-8?b?w6Q=?=").await;
    let shown = get(&test.api, &format!("/messages/{id}")).await;
    assert_eq!((&shown["subject"], &shown["text"]), (&json!("ä"), &json!("hello\r\n")));
    assert_eq!(shown["envelope"]["recipients"], json!(["b@y"]));
    assert_eq!(shown["envelope"]["client"], "client.example");
    let (status, raw) = ask(&test.api, "GET", &format!("/messages/{id}/raw")).await;
    assert_eq!(status, 200);
    assert_eq!(raw, "Subject: =?utf-8?b?w6Q=?=\r\nFrom: a@x\r\n\r\nhello\r\n");
    assert_eq!(ask(&test.api, "GET", "/messages/7").await.0, 404);
    assert_eq!(ask(&test.api, "GET", "/messages/7/raw").await.0, 404);
}

#[tokio::test]
async fn who_waits_is_answered_as_soon_as_the_message_is_there() {
    let test = TestApi::new();
    test.receive(&["other@y"], "x").await;
    let waiting = {
        let api = Arc::clone(&test.api);
        tokio::spawn(async move { get(&api, "/messages?wait=60s&to=b@y").await })
    };
    // Other messages wake the wait but do not end it.
    for _ in 0..3 {
        test.receive(&["other@y"], "x").await;
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished());
    let id = test.receive(&["b@y"], "x").await;
    let page = waiting.await.unwrap();
    assert_eq!(ids(&page), [id.as_str()]);
    let at_once = get(&test.api, "/messages?wait=60s&to=b@y").await;
    assert_eq!(at_once, page);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_its_time_or_with_the_server() {
    let test = TestApi::new();
    let begun = tokio::time::Instant::now();
    assert_eq!(get(&test.api, "/messages?wait=2s").await["messages"], json!([]));
    assert_eq!(begun.elapsed().as_secs(), 2);
    let waiting = {
        let api = Arc::clone(&test.api);
        tokio::spawn(async move { get(&api, "/messages?wait=60s").await })
    };
    tokio::task::yield_now().await;
    test.stopper.stop();
    assert_eq!(waiting.await.unwrap()["messages"], json!([]));
    assert!(begun.elapsed().as_secs() < 62);
}

#[tokio::test]
async fn all_are_taken_away_and_the_counts_stay() {
    let test = TestApi::new();
    for _ in 0..3 {
        test.receive(&["b@y", "c@z"], "x").await;
    }
    let counts = get(&test.api, "/counts").await;
    assert_eq!(
        (&counts["messages"], &counts["recipients"], &counts["kept"]),
        (&json!(3), &json!(6), &json!(3))
    );
    // A request for one recipient must not delete the messages of all others.
    assert_eq!(ask(&test.api, "DELETE", "/messages?to=b@y").await.0, 400);
    assert_eq!(get(&test.api, "/counts").await["kept"], 3);
    let (status, body) = ask(&test.api, "DELETE", "/messages").await;
    assert_eq!((status, body.as_str()), (200, "{\"removed\":3}"));
    assert_eq!(get(&test.api, "/messages").await["messages"], json!([]));
    let counts = get(&test.api, "/counts").await;
    assert_eq!((&counts["messages"], &counts["kept"]), (&json!(3), &json!(0)));
    assert_eq!(get(&test.api, "/observed").await["unexpected"], 3);
}

#[tokio::test]
async fn files_are_shown_and_removed_too() {
    let (place, metrics) = (TempFolder::new(), Registry::default());
    let (retained, ledger) = (RetainedMessages::new(BOUNDS, &metrics), Ledger::new(&metrics));
    let store = Maildir::open(place.path(), "mail.example", retained.clone(), &metrics).unwrap();
    let (_stopper, stop) = Stop::pair();
    let api = MailApi::new(ledger, Some(retained), stop);
    let content = b"Subject: in a file\r\n\r\nhello";
    let id = send_to(&store, &["b@y"], content).await.unwrap();
    let gone = send_to(&store, &["b@y"], content).await.unwrap();
    std::fs::remove_file(place.path().join("new").join(&gone)).unwrap();
    for path in ["/messages", "/messages?subject=file"] {
        let page = get(&api, path).await;
        assert_eq!(ids(&page), [id.as_str()], "{path}");
    }
    let (_, raw) = ask(&api, "GET", &format!("/messages/{id}/raw")).await;
    assert_eq!(raw.as_bytes(), content);
    assert_eq!(ask(&api, "GET", &format!("/messages/{gone}")).await.0, 404);
    assert_eq!(ask(&api, "GET", "/messages/..%2F..%2Fetc%2Fpasswd").await.0, 404);
    let (_, body) = ask(&api, "DELETE", "/messages").await;
    assert_eq!(body, "{\"removed\":1}");
    assert!(place.names("new").is_empty());
}

#[tokio::test]
async fn a_store_that_keeps_nothing_says_so_and_strange_paths_are_told_what_there_is() {
    let (_stopper, stop) = Stop::pair();
    let ledger = Ledger::new(&Registry::default());
    let store = CountedStore::new(Discard::default(), ledger.clone());
    let api = MailApi::new(ledger, None, stop);
    send_to(&store, &["b@y"], b"").await.unwrap();
    assert_eq!(get(&api, "/counts").await["messages"], 1);
    for path in ["/messages", "/messages/1", "/messages/1/raw"] {
        let (status, body) = ask(&api, "GET", path).await;
        assert_eq!(status, 409, "{body}");
        assert!(body.contains("store=memory"), "{body}");
    }
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/messages/1/2", 404),
        ("POST", "/messages", 405),
        ("DELETE", "/messages/1", 405),
        ("GET", "/messages?limit=x", 400),
    ] {
        let (json, body) = ask(&api, method, path).await;
        assert_eq!(json, status, "{method} {path}: {body}");
        assert!(body.starts_with("{\"error\":\""), "{body}");
    }
}
