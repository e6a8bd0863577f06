//! The files from the documentation, unchanged.

use super::*;

#[test]
fn registry() {
    let plan = plan(
        r#"
title    = "Multicast registry at 100 requests/s"
question = "Does every identity receive every multicast sent to it, and what does that cost as the registry grows?"
criteria = [ "register p95 < 10ms", "enumerate p95 < 20ms", "multicast p95 < 100ms",
             "multicast delivered / targets == 100%", "failed == 0" ]

[[service]]                                  # a real server the system needs: started on a free port for each trial, stopped after it
name    = "redis"
command = "redis-server --bind 127.0.0.1 --port {port} --save '' --appendonly no"
ready   = "tcp"
[[service]]
name    = "nats"
command = "nats-server -a 127.0.0.1 -p {port} -js -sd {scratch}"
ready   = "tcp"

[system]
serve   = "registry"
set     = { store = "redis://{redis}", bus = "nats://{nats}" }      # without these two: the embedded store and bus

[[observer]]                                 # counts what arrives, in a process of its own
name    = "receivers"
serve   = "registry-receivers"
set     = { registry = "{system.http}", bus = "nats://{nats}" }   # subscribes before the load begins, many identities on one connection
expect  = "received == multicast.delivered"

[load]
rate     = "100/s"
arrivals = "constant"
warm_up  = "0s"
duration = "60s"
steady_state = "reported"                    # the registry grows through the run: that is the question ("required" is the default)

[[operation]]
name   = "register"
weight = 50
http   = { method = "POST", path = "/v1/loadtest/register", json = { identity = "user-{{sequence}}", ttl_seconds = 300, metadata = { status = "online", worker = "{{random 0..99}}" } } }
expect = { status = 200 }
[[operation]]
name   = "enumerate"
weight = 30
http   = { method = "POST", path = "/v1/loadtest/enumerate", json = { filter = { status = "online" }, limit = 100 } }
items  = { matched = "$.total_count" }
[[operation]]
name   = "multicast"
weight = 20
http   = { method = "POST", path = "/v1/loadtest/multicast", json = { filter = { status = "online" }, payload = "{{nonce}}", semantics = "at_least_once" } }
items  = { targets = "$.target_count", delivered = "$.delivered_count" }
"#,
    );
    let arm = &plan.arms[0];
    assert_eq!(arm.services[0].command[5..7], ["--save", ""]);
    assert_eq!(arm.services[1].ready, Ready::Tcp);
    let system = arm.system.as_ref().unwrap();
    assert_eq!(system.start, Start::Serve("registry".into()));
    assert_eq!(system.set["store"], "redis://{redis}");
    assert_eq!(arm.observers[0].expect.as_deref(), Some("received == multicast.delivered"));
    assert_eq!(arm.targets[0].url, "http://{system.http}");
    assert_eq!(arm.operations[2].items.len(), 2);
    assert!(arm.operations[0].expect.is_some());
    assert_eq!(plan.criteria.len(), 5);
}

#[test]
fn search() {
    let plan = plan(
        r#"
[factors]
path        = ["direct", "front"]             # the system understands front = "front" and "direct"
connections = [1, 10]
[design]
blocks = 10                                   # every arm once a block, in random order; `check` refuses a number that cannot decide
[system]
serve = "search"
set   = { workers = 200, front = "{{factor.path}}" }       # a lone expression keeps its type
[load]
connections = "{{factor.connections}}"        # closed loop, no think time
duration    = "30s"
[[operation]]
http   = { method = "POST", path = "/v1/matrix/search", json = { query = "{{row.query}}", k = 10, use_playbook = false } }
rows   = { file = "data/queries.csv", order = "round_robin" }
expect = { status = 200, json = { "$.results.length()" = 10 } }
[[comparison]]
factor   = "path"
baseline = "direct"
metrics  = ["goodput", "p50", "p99"]
margin   = { goodput = "5%", p50 = "5%", p99 = "10%" }
"#,
    );
    assert_eq!((plan.title.as_str(), plan.arms.len(), plan.trials.len()), ("test", 4, 40));
    assert_eq!(plan.arms[2].system.as_ref().unwrap().set["front"], "front");
    assert_eq!(plan.comparisons[0].margins["p99"], 0.1);
}

