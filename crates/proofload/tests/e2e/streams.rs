//! Answers that are streams, from a server that nobody here wrote and from one of known times.

use std::collections::BTreeMap;

use record::summary::{Operation, Summary};
use serde_json::Value;

use crate::journeys::application::{Application, uvicorn};
use crate::lab::nginx::nginx_listening;
use crate::lab::server::Truth;
use crate::lab::{Lab, assert_accounting, assert_measured, only_trial};
use crate::peers::self_signed;

const TOKENS: u64 = 5;

/// An experiment on chat completions.
fn chat(url: &str, protocol: &str, load: &str) -> String {
    format!(
        r#"title = "Tokens"
[target]
url = "{url}"
[load]
{load}
warm_up = "0s"
steady_state = "reported"
[[operation]]
name = "chat"
{protocol} = {{ path = "/v1/chat/completions", json = {{ stream = true, max_tokens = {TOKENS}, messages = [{{ role = "user", content = "{{{{nonce}}}}" }}], stream_options = {{ include_usage = true }} }}, stream = {{ format = "sse", event = "$.choices[0].delta.content" }} }}
expect = {{ status = 200, last = "[DONE]", events = "1..", contains = "chunk" }}
items = {{ used = "$.usage.completion_tokens", with_content = {{ events = "$.choices[0].delta.content" }} }}
"#
    )
}

fn sent(application: &Application) -> Value {
    let mut answer = ureq(&application.url, "/sent");
    let at = answer.find('{').expect("JSON");
    serde_json::from_str(&answer.split_off(at)).expect("JSON")
}

