//! Searches: what is found, told, sampled and refused.

use super::*;

#[tokio::test]
async fn a_query_finds_the_row_that_it_was_planted_for() {
    let stand = TestGateway::with_rows(200).await;
    for planted in corpus::queries(1, 20, 200) {
        let (status, told) = stand.search(json!({ "query": planted.query })).await;
        assert_eq!(status, 200, "{told}");
        assert_eq!(ids(&told).first(), Some(&&*planted.id), "{}", planted.query);
        assert_eq!((ids(&told).len(), &told["index_size"]), (10, &json!(200)));
        let row = (0..200).map(|n| corpus::row(1, n)).find(|row| row.id == planted.id).unwrap();
        assert_eq!(told["results"][0]["metadata"], Value::Object(row.metadata));
        assert_eq!((&told["cache"], &told["sequence"]), (&json!("miss"), &json!(1)));
        let scores: Vec<f64> = told["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["score"].as_f64().unwrap())
            .collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        let (_, again) =
            stand.search(json!({ "query": planted.query, "include_metadata": false })).await;
        assert_eq!((&again["cache"], ids(&again)), (&json!("hit"), ids(&told)));
        assert_eq!(again["results"][0].get("metadata"), None);
    }
}

#[tokio::test]
async fn the_parts_times_stand_in_the_header_and_the_body() {
    let stand = TestGateway::with_rows(20).await;
    let body = json!({ "query": "forklift" }).to_string();
    let (answer, told) = stand.answer("POST", "/v1/matrix/search", "application/json", &body).await;
    let header = answer.headers()["server-timing"].to_str().unwrap();
    let metrics: Vec<(&str, f64)> = header
        .split(", ")
        .map(|metric| metric.split_once(";dur=").unwrap())
        .map(|(name, dur)| (name, dur.parse().unwrap()))
        .collect();
    let names: Vec<&str> = metrics.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["embed", "search", "join", "gateway"]);
    for ((_, dur_ms), key) in metrics.iter().zip(["embed", "search", "join", "total"]) {
        let took_us = told["took_us"][key].as_f64().unwrap();
        assert!((took_us - dur_ms * 1e3).abs() < 1e-6, "{key}: {took_us} and {dur_ms}");
    }
    let parts: f64 = metrics[..3].iter().map(|(_, dur_ms)| dur_ms).sum();
    assert!(parts > 0.0 && parts <= metrics[3].1, "{header}");
}

