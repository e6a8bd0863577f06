//! The registry as a service: several on one store, parts killed under load, and identities that
//! expire on time. Tests compare the receivers of a message with the registered identities.

mod clients;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::lab::brokers::Broker;
use crate::lab::server::{Served, bundled};
use crate::lab::{Lab, assert_accounting, only_trial, repository};

/// Time limit for everything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tries until it holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within half a minute: {what}");
        std::thread::yield_now();
    }
}

/// A bundled system while it runs; killed at once when dropped.
struct System {
    _served: Served,
    http: String,
}

impl System {
    fn start(system: &str, settings: &[String]) -> Self {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let (served, ready) = bundled(system, &settings);
        let http = ready["listening"]["http"].as_str().expect("where it listens").to_owned();
        Self { _served: served, http }
    }

    /// Status and body; `None` where the connection broke.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.http).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}"
        );
        write!(stream, "{head}\r\n\r\n{body}").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// The body of an answer; panics without one.
    fn tell(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, &body.to_string());
        let (status, body) = answer.unwrap_or_else(|| panic!("{path}: no answer"));
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("a body in JSON")
    }

    /// Whether a registration was acknowledged.
    fn registers(&self, name: &str) -> bool {
        let body = json!({ "identity": name, "metadata": {} }).to_string();
        self.ask("POST", "/v1/fleet/register", &body).is_some_and(|(status, _)| status == 200)
    }

    /// The registered names.
    fn names(&self) -> BTreeSet<String> {
        let page = self.tell("POST", "/v1/fleet/enumerate", &json!({ "limit": 10_000 }));
        let listed = page["identities"].as_array().expect("a list");
        listed.iter().map(|one| one["identity"].as_str().expect("a name").to_owned()).collect()
    }

    /// Sends everybody the message with this index; returns how many received it or will receive
    /// it, and the number of targets.
    fn multicast(&self, index: u64) -> (u64, u64) {
        let mark = format!("{:08x}{index:012x}{:012x}-{index}", 1, 0);
        let body = json!({ "payload": mark, "semantics": "at_least_once" });
        let told = self.tell("POST", "/v1/fleet/multicast", &body);
        let count = |name: &str| told[name].as_u64().expect("a count");
        (count("delivered_count") + count("pending_count"), count("target_count"))
    }

    /// Whether a registry knows this many receivers.
    fn has_receivers(&self, many: usize) -> bool {
        let (_, metrics) = self.ask("GET", "/metrics", "").expect("metrics");
        metrics.contains(&format!("\nregistry_subscriptions {many}\n"))
    }
}

fn set(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

#[test]
fn registries_on_one_redis_are_one_and_a_restart_keeps_all() {
    let lab = Lab::new();
    let (redis, nats) = (Broker::redis(&lab), Broker::nats(&lab));
    let bus = set("bus", &nats.url());
    let settings = [set("store", &redis.url()), bus.clone()];
    let mut both = [(), ()].map(|()| System::start("registry", &settings));
    let receivers = [set("registry", &both[0].http), bus, set("namespaces", "fleet")];
    let receivers = System::start("registry-receivers", &receivers);
    let mut names = BTreeSet::new();
    for (number, one) in both.iter().enumerate() {
        for device in 0..5 {
            let name = format!("device-{number}-{device}");
            assert!(one.registers(&name));
            names.insert(name);
        }
    }
    let mut messages = 0;
    for round in 0..2 {
        for one in &both {
            until("the receivers are heard", || one.has_receivers(1));
            assert_eq!(one.names(), names, "round {round}");
            assert_eq!(one.multicast(messages), (10, 10), "round {round}");
            messages += 1;
        }
        both = both.map(|one| {
            drop(one);
            System::start("registry", &settings)
        });
    }
    until("all that was told delivered or pending", || {
        let observed = receivers.tell("GET", "/observed", &Value::Null);
        assert_eq!(observed["unexpected"], 0);
        observed["received"] == 10 * messages
    });
}

/// Registers one after another, kills a process meanwhile, and checks who is registered after the
/// restart.
fn assert_acknowledged_are_kept(
    settings: &[String],
    strike: impl FnOnce(System) -> System,
    case: &str,
) {
    let mut registry = System::start("registry", settings);
    let mut acknowledged = BTreeSet::new();
    let (tell, told) = std::sync::mpsc::channel();
    let address = registry.http.clone();
    let registering = std::thread::spawn(move || {
        let client = System { _served: nobody(), http: address };
        for number in 0.. {
            let name = format!("device-{number}");
            if !client.registers(&name) || tell.send(name).is_err() {
                return;
            }
        }
    });
    acknowledged.extend(told.iter().take(50));
    registry = strike(registry);
    registering.join().expect("it ends with the first refusal");
    acknowledged.extend(told.iter());
    until("it takes registrations again", || registry.registers("late"));
    let names = registry.names();
    let lost: Vec<&String> = acknowledged.difference(&names).collect();
    assert!(lost.is_empty(), "{case}: acknowledged and not there: {lost:?}");
    // The kill may have cut off the acknowledgement of one more.
    assert!(names.len() <= acknowledged.len() + 2, "{case}: {} are there", names.len());
}

/// A child process without work.
fn nobody() -> Served {
    Served { child: Command::new("true").spawn().expect("a child") }
}

#[test]
fn whoever_is_killed_every_acknowledged_register_is_there_afterwards() {
    let lab = Lab::new();
    let mut redis = Broker::redis(&lab);
    let folder = lab.path("durable");
    std::fs::create_dir_all(&folder).expect("a folder");
    let embedded = [set("durable", &folder.display().to_string())];
    let shared = [set("store", &format!("{}/0", redis.url()))];
    for (case, settings) in [("durable", &embedded), ("on Redis", &shared)] {
        let restart = |registry| {
            drop(registry);
            System::start("registry", settings)
        };
        assert_acknowledged_are_kept(settings, restart, case);
    }
    let apart = [set("store", &format!("{}/1", redis.url()))];
    let strike = |registry: System| {
        redis.kill();
        until("the registry says that its store is away", || {
            let answer = registry.ask("POST", "/v1/fleet/enumerate", "{}");
            answer.is_some_and(|(status, _)| status == 503)
        });
        redis.start_again();
        registry
    };
    assert_acknowledged_are_kept(&apart, strike, "Redis itself");
}

/// An experiment of the repository, shortened to a few seconds: the same parts, load and fault.
fn shortened(name: &str) -> String {
    let path: PathBuf = repository(&format!("experiments/{name}.toml"));
    let text = std::fs::read_to_string(&path).expect("an experiment");
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let key = line.split('=').next().map_or("", str::trim);
        lines.push(match key {
            "at" => "at = \"2s\"".to_owned(),
            "for" => "for = \"1s\"".to_owned(),
            "duration" => "duration = \"7s\"".to_owned(),
            _ => line.to_owned(),
        });
    }
    lines.join("\n")
}