/// The answer to a GET, head and body.
fn ureq(url: &str, path: &str) -> String {
    use std::io::{Read, Write};
    let address = url.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

/// What every run of whole streams shows.
fn assert_whole(summary: &Summary, streams: u64) -> &Operation {
    let trial = only_trial(summary);
    assert_accounting(trial);
    let chat = &trial.operations[0];
    assert_eq!((chat.succeeded, chat.failed), (streams, 0), "{:?}", chat.failures);
    for (item, each) in [("used", TOKENS), ("with_content", TOKENS), ("events", TOKENS)] {
        assert_eq!(chat.items[item].sum, (streams * each) as f64, "{item}");
    }
    let span = |name: &str| &chat.spans[name];
    assert_eq!(span("gap").count, streams * (TOKENS - 1));
    for name in ["first_event", "last_event", "longest_gap", "mean_gap"] {
        assert_eq!(span(name).count, streams, "{name}");
    }
    // Exact figures: each is a sum or an extreme of the others.
    assert!(span("first_byte").mean_ns <= span("first_event").mean_ns);
    assert!(span("first_event").mean_ns <= span("last_event").mean_ns);
    assert!(span("last_event").max_ns <= chat.service_time.max_ns);
    assert_eq!(span("gap").max_ns, span("longest_gap").max_ns);
    let gaps = span("gap").mean_ns * (TOKENS - 1);
    let between = span("last_event").mean_ns - span("first_event").mean_ns;
    assert!(gaps.abs_diff(between) <= TOKENS, "{gaps} and {between}");
    chat
}

#[test]
fn streams_of_a_foreign_server_are_counted_and_timed() {
    let lab = Lab::new();
    let application = uvicorn(&lab, "chat:app");
    let file = chat(&application.url, "http", "rate = \"40/s\"\noperations = 60");
    lab.write("chat.toml", &file);
    let tried = lab.proofload(&["check", "chat.toml", "--try"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    for shown in ["events at least 1", "the last event is \"[DONE]\""] {
        assert!(tried.stdout.contains(shown), "{shown} in {}", tried.stdout);
    }
    let before = sent(&application);
    let (ran, summary) = lab.run(&["chat.toml"]);
    assert_measured(&ran, &summary);
    assert_whole(&summary, 60);
    let after = sent(&application);
    let more = |key: &str| after[key].as_u64().unwrap() - before[key].as_u64().unwrap();
    assert_eq!((more("streams"), more("tokens")), (60, 60 * TOKENS));
}

#[test]
fn streams_over_http2_and_tls_are_the_same() {
    let lab = Lab::new();
    let application = uvicorn(&lab, "chat:app");
    let (certificate, key) = self_signed();
    let certificate = lab.write("certificate.pem", &certificate).display().to_string();
    let key = lab.write("key.pem", &key).display().to_string();
    let server = format!(
        "ssl_certificate {certificate}; ssl_certificate_key {key};\n\
         location / {{ proxy_pass {}; proxy_http_version 1.1; proxy_set_header connection \"\"; proxy_buffering off; }}",
        application.url
    );
    let (_nginx, port) = nginx_listening(&lab, "front", &server, "ssl http2");
    let url = format!("https://localhost:{port}");
    let load = "rate = \"40/s\"\noperations = 60\nconnections = 2\nstreams = 20";
    let target = format!("cacert = \"{certificate}\"\nconnect_to = \"127.0.0.1:{port}\"\n[load]");
    lab.write("chat.toml", &chat(&url, "http2", load).replace("[load]", &target));
    let (ran, summary) = lab.run(&["chat.toml"]);
    assert_measured(&ran, &summary);
    assert_whole(&summary, 60);
}

#[test]
fn streams_that_go_wrong_are_counted_under_their_kind() {
    let lab = Lab::new();
    let application = uvicorn(&lab, "chat:app");
    let paths: [(&str, &str, &str); 11] = [
        ("lines", "ndjson", ""),
        ("cut", "sse", "cut_short"),
        ("early", "sse", "cut_short"),
        ("within", "sse", "cut_short"),
        ("json", "sse", "cut_short"),
        ("busy", "sse", "status"),
        ("packed", "sse", "wrong_content"),
        ("endless", "sse", "too_large"),
        ("silent", "sse", "timeout"),
        ("stuck", "sse", "status"),
        ("slow", "sse", "too_slow"),
    ];
    let mut file = format!(
        "title = \"Wrong\"\n[target]\nurl = \"{}\"\n[load]\nrate = \"50/s\"\noperations = 100\ntimeout = \"2s\"\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n",
        application.url
    );
    for (name, format, _) in paths {
        let last = if format == "sse" { "\"[DONE]\"" } else { "{ contains = '\"done\": true' }" };
        file.push_str(&format!(
            "[[operation]]\nname = \"{name}\"\nhttp = {{ path = \"/{name}\", stream = \"{format}\" }}\nexpect = {{ status = 200, last = {last}, within = {{ gap = \"100ms\" }} }}\n"
        ));
    }
    lab.write("wrong.toml", &file);
    let (ran, summary) = lab.run(&["wrong.toml"]);
    assert!(ran.code < 4, "{ran:?}");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    for (operation, (name, _, kind)) in trial.operations.iter().zip(paths) {
        let kinds: Vec<&str> = operation.failures.keys().map(String::as_str).collect();
        // A busy machine may delay an answer beyond a bound; nothing else may happen.
        let unexpected = kinds.iter().filter(|seen| **seen != kind && **seen != "too_slow").count();
        assert_eq!(unexpected, 0, "{name}: {:?}", operation.failures);
        assert!(kind.is_empty() || kinds.contains(&kind), "{name}: {:?}", operation.failures);
    }
    let lines = &trial.operations[0];
    assert_eq!(
        lines.items["events"].sum,
        4.0 * lines.succeeded as f64,
        "the last one is not counted"
    );
}

#[test]
fn a_target_of_known_times_agrees_on_every_count() {
    let lab = Lab::new();
    let truth = Truth::start(&[
        "mode=tokens",
        "rate=200/s",
        "tokens=5",
        "gap=10ms",
        "gaps=constant",
        "cut=30%",
    ]);
    lab.write(
        "chat.toml",
        &chat(&format!("http://{}", truth.http), "http", "rate = \"50/s\"\noperations = 100"),
    );
    let (ran, summary) = lab.run(&["chat.toml"]);
    assert!(ran.code < 4, "{ran:?}");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let (chat, told) = (&trial.operations[0], truth.report());
    let cut = told["streams_cut"].as_u64().expect("a count");
    assert!(cut > 0 && cut < 100, "{cut}");
    assert_eq!(chat.failures, BTreeMap::from([("cut_short".to_owned(), cut)]));
    let first = &chat.spans["first_event"];
    assert_eq!(first.count, 100);
    // No token is sent early, so none can be seen early.
    let least = told["first_token_ns"]["mean"].as_f64().expect("a time");
    assert!(first.mean_ns as f64 >= least, "{} and {least}", first.mean_ns);
    // Half of the five tokens of a stream that was cut were sent.
    assert_eq!(chat.spans["gap"].count, (100 - cut) * (TOKENS - 1) + cut);
}
