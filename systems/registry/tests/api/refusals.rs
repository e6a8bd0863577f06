//! Bad requests: each refused with its code and place, and nothing changed.

use serde_json::{Value, json};

use crate::test_registry::TestRegistry;

#[test]
fn bad_bodies_are_refused_with_code_and_place() {
    let house = TestRegistry::open();
    house.post("/v1/n/register", &json!({ "identity": "kept" }));
    let deep = (0..9).fold(json!({ "a": 1 }), |inner, _| json!({ "$and": [inner] }));
    let wide: Vec<Value> = (0..30).map(|n| json!({ "a": n })).collect();
    let control = format!("a{}b", '\u{7}');
    let long = "n".repeat(300);
    let cases: [(&str, Value, u16, &str, &str); 20] = [
        ("register", json!({}), 400, "INVALID_REQUEST", ""),
        ("register", json!([]), 400, "INVALID_REQUEST", ""),
        ("register", json!(["a", {}, 60, false]), 400, "INVALID_REQUEST", ""),
        ("unregister", json!(["kept"]), 400, "INVALID_REQUEST", ""),
        ("ack", json!([["d-1"]]), 400, "INVALID_REQUEST", ""),
        ("register", json!({ "identity": 7 }), 400, "INVALID_REQUEST", "/identity"),
        ("register", json!({ "identity": control }), 400, "INVALID_IDENTITY", "/identity"),
        ("register", json!({ "identity": "" }), 400, "INVALID_IDENTITY", "/identity"),
        ("register", json!({ "identity": long }), 400, "INVALID_IDENTITY", "/identity"),
        (
            "register",
            json!({ "identity": "a", "metadata": [] }),
            400,
            "INVALID_REQUEST",
            "/metadata",
        ),
        (
            "register",
            json!({ "identity": "a", "ttl_seconds": -1 }),
            400,
            "INVALID_REQUEST",
            "/ttl_seconds",
        ),
        ("register", json!({ "identity": "a", "ttl": 5 }), 400, "INVALID_REQUEST", "/ttl"),
        ("enumerate", json!({ "filter": deep }), 400, "INVALID_FILTER", "/filter"),
        ("enumerate", json!({ "filter": { "$or": wide } }), 400, "INVALID_FILTER", "/filter"),
        ("enumerate", json!({ "filter": { "$nor": [] } }), 400, "INVALID_FILTER", "/filter"),
        ("enumerate", json!({ "limit": 0 }), 400, "INVALID_REQUEST", "/limit"),
        ("enumerate", json!({ "cursor": "nonsense" }), 400, "INVALID_CURSOR", "/cursor"),
        ("enumerate", json!({ "sort_by": ["colour"] }), 400, "INVALID_REQUEST", "/sort_by/0"),
        ("multicast", json!({ "timeout_ms": 0 }), 400, "INVALID_REQUEST", "/timeout_ms"),
        ("multicast", json!({ "payload_base64": "%" }), 400, "INVALID_REQUEST", "/payload_base64"),
    ];
    for (operation, body, status, code, at) in cases {
        let answer = house.post(&format!("/v1/n/{operation}"), &body);
        let (seen_status, seen_code, seen_at) = answer.refusal();
        assert_eq!((seen_status, seen_code), (status, code), "{operation} {body}: {}", answer.body);
        assert!(seen_at.starts_with(at), "{operation} {body}: {}", answer.body);
    }
    assert_eq!(house.names("n"), ["kept"]);
}

#[test]
fn what_is_no_json_is_refused_with_line_and_column() {
    let house = TestRegistry::open();
    for body in [&b"{"[..], b"", b"{}x", b"\xff\xfe", b"{\"identity\":\"a\"", b"nul", b"[[[[[["] {
        let answer = house.ask("POST", "/v1/n/register", &[], body);
        assert_eq!(answer.refusal().0, 400, "{body:?}: {}", answer.body);
        assert!(answer.body.to_string().contains("column"), "{body:?}: {}", answer.body);
    }
    // So deep that an unbounded recursive parser would crash.
    let abyss = [vec![b'['; 200_000], vec![b']'; 200_000]].concat();
    assert_eq!(house.ask("POST", "/v1/n/enumerate", &[], &abyss).status, 400);
}

