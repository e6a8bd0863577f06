//! The registry as a user of its documentation sees it: a client in Python (`client.py`), and the
//! receivers in `SUBSCRIBING.md`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::fences::blocks;
use crate::lab::brokers::Broker;
use crate::lab::server::{Served, bundled};
use crate::lab::{Lab, Ran, repository};

const PAGE: &str = include_str!("../../../../../systems/registry/SUBSCRIBING.md");

/// A registry, and its address for requests.
fn registry(settings: &[&str]) -> (Served, String) {
    let (served, ready) = bundled("registry", settings);
    let address = ready["listening"]["http"].as_str().expect("an address in the ready line");
    (served, address.to_owned())
}

/// The Python of the tests' own environment, made by `make test`.
fn python() -> Command {
    let interpreter = repository(".venv/bin/python");
    assert!(interpreter.exists(), "run `make test`, which makes .venv with what a client needs");
    Command::new(interpreter)
}

/// Runs the client; a failed check raises a Python exception.
fn client(arguments: &[&str]) {
    let program = repository("crates/proofload/tests/e2e/registry/client.py");
    let ran = python().arg(program).args(arguments).output().expect("python");
    let ran = Ran::from(ran);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "all of it holds\n"), "{}", ran.stderr);
}

#[test]
fn a_client_in_python_registers_subscribes_and_receives_on_embedded_parts() {
    let _lab = Lab::new();
    let (_registry, address) = registry(&[]);
    client(&["embedded", &address]);
}

#[test]
fn a_client_in_python_registers_subscribes_and_receives_over_redis_and_nats() {
    let lab = Lab::new();
    let (redis, nats) = (Broker::redis(&lab), Broker::nats(&lab));
    let (store, bus) = (redis.url(), nats.url());
    let (_registry, address) = registry(&[&format!("store={store}"), &format!("bus={bus}")]);
    client(&["nats", &address, &bus]);
}

/// The folder need not exist.
#[test]
fn what_a_durable_registry_has_acknowledged_outlives_its_kill() {
    let lab = Lab::new();
    let durable = format!("durable={}", lab.path("kept/here").display());
    let (killed, address) = registry(&[&durable]);
    client(&["leave", &address]);
    drop(killed);
    let (_registry, address) = registry(&[&durable]);
    client(&["return", &address]);
}

#[test]
fn the_receiver_on_the_page_takes_and_acknowledges_over_a_websocket() {
    let _lab = Lab::new();
    let (_registry, address) = registry(&[]);
    assert_receives(&example("websockets").replace("127.0.0.1:8080", &address), &address);
}

#[test]
fn the_receiver_on_the_page_takes_and_acknowledges_over_nats() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let bus = nats.url();
    let (_registry, address) = registry(&[&format!("bus={bus}")]);
    assert_receives(&example("nats").replace("nats://127.0.0.1:4222", &bus), &address);
}

/// The program on the page that imports this package.
fn example(package: &str) -> String {
    let import = format!("import asyncio, json, {package}\n");
    let program = blocks(PAGE, "python").find(|program| program.starts_with(&import));
    program.expect("a program that imports it").to_owned()
}

fn assert_receives(program: &str, address: &str) {
    let child = python().args(["-u", "-c", program]).stdout(Stdio::piped()).spawn();
    let mut served = Served { child: child.expect("python") };
    let lines = BufReader::new(served.child.stdout.take().expect("its stdout")).lines();
    post(address, "register", &json!({ "identity": "user-1" }));
    let message = json!({ "payload": "hello", "semantics": "at_least_once" });
    // Its output does not show when it has subscribed; until then multicasts fail.
    loop {
        let told = post(address, "multicast", &message);
        if told["delivered_count"] == 1 {
            break;
        }
        assert_eq!(told["failed_count"], 1, "{told}");
        assert!(served.child.try_wait().expect("a child").is_none(), "it ended early");
        std::thread::yield_now();
    }
    let mut lines = lines.map(|line| line.expect("text"));
    let line = lines.find(|line| line.starts_with('['));
    assert_eq!(line.as_deref(), Some("['user-1'] b'hello'"));
}

fn post(address: &str, operation: &str, body: &Value) -> Value {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).expect("the registry");
    let head = format!("POST /v1/loadtest/{operation} HTTP/1.1\r\nhost: registry\r\n");
    write!(stream, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .expect("asks");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{body}");
    serde_json::from_str(body).expect("JSON")
}
