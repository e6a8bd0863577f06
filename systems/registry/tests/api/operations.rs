//! The effect of each operation.

use serde_json::json;

use crate::test_registry::TestRegistry;

#[test]
fn an_identity_is_registered_found_renewed_and_taken_out() {
    let house = TestRegistry::open();
    let sensor = json!({ "identity": "s/1", "ttl_seconds": 60, "metadata": { "battery": 0.5 } });
    let first = house.post("/v1/fleet/register", &sensor);
    assert_eq!(first.status, 200, "{}", first.body);
    let lives =
        first.body["expires_at"].as_u64().unwrap() - first.body["registered_at"].as_u64().unwrap();
    assert_eq!(lives, 60_000);
    let again = house.post("/v1/fleet/register", &sensor);
    assert_eq!(again.refusal(), (409, "ALREADY_EXISTS", "/identity"));
    let mut renewed = sensor.clone();
    renewed["replace"] = true.into();
    renewed["metadata"]["battery"] = 0.25.into();
    assert_eq!(house.post("/v1/fleet/register", &renewed).status, 200);
    let found = house.get("/v1/fleet/identities/s%2F1");
    assert_eq!(found.body["metadata"]["battery"], 0.25);
    for was_there in [true, false] {
        let gone = house.post("/v1/fleet/unregister", &json!({ "identity": "s/1" }));
        assert_eq!(gone.body["unregistered"], was_there);
    }
    assert_eq!(house.get("/v1/fleet/identities/s%2F1").refusal().1, "NOT_FOUND");
}

#[test]
fn one_thread_serves_all_of_it() {
    let house = TestRegistry::with(&[("threads", "1")]);
    assert_eq!(house.effective["threads"], 1);
    for name in ["a", "b"] {
        assert_eq!(house.post("/v1/n/register", &json!({ "identity": name })).status, 200);
    }
    let sent = house.post("/v1/n/multicast", &json!({ "payload": "hello" }));
    assert_eq!((sent.status, &sent.body["target_count"]), (200, &json!(2)), "{}", sent.body);
    assert_eq!(house.names("n"), ["a", "b"]);
}

#[test]
fn enumeration_counts_all_and_pages_through_each_once() {
    let house = TestRegistry::open();
    for number in 0..25 {
        let metadata = json!({ "number": number, "is_even": number % 2 == 0 });
        let body = json!({ "identity": format!("u{number:02}"), "metadata": metadata });
        assert_eq!(house.post("/v1/n/register", &body).status, 200);
    }
    let mut query = json!({ "filter": { "is_even": true }, "limit": 5,
        "sort_by": ["metadata.number desc"], "include_metadata": false });
    let mut seen = Vec::new();
    loop {
        let page = house.post("/v1/n/enumerate", &query).body;
        assert_eq!(page["total_count"], 13);
        for one in page["identities"].as_array().unwrap() {
            assert_eq!(one.get("metadata"), None);
            seen.push(one["identity"].as_str().unwrap().to_owned());
        }
        let Some(cursor) = page.get("next_cursor") else { break };
        query["cursor"] = cursor.clone();
    }
    let expected: Vec<String> =
        (0..25).rev().filter(|n| n % 2 == 0).map(|n| format!("u{n:02}")).collect();
    assert_eq!(seen, expected);
    query["filter"] = json!({});
    assert_eq!(house.post("/v1/n/enumerate", &query).refusal().1, "INVALID_CURSOR");
}