#[test]
fn what_was_told_delivered_or_pending_arrives_whatever_is_killed() {
    // The allowed statuses of operations, besides connections that break with the registry.
    let cases: [(&str, &[&str]); 4] = [
        ("registry-kill", &["200"]),
        ("registry-kill-embedded", &["200"]),
        ("registry-kill-redis", &["200", "503"]),
        ("registry-kill-nats", &["200"]),
    ];
    let one = |(name, statuses): (&'static str, &'static [&'static str])| {
        let lab = Lab::new();
        lab.write("kill.toml", &shortened(name));
        let (_, summary) = lab.run(&["kill.toml"]);
        let trial = only_trial(&summary);
        assert_accounting(trial);
        let told = summary.findings.iter().find(|one| one.code == "planned-faults");
        assert_eq!(told.expect("the fault is told").evidence["not_done"], 0, "{name}");
        for operation in &trial.operations {
            let seen = &operation.statuses;
            let known = seen.keys().all(|status| statuses.contains(&status.as_str()));
            assert!(known, "{name}: {} ended with {seen:?}", operation.name);
        }
        let observer = &trial.observers[0];
        assert!(observer.received > 0, "{name}: {observer:?}");
        assert_eq!((observer.lost, observer.unexpected), (0, 0), "{name}: {observer:?}");
        let expect = observer.expect.as_ref().expect("it is held against what was told");
        assert!(expect.holds, "{name}: {expect:?}");
    };
    std::thread::scope(|scope| {
        let runs = cases.map(|case| scope.spawn(move || one(case)));
        runs.into_iter().for_each(|run| run.join().expect("its account holds"));
    });
}

/// Milliseconds since 1970, the registry's time.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("later than 1970");
    u64::try_from(since.as_millis()).expect("it fits for long")
}

/// A listed identity may be past its end by at most this time; an identity that is not listed must
/// have reached its end. The registry looks at some instant between question and answer, which adds
/// slack.
fn assert_ends_in_time(registry: &System, ends: &[(String, u64)], case: &str) {
    const LATE: u64 = 100;
    let mut polls = 0;
    until("all are gone", || {
        let asked = now();
        let names = registry.names();
        let answered = now();
        polls += 1;
        for (name, end) in ends {
            if names.contains(name) {
                assert!(asked < end + LATE, "{case}: {name} is there {} ms late", asked - end);
            } else {
                assert!(answered >= *end, "{case}: {name} went {} ms early", end - answered);
            }
        }
        ends.iter().all(|(name, _)| !names.contains(name))
    });
    assert!(polls > 1, "{case}: they were there before they went");
}

#[test]
fn an_identity_is_gone_at_its_end_while_others_are_served() {
    let lab = Lab::new();
    let redis = Broker::redis(&lab);
    let shared = vec![set("store", &redis.url())];
    for (case, settings) in [("embedded", Vec::new()), ("on Redis", shared)] {
        let registry = System::start("registry", &settings);
        assert!(registry.registers("anchor"));
        let url = format!("http://{}/v1/fleet/identities/anchor", registry.http);
        let out = format!("load-{}", settings.len());
        let load = ["run", &*url, "--rate", "300/s", "--duration", "20s", "--warm-up", "0s"];
        let load = lab.start(&[&load[..], &["--quiet", "--out", &*out]].concat());
        let trial = lab.path(&out).join("trials/001");
        load.await_in(&lab, &trial, || {
            let text = std::fs::read_to_string(trial.join("events.jsonl")).unwrap_or_default();
            text.contains("\"phase\":\"measure\"")
        });
        let ends: Vec<(String, u64)> = (0..40)
            .map(|number| {
                let name = format!("brief-{number}");
                let body = json!({ "identity": name, "ttl_seconds": 1 });
                let told = registry.tell("POST", "/v1/fleet/register", &body);
                let instant = |key: &str| told[key].as_u64().expect("an instant");
                assert_eq!(instant("expires_at"), instant("registered_at") + 1_000);
                (name, instant("expires_at"))
            })
            .collect();
        assert_ends_in_time(&registry, &ends, case);
        assert!(!trial.join("trial.json").exists(), "{case}: the load went on until then");
    }
}
