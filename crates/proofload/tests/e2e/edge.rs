//! The edge as one system of three processes, two of which the third supervises: the effects of a process that dies,
//! and what remains at the end.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use record::summary::{Judgement, Summary};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::lab::process::pid;
use crate::lab::server::bundled;
use crate::lab::{Lab, assert_accounting, assert_measured, finding, only_trial};
use crate::search::asking::{address, ask, json_of, try_ask};

/// Time limit for a restart, with a margin for a loaded machine.
const WITHIN: Duration = Duration::from_secs(20);
const PARTS: [&str; 3] = ["proxy", "origin", "monitor"];
/// Kept for a minute.
const RECIPE: &str = r#"{"body": "from the origin", "headers": {"cache-control": "public, max-age=60"}, "stages": [{"at": 0, "status": 200, "latency": 0}]}"#;

/// Waits until another process makes this true.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WITHIN, "{what}");
        thread::yield_now();
    }
}

/// The process with this name in a ready line.
fn process(ready: &Value, name: &str) -> Pid {
    let processes = ready["processes"].as_array().expect("processes");
    let found = processes.iter().find(|one| one["name"] == name).expect("a process of this name");
    let pid = found["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    pid.and_then(Pid::from_raw).expect("its process id")
}

/// Treats zombies as gone: in some containers the first process does not reap orphans.
fn is_gone(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let is_zombie =
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')));
    is_zombie || test_kill_process(pid).is_err()
}

fn get(address: &str, path: &str) -> (u16, String, String) {
    let (status, head, body) = ask(address, "GET", path, "");
    (status, head, String::from_utf8_lossy(&body).into_owned())
}

/// A metric of the proxy, by name and labels.
fn figure(http: &str, name: &str) -> u64 {
    let (_, _, text) = get(http, "/_proxy/metrics");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a count")
}

/// What a monitor received, and what senders report that they dropped and cast.
fn account(monitor: &str) -> Option<[u64; 3]> {
    let (status, _, body) = try_ask(monitor, "GET", "/observed", "").ok()?;
    assert_eq!(status, 200);
    let told = json_of(&body);
    let of = |count: &Value| count.as_u64().expect("a count");
    Some([of(&told["received"]), of(&told["detail"]["dropped"]), of(&told["detail"]["cast"])])
}

#[test]
fn a_request_goes_through_all_three_and_each_can_be_asked_by_itself() {
    let _lab = Lab::new();
    let recipe = format!("origin_recipe={RECIPE}");
    let (_served, ready) = bundled("edge", &[&recipe, "cast_messages=3", "cast_bytes=200B"]);
    let [http, origin, monitor] = ["http", "origin", "monitor"].map(|name| address(&ready, name));
    for cache in ["x-cache: miss", "x-cache: hit"] {
        let (status, head, body) = get(&http, "/page");
        assert_eq!((status, body.as_str()), (200, "from the origin"));
        assert!(head.contains(cache), "{head}");
    }
    let (status, head, _) = get(&origin, "/page");
    assert!(status == 200 && !head.contains("x-cache"), "{head}");
    eventually("two answers are told", || account(&monitor) == Some([6, 0, 6]));
    let effective = &ready["effective"];
    let told = [&effective["cast_messages"], &effective["cast_to"], &effective["upstream"]];
    let expected = [json!(3), json!([address(&ready, "casts")]), json!(format!("http://{origin}"))];
    assert_eq!(told, expected.each_ref());
    assert_eq!(effective["origin"]["recipe"], RECIPE);
    assert_eq!(effective["monitor"]["keep_messages"], 100_000);
    for (name, kernels) in PARTS.into_iter().zip(["edge", "origin", "monitor"]) {
        let pid = process(&ready, name).as_raw_nonzero();
        let called = std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("it runs");
        assert_eq!(called.trim(), kernels);
    }
}

#[test]
fn parts_elsewhere_are_not_started() {
    let _lab = Lab::new();
    let (_origin, there) = bundled("origin", &[&format!("recipe={RECIPE}")]);
    let upstream = format!("upstream=http://{}", address(&there, "http"));
    let (_served, ready) = bundled("edge", &[&upstream, "cast_to="]);
    assert_eq!(get(&address(&ready, "http"), "/").2, "from the origin");
    assert_eq!(ready["processes"].as_array().map(Vec::len), Some(1));
    assert_eq!(ready["listening"].as_object().map(serde_json::Map::len), Some(1));
    let effective = &ready["effective"];
    assert_eq!([&effective["origin"], &effective["monitor"]], ["elsewhere", "elsewhere"]);
}

#[test]
fn a_part_that_dies_comes_back_where_it_was() {
    let _lab = Lab::new();
    let recipe = format!("origin_recipe={RECIPE}");
    let (served, ready) = bundled("edge", &[&recipe, "cache=0", "breaker_errors=0"]);
    let [http, origin, monitor] = ["http", "origin", "monitor"].map(|name| address(&ready, name));
    let added = r#"{"route": "/added", "body": "added", "stages": [{"at": 0, "status": 200, "latency": 0}]}"#;
    assert_eq!(ask(&origin, "POST", "/_admin/add_recipe", added).0, 201);
    assert_eq!(get(&http, "/added").2, "added");
    kill_process(process(&ready, "origin"), Signal::KILL).expect("kills it");
    eventually("an origin answers again", || match get(&http, "/added") {
        // The new process lacks the added route.
        (200, _, body) => body == "from the origin",
        (status, _, _) => {
            assert!([502, 503, 504].contains(&status), "{status}");
            false
        }
    });
    // The process answers shortly before its restart is counted.
    let restarts = "proxy_part_restarts_total{part=\"origin\"}";
    eventually("its restart is counted", || figure(&http, restarts) == 1);
    kill_process(process(&ready, "monitor"), Signal::KILL).expect("kills it");
    let restarts = "proxy_part_restarts_total{part=\"monitor\"}";
    eventually("a monitor is started again", || {
        assert_eq!(get(&http, "/").0, 200, "nobody misses it");
        figure(&http, restarts) == 1
    });
    let before = account(&monitor).expect("it answers at its old address")[2];
    assert_eq!(get(&http, "/").0, 200);
    eventually("the new one is told and its account adds up", || {
        account(&monitor)
            .is_some_and(|[received, dropped, cast]| cast > before && received + dropped == cast)
    });
    // They end with the proxy, even if it is killed.
    let firsts = ["origin", "monitor"].map(|name| process(&ready, name));
    assert!(firsts.into_iter().all(is_gone));
    drop(served);
    for place in [origin, monitor] {
        eventually("nobody is left", || try_ask(&place, "GET", "/healthz", "").is_err());
    }
}

#[test]
fn told_to_stop_it_answers_casts_what_is_under_way_and_leaves_nobody() {
    let _lab = Lab::new();
    let (_monitor, there) = bundled("monitor", &[]);
    let cast_to = format!("cast_to={}", address(&there, "casts"));
    let recipe = r#"origin_recipe={"body": "late", "stages": [{"at": 0, "status": 200, "latency": "500ms"}]}"#;
    let (mut served, ready) = bundled("edge", &[&cast_to, recipe, "cast_messages=7"]);
    let http = address(&ready, "http");
    thread::scope(|scope| {
        let asked = scope.spawn(|| get(&http, "/"));
        eventually("it is under way", || figure(&http, "proxy_under_way") == 1);
        kill_process(pid(&served.child), Signal::TERM).expect("signals");
        let (status, _, body) = asked.join().expect("an answer");
        assert_eq!((status, body.as_str()), (200, "late"));
    });
    let status = served.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(is_gone(process(&ready, "origin")), "it went before the proxy did");
    assert_eq!(account(&address(&there, "http")), Some([7, 0, 7]));
}

/// The number of processes with this value in their environment; an ended process has none.
fn marked(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let environments = processes.filter_map(|one| std::fs::read(one.path().join("environ")).ok());
    let is_marked = |environment: &Vec<u8>| {
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    environments.filter(is_marked).count()
}

#[test]
fn where_one_part_does_not_start_nothing_is_left_of_the_other() {
    let lab = Lab::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let casts = format!("monitor_casts={}", taken.local_addr().expect("its address"));
    let mark = format!("of-test-{}", std::process::id());
    let mut command = lab.command(&["serve", "edge", "--set", &casts]);
    let ran = command.env("EDGE_TEST", &mark).output().expect("it starts");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!((ran.status.code(), ran.stdout.is_empty()), (Some(4), true), "{told}");
    assert!(told.contains("cannot start the monitor"), "{told}");
    assert!(told.contains("cannot listen on"), "its own reason is told: {told}");
    let mark = format!("EDGE_TEST={mark}");
    eventually("nothing is left", || marked(&mark) == 0);
}

#[test]
fn settings_of_all_three_are_judged_before_anything_starts() {
    let lab = Lab::new();
    for (settings, told) in [
        (&["threads=0", "origin_threads=0"][..], "origin_threads: expected a whole number"),
        (&["origin_recipe=/no/such/file.json"], "origin_recipe: cannot read /no/such/file.json"),
        (&["monitor_slow=5"], "monitor_slow: expected a time"),
        (&["cast_to=127.0.0.1:1", "monitor_keep=0"], "monitor_keep: a monitor is started only"),
        (&["slow=5ms"], "did you mean monitor_slow?"),
    ] {
        let flags = settings.iter().flat_map(|setting| ["--set", setting]);
        let ran = lab.proofload(&["serve", "edge"].into_iter().chain(flags).collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stdout.is_empty()), (2, true), "{settings:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

/// A load of three casts for each request, with these faults; the system's monitor is the observer.
fn run(lab: &Lab, faults: &str) -> Summary {
    lab.write("recipe.json", RECIPE);
    let text = format!(
        r#"
title = "an edge"
criteria = ["failed == 0"]
[system]
serve = "edge"
set = {{ origin_recipe = "{{{{folder}}}}/recipe.json", cast_messages = 3, cast_bytes = "200B" }}
[target]
url = "http://{{system.http}}"
[[observer]]
name = "monitor"
expect = "received + dropped == cast and unbalanced <= 0"
{faults}
[load]
rate = "200/s"
arrivals = "constant"
duration = "2s"
warm_up = "0s"
steady_state = "reported"
[[operation]]
name = "page"
http = {{ path = "/page" }}
expect = {{ status = 200, contains = "from the origin" }}
"#
    );
    lab.write("edge.toml", &text);
    let (ran, summary) = lab.run(&["edge.toml"]);
    assert_measured(&ran, &summary);
    assert_accounting(only_trial(&summary));
    summary
}

/// The process ids in the record, by name.
fn recorded(summary: &Summary) -> BTreeMap<&str, Vec<u32>> {
    let mut recorded: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for process in &only_trial(summary).systems[0].processes {
        assert!(process.rss_peak_bytes > 0, "{process:?}");
        recorded.entry(&process.name).or_default().push(process.pid);
    }
    recorded
}

/// Checks that all requests succeeded and the monitor's counts add up; returns the received count. A late generator is
/// excused.
fn judged(summary: &Summary) -> u64 {
    let trial = only_trial(summary);
    assert_eq!(trial.accounting.failed, 0, "{:?}", trial.total.failures);
    let [observer] = &trial.observers[..] else { panic!("{:?}", trial.observers) };
    let expect = observer.expect.as_ref().expect("an expectation");
    assert!(expect.holds, "{observer:?}");
    let [criterion] = &summary.criteria[..] else { panic!("{:?}", summary.criteria) };
    let is_late = finding(summary, "late-generator").is_some();
    assert!(criterion.result == Judgement::Pass || is_late, "{criterion:?}");
    let cast = observer.detail["cast"].as_u64().expect("a count");
    assert!(cast <= 3 * trial.accounting.started, "{cast}");
    observer.received
}

#[test]
fn an_experiment_has_each_process_and_its_monitor_is_the_observer() {
    let lab = Lab::new();
    let summary = run(&lab, "");
    assert!(judged(&summary) > 0);
    let recorded = recorded(&summary);
    for part in PARTS {
        assert_eq!(recorded.get(part).map(Vec::len), Some(1), "{recorded:?}");
    }
}

/// No request fails; the new monitor counts the messages that the old one had not acknowledged.
#[test]
fn a_monitor_that_a_plan_kills_costs_no_request_and_its_successor_adds_up() {
    let lab = Lab::new();
    let fault = "[[fault]]\nprocess = \"system.monitor\"\nat = \"500ms\"\naction = \"kill\"\n";
    let summary = run(&lab, fault);
    let told = summary.findings.iter().find(|one| one.code == "planned-faults");
    let evidence = &told.expect("it is told").evidence;
    assert_eq!((&evidence["done"], &evidence["not_done"]), (&json!(1), &json!(0)));
    assert_eq!(finding(&summary, "process-died"), None, "the system itself went on");
    let received = judged(&summary);
    let started = only_trial(&summary).accounting.started;
    assert!(received > 0 && received < 3 * started, "the first had some: {received} of {started}");
    let recorded = recorded(&summary);
    assert_eq!(recorded["monitor"].len(), 2, "{recorded:?}");
    for part in ["proxy", "origin"] {
        assert_eq!(recorded[part].len(), 1, "{recorded:?}");
    }
}