#[tokio::test]
async fn a_vector_is_looked_for_as_it_is_and_exact_searches_look_back() {
    let stand = TestGateway::with_rows(50).await;
    let vector = Hashed::new(64, 1).unwrap().vector("CNC night shift").unwrap();
    let (_, by_text) = stand.search(json!({ "query": "CNC night shift", "k": 5 })).await;
    let longer: Vec<f32> = vector.iter().map(|number| number * 3.0).collect();
    let (_, by_vector) = stand.search(json!({ "vector": longer, "k": 5 })).await;
    assert_eq!((ids(&by_vector), &by_vector["cache"]), (ids(&by_text), &Value::Null));
    stand.ingest("", r#"{"id":"new","text":"CNC night shift"}"#).await;
    let (_, now) = stand.search(json!({ "vector": vector, "k": 5 })).await;
    assert_eq!((ids(&now)[0], &now["sequence"]), ("new", &json!(2)));
    let (_, before) =
        stand.search(json!({ "vector": vector, "k": 5, "exact": true, "as_of": 1 })).await;
    assert_eq!(ids(&before), ids(&by_text));
}

#[tokio::test]
async fn bad_input_has_its_status_code_and_place() {
    let stand = TestGateway::with_rows(5).await;
    for (body, status, code, at) in [
        (json!({ "query": "a", "k": 0 }), 400, "INVALID_REQUEST", "/k"),
        (json!({ "query": "a", "k": 1_000_000_000 }), 400, "INVALID_REQUEST", "/k"),
        (json!({ "query": "" }), 400, "INVALID_QUERY", "/query"),
        (json!({ "query": "?! -" }), 400, "INVALID_QUERY", "/query"),
        (json!({ "query": "long ".repeat(1 << 20) }), 400, "INVALID_QUERY", "/query"),
        (json!({ "vector": [1.0] }), 400, "INVALID_VECTOR", "/vector"),
        (json!({ "query": "a", "nonsense": 1 }), 400, "INVALID_REQUEST", "/nonsense"),
    ] {
        let (told_status, told) = stand.search(body).await;
        assert_eq!((told_status, error(&told)), (status, (code, at)), "{told}");
    }
    for body in ["", "[]", "{\"query\":", "\u{0}"] {
        let (status, told) = stand.ask("POST", "/v1/matrix/search", body).await;
        assert_eq!((status, error(&told).0), (400, "INVALID_REQUEST"), "{body:?}: {told}");
    }
    let (status, told) = stand.search(json!({ "query": "", "k": 0 })).await;
    let others = told["others"].as_array().unwrap();
    assert_eq!((status, error(&told).1, others.len()), (400, "/query", 1));
    assert_eq!(others[0]["at"], "/k");
    for (method, path, status) in [
        ("GET", "/v1/matrix/search", 404),
        ("POST", "/v2/matrix/search", 404),
        ("POST", "/v1/matrix/search?k=3", 400),
    ] {
        assert_eq!(stand.ask(method, path, "{}").await.0, status, "{method} {path}");
    }
}

#[tokio::test]
async fn a_part_that_is_away_is_a_503_that_names_it_and_it_comes_back() {
    let stand = TestGateway::with_rows(5).await;
    *stand.gateway.0.parts.index.index.is_away.lock().unwrap() = true;
    let body = json!({ "query": "forklift" }).to_string();
    let (answer, told) = stand.answer("POST", "/v1/matrix/search", "application/json", &body).await;
    assert_eq!((answer.status().as_u16(), error(&told).0), (503, "UNAVAILABLE"));
    assert_eq!(answer.headers()[RETRY_AFTER], "1");
    let (status, _) = stand.ingest("", r#"{"id":"a","text":"x"}"#).await;
    assert_eq!(status, 503);
    let mut health = stand.gateway.health().await;
    let text = health.body_mut().collect().await.unwrap().to_bytes();
    assert_eq!(health.status(), 503);
    assert!(std::str::from_utf8(&text).unwrap().contains("the index is away"), "{text:?}");
    *stand.gateway.0.parts.index.index.is_away.lock().unwrap() = false;
    assert_eq!(stand.gateway.health().await.status(), 200);
    assert_eq!(stand.search(json!({ "query": "forklift" })).await.0, 200);
}

#[tokio::test]
async fn every_so_manieth_answer_is_kept_with_what_was_found() {
    let stand = TestGateway::with_rows(30).await;
    for query in ["forklift", "CNC", "picker", "loader"] {
        stand.search(json!({ "query": query, "k": 3 })).await;
    }
    stand.search(json!({ "query": "exact ones are not judged", "exact": true })).await;
    let (status, told) = stand.ask("GET", "/v1/samples", "").await;
    assert_eq!(status, 200);
    let sampled: samples::Sampled = serde_json::from_value(told).unwrap();
    assert_eq!((sampled.seen, sampled.every, sampled.taken), (4, 2, 2));
    let queries: Vec<_> = sampled.samples.iter().map(|one| one.query.as_deref().unwrap()).collect();
    assert_eq!(queries, ["forklift", "picker"]);
    let (_, again) = stand.search(json!({ "query": "picker", "k": 3 })).await;
    let kept: Vec<&str> = sampled.samples[1].nearest.iter().map(|near| &*near.id).collect();
    assert_eq!((kept, sampled.samples[1].sequence), (ids(&again), 1));
}

#[tokio::test]
async fn requests_times_and_hits_are_counted() {
    let stand = TestGateway::with_rows(5).await;
    for body in [json!({ "query": "a" }), json!({ "query": "a" }), json!({ "query": "a", "k": 0 })]
    {
        stand.search(body).await;
    }
    stand.gateway.measure().await;
    let text = stand.registry.render();
    for line in [
        r#"search_requests_total{operation="search",outcome="ok"} 2"#,
        r#"search_requests_total{operation="search",outcome="refused"} 1"#,
        r#"search_requests_total{operation="ingest",outcome="ok"} 1"#,
        r#"search_cache_total{found="hit"} 1"#,
        r#"search_cache_total{found="miss"} 1"#,
        r#"search_rows_total{what="accepted"} 5"#,
        "search_index_rows 5",
        "search_seconds_count 2",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}
