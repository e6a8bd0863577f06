//! Whatever comes over NATS: agents of other versions, and messages that nobody of ours has sent.

use serde_json::{Value, json};

use super::{agents, assert_is_the_plan, coordinator, ended, experiment, planned_by_one};
use crate::lab::brokers::Broker;
use crate::lab::nats_client::NatsClient;
use crate::lab::server::truth;
use crate::lab::{Lab, finding, only_trial};

/// Just below the limit of a message.
fn huge() -> Vec<u8> {
    vec![b'['; 1_000_000]
}

/// The hello of an agent, as this version says it.
fn hello(name: &str, version: &str) -> Value {
    json!({
        "id": "0123456789abcdef",
        "name": name,
        "boot_id": "another",
        "machine": {
            "cpu": "", "cores": 1, "kernel": "", "memory_bytes": 0, "clock_source": "tsc",
            "placement": { "workers": [], "systems": [] },
        },
        "version": version,
    })
}

/// The mark of the run that calls agents.
fn called(client: &mut NatsClient) -> String {
    let call: Value = serde_json::from_slice(&client.next().payload).expect("a call");
    call["run"].as_str().expect("its run").to_owned()
}

#[test]
fn an_agent_of_another_version_is_refused_by_name() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 1));
    let mut client = NatsClient::connect(&nats);
    client.subscribe("proofload.default.call");
    let via = nats.url();
    let run =
        lab.start(&["run", "x.toml", "--agents", "1", "--via", &via, "--agents-within", "1m"]);
    let to = format!("proofload.default.hello.{}", called(&mut client));
    client.publish(&to, hello("old\u{1b}[31m", "0.0.9").to_string().as_bytes());
    let ran = run.finish();
    assert_eq!(ran.code, 4, "{ran:?}");
    for text in ["agent old", "is of version 0.0.9, and this is", "install the same version"] {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
}

/// An agent that says hello and never answers.
#[test]
fn an_agent_that_does_not_answer_ends_the_run() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 1));
    let mut client = NatsClient::connect(&nats);
    client.subscribe("proofload.default.call");
    let run = coordinator(&lab, &nats, 1, &[]);
    let to = format!("proofload.default.hello.{}", called(&mut client));
    client.subscribe("proofload.default.agent.0123456789abcdef");
    client.publish(&to, hello("mute", env!("CARGO_PKG_VERSION")).to_string().as_bytes());
    // The plan comes five times, and is answered with nonsense.
    for _ in 0..5 {
        let reply = client.next().reply.expect("a command wants an answer");
        client.publish(&reply, b"{\"nonsense\":[]}");
    }
    let ran = run.finish();
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("share 1 (mute) does not answer"), "{ran:?}");
}

/// What is no report of this version, or of nobody.
fn no_reports() -> Vec<Vec<u8>> {
    let report = |share: i64, attempt: u32, trial: u32, report: Value| {
        json!({ "share": share, "attempt": attempt, "trial": trial, "report": report })
            .to_string()
            .into_bytes()
    };
    let window =
        json!({ "output": { "window": { "number": 0, "operations": [], "journeys": [] } } });
    vec![
        Vec::new(),
        b"\xff\xfe{".to_vec(),
        b"{}".to_vec(),
        huge(),
        report(0, 1, 1, window.clone()),
        report(3, 1, 1, window.clone()),
        report(i64::from(u32::MAX), 1, 1, json!({ "ended": { "facts": "none" } })),
        report(-1, 1, 1, window.clone()),
        report(1, 9, 1, window.clone()),
        report(1, 1, 7, window),
        report(1, 9, 1, json!({ "ended": { "facts": "none" } })),
        report(1, 1, 1, json!("unheard")),
        report(1, 1, 1, json!("ready")),
        report(1, 1, 1, json!("loaded")),
    ]
}

