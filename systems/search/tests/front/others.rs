//! The fronts of `experiments/fronts`, started as a service starts them.

use std::net::SocketAddr;
use std::path::Path;

use crate::test_front::echo;
use search::front::child::Front;
use serde_json::{Value, json};
use serving::options::Options;
use serving::settings::Settings;
use testing::client::ask;
use tokio::runtime::Runtime;

fn front(command: &str) -> Front {
    let options = Options::default().with("front", command);
    let settings = Settings::new(&options.settings);
    let front = Front::read(&settings);
    settings.finish("the test").unwrap();
    front
}

fn post(address: SocketAddr, path: &str, body: &str) -> (String, Value) {
    let length = body.len();
    let answer = ask(
        address,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ),
    );
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Starts one before an echo, and asks it with and without the prefix; what arrived in each case.
fn through(program: &str, then: impl FnOnce(SocketAddr)) -> [Value; 2] {
    let fronts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/fronts");
    let command = program.replace("FRONTS", fronts.to_str().unwrap());
    let runtime = Runtime::new().unwrap();
    let started = runtime.block_on(front(&command).start(([127, 0, 0, 1], 0).into(), echo()));
    let running = started.unwrap().unwrap();
    let answers = ["/_go/a?b", "/a?b"].map(|path| {
        let (head, body) = post(running.address(), path, "{ \"query\":  \"x\" }");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.to_lowercase().contains("server-timing: embed;dur=0.1"), "{head}");
        body
    });
    then(running.address());
    runtime.block_on(running.stop());
    answers
}

#[test]
fn nodes_front_writes_json_anew_under_the_prefix() {
    let [reframed, piped] = through("node FRONTS/node.mjs {front_port} {upstream}", |address| {
        assert!(post(address, "/_go/a", "{").0.starts_with("HTTP/1.1 400 "));
    });
    assert_eq!(reframed, json!({"target": "/a?b", "body": "{\"query\":\"x\"}"}));
    assert_eq!(piped, json!({"target": "/a?b", "body": "{ \"query\":  \"x\" }"}));
}

#[test]
fn nginx_as_a_front_passes_on_what_it_gets() {
    let [reframed, piped] = through("FRONTS/nginx {front_port} {upstream}", |_| {});
    assert_eq!(reframed, json!({"target": "/a?b", "body": "{ \"query\":  \"x\" }"}));
    assert_eq!(piped, reframed);
}
