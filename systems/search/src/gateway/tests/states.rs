//! What answers show while rows are written, and after writes that were refused.

use super::*;

/// A row whose text and metadata say the same.
fn row(id: &str, text: &str) -> String {
    json!({ "id": id, "text": text, "metadata": { "as": text } }).to_string()
}

impl TestGateway {
    fn index(&self) -> &BruteForceIndex {
        &self.gateway.0.parts.index.index
    }

    fn search_aside(&self, query: &str) -> tokio::task::JoinHandle<(u16, Value)> {
        let (stand, body) = (self.clone(), json!({ "query": query }));
        tokio::spawn(async move { stand.search(body).await })
    }

    fn ingest_aside(&self, parameters: &'static str, row: String) -> tokio::task::JoinHandle<u16> {
        let stand = self.clone();
        tokio::spawn(async move { stand.ingest(parameters, &row).await.0 })
    }

    async fn shown(&self, query: &str) -> Value {
        self.search(json!({ "query": query })).await.1["results"].take()
    }

    /// Nothing is kept of what was.
    fn assert_forgotten(&self) {
        assert_eq!(self.gateway.0.versions.count(), 0);
    }
}

/// A result that is the row of [`row`] as it was with this text, by its score for that text.
fn assert_is(hit: &Value, id: &str, text: &str) {
    assert_eq!((&hit["id"], &hit["metadata"]["as"]), (&json!(id), &json!(text)), "{hit}");
    assert!(hit["score"].as_f64().unwrap() > 0.999, "{hit}");
}

#[tokio::test]
async fn an_answer_shows_the_rows_that_it_found_whatever_is_written_meanwhile() {
    let stand = TestGateway::new();
    stand.ingest("", &row("a", "crane operator")).await;
    for write in ["replaced", "replaced again", "deleted"] {
        let (found, go) = stand.index().stop(StopPoint::Found);
        let searching = stand.search_aside("crane operator");
        found.await.unwrap();
        let status = match write {
            "deleted" => stand.ask("DELETE", "/v1/workers/a", "").await.0,
            _ => stand.ingest("", &row("a", write)).await.0,
        };
        assert_eq!(status, 200);
        go.send(()).unwrap();
        let (_, told) = searching.await.unwrap();
        assert_is(&told["results"][0], "a", "crane operator");
        assert_eq!(told.get("gone"), None);
        stand.assert_forgotten();
        if write != "deleted" {
            assert_is(&stand.shown(write).await[0], "a", write);
            stand.ingest("", &row("a", "crane operator")).await;
        }
    }
    assert_eq!(stand.shown("crane operator").await, json!([]));
}

#[tokio::test]
async fn a_write_is_shown_as_soon_as_the_index_has_it_and_not_before() {
    let stand = TestGateway::new();
    stand.ingest("", &row("a", "picker")).await;
    for (at, shows) in [(StopPoint::Asked, "picker"), (StopPoint::Written, "welder")] {
        let (stopped, go) = stand.index().stop(at);
        let writing = stand.ingest_aside("", row("a", "welder"));
        stopped.await.unwrap();
        assert_is(&stand.shown(shows).await[0], "a", shows);
        let (_, told) = stand.ask("GET", "/v1/workers/a", "").await;
        assert_eq!(told["text"], "picker", "nobody was told of another");
        go.send(()).unwrap();
        assert_eq!(writing.await.unwrap(), 200);
        assert_is(&stand.shown("welder").await[0], "a", "welder");
        assert_eq!(stand.ask("GET", "/v1/workers/a", "").await.1["text"], "welder");
        stand.ingest("", &row("a", "picker")).await;
    }
    stand.assert_forgotten();
}

#[tokio::test]
async fn what_was_dropped_meanwhile_is_left_out_and_counted() {
    let stand = TestGateway::new();
    stand.ingest("", &(row("a", "picker") + "\n" + &row("b", "picker"))).await;
    let (found, go) = stand.index().stop(StopPoint::Found);
    let searching = stand.search_aside("picker");
    found.await.unwrap();
    assert_eq!(stand.ingest("?drop=true", &row("b", "welder")).await.0, 200);
    go.send(()).unwrap();
    let (status, told) = searching.await.unwrap();
    assert_eq!((status, ids(&told), &told["gone"]), (200, vec!["b"], &json!(1)));
    assert_is(&told["results"][0], "b", "picker");
    stand.assert_forgotten();
}

