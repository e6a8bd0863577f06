use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::diagnostic::Colour;
use crate::document::{self, Value};
use crate::load::{ArrivalProcess, Model, Reuse, Spacing, SteadyState, Stop, Think, WarmUp};
use crate::operation::{Part, RowOrder, TargetOf, part_names};
use crate::plan::Plan;
use crate::process::{Ready, Start};
use crate::protocol::{FileForm, FileKey, Place, ProtocolTraits, Scheme, TlsUse};
use crate::template::Template;

mod bad_input;
mod bodies;
mod channel;
mod design;
mod examples;
mod expectation;
mod fault;
mod folder;
mod journey_problems;
mod journeys;
mod levels;
mod parts;
mod replay;
mod reported_names;
mod schema;
mod streams;
mod targets;
mod trace;
mod wrong_journeys;

/// Files and environment in memory.
#[derive(Default)]
pub(super) struct Memory {
    files: HashMap<&'static str, &'static str>,
    env: HashMap<&'static str, &'static str>,
}

impl Memory {
    pub(super) fn new() -> Self {
        let files = [
            ("data/queries.csv", "query\nred shoes\nblue hat\n"),
            ("body.txt", "a {{mustache}} {{{"),
            ("broken.csv", "a,b\n1,2\n3\n"),
            ("offsets.csv", "offset_ms\n0\n1.5\n1000\n"),
            ("named.csv", "offset_ms,request\n0,2\n1.5,1\n1000,2\n"),
            ("nameless.csv", "offset_ms,request\n0,2\n1.5,0\n"),
            ("accounts.csv", "user,password\nann,a1\nbob,b2\n"),
            ("api/a/one.txt", "import b/two.txt\nimport lost.txt\n{{x}}"),
            ("api/b/two.txt", "import a/one.txt\nimport three.txt"),
            ("api/a/three.txt", "3"),
            ("targets.txt", "GET http://a:1/x\nGET http://b:2/y\n"),
            ("one.txt", "GET /x\n"),
            ("sessions.csv", "session,after_ms\n1,0\n1,1500\n"),
            ("paths.txt", "GET /x\nGET http://b:2/y\n"),
        ];
        let env = [("TOKEN", "s3cr3t-token"), ("PIN", "7"), ("BRACES", "{{x}}")];
        Self { files: files.into(), env: env.into() }
    }
}

impl Inputs for Memory {
    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).map(|value| (*value).to_owned())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let name = path.to_str().unwrap();
        let text = self.files.get(name).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        Ok(text.as_bytes().to_vec())
    }
}

const SMTP: [Scheme; 1] = [Scheme::at("smtp", 25, TlsUse::Later, "write auth")];
const REDIS: [Scheme; 1] = [Scheme::at("redis", 6379, TlsUse::Never, "write user")];
const SHM: [Scheme; 1] =
    [Scheme { name: "shm", place: Place::Channel, credentials: "remove them" }];
const FILES: [FileKey; 4] = [
    FileKey { key: "body_file", content: "body", form: FileForm::Text },
    FileKey { key: "message_file", content: "message", form: FileForm::Text },
    FileKey { key: "multipart", content: "multipart", form: FileForm::Parts },
    FileKey { key: "sources", content: "sources", form: FileForm::Sources(named) },
];

/// Every line after `import `.
fn named(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("import ")).map(str::to_owned).collect()
}

struct Build;

impl KnownNames for Build {
    fn protocols(&self) -> &[&str] {
        &["http", "http2", "grpc", "websocket", "smtp", "redis", "nats", "shm"]
    }

    fn traits(&self, protocol: &str) -> ProtocolTraits {
        let web = ProtocolTraits::default();
        match protocol {
            "http" => ProtocolTraits { carries_traces: true, files: &FILES, ..web },
            "http2" => {
                let (alpn, multiplexes, carries_traces) = (Some("h2"), true, true);
                ProtocolTraits { alpn, multiplexes, carries_traces, files: &FILES, ..web }
            }
            "smtp" => ProtocolTraits { schemes: &SMTP, files: &FILES, ..web },
            "redis" => ProtocolTraits { schemes: &REDIS, short_form: Some("command"), ..web },
            "shm" => ProtocolTraits { schemes: &SHM, ..web },
            _ => web,
        }
    }