#[test]
fn garbage_on_every_subject_changes_nothing() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 1));
    let waiting = agents(&lab, &nats, 2);
    let mut client = NatsClient::connect(&nats);
    client.subscribe("proofload.default.call");
    client.subscribe("proofload.default.hello.*");
    let run = coordinator(&lab, &nats, 2, &[]);
    let (mut mark, mut ids) = (String::new(), Vec::new());
    let garbage = no_reports();
    while ids.len() < 2 {
        let message = client.next();
        // It also hears what it says itself.
        let Ok(message) = serde_json::from_slice::<Value>(&message.payload) else { continue };
        if let Some(run) = message["run"].as_str() {
            run.clone_into(&mut mark);
            for text in &garbage[..4] {
                client.publish(&format!("proofload.default.hello.{mark}"), text);
            }
        } else if let Some(id) = message["id"].as_str() {
            ids.push(id.to_owned());
        }
    }
    run.await_windows(&lab, 1);
    for text in &garbage {
        client.publish(&format!("proofload.default.report.{mark}"), text);
        client.publish("proofload.default.call", text);
        for id in &ids {
            client.publish(&format!("proofload.default.agent.{id}"), text);
        }
    }
    let other = json!({ "run": "another", "number": 99, "command": { "stop": { "requests": 2 } } });
    for id in &ids {
        client.publish(&format!("proofload.default.agent.{id}"), other.to_string().as_bytes());
    }
    let (summary, said) = ended(&lab, run, waiting);
    assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
    assert_is_the_plan(&lab, only_trial(&summary), planned_by_one(&lab)[0]);
}

/// A window of another layout, or with counts that cannot be: the agent that it is said to be of is lost, and the run
/// goes on without it.
#[test]
fn a_window_that_does_not_fit_costs_the_agent() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    let none = json!({ "planned": 0, "succeeded": 0, "failed": [], "missed": 0, "response_time": null, "service_time": null });
    let mut many = none.clone();
    many["planned"] = json!(u64::MAX);
    for operations in [json!([]), json!([none, none]), json!([many])] {
        lab.write("x.toml", &experiment(&url, 1));
        let waiting = agents(&lab, &nats, 2);
        let mut client = NatsClient::connect(&nats);
        client.subscribe("proofload.default.call");
        let run = coordinator(&lab, &nats, 2, &[]);
        let mark = called(&mut client);
        run.await_windows(&lab, 1);
        let window = json!({ "number": 1, "operations": operations, "journeys": [] });
        let report = json!({ "share": 1, "attempt": 1, "trial": 1, "report": { "output": { "window": window } } });
        client.publish(&format!("proofload.default.report.{mark}"), report.to_string().as_bytes());
        let (summary, said) = ended(&lab, run, waiting);
        assert!(said.iter().all(|ran| ran.code == 0), "{said:?}");
        assert!(finding(&summary, "agent-lost").is_some(), "{:?}", summary.findings);
        std::fs::remove_dir_all(lab.path("run")).expect("it is there");
    }
}

/// An agent takes work once; if its run does not exist, it ends.
#[test]
fn an_agent_that_is_given_a_run_that_does_not_exist_ends() {
    let lab = Lab::new();
    let (nats, (_target, url)) = (Broker::nats(&lab), truth(&["mode=none"]));
    lab.write("x.toml", &experiment(&url, 1));
    let mut client = NatsClient::connect(&nats);
    client.subscribe("proofload.default.call");
    let run = coordinator(&lab, &nats, 1, &[]);
    let to = format!("proofload.default.hello.{}", called(&mut client));
    let mut taker = NatsClient::connect(&nats);
    taker.subscribe("proofload.default.agent.0123456789abcdef");
    taker.subscribe("proofload.default.hello.*");
    client.publish(&to, hello("mute", env!("CARGO_PKG_VERSION")).to_string().as_bytes());
    let own_hello = taker.next();
    assert!(own_hello.reply.is_none());
    let mut take: Value = serde_json::from_slice(&taker.next().payload).expect("the plan");
    drop(run);
    take["run"] = json!("gone");
    take["command"]["take"]["run"] = json!("gone");
    let agent = agents(&lab, &nats, 1).remove(0);
    let via = nats.url();
    let status = || lab.proofload(&["fleet", "status", "--via", &via]);
    assert!((0..100).any(|_| status().stdout.starts_with("1 agent waits")), "it waits");
    client.publish("proofload.default.call", b"{\"run\":\"gone\"}");
    let id = std::iter::repeat_with(|| taker.next().payload)
        .filter_map(|payload| serde_json::from_slice::<Value>(&payload).ok())
        .find(|hello| hello["name"] == "load-1")
        .expect("its hello")["id"]
        .clone();
    let subject = format!("proofload.default.agent.{}", id.as_str().expect("a mark"));
    client.publish(&subject, take.to_string().as_bytes());
    let ran = agent.finish();
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("error: "), "{ran:?}");
}
