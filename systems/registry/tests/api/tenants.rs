//! Namespaces: who may use which, and their isolation from each other.

use serde_json::json;

use crate::test_registry::TestRegistry;

#[test]
fn a_token_opens_its_namespace_and_no_other() {
    let path = std::env::temp_dir().join(format!("registry-tokens-{}", std::process::id()));
    std::fs::write(&path, "one first-secret\ntwo second-secret\n").unwrap();
    let house = TestRegistry::with(&[("tokens", path.to_str().unwrap())]);
    std::fs::remove_file(&path).unwrap();
    let body = json!({ "identity": "a" }).to_string();
    let ask = |namespace: &str, headers: &[&str]| {
        house.ask("POST", &format!("/v1/{namespace}/register"), headers, body.as_bytes())
    };
    assert_eq!(ask("one", &["authorization: Bearer first-secret"]).status, 200);
    let refused = ask("two", &["authorization: Bearer first-secret"]);
    assert_eq!(refused.refusal().0, 401);
    assert!(refused.head.to_lowercase().contains("www-authenticate: bearer"), "{}", refused.head);
    assert!(!refused.body.to_string().contains("secret"));
    assert_eq!(ask("one", &[]).refusal().0, 401);
    assert_eq!(ask("three", &["authorization: Bearer first-secret"]).refusal().0, 401);
}

#[test]
fn namespaces_know_nothing_of_each_other() {
    let house = TestRegistry::open();
    for namespace in ["one", "two"] {
        for name in ["same", namespace] {
            let body = json!({ "identity": name, "metadata": { "in": namespace } });
            assert_eq!(house.post(&format!("/v1/{namespace}/register"), &body).status, 200);
        }
    }
    assert_eq!(house.names("one"), ["one", "same"]);
    assert_eq!(house.get("/v1/two/identities/same").body["metadata"]["in"], "two");
    house.post("/v1/one/unregister", &json!({ "identity": "same" }));
    assert_eq!(house.names("two"), ["same", "two"]);
    let told = house.post("/v1/one/multicast", &json!({ "payload": "x" })).body;
    assert_eq!(told["target_count"], 1);
}