    fn spans(&self, protocol: &str, _: &document::Table) -> &'static [&'static str] {
        if protocol == "http" { &["first_byte"] } else { &[] }
    }

    fn parts(&self, _: &str, table: &document::Table) -> Vec<Part> {
        let Some(Value::Array(nodes)) = table.get("told").map(|entry| &entry.node.value) else {
            return Vec::new();
        };
        let part = |node: &document::Node| {
            let name = node.as_str().unwrap_or_default().to_owned();
            Part { name, span: node.span, ..Part::default() }
        };
        nodes.iter().map(part).collect()
    }

    fn find(&self, system: &str) -> Result<(), NoSystem> {
        let known = ["truth", "registry", "registry-receivers", "search", "edge"];
        let unknown = || NoSystem::Unknown {
            known: known.map(str::to_owned).into(),
            hint: "build it".into(),
        };
        if known.contains(&system) { Ok(()) } else { Err(unknown()) }
    }
}

pub(super) fn read(text: &str, options: &Options) -> Result<Plan, String> {
    let world = ExperimentContext { inputs: &Memory::new(), known: &Build };
    match load("test.toml", text, world, options) {
        Ok(experiment) => Ok(experiment.plan),
        Err(refused) => Err(refused.render(Colour::Off)),
    }
}