#[tokio::test]
async fn what_the_index_refuses_was_never_there() {
    let stand = TestGateway::new();
    stand.ingest("", &row("a", "picker")).await;
    for is_away in [false, true] {
        *stand.index().is_away.lock().unwrap() = is_away;
        *stand.index().is_full.lock().unwrap() = !is_away;
        let body = row("a", "welder") + "\n" + &row("b", "loader") + "\n" + &row("a", "lasher");
        for parameters in ["", "?drop=true"] {
            let (status, _) = stand.ingest(parameters, &body).await;
            assert_eq!(status, if is_away { 503 } else { 413 });
        }
        let (status, _) = stand.ask("DELETE", "/v1/workers/a", "").await;
        assert_ne!(status, 200);
        assert_eq!(stand.ask("GET", "/v1/workers/a", "").await.1["text"], "picker");
        assert_eq!(stand.ask("GET", "/v1/workers/b", "").await.0, 404);
        assert_eq!(stand.gateway.0.parts.metadata.size().unwrap(), 1);
        *stand.index().is_away.lock().unwrap() = false;
        assert_is(&stand.shown("picker").await[0], "a", "picker");
    }
    *stand.index().is_full.lock().unwrap() = false;
    assert_eq!(stand.ingest("", &row("a", "welder")).await.0, 200);
    assert_is(&stand.shown("welder").await[0], "a", "welder");
    stand.assert_forgotten();
}

/// The index refuses a row, and the disk does not take back what is known about it.
#[tokio::test]
async fn what_could_not_be_taken_back_is_looked_past_until_the_row_is_written_again() {
    for next in ["write", "delete", "drop", "refused", "failed"] {
        let stand = TestGateway::new();
        let metadata = &stand.gateway.0.parts.metadata;
        stand.ingest("", &row("a", "picker")).await;
        *stand.index().is_full.lock().unwrap() = true;
        metadata.fail(&[false, true]);
        assert_eq!(stand.ingest("", &row("a", "welder")).await.0, 413);
        assert_eq!(stand.ask("GET", "/v1/workers/a", "").await.1["text"], "picker");
        assert_is(&stand.shown("picker").await[0], "a", "picker");
        *stand.index().is_full.lock().unwrap() = next == "refused";
        metadata.fail(&[next == "failed", next == "failed"]);
        let status = match next {
            "delete" => stand.ask("DELETE", "/v1/workers/a", "").await.0,
            "drop" => stand.ingest("?drop=true", &row("b", "lasher")).await.0,
            _ => stand.ingest("", &row("a", "lasher")).await.0,
        };
        let (found, told) = stand.ask("GET", "/v1/workers/a", "").await;
        let expected = match next {
            "write" => (200, 200, json!("lasher")),
            "delete" | "drop" => (200, 404, json!(null)),
            "refused" => (413, 200, json!("picker")),
            _ => (503, 200, json!("picker")),
        };
        assert_eq!((status, found, told["text"].clone()), expected, "{next}");
        if next == "failed" {
            assert_eq!(stand.ingest("", &row("a", "lasher")).await.0, 200);
        }
        stand.assert_forgotten();
    }
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_no_half_of_its_write() {
    let stand = TestGateway::new();
    stand.ingest("", &row("a", "picker")).await;
    let (stopped, go) = stand.index().stop(StopPoint::Asked);
    let writing = stand.ingest_aside("", row("a", "welder"));
    stopped.await.unwrap();
    writing.abort();
    assert!(writing.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    // The next write of the row waits for its turn.
    assert_eq!(stand.ingest("", &row("a", "lasher")).await.0, 200);
    assert_eq!(*stand.index().writes.lock().unwrap(), 3);
    assert_is(&stand.shown("lasher").await[0], "a", "lasher");
    stand.assert_forgotten();
}

#[tokio::test]
async fn an_index_that_has_lost_rows_is_no_longer_asked() {
    for first in ["health", "search", "write"] {
        let stand = TestGateway::with_rows(5).await;
        stand.index().lose_everything();
        let status = match first {
            "health" => stand.gateway.health().await.status().as_u16(),
            "search" => stand.search(json!({ "query": "picker" })).await.0,
            // After it the index has made as many writes as before.
            _ => stand.ingest("", &row("b", "picker")).await.0,
        };
        assert_eq!(status, 503, "{first}");
        let writes = *stand.index().writes.lock().unwrap();
        assert_eq!(stand.ingest("", &row("b", "picker")).await.0, 503);
        assert_eq!(*stand.index().writes.lock().unwrap(), writes, "it was not asked");
        let (status, told) = stand.search(json!({ "query": "picker" })).await;
        let message = told["error"]["message"].as_str().unwrap();
        assert!(status == 503 && message.starts_with("the index has lost rows"), "{message}");
        assert_eq!(stand.gateway.health().await.status(), 503);
        assert_eq!(stand.ask("GET", "/v1/workers/b", "").await.0, 404);
    }
}
