//! The administration, path after path, and what it refuses.

use serde_json::json;
use serving::options::Options;

use super::{TestOrigin, recipe, stage, upstream};

const HINT: &str = "Recipe not set, please POST a recipe to /_admin/add_recipe";

#[test]
fn without_a_recipe_everything_says_so() {
    let origin = TestOrigin::start(Options::default().with("recipe", "none"));
    assert_eq!(origin.admin("status"), "ok!");
    assert_eq!(origin.admin("current_recipe"), json!(HINT).to_string());
    assert_eq!(origin.admin("routes"), "/*");
    assert_eq!(origin.admin("routes_status"), "/* 406 0");
    let reply = origin.get("/news?x");
    let told = "Recipe not set at /news, please POST a recipe for this route to /_admin/add_recipe";
    assert_eq!((reply.status, reply.text().as_str()), (406, told));
    assert_eq!(origin.get("/*").text(), HINT);
}

#[test]
fn recipes_are_told_with_every_key_and_can_be_posted_again() {
    let origin = TestOrigin::start(Options::default().with("recipe", "none"));
    let told = origin.added(json!({"body": "x", "route": "/a"}));
    let a = json!({
        "body": "x", "headers": {}, "origin": null,
        "random_content": null, "route": "/a", "stages": [],
    });
    assert_eq!(told, json!([a]));
    let reply = origin.add(&recipe("/*", "y", 200));
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    let told = reply.json();
    assert_eq!(told.as_array().unwrap().len(), 2);
    assert_eq!(told[0]["route"], "/*");
    assert_eq!(told[1], a);
    assert_eq!(origin.admin("current_recipe"), told.to_string());
    assert_eq!(origin.added(told.clone()), told);
    assert_eq!(origin.admin("routes"), "/*\n/a");
    assert_eq!(origin.admin("routes_status"), "/* 200 0\n/a 406 0");
}

#[test]
fn requests_are_counted_by_status_and_by_route() {
    let origin = TestOrigin::with(json!([recipe("/a", "x", 200), recipe("/b*", "x", 503)]));
    for path in ["/a", "/a", "/b/1", "/b/2", "/c", "/_admin/status", "/_admin/none"] {
        origin.get(path);
    }
    origin.ask("PUT", "/a", "");
    let expect = json!({"total_requests": 6, "200": 2, "503": 2, "406": 1, "404": 1});
    assert_eq!(origin.admin("current_count"), expect.to_string());
    let by_route: serde_json::Value =
        serde_json::from_str(&origin.admin("current_count_by_route")).unwrap();
    let expect = json!({
        "/a": {"total_requests": 2, "200": 2},
        "/b*": {"total_requests": 2, "503": 2},
        "(no route)": {"total_requests": 2, "406": 1, "404": 1},
    });
    assert_eq!(by_route, expect);
    assert_eq!(origin.admin("clear_current_count"), "{\"cleared\": \"yes\"}");
    assert_eq!(origin.admin("current_count"), "{\"total_requests\":0}");
}

#[test]
fn a_restart_forgets_recipes_and_counts_and_begins_as_it_was_started() {
    let origin = TestOrigin::with(recipe("/*", "first", 200));
    origin.added(json!([recipe("/*", "second", 200), recipe("/a", "x", 200)]));
    assert_eq!(origin.get("/x").text(), "second");
    assert_eq!(origin.admin("restart"), "ok!");
    assert_eq!(origin.admin("routes"), "/*");
    assert_eq!(origin.admin("current_count"), "{\"total_requests\":0}");
    let reply = origin.get("/a");
    assert_eq!((reply.text().as_str(), reply.header("x-origin-generation")), ("first", Some("3")));
}

#[test]
fn other_paths_and_methods_are_not_found() {
    let origin = TestOrigin::with(recipe("/*", "x", 200));
    for (method, path) in [
        ("GET", "/_admin"),
        ("GET", "/_admin/none"),
        ("GET", "/_admin/add_recipe"),
        ("POST", "/_admin/status"),
        ("PUT", "/_admin/add_recipe"),
    ] {
        let reply = origin.ask(method, path, "");
        assert_eq!((reply.status, reply.text().as_str()), (404, "not found"), "{method} {path}");
    }
    assert_eq!(origin.get("/_administration").text(), "x");
}

