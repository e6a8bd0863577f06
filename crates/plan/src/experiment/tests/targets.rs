//! Where operations go.

use super::*;

#[test]
fn operations_take_rows_target_lists_and_targets_of_their_own() {
    let plan = plan(
        r#"
[target]
url = "https://a.example"
cacert = "ca.pem"
[load]
rate = "5/s"
[[operation]]
http = { path = "/{{row.query}}" }
rows = { file = "data/queries.csv", order = "random" }
[[operation]]
http = { path = "/{{row.n}}" }
rows = [{ n = 1 }, { n = 2 }]
target = "https://b.example/"
[[operation]]
targets = { file = "targets.txt", order = "once" }
"#,
    );
    let arm = &plan.arms[0];
    let names: Vec<&str> = arm.operations.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["operation-1", "operation-2", "operation-3"]);
    let urls: Vec<&str> = arm.targets.iter().map(|target| target.url.as_str()).collect();
    assert_eq!(urls, ["https://a.example", "https://b.example", "http://a:1", "http://b:2"]);
    assert!(arm.targets[1].cacert.is_some());
    assert_eq!((arm.operations[0].order, arm.operations[0].row_count()), (RowOrder::Random, 2));
    assert_eq!(arm.operations[1].row_count(), 2);
    let listed = &arm.operations[2];
    assert_eq!((listed.order, listed.row_count()), (RowOrder::Once, 2));
    assert_eq!(listed.target, TargetOf::ByRow([2, 3].as_slice().into()));
    assert_eq!(listed.requests.as_ref().unwrap()[1].path, "/y");
}

#[test]
fn paths_of_a_list_go_to_the_target_of_their_operation() {
    let text = |target: &str| {
        format!(
            "{target}\n[load]\nrate = \"5/s\"\n[[operation]]\nhttp = {{}}\ntargets = {{ file = \"paths.txt\" }}\n"
        )
    };
    let (urls, places) = targets(&text("[target]\nurl = \"https://a.example\""));
    assert_eq!(urls, ["https://a.example", "http://b:2"]);
    assert_eq!(places, [TargetOf::ByRow([0, 1].as_slice().into())]);
    let near = "[target]\nurl = \"http://a.example\"\nconnect_to = \"127.0.0.1:9\"";
    assert_eq!(plan(&text(near)).arms[0].targets[0].connect_to.as_deref(), Some("127.0.0.1:9"));
    let message = read(&text(""), &Options { fresh_seed: 1, ..Options::default() }).unwrap_err();
    assert!(message.contains("has no target"), "{message}");
}

/// The addresses of all targets, and the place of each operation's.
fn targets(text: &str) -> (Vec<String>, Vec<TargetOf>) {
    let plan = plan(text);
    let arm = &plan.arms[0];
    let urls = arm.targets.iter().map(|target| target.url.clone()).collect();
    (urls, arm.operations.iter().map(|operation| operation.target.clone()).collect())
}

#[test]
fn answers_may_lead_to_further_targets_which_no_operation_names() {
    let (urls, places) = targets(
        r#"
target = { url = "http://a.example", also = ["https://b.example:8443/", { url = "http://a.example" }] }
load = { rate = "5/s" }
operation = [{ http = { path = "/" } }, { http2 = {} }]
"#,
    );
    let here = "http://a.example";
    assert_eq!(urls, [here, here, "https://b.example:8443", "https://b.example:8443"]);
    assert_eq!(places, [TargetOf::Fixed(0), TargetOf::Fixed(1)], "HTTP/1.1 and HTTP/2");
}

#[test]
fn a_whole_address_names_the_target_of_its_operation() {
    let (urls, places) = targets(
        r#"
target = { url = "http://a.example" }
load = { rate = "5/s" }
operation = [
  { name = "one", http = { url = "https://b.example/x/{{sequence}}" }, capture = { next = "$.next" } },
  { name = "two", http = { url = "{{one.next}}" } },
]
journey = [{ steps = ["one", "two"] }]
"#,
    );
    assert_eq!(urls, ["https://b.example", "http://a.example"]);
    assert_eq!(places, [TargetOf::Fixed(0), TargetOf::Fixed(1)]);
}

#[test]
fn addresses_that_contradict_each_other_are_refused() {
    let refused = |target: &str, operation: &str| {
        let text =
            format!("[target]\n{target}\n[load]\nrate = \"5/s\"\n[[operation]]\n{operation}");
        read(&text, &Options::default()).unwrap_err()
    };
    let url = "url = \"http://a.example\"";
    let both = "http = { url = \"http://b.example/\" }\ntarget = \"http://c.example\"";
    assert!(refused(url, both).contains("`url` and `target` exclude each other"));
    let port = "http = { url = \"http://b.example:0/\" }";
    assert!(refused(url, port).contains("port 0 cannot be a target"));
    let also = format!("{url}\nalso = [\"b.example\"]");
    assert!(refused(&also, "http = {}").contains("expected an address such as"));
    let listed = "http = { url = \"{{row.n}}\" }\ntargets = { file = \"targets.txt\" }";
    assert!(refused(url, listed).contains("`url` and `targets` exclude each other"));
    for relative in ["", "/x", "b.example"] {
        let error = refused(url, &format!("http = {{ url = \"{relative}\" }}"));
        let expected = format!("`url` must be a whole address, got \"{relative}\"");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn further_targets_are_web_sites() {
    let check = |also: &str, label: Option<&str>| {
        let file = format!(
            "[target]\nurl = \"http://a.example\"\nalso = {also}\n[load]\nrate = \"5/s\"\n[[operation]]\nhttp = {{}}"
        );
        let error = read(&file, &Options::default()).err();
        let expected = label.map(|label| ("`also` takes addresses of web sites", label));
        let is_as_expected = match (&error, expected) {
            (Some(error), Some((what, label))) => error.contains(what) && error.contains(label),
            (error, expected) => error.is_none() && expected.is_none(),
        };
        assert!(is_as_expected, "{also}: {error:?}");
    };
    check("[\"HTTPS://b.example\", { unix_socket = \"x\" }]", None);
    check("{}", Some("add `url`"));
    check("[{ connect_to = \"127.0.0.1:81\" }]", Some("add `url`"));
    for other in ["smtp://b.example", "ftp://b.example", "shm:///run/x"] {
        check(&format!("\"{other}\""), Some("expected http:// or https://"));
    }
}
