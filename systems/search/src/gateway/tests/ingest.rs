//! Rows: taken, refused by place, replaced, deleted, dropped.

use super::*;

#[tokio::test]
async fn what_was_taken_is_found_and_shown() {
    let stand = TestGateway::new();
    let rows = r#"{"rows":[{"id":"a/b","text":"welder","metadata":{"city":"Ulm"}},{"id":"c","metadata":{"role":"picker"}}]}"#;
    let (status, told) = stand.ask("POST", "/v1/workers", rows).await;
    let expect = json!({ "accepted": 2, "deleted": 0, "refused": [], "refused_count": 0,
                         "index_size": 2, "sequence": 1 });
    assert_eq!((status, told), (200, expect));
    let (_, found) = stand.search(json!({ "query": "welder", "k": 1 })).await;
    assert_eq!(found["results"][0]["metadata"], json!({ "city": "Ulm" }));
    let (status, row) = stand.ask("GET", "/v1/workers/a%2Fb", "").await;
    let expect = json!({ "id": "a/b", "text": "welder", "metadata": { "city": "Ulm" } });
    assert_eq!((status, row), (200, expect));
    assert_eq!(stand.ask("GET", "/v1/workers/c", "").await.1["text"], "picker");
    let (status, told) = stand.ask("GET", "/v1/workers/x", "").await;
    assert_eq!((status, error(&told).0), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn the_bad_lines_are_named_and_the_others_taken_unless_all_are_wanted() {
    let stand = TestGateway::new();
    let mut all: Vec<String> =
        lines(corpus::rows(1, 0..10_000)).lines().map(String::from).collect();
    all[4_998] = r#"{"id":"w","text":"x""#.to_owned();
    all[7_000] = r#"{"id":"v","vector":[1,2]}"#.to_owned();
    all[8_000] = r#"{"id":"u","text":"?!"}"#.to_owned();
    all[9_000] = r#"{"id":"t","text":"x","extra":1}"#.to_owned();
    let body = all.join("\n");
    let (status, told) = stand.ingest("?all_or_nothing=true", &body).await;
    assert_eq!((status, error(&told).0), (400, "INVALID_ROW"));
    assert_eq!((&told["accepted"], &told["index_size"]), (&json!(0), &json!(0)));
    assert_eq!(stand.gateway.0.parts.metadata.size().unwrap(), 0);
    let (status, told) = stand.ingest("", &body).await;
    assert_eq!(
        (status, &told["accepted"], &told["refused_count"]),
        (200, &json!(9_996), &json!(4))
    );
    let mut places: Vec<_> = told["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (one["line"].as_u64().unwrap(), one["code"].as_str().unwrap(), one["at"].as_str())
        })
        .collect();
    places.sort_unstable();
    assert_eq!(
        places,
        [
            (4_999, "INVALID_ROW", None),
            (7_001, "INVALID_VECTOR", Some("/vector")),
            (8_001, "INVALID_ROW", Some("/text")),
            (9_001, "INVALID_ROW", Some("/extra")),
        ]
    );
    assert_eq!(told["index_size"], 9_996);
}

#[tokio::test]
async fn all_bad_is_an_error() {
    let stand = TestGateway::new();
    let (status, told) = stand.ingest("", "x\ny\n").await;
    assert_eq!((status, error(&told).0, &told["refused_count"]), (400, "INVALID_ROW", &json!(2)));
    let (status, told) = stand.ask("POST", "/v1/workers", r#"{"rows":[{"id":7}]}"#).await;
    assert_eq!((status, error(&told).1), (400, "/rows/0/id"));
    for (parameters, body) in [("?drop=maybe", "{}"), ("?dorp=true", "{}"), ("", "")] {
        let (status, told) = stand.ingest(parameters, body).await;
        assert_eq!((status, error(&told).0), (400, "INVALID_REQUEST"), "{parameters}");
    }
}

#[tokio::test]
async fn rows_are_replaced_deleted_and_dropped() {
    let stand = TestGateway::with_rows(20).await;
    stand.ingest("", r#"{"id":"w-0000003","text":"zeppelin"}"#).await;
    let (_, found) = stand.search(json!({ "query": "zeppelin", "k": 1 })).await;
    assert_eq!((ids(&found), &found["index_size"]), (vec!["w-0000003"], &json!(20)));
    for expect in [1, 0] {
        let (status, told) = stand.ask("DELETE", "/v1/workers/w-0000003", "").await;
        assert_eq!(
            (status, &told["deleted"], &told["index_size"]),
            (200, &json!(expect), &json!(19))
        );
    }
    assert_eq!(stand.ask("GET", "/v1/workers/w-0000003", "").await.0, 404);
    let body = r#"{"delete":["w-0000001","nobody"]}"#;
    let (_, told) = stand.ask("POST", "/v1/workers", body).await;
    assert_eq!((&told["deleted"], &told["index_size"]), (&json!(1), &json!(18)));
    let (_, told) = stand.ingest("?drop=true", &lines(corpus::rows(1, 5..8))).await;
    assert_eq!((&told["accepted"], &told["index_size"]), (&json!(3), &json!(3)));
    assert_eq!(stand.gateway.0.parts.metadata.size().unwrap(), 3);
    let (_, told) = stand.ask("POST", "/v1/workers", r#"{"drop":true}"#).await;
    assert_eq!(
        (&told["index_size"], stand.gateway.0.parts.metadata.size().unwrap()),
        (&json!(0), 0)
    );
    let (status, found) = stand.search(json!({ "query": "zeppelin" })).await;
    assert_eq!((status, ids(&found).len()), (200, 0));
}

#[tokio::test]
async fn bulks_do_not_displace_what_the_cache_knows() {
    let stand = TestGateway::with_rows(5).await;
    stand.search(json!({ "query": "forklift" })).await;
    stand.ingest("", &lines(corpus::rows(2, 0..500))).await;
    let (_, told) = stand.search(json!({ "query": "forklift" })).await;
    assert_eq!(told["cache"], "hit");
}

#[tokio::test]
async fn a_media_type_is_told_by_its_name_in_whatever_case() {
    let stand = TestGateway::new();
    let body = "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"y\"}";
    for (media, status) in [
        ("application/x-ndjson", 200),
        ("Application/X-NDJSON; charset=utf-8", 200),
        ("application/jsonl ;a=b", 200),
        ("application/json; note=ndjson", 400),
        ("application/json", 400),
    ] {
        let (answer, told) = stand.answer("POST", "/v1/workers", media, body).await;
        assert_eq!(answer.status(), status, "{media}: {told}");
    }
}