#[test]
fn a_subscription_is_ended_by_its_name_for_good() {
    let name = format!("registry-named-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let house = TestRegistry::with(&[("durable", folder.to_str().unwrap())]);
    house.post("/v1/n/register", &json!({ "identity": "a" }));
    let must = json!({ "semantics": "at_least_once", "timeout_ms": 200 });
    let pending = || house.post("/v1/n/multicast", &must).body["pending_count"].clone();
    let listen =
        || house.ask("GET", "/v1/n/subscribe/a?name=r", &["accept: text/event-stream"], b"");
    std::thread::scope(|scope| {
        let told = scope.spawn(listen);
        while pending() != 1 {}
        let ended = house.post("/v1/n/unsubscribe", &json!({ "name": "r" }));
        assert_eq!(ended.body["unsubscribed"], true, "{}", ended.body);
        assert_eq!(told.join().unwrap().status, 200, "the answer has an end");
    });
    let again = house.post("/v1/n/unsubscribe", &json!({ "name": "r" }));
    assert_eq!(again.body["unsubscribed"], false);
    assert_eq!(pending(), 0, "nothing waits for who does not come back");
    drop(house);
    std::fs::remove_dir_all(folder).unwrap();
}

/// With any limit, a page ends at its byte limit, and no identity is lost between pages.
#[test]
fn a_page_is_bounded_in_bytes_and_goes_on_behind_its_cursor() {
    let most = 4 << 10;
    let house = TestRegistry::with(&[("max_page_bytes", "4KiB")]);
    for number in 0..20 {
        // One identity alone is larger than a page may be.
        let size = if number == 7 { 3 * most } else { 1_000 };
        let metadata = json!({ "number": number, "fat": "x".repeat(size) });
        let body = json!({ "identity": format!("u{number:02}"), "metadata": metadata });
        assert_eq!(house.post("/v1/n/register", &body).status, 200);
    }
    for sort_by in [json!([]), json!(["metadata.number desc"])] {
        let mut query = json!({ "filter": {}, "limit": 10_000, "sort_by": sort_by });
        let (mut seen, mut pages) = (Vec::new(), 0);
        loop {
            let page = house.post("/v1/n/enumerate", &query).body;
            assert_eq!(page["total_count"], 20);
            let listed = page["identities"].as_array().unwrap();
            assert!(page.to_string().len() < most + 512 || listed.len() == 1);
            seen.extend(listed.iter().map(|one| one["identity"].as_str().unwrap().to_owned()));
            pages += 1;
            let Some(cursor) = page.get("next_cursor") else { break };
            query["cursor"] = cursor.clone();
        }
        seen.sort();
        assert_eq!(seen, (0..20).map(|n| format!("u{n:02}")).collect::<Vec<_>>());
        assert!(pages >= 7, "{pages} pages");
    }
    let bare = json!({ "limit": 20, "include_metadata": false });
    assert_eq!(house.post("/v1/n/enumerate", &bare).body.get("next_cursor"), None);
}

#[test]
fn a_multicast_says_what_became_of_each_target() {
    let house = TestRegistry::open();
    house.post("/v1/n/register", &json!({ "identity": "a", "metadata": { "on": true } }));
    house.post("/v1/n/register", &json!({ "identity": "b", "metadata": { "on": false } }));
    let message = json!({ "filter": { "on": true }, "payload": "hello", "statuses": true });
    let told = house.post("/v1/n/multicast", &message).body;
    assert_eq!((&told["target_count"], &told["failed_count"]), (&json!(1), &json!(1)));
    assert_eq!(told["statuses"][0]["identity"], "a");
    assert_eq!(told["statuses"][0]["status"], "FAILED");
    assert_eq!(told["statuses"][0]["reason"], "no subscriber");
    let nobody = json!({ "filter": { "on": "never" }, "payload": "hello" });
    assert_eq!(house.post("/v1/n/multicast", &nobody).body["target_count"], 0);
}

#[test]
fn a_schema_fills_in_and_keeps_out() {
    let house = TestRegistry::open();
    let schema = json!({ "fields": {
        "status": { "type": "string", "required": true, "index": true },
        "level": { "type": "integer", "default": 1 },
    } });
    let put = |schema: &serde_json::Value| {
        house.ask("PUT", "/v1/n/schema", &[], schema.to_string().as_bytes())
    };
    assert_eq!(house.get("/v1/n/schema").refusal().0, 404);
    assert_eq!(put(&schema).status, 200);
    assert_eq!(house.get("/v1/n/schema").body, schema);
    let good = json!({ "identity": "a", "metadata": { "status": "on" } });
    assert_eq!(house.post("/v1/n/register", &good).status, 200);
    assert_eq!(house.get("/v1/n/identities/a").body["metadata"]["level"], 1);
    let bad = json!({ "identity": "b", "metadata": { "level": 2 } });
    assert_eq!(house.post("/v1/n/register", &bad).refusal().1, "INVALID_METADATA");
    assert_eq!(
        put(&json!({ "fields": { "x": { "type": "colour" } } })).refusal().1,
        "INVALID_SCHEMA"
    );
    assert_eq!(house.get("/v1/n/schema").body, schema, "a refused schema changes nothing");
    assert_eq!(house.names("n"), ["a"]);
}

#[test]
fn what_it_counts_is_shown() {
    let house = TestRegistry::open();
    house.post("/v1/n/register", &json!({ "identity": "a" }));
    house.post("/v1/n/enumerate", &json!({}));
    house.post("/v1/n/multicast", &json!({ "payload": "x" }));
    let shown = house.get("/metrics").body;
    let shown = shown.as_str().unwrap();
    for line in [
        "registry_registrations_total 1",
        "registry_enumerate_seconds_count 1",
        "registry_deliveries_total{status=\"failed\"} 1",
        "registry_multicast_delivered_bucket{le=\"0\"} 1",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

#[test]
fn every_bound_that_is_set_is_in_force_and_shown() {
    let house = TestRegistry::with(&[
        ("max_namespaces", "2"),
        ("max_page_bytes", "1MiB"),
        ("max_stored", "5MiB"),
        ("max_bodies", "20MiB"),
    ]);
    let shown = |pointer: &str| house.effective.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(shown("/quotas/max_namespaces"), 2);
    assert_eq!(shown("/quotas/max_page_bytes"), 1 << 20);
    assert_eq!(shown("/parts/bus/all_stored_bytes"), 5 << 20);
    assert_eq!(shown("/limits/max_bodies_bytes"), 20 << 20);
    for (namespace, status) in [("a", 200), ("b", 200), ("c", 429), ("b", 200)] {
        let body = json!({ "identity": "x", "replace": true });
        let told = house.post(&format!("/v1/{namespace}/register"), &body);
        assert_eq!(told.status, status, "{namespace}: {}", told.body);
    }
    let schema = house.ask("PUT", "/v1/d/schema", &[], br#"{"fields":{}}"#);
    assert_eq!(schema.refusal().1, "QUOTA_EXCEEDED");
    let events = ["accept: text/event-stream"];
    let subscription = house.ask("GET", "/v1/e/subscribe/x", &events, b"");
    assert_eq!(subscription.refusal().1, "QUOTA_EXCEEDED");
}

#[test]
fn a_durable_registry_makes_its_folder_and_knows_after_a_restart_who_was_there() {
    let root = std::env::temp_dir().join(format!("registry-durable-{}", std::process::id()));
    let folder = root.join("not").join("there");
    let durable = [("durable", folder.to_str().unwrap())];
    let house = TestRegistry::with(&durable);
    assert_eq!(house.post("/v1/n/register", &json!({ "identity": "a" })).status, 200);
    drop(house);
    assert_eq!(TestRegistry::with(&durable).names("n"), ["a"]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_life_of_less_than_a_millisecond_is_not_one_for_ever() {
    let house = TestRegistry::open();
    let instants = |ttl: f64| {
        let told = house.post(
            "/v1/n/register",
            &json!({ "identity": "a", "ttl_seconds": ttl, "replace": true }),
        );
        (told.body["registered_at"].as_u64(), told.body["expires_at"].as_u64())
    };
    for brief in [1e-9, 0.0004, 0.001] {
        let (from, until) = instants(brief);
        assert_eq!(until, from.map(|from| from + 1), "{brief} s");
    }
    assert_eq!(instants(0.0).1, None, "0 is for ever");
}