pub(crate) fn plan(text: &str) -> Plan {
    read(text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_or_else(|e| panic!("{e}"))
}

pub(super) fn with_load(load: &str) -> String {
    format!(
        "[target]\nurl = \"http://127.0.0.1:8080\"\n[load]\n{load}\n[[operation]]\nhttp = {{ path = \"/\" }}\n"
    )
}

fn set(overrides: &[&str]) -> Options {
    let overrides = overrides.iter().map(|text| (*text).to_owned()).collect();
    Options { overrides, fresh_seed: 1, ..Options::default() }
}

const HOME: &str = r#"
title    = "Home page at 500 requests/s"
question = "Does the home page hold 500 requests/s below 20 ms?"
criteria = ["p99 < 20ms", "failed == 0"]

[target]                                      # something that already runs; `[system]` below starts it instead
url = "http://127.0.0.1:8080"

[load]
rate     = "500/s"                            # open, Poisson arrivals unless `arrivals` says otherwise
duration = "60s"

[[operation]]
name = "home"
http = { path = "/" }                         # GET; method, header, body, json, expect, items as below
"#;

#[test]
fn the_smallest_file_takes_every_default() {
    let plan = plan(HOME);
    assert_eq!(plan.title, "Home page at 500 requests/s");
    assert_eq!((plan.arms.len(), plan.trials.len(), plan.criteria.len()), (1, 1, 2));
    let arm = &plan.arms[0];
    assert_eq!(arm.name, "all");
    assert_eq!(arm.targets[0].url, "http://127.0.0.1:8080");
    let load = &arm.load;
    let arrivals = ArrivalProcess::Poisson { rate: 500.0 };
    assert_eq!(load.model, Model::Open { arrivals });
    assert_eq!(load.stop, Stop::Duration { after: Duration::from_secs(60) });
    assert_eq!(load.warm_up, WarmUp::Fixed { length: Duration::from_secs(5) });
    assert_eq!((load.timeout, load.connections), (Duration::from_secs(30), 1000));
    assert_eq!((load.reuse, load.steady_state), (Reuse::KeepAlive, SteadyState::Required));
    assert_eq!(plan.wall_time(), Some(Duration::from_secs(65)));
    assert_eq!(load.in_flight_cap(), Some(18_000));
    let operation = &arm.operations[0];
    assert_eq!((operation.name.as_str(), operation.protocol.as_str()), ("home", "http"));
    assert_eq!(operation.table.to_json(), serde_json::json!({"path": "/"}));
}

#[test]
fn every_load_model_is_understood() {
    let load = |text: &str| plan(&with_load(text)).arms.remove(0).load;
    let second = Duration::from_secs(1);
    let constant = load("rate = \"30/m\"\narrivals = \"constant\"\noperations = 7");
    let arrivals = ArrivalProcess::Constant { rate: 0.5 };
    assert_eq!(constant.model, Model::Open { arrivals });
    assert_eq!(constant.stop, Stop::Operations { count: 7 });

    let staged = load("stages = [{ to = \"500/s\", over = \"30s\" }, { hold = \"1m\" }]");
    let Model::Open { arrivals: ArrivalProcess::Stages { from, stages, spacing } } = staged.model
    else {
        panic!("not stages")
    };
    assert_eq!((from, spacing), (0.0, Spacing::Poisson));
    assert_eq!((stages[1].to, stages[1].over), (500.0, 60 * second));
    assert_eq!(staged.stop, Stop::Duration { after: 90 * second });
    assert_eq!(staged.warm_up, WarmUp::Fixed { length: Duration::ZERO });

    let burst =
        load("burst = { rate = \"500/s\", on = \"10s\", off = \"50s\" }\nwarm_up = \"auto\"");
    assert!(matches!(
        burst.model,
        Model::Open { arrivals: ArrivalProcess::Burst { rate: 500.0, .. } }
    ));
    assert_eq!((burst.warm_up, burst.wall_time()), (WarmUp::Auto, Some(Duration::from_secs(65))));

    let users = load("users = 50\nspawn_rate = \"10/s\"\nthink = \"1s..3s\"\nduration = \"2m\"");
    let think = Think::Uniform { low: second, high: 3 * second };
    assert_eq!(users.model, Model::Users { users: 50, spawn_rate: 10.0, think, ramp: None });
    assert_eq!((users.connections, users.ramp_up()), (50, 5 * second));
    let exponential = load("users = 2\nthink = \"exponential 2s\"").model;
    let think = Think::Exponential { mean: 2 * second };
    let expected = Model::Users { users: 2, spawn_rate: f64::INFINITY, think, ramp: None };
    assert_eq!(exponential, expected);

    let closed = load("connections = 10");
    assert_eq!((closed.model, closed.connections), (Model::Closed, 10));
    assert_eq!(load("duration = \"1s\"").connections, 50);

    let replay = |more: &str| {
        let load = load(&format!("replay = \"offsets.csv\"\n{more}"));
        let Model::Open { arrivals: ArrivalProcess::Replay { list, resolution, .. } } = load.model
        else {
            panic!("not a replay")
        };
        assert_eq!(load.stop, Stop::Operations { count: 3 });
        assert_eq!(list, [0, 1_500_000, 1_000_000_000].into_iter().collect());
        resolution
    };
    assert_eq!((replay(""), replay("resolution = \"1s\"")), (None, Some(second)));
    assert_eq!(replay("scale = 1"), None);

    let rest =
        load("timeout = \"2s\"\nnew_connections = true\nworkers = 3\nsteady_state = \"reported\"");
    assert_eq!((rest.timeout, rest.workers), (2 * second, Some(3)));
    assert!(!rest.busy_poll && load("busy_poll = true").busy_poll);
    assert_eq!((rest.reuse, rest.steady_state), (Reuse::NewPerOperation, SteadyState::Reported));
}

#[test]
fn overrides_replace_add_and_reach_operations_by_name_or_place() {
    let options = set(&[
        "load.rate=200/s",
        "load.timeout=2s",
        "operation.home.weight=2",
        "operation.0.http.path=/other",
        "title=Other",
    ]);
    let plan = read(HOME, &options).unwrap();
    let arm = &plan.arms[0];
    assert_eq!(arm.load.model, Model::Open { arrivals: ArrivalProcess::Poisson { rate: 200.0 } });
    assert_eq!(arm.load.timeout, Duration::from_secs(2));
    assert_eq!(arm.operations[0].weight, 2.0);
    assert_eq!(arm.operations[0].table.to_json(), serde_json::json!({"path": "/other"}));
    assert_eq!(plan.title, "Other");
}

#[test]
fn flags_win_over_the_file() {
    let options = Options {
        criteria: vec!["home p50 < 1ms".into()],
        seed: Some(9),
        warm_up: Some("2s".into()),
        workers: Some("2".into()),
        ..Options::default()
    };
    let plan = read(&format!("seed = 5\n{HOME}"), &options).unwrap();
    assert_eq!((plan.seed, plan.criteria.len()), (9, 3));
    assert_eq!(plan.arms[0].load.workers, Some(2));
    assert_eq!(plan.arms[0].load.warm_up, WarmUp::Fixed { length: Duration::from_secs(2) });
    let seeded = read(&format!("seed = 5\n{HOME}"), &Options::default()).unwrap();
    assert_eq!(seeded.seed, 5);
}

#[test]
fn a_list_is_short_for_a_table_where_the_protocol_has_such_a_form() {
    let of = |value: &str| {
        let text = HOME.replace("http = { path = \"/\" }", value).replace("http://", "redis://");
        let table = &plan(&text).arms[0].operations[0];
        (table.protocol.clone(), table.table.to_json())
    };
    let short = of("redis = [\"GET\", \"{{sequence}}\"]");
    assert_eq!(short.1, serde_json::json!({"command": ["GET", "{{sequence}}"]}));
    assert_eq!(short, of("redis = { command = [\"GET\", \"{{sequence}}\"] }"));
    let text = HOME.replace("http = { path = \"/\" }", "http = [\"/\"]");
    assert!(read(&text, &set(&[])).unwrap_err().contains("expected a table"));
}

#[test]
fn a_password_beside_a_command_stands_in_no_output() {
    let redis = "redis = { command = [\"PING\"], user = \"u\", password = \"hunter22\" }";
    let text = HOME.replace("http = { path = \"/\" }", redis).replace("http://", "redis://");
    let plan = plan(&text);
    let table = plan.arms[0].operations[0].table.to_json();
    assert_eq!(table["password"], "hunter22");
    assert!(!serde_json::to_string(&plan).unwrap().contains("hunter22"));
    assert!(!plan.describe().contains("hunter22"));
}

#[test]
fn a_file_is_described_by_its_name_and_size() {
    let part = "http = { path = \"/\", multipart = { a = { name = \"a.txt\", content = \"eleven char\" } } }";
    let described = plan(&HOME.replace("http = { path = \"/\" }", part)).describe();
    assert!(described.contains("\"content\":\"… (11 bytes)\",\"name\":\"a.txt\""), "{described}");
    assert!(!described.contains("eleven"), "{described}");
}

#[test]
fn what_is_only_called_as_a_secret_is_shown() {
    let text =
        HOME.replace("name = \"home\"", "name = \"home\"\nitems = { token = \"$.token_count\" }");
    let written = serde_json::to_string(&plan(&text)).unwrap();
    assert!(written.contains("$.token_count"), "{written}");
}

#[test]
fn the_environment_is_used_and_never_written() {
    let text = HOME.replace(
        "http = { path = \"/\" }",
        "http = { path = \"/{{env.PIN}}\", header = { authorization = \"Bearer {{env.TOKEN}}\" } }",
    );
    let plan = plan(&text);
    let table = plan.arms[0].operations[0].table.to_json();
    assert_eq!(table["header"]["authorization"], "Bearer s3cr3t-token");
    assert_eq!(table["path"], "/7");
    let written = serde_json::to_string(&plan).unwrap();
    assert!(!written.contains("s3cr3t"), "{written}");
    assert!(written.contains("Bearer {{env.TOKEN}}"), "{written}");
    assert!(written.contains("/{{env.PIN}}"), "{written}");
    assert!(!format!("{:?}", plan.secrets).contains("s3cr3t"));
    assert!(!plan.describe().contains("s3cr3t"));
}

#[test]
fn a_variable_is_a_number_where_a_setting_is_one() {
    let plan = plan(&with_load("connections = \"{{env.PIN}}\""));
    assert_eq!(plan.arms[0].load.connections, 7);
    let written = read(&with_load("connections = \"7\""), &set(&[])).unwrap_err();
    assert!(written.contains("got \"7\""), "{written}");
}

#[test]
fn the_hash_covers_everything_but_secrets_and_workers() {
    let hash = |options: &Options| read(HOME, options).unwrap().hash();
    let base = hash(&set(&[]));
    assert_eq!(base.len(), 64);
    assert_eq!(base, hash(&set(&[])));
    for workers in 1..=16 {
        assert_eq!(base, hash(&set(&[&format!("load.workers={workers}")])), "{workers}");
    }
    let changes = [
        "title=x",
        "load.rate=501/s",
        "load.duration=61s",
        "operation.0.weight=2",
        "operation.0.http.path=/x",
        "target.insecure=true",
        "load.warm_up=1s",
        "operation.0.expect={status = 200}",
    ];
    let mut hashes = vec![base];
    hashes.extend(changes.iter().map(|change| hash(&set(&[change]))));
    hashes.push(hash(&Options { seed: Some(2), ..set(&[]) }));
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn levels_cross_fill_placeholders_and_keep_their_type() {
    let plan = plan(
        r#"
[factors]
path        = ["direct", "front"]
connections = [1, 10]
[design]
blocks = 3
[target]
url = "http://127.0.0.1:8080"
[load]
connections = "{{factor.connections}}"
duration    = "30s"
[[operation]]
name = "both"
http = { path = "/{{factor.path}}/{{factor.connections}}" }
[[operation]]
name = "only"
when = { path = "front", connections = [10] }
http = { path = "/" }
"#,
    );
    let names: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "path=direct,connections=1",
            "path=direct,connections=10",
            "path=front,connections=1",
            "path=front,connections=10"
        ]
    );
    let connections: Vec<u32> = plan.arms.iter().map(|arm| arm.load.connections).collect();
    assert_eq!(connections, [1, 10, 1, 10]);
    let counts: Vec<usize> = plan.arms.iter().map(|arm| arm.operations.len()).collect();
    assert_eq!(counts, [1, 1, 1, 2]);
    assert_eq!(plan.arms[3].operations[0].table.to_json()["path"], "/front/10");
    assert_eq!(plan.arms[3].factors["connections"], 10);
    assert_eq!(plan.trials.len(), 12);
}