#[test]
fn what_is_wrong_is_refused_with_its_place_and_the_old_recipe_goes_on() {
    let origin = TestOrigin::with(recipe("/*", "old", 200));
    for (text, path, reason) in [
        ("{\"body\": ", "$", "this is no JSON: EOF while parsing a value at line 1 column 9"),
        (
            r#"{"random_content": "50"}"#,
            "$.random_content",
            "Invalid size, please define size in b, kb or mb",
        ),
        (
            r#"[{"body": "x"}, {"body": "x", "route": "/b", "stages": [{"at": 0, "status": 200, "latency": 5}]}]"#,
            "$[1].stages[0].latency",
            "Invalid timing, please define time in s or ms",
        ),
        (r#"{"stages": []}"#, "$", "needs one of origin, body and random_content"),
    ] {
        let reply = origin.ask("POST", "/_admin/add_recipe", text);
        let told = reply.json();
        assert_eq!(reply.status, 400, "{text}");
        assert_eq!((&told["path"], &told["reason"]), (&json!(path), &json!(reason)), "{text}");
        assert_eq!(told["error"], format!("{path}: {reason}"));
        assert_eq!(told["problems"], json!([{"path": path, "reason": reason}]));
        let reply = origin.get("/x");
        assert_eq!(
            (reply.text().as_str(), reply.header("x-origin-generation")),
            ("old", Some("1"))
        );
    }
}

#[test]
fn all_problems_are_told_and_none_of_several_recipes_is_taken() {
    let origin = TestOrigin::with(recipe("/*", "old", 200));
    let reply = origin.add(&json!([recipe("/good", "x", 200), {"body": 1, "seed": -1}]));
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["problems"].as_array().unwrap().len(), 2);
    assert_eq!(origin.admin("routes"), "/*");
}

#[test]
fn an_origin_that_cannot_be_had_is_refused() {
    let origin = TestOrigin::with(recipe("/*", "old", 200));
    let nobody = ([127, 0, 0, 1], 1).into();
    let (missing, _) =
        upstream(vec![b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec()]);
    let (short, _) = upstream(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec()]);
    let (coded, _) = upstream(vec![
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".to_vec(),
    ]);
    for (address, why) in [
        (nobody, "Connection refused"),
        (missing, "answered with status 404"),
        (short, "error"),
        (coded, "answered in the coding br"),
    ] {
        let recipe = json!({"origin": format!("http://{address}/"), "stages": [stage(200, "0")]});
        let reply = origin.add(&json!([recipe]));
        let told = reply.json();
        assert_eq!((reply.status, &told["path"]), (400, &json!("$[0].origin")));
        let reason = told["reason"].as_str().unwrap();
        assert!(reason.starts_with(&format!("http://{address}/")), "{reason}");
        assert!(reason.contains(why) || why == "error", "{reason}");
        assert_eq!(origin.get("/x").text(), "old");
    }
}

#[test]
fn keys_that_mean_nothing_are_told_where_one_asks_for_them() {
    let origin = TestOrigin::with(recipe("/*", "x", 200));
    origin.added(json!({"route": "/a", "body": "x", "stagez": []}));
    assert_eq!(origin.admin("ignored_keys"), r#"{"/a":["$.stagez"]}"#);
}

#[test]
fn health_and_metrics_are_answered_unless_a_recipe_names_them() {
    let origin = TestOrigin::with(recipe("/*", "x", 200));
    assert_eq!(origin.get("/healthz").text(), "ok\n");
    origin.get("/a");
    let text = origin.get("/metrics").text();
    assert!(text.contains("\norigin_service_time_seconds_count 1\n"), "{text}");
    assert!(text.contains("# TYPE http_connections gauge"), "{text}");
    let observed = origin.get("/observed").json();
    assert_eq!((&observed["received"], &observed["detail"]["errors"]), (&1.into(), &0.into()));
    origin.added(recipe("/metrics", "mine", 200));
    assert_eq!(origin.get("/metrics").text(), "mine");
}