#[test]
fn edge() {
    let plan = plan(
        r#"
[factors]
messages = [0, 10, 20, 40]                    # messages of 2,000 bytes cast to the monitor for each request
[design]
blocks = 10
[system]
serve = "edge"                                # proxy + origin + monitor
set   = { cast_messages = "{{factor.messages}}", cast_bytes = 2000, origin_recipe = "recipes/random-300kb.json", cache = "bypass" }
[load]
rate     = "200/s"
duration = "60s"
[[operation]]
http = { path = "/page-{{sequence}}", header = { accept-encoding = "gzip" } }
[[observer]]
name   = "monitor"
expect = "received == proxy.cast"
[[comparison]]
factor   = "messages"
baseline = 0
metrics  = ["mean", "p50", "p99"]
margin   = { mean = "5%", p50 = "5%", p99 = "10%" }     # 'negligible' = equivalent within these
"#,
    );
    assert_eq!(plan.arms[3].system.as_ref().unwrap().set["cast_messages"], 40);
    assert_eq!(plan.arms[0].observers[0].start, None);
    assert_eq!(plan.comparisons[0].baseline, 0);
}

#[test]
fn the_experiments_of_this_repository() {
    let stall = plan(include_str!("../../../../../experiments/stall.toml"));
    assert_eq!(stall.arms[0].load.steady_state, SteadyState::Reported);
    let demo = plan(include_str!("../../../../../experiments/demo.toml"));
    assert_eq!(demo.arms[0].system.as_ref().unwrap().set["mode"], "mm1");
    assert_eq!(demo.wall_time(), Some(Duration::from_secs(12)));
}

#[test]
fn a_text_of_a_plan_is_shown_as_far_as_somebody_reads_it() {
    let path = format!("/{}", "é".repeat(3_000));
    let demo = include_str!("../../../../../experiments/demo.toml");
    let text = demo.replace("path = \"/\"", &format!("path = \"{path}\""));
    assert_ne!(text, demo);
    let shown = plan(&text).describe();
    let line = shown.lines().find(|line| line.starts_with("    http ")).unwrap();
    assert_eq!(line, format!("    http {{\"path\":\"/{}… (6001 bytes)\"}}", "é".repeat(999)));
    assert_eq!(plan(&text).arms[0].operations[0].table.to_json()["path"], path);
}

#[test]
fn a_plan_is_described_whole() {
    let plan = plan(include_str!("../../../../../experiments/demo.toml"));
    let expected = format!(
        r#"title        A server of known behaviour at half its capacity
question     Does a server that takes 1 ms on average hold 500 requests/s below 20 ms?
seed         1
plan hash    {}
wall time    12s without start-up and drain
criterion    p99 < 20ms
criterion    failed == 0

arm all
  system     proofload serve truth mode=mm1 rate=1000/s
  target     http://{{system.http}}
  load       open, Poisson 500/s, measured for 10s
  load       warm-up 2s, time-out 30s, 1000 connections, kept alive
  operation  ask 100% to http://{{system.http}}
    http {{"path":"/"}}

1 trial
     1  block   1  all  seed {}
"#,
        plan.hash(),
        plan.trials[0].seed
    );
    assert_eq!(plan.describe(), expected);
}

#[test]
fn a_plan_is_described_without_what_steers_a_terminal() {
    let text = format!("title = \"a\\u001b[2J\\nseed 7\"\n{}", with_load("rate = \"5/s\""));
    let told = plan(&text).describe();
    assert!(told.starts_with("title        a\u{fffd}[2J seed 7\n"), "{told}");
}