#[test]
fn a_level_may_be_a_table_of_load_settings() {
    let plan = plan(
        r#"
[factors.workload]
high_volume = { operations = 5000, connections = 50 }
sustained   = { rate = "50/s", duration = "30s" }
[target]
url = "http://127.0.0.1:8080"
[load]
duration = "10s"
timeout  = "3s"
[[operation]]
http = { path = "/{{factor.workload}}" }
"#,
    );
    let [volume, sustained] = plan.arms.as_slice() else { panic!("two arms") };
    assert_eq!((&volume.load.model, volume.load.connections), (&Model::Closed, 50));
    assert_eq!(volume.load.stop, Stop::Operations { count: 5000 });
    assert_eq!(sustained.load.stop, Stop::Duration { after: Duration::from_secs(30) });
    assert_eq!(sustained.load.timeout, Duration::from_secs(3));
    assert_eq!(sustained.name, "workload=sustained");
    assert_eq!(sustained.operations[0].table.to_json()["path"], "/sustained");
    assert_eq!(sustained.factors["workload"], "sustained");
}

#[test]
fn a_password_that_is_written_out_stands_in_no_output() {
    let auth = "http = { path = \"/hunter22\", auth = { user = \"u\", password = \"hunter22\" } }";
    let plan = plan(&HOME.replace("http = { path = \"/\" }", auth));
    let written = serde_json::to_string(&plan).unwrap();
    assert!(!written.contains("hunter22") && written.contains("{{env.PASSWORD}}"), "{written}");
    assert!(!plan.describe().contains("hunter22"));
}