/// This many zero bytes; three bytes make four letters.
fn base64_of(bytes: usize) -> String {
    let rest = ["", "AA==", "AAA="][bytes % 3];
    "AAAA".repeat(bytes / 3) + rest
}

#[test]
fn sizes_are_bounded() {
    let house = TestRegistry::with(&[
        ("max_payload", "1KiB"),
        ("max_metadata", "1KiB"),
        ("max_body", "1MiB"),
    ]);
    let payload = "x".repeat(1025);
    let answer = house.post("/v1/n/multicast", &json!({ "payload": payload }));
    // Nobody is registered, so the namespace is unknown; but the payload is checked first.
    assert_eq!(answer.refusal(), (413, "TOO_LARGE", "/payload"));
    let fat = json!({ "identity": "a", "metadata": { "x": "x".repeat(1024) } });
    assert_eq!(
        house.post("/v1/n/register", &fat).refusal(),
        (400, "INVALID_METADATA", "/metadata")
    );
    let huge = vec![b' '; 2 << 20];
    let answer = house.ask("POST", "/v1/n/register", &[], &huge);
    assert_eq!(answer.refusal(), (413, "TOO_LARGE", ""), "{}", answer.body);
    let payload = base64_of(1025);
    let answer = house.post("/v1/n/multicast", &json!({ "payload_base64": payload }));
    assert_eq!(answer.refusal(), (413, "TOO_LARGE", "/payload_base64"));
}

#[test]
fn places_that_are_none_are_told_apart() {
    let house = TestRegistry::open();
    assert_eq!(house.post("/v1/n/enumerate", &json!({})).refusal().1, "UNKNOWN_NAMESPACE");
    assert_eq!(house.post("/v1/a.b/enumerate", &json!({})).refusal().1, "INVALID_REQUEST");
    assert_eq!(house.post("/v1/n/explode", &json!({})).refusal(), (404, "NO_SUCH_OPERATION", ""));
    assert_eq!(house.get("/v1/n/register").refusal().1, "NO_SUCH_OPERATION");
    let plain = house.get("/v1/n/subscribe/a");
    assert_eq!(plain.refusal().1, "INVALID_REQUEST", "neither a WebSocket nor events");
    let outdated = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 8"];
    let outdated = house.ask("GET", "/v1/n/subscribe/a", &outdated, b"");
    assert_eq!(outdated.refusal().1, "INVALID_REQUEST");
    let unnamed =
        house.ask("GET", "/v1/n/subscribe/a?name=%07", &["accept: text/event-stream"], b"");
    assert_eq!(unnamed.refusal().1, "INVALID_IDENTITY");
    let still = house.post("/v1/n/enumerate", &json!({}));
    assert_eq!(still.refusal().1, "UNKNOWN_NAMESPACE", "what is refused makes no namespace");
}

#[test]
fn a_full_namespace_takes_no_more_and_replaces_still() {
    let house = TestRegistry::with(&[("max_identities", "2"), ("max_ttl", "1h")]);
    for name in ["a", "b"] {
        assert_eq!(house.post("/v1/n/register", &json!({ "identity": name })).status, 200);
    }
    assert_eq!(
        house.post("/v1/n/register", &json!({ "identity": "c" })).refusal().1,
        "QUOTA_EXCEEDED"
    );
    let renewed = house.post("/v1/n/register", &json!({ "identity": "a", "replace": true }));
    assert_eq!(renewed.status, 200);
    assert_eq!(house.post("/v1/m/register", &json!({ "identity": "c" })).status, 200);
    let forever = json!({ "identity": "b", "replace": true, "ttl_seconds": 0 });
    assert_eq!(
        house.post("/v1/n/register", &forever).refusal(),
        (429, "QUOTA_EXCEEDED", "/ttl_seconds")
    );
}
