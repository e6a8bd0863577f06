use super::*;
use crate::load::{Model, Stop};

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn run(url: &str) -> UrlRun {
    UrlRun { url: url.to_owned(), ..UrlRun::default() }
}

#[test]
fn the_equivalent_file_is_the_smallest_one() {
    let run = UrlRun {
        rate: some("500/s"),
        duration: some("60s"),
        criteria: vec!["p99 < 20ms".into()],
        ..run("http://127.0.0.1:8080/")
    };
    let expected = r#"title    = "127.0.0.1:8080 at 500/s"
criteria = ["p99 < 20ms"]

[target]
url = "http://127.0.0.1:8080"

[load]
rate     = "500/s"
duration = "60s"

[[operation]]
http = { path = "/" }
"#;
    assert_eq!(run.equivalent(Secrecy::Plain).unwrap(), expected);
}

#[test]
fn every_flag_makes_a_file_that_is_accepted() {
    let run = UrlRun {
        users: some("50"),
        spawn_rate: some("10/s"),
        think: some("1s..3s"),
        requests: some("500"),
        method: some("PUT"),
        headers: vec!["X-A.b: \"q\"".into(), "Accept: */*".into()],
        body: some("a\n\"b\" \\ \u{7f}"),
        timeout: some("2s"),
        warm_up: some("auto"),
        new_connections: true,
        unix_socket: some("/tmp/s"),
        connect_to: some("127.0.0.1:1"),
        cacert: some("ca.pem"),
        cert: some("c.pem"),
        key: some("k.pem"),
        insecure: true,
        traceparent: some("25%"),
        trace_url: some("https://t.example/{trace_id}"),
        criteria: vec!["failed == 0".into()],
        ..run("https://h:8443/a?b=c")
    };
    let text = run.equivalent(Secrecy::Plain).unwrap();
    let plan = crate::experiment::tests::plan(&text);
    let arm = &plan.arms[0];
    assert!(matches!(arm.load.model, Model::Users { users: 50, .. }));
    assert_eq!(arm.load.stop, Stop::Operations { count: 500 });
    assert_eq!(arm.targets[0].url, "https://h:8443");
    let table = arm.operations[0].table.to_json();
    assert_eq!(table["path"], "/a?b=c");
    assert_eq!(table["header"]["X-A.b"], "\"q\"");
    assert_eq!(table["body"], "a\n\"b\" \\ \u{7f}");
}

#[test]
fn without_rate_and_users_it_is_a_closed_loop_over_fifty_connections() {
    let text = run("http://h").equivalent(Secrecy::Plain).unwrap();
    let plan = crate::experiment::tests::plan(&text);
    assert_eq!((&plan.arms[0].load.model, plan.arms[0].load.connections), (&Model::Closed, 50));
    assert!(text.contains("path = \"/\""), "{text}");
}

#[test]
fn values_that_authorise_are_not_shown() {
    let run = UrlRun { headers: vec!["Authorization: Bearer abc".into()], ..run("http://h/") };
    let plain = run.equivalent(Secrecy::Plain).unwrap();
    assert!(plain.contains("header = { Authorization = \"Bearer abc\" }"), "{plain}");
    let shown = run.equivalent(Secrecy::Shown).unwrap();
    let mut plan = crate::experiment::tests::plan(&plain);
    run.protect(&mut plan);
    let written = serde_json::to_string(&plan).unwrap();
    assert!(!written.contains("Bearer abc") && !plan.describe().contains("Bearer abc"));
    assert!(written.contains("{{env.AUTHORIZATION}}"), "{written}");
    assert!(shown.contains("header = { Authorization = \"{{env.AUTHORIZATION}}\" }"), "{shown}");
}

#[test]
fn flags_are_named_in_problems() {
    let run = UrlRun {
        rate: some("500"),
        users: some("5"),
        think: some("later"),
        headers: vec!["nonsense".into()],
        cert: some("c.pem"),
        criteria: vec!["p99 < 20".into()],
        ..run("localhost")
    };
    assert_eq!(
        run.problems(),
        [
            "--rate: expected a rate such as 500/s, got \"500\"",
            "--think: expected a pause such as 2s, 1s..3s or exponential 2s, got \"later\"",
            "--header: expected a header such as \"Accept: */*\", got \"nonsense\"",
            "--rate and --users exclude each other",
            "--cert needs --key",
            "--criterion \"p99 < 20\": expected a duration such as 20ms, 1.5s or 2m, got \"20\"",
            "expected an address such as http://127.0.0.1:8080/, got \"localhost\"",
        ]
    );
}

#[test]
fn problems_of_flags_quote_nothing_that_authorises() {
    let headers = vec!["Authorization Bearer abc".into()];
    let problems = UrlRun { headers, ..run("http://u:abc@h/") }.problems();
    assert_eq!(
        problems,
        [
            "--header: expected a header such as \"Accept: */*\", got \"Authorization …\"",
            "credentials go into a header, such as --header \"Authorization: …\"",
        ]
    );
    let problems = run("ftp://u:abc@h/").problems();
    assert_eq!(
        problems,
        ["expected an address such as http://127.0.0.1:8080/, got \"ftp://…@h/\""]
    );
}
