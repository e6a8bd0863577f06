//! The exchange from its clients' view: three ways to get the same records, each with the requested nonce; a producer
//! that dies, a producer that hangs, and the file that races.

use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use record::summary::{Judgement, Summary};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::lab::process::pid;
use crate::lab::server::{Served, bundled, bundled_at, free_port};
use crate::lab::{Lab, PROOFLOAD, assert_accounting, assert_measured, finding, only_trial};
use crate::search::asking::{address, ask, json_of, try_ask};

const WAYS: [&str; 3] = ["api", "uds", "shm"];
/// Time limit for a restart, with a margin for a loaded machine.
const WITHIN: Duration = Duration::from_secs(20);

/// Status and answer of a request with this query.
fn get(http: &str, way: &str, query: &str) -> (u16, Value) {
    let (status, _, body) = ask(http, "GET", &format!("/api/users-via-{way}?{query}"), "");
    (status, json_of(&body))
}

/// Status and code of a request with this nonce; an answer must contain the nonce.
fn exchange(http: &str, way: &str, nonce: u64) -> (u16, String) {
    let nonce = format!("{nonce:016x}");
    let (status, told) = get(http, way, &format!("nonce={nonce}"));
    let code = told["error"]["code"].as_str().unwrap_or("none").to_owned();
    if status == 200 {
        assert_eq!(told["nonce"], json!(nonce), "{way}");
    }
    (status, code)
}

/// Requests by each way until it answers; meanwhile only an absent producer or a time-out may be reported.
fn recovers(http: &str) {
    let begun = Instant::now();
    for way in WAYS {
        loop {
            match exchange(http, way, 7) {
                (200, _) => break,
                (503, code) => assert_eq!(code, "unreachable", "{way}"),
                late => assert_eq!(late, (504, "deadline".to_owned()), "{way}"),
            }
            assert!(begun.elapsed() < WITHIN, "{way} does not come back");
            thread::yield_now();
        }
    }
}

/// The process that answers behind a front.
fn producer(ready: &Value) -> Pid {
    let processes = ready["processes"].as_array().expect("processes");
    let producer = processes.iter().find(|one| one["name"] == "producer").expect("a producer");
    let pid = producer["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    pid.and_then(Pid::from_raw).expect("its process id")
}

#[test]
fn each_way_gives_the_records_and_the_nonce_back() {
    let _lab = Lab::new();
    for reencode in ["reencode=true", "reencode=false"] {
        // In a debug build on a busy machine 16 MiB need more than the default of two seconds.
        let (_served, ready) = bundled("exchange", &[reencode, "deadline=60s"]);
        let http = address(&ready, "http");
        for (number, way) in WAYS.into_iter().enumerate() {
            let nonce = format!("{:016x}", 0xfedc_0000 + number);
            let path = format!("/api/users-via-{way}?nonce={nonce}");
            let (status, head, body) = ask(&http, "GET", &path, "");
            let told = json_of(&body);
            assert_eq!((status, &told["nonce"]), (200, &json!(nonce)), "{way}");
            assert_eq!(told["users"].as_array().map(Vec::len), Some(100), "{way}");
            let names = ["exchange;dur=", "decode;dur=", "encode;dur=", "front;dur="];
            let times = head.lines().find(|line| line.starts_with("server-timing: "));
            let times = times.expect("the times of its parts");
            assert!(names.iter().all(|name| times.contains(name)), "{times}");
            assert_eq!(times.contains("decode;dur=0.000000"), reencode == "reencode=false");
            let (status, told) = get(&http, way, "users=3");
            assert_eq!((status, told["users"].as_array().map(Vec::len)), (200, Some(3)), "{way}");
            assert_eq!(told["nonce"].as_str().map(str::len), Some(16), "one is drawn");
        }
        assert_sizes(&http, reencode == "reencode=false");
        assert_counted(&http);
    }
}

/// Payloads of a given size arrive complete, up to the largest size.
fn assert_sizes(http: &str, as_they_are: bool) {
    for way in WAYS {
        for (size, bytes) in [("1KiB", 1 << 10), ("1048576", 1 << 20), ("16MiB", 16 << 20)] {
            let path = format!("/api/users-via-{way}?size={size}&nonce=00000000000000ff");
            let (status, _, body) = ask(http, "GET", &path, "");
            assert_eq!(status, 200, "{way} {size}");
            assert_eq!(json_of(&body)["nonce"], json!("00000000000000ff"), "{way} {size}");
            assert!(!as_they_are || body.len() == bytes, "{way} {size}: {}", body.len());
        }
    }
}

fn assert_counted(http: &str) {
    let (_, _, body) = ask(http, "GET", "/metrics", "");
    let text = String::from_utf8(body).expect("text");
    for way in ["http", "unix", "shm"] {
        let line = format!("exchange_front_requests_total{{way=\"{way}\",outcome=\"answered\"}} 5");
        assert!(text.contains(&line), "{line}: {text}");
    }
}

#[test]
fn bad_input_is_told_with_its_place() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("exchange", &["max_answers=1MiB"]);
    let http = address(&ready, "http");
    for way in WAYS {
        for (query, at) in [
            ("users=0", "users"),
            ("users=1000000000", "users"),
            ("size=17MiB", "size"),
            ("size=17825792", "size"),
            ("nonce=xyz", "nonce"),
            ("nonce=0123456789abcdeg", "nonce"),
        ] {
            let (status, told) = get(&http, way, query);
            let error = &told["error"];
            let expected = (400, &json!("bad_input"), &json!(at));
            assert_eq!((status, &error["code"], &error["at"]), expected, "{way} {query}");
        }
        let (status, told) = get(&http, way, "size=2MiB");
        assert_eq!((status, &told["error"]["code"]), (503, &json!("crowded")), "{way}");
    }
    for (method, path, status) in
        [("GET", "/api/users-via-tcp", 404), ("GET", "/", 404), ("POST", "/api/users-via-api", 405)]
    {
        assert_eq!(ask(&http, method, path, "").0, status, "{method} {path}");
    }
}

#[test]
fn settings_that_make_no_sense_are_told_at_once() {
    let lab = Lab::new();
    for (settings, told) in [
        (&["race_hold=1s"][..], "race_hold: has no effect without file_race=true"),
        (&["http=127.0.0.1:1"], "http, unix, shm: give all three addresses"),
        (&["users=0", "deadline=0s"], "users: expected a whole number from 1"),
        (&["producer_seed=x"], "producer_seed: expected"),
        (&["spn=1us"], "did you mean spin?"),
    ] {
        let flags = settings.iter().flat_map(|setting| ["--set", setting]);
        let ran =
            lab.proofload(&["serve", "exchange"].into_iter().chain(flags).collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stdout.is_empty()), (2, true), "{settings:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

/// A producer started by the test, and a front that uses it.
fn apart(lab: &Lab) -> (Served, Served, String, impl Fn() -> Served) {
    let (listen, folder) = (format!("127.0.0.1:{}", free_port()), lab.path("sockets"));
    std::fs::create_dir_all(&folder).expect("a folder for sockets");
    let setting = format!("folder={}", folder.display());
    let start = move || bundled_at(&listen, "exchange-producer", &[&setting]);
    let (producer, told) = start();
    let places = ["http", "unix", "shm"].map(|key| format!("{key}={}", address(&told, key)));
    let mut settings: Vec<&str> = places.iter().map(String::as_str).collect();
    settings.push("deadline=20s");
    let (front, ready) = bundled("exchange", &settings);
    (producer, front, address(&ready, "http"), move || start().0)
}

fn signal(child: &Child, signal: Signal) {
    kill_process(pid(child), signal).expect("the process takes signals");
}

#[test]
fn a_killed_producer_is_missed_at_once_and_found_when_it_is_back() {
    let lab = Lab::new();
    let (producer, _front, http, start) = apart(&lab);
    recovers(&http);
    assert_eq!(ask(&http, "GET", "/healthz", "").0, 200);
    // Each thread has a question in flight that gets no answer, or is about to send one.
    signal(&producer.child, Signal::STOP);
    thread::scope(|scope| {
        let under_way = WAYS.map(|way| {
            let http = &http;
            scope.spawn(move || exchange(http, way, 1))
        });
        drop(producer);
        for asked in under_way {
            assert_eq!(asked.join().expect("an answer"), (503, "unreachable".to_owned()));
        }
    });
    for way in WAYS {
        assert_eq!(exchange(&http, way, 2), (503, "unreachable".to_owned()), "{way}");
    }
    let (status, _, health) = ask(&http, "GET", "/healthz", "");
    assert_eq!((status, &json_of(&health)["producer"]["state"]), (503, &json!("away")));
    let _producer = start();
    recovers(&http);
    assert_eq!(ask(&http, "GET", "/healthz", "").0, 200);
}

#[test]
fn a_producer_that_hangs_is_waited_for_no_longer_than_was_said() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("exchange", &["deadline=100ms"]);
    let http = address(&ready, "http");
    recovers(&http);
    let producer = producer(&ready);
    let begun = Instant::now();
    kill_process(producer, Signal::STOP).expect("stops it");
    for way in WAYS {
        loop {
            match exchange(&http, way, 3) {
                // A stopped process's threads stop one after another, shortly after the signal.
                (200, _) => assert!(begun.elapsed() < WITHIN, "{way} still answers"),
                refused => break assert_eq!(refused, (504, "deadline".to_owned()), "{way}"),
            }
        }
    }
    kill_process(producer, Signal::CONT).expect("continues it");
    let begun = Instant::now();
    for way in WAYS {
        while exchange(&http, way, 4).0 != 200 {
            assert!(begun.elapsed() < WITHIN, "{way} does not come back");
        }
    }
}

#[test]
fn a_producer_of_the_fronts_own_is_started_again() {
    let _lab = Lab::new();
    let (served, ready) = bundled("exchange", &[]);
    let http = address(&ready, "http");
    recovers(&http);
    let first = producer(&ready);
    kill_process(first, Signal::KILL).expect("kills it");
    let begun = Instant::now();
    let health = loop {
        let (_, _, health) = ask(&http, "GET", "/healthz", "");
        let health = json_of(&health);
        if health["producer"]["restarts"] == 1 && health["producer"]["state"] == "serving" {
            break health;
        }
        assert!(begun.elapsed() < WITHIN, "it is not started again: {health}");
    };
    assert_ne!(health["producer"]["pid"], json!(first.as_raw_nonzero().get()));
    recovers(&http);
    // It ends with the front, even if the front is killed.
    let second = health["producer"]["pid"].as_i64().expect("a process id");
    let second = Pid::from_raw(i32::try_from(second).expect("small")).expect("not zero");
    drop(served);
    let begun = Instant::now();
    while rustix::process::test_kill_process(second).is_ok() && !is_zombie(second) {
        assert!(begun.elapsed() < WITHIN, "it outlives its front");
        thread::yield_now();
    }
    // The first producer created the folder, and both processes that knew it were killed; another producer may have
    // removed it.
    let socket = address(&ready, "unix");
    let folder = Path::new(&socket).parent().expect("a folder of sockets");
    match std::fs::remove_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        removed => removed.expect("nothing is left in it"),
    }
}

/// In some containers the first process does not reap orphans.
fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

/// Sends this many requests at once; counts answers with another request's nonce, and requests without an answer.
fn race(http: &str, many: u64) -> (usize, usize) {
    let asked = thread::scope(|scope| {
        let asked: Vec<_> = (0..many)
            .map(|nonce| {
                scope.spawn(move || {
                    let path = format!("/api/users-via-shm?nonce={nonce:016x}");
                    let (status, _, body) = try_ask(http, "GET", &path, "").expect("an answer");
                    (status, json_of(&body)["nonce"] == json!(format!("{nonce:016x}")))
                })
            })
            .collect();
        asked.into_iter().map(|one| one.join().expect("an answer")).collect::<Vec<_>>()
    });
    assert!(asked.iter().all(|(status, _)| matches!(status, 200 | 502)), "{asked:?}");
    let wrong = asked.iter().filter(|(status, is_own)| *status == 200 && !is_own).count();
    (wrong, asked.iter().filter(|(status, _)| *status == 502).count())
}

/// All requests write before any reads, unless the machine stands still during the hold time.
#[test]
fn one_file_for_all_gives_wrong_content_to_requests_at_once() {
    let _lab = Lab::new();
    let settings = ["file_race=true", "race_hold=200ms", "users=2", "deadline=60s"];
    let (_served, ready) = bundled("exchange", &settings);
    let http = address(&ready, "http");
    for _ in 0..3 {
        assert_eq!(exchange(&http, "shm", 9).0, 200, "one at a time there is no race");
    }
    let spoiled = (0..20).map(|_| race(&http, 4)).any(|(wrong, failed)| wrong > 0 && failed > 0);
    assert!(spoiled, "in one of twenty rounds one of four gets another's data, and one none");
    for way in ["api", "uds"] {
        assert_eq!(exchange(&http, way, 9).0, 200, "{way} does not use the file");
    }
}

/// The load's view: content of another request has its own failure kind.
#[test]
fn a_run_tells_wrong_content_from_no_content() {
    let lab = Lab::new();
    let text = r#"
title = "a file for all"
criteria = ["wrong_content == 0"]
[system]
serve = "exchange"
set = { file_race = true, race_hold = "50ms", users = 2 }
[load]
connections = 4
operations = 60
warm_up = "0s"
[[operation]]
name = "users-via-shm"
http = { path = "/api/users-via-shm?nonce={{token}}" }
expect = { status = 200, json = { "$.nonce" = "{{token}}" } }
"#;
    lab.write("race.toml", text);
    let (_, summary) = lab.run(&["race.toml"]);
    let failures = &only_trial(&summary).total.failures;
    for kind in ["wrong_content", "status"] {
        assert!(failures.get(kind).is_some_and(|count| *count > 0), "{kind}: {failures:?}");
    }
    judged(&summary, (Some(failures["wrong_content"] as f64), Judgement::Fail));
}

/// Checks the result of the only criterion; a late generator may make it invalid.
fn judged(summary: &Summary, expected: (Option<f64>, Judgement)) {
    let [criterion] = &summary.criteria[..] else { panic!("{:?}", summary.criteria) };
    let is_late = finding(summary, "late-generator").is_some();
    let said = (criterion.observed, criterion.result);
    assert!(said == expected || (is_late && said.1 == Judgement::Invalid), "{criterion:?}");
}

/// A load that uses all three ways, with these faults.
fn struck(faults: &str) -> String {
    let ways = WAYS.map(|way| {
        format!(
            "[[operation]]\nname = \"{way}\"\nexpect = {{ status = 200, contains = \"{{{{token}}}}\" }}\n\
             http = {{ path = \"/api/users-via-{way}?size=4KiB&nonce={{{{token}}}}\" }}\n"
        )
    });
    format!(
        "title = \"a producer is killed\"\ncriteria = [\"wrong_content == 0\"]\n\
         [system]\nserve = \"exchange\"\nset = {{ reencode = false }}\n{faults}\
         [load]\nrate = \"150/s\"\narrivals = \"constant\"\nduration = \"8s\"\nwarm_up = \"0s\"\n\
         timeout = \"5s\"\nsteady_state = \"reported\"\n{}",
        ways.concat()
    )
}

/// The producer is killed, and later its replacement: failures meanwhile have the right kind, and at the end each way
/// works again.
#[test]
fn a_producer_that_a_plan_kills_comes_back_by_each_way() {
    let lab = Lab::new();
    let kill = |at: &str| {
        format!("[[fault]]\nprocess = \"system.producer\"\nat = \"{at}\"\naction = \"kill\"\n")
    };
    lab.write("kill.toml", &struck(&(kill("1s") + &kill("4s"))));
    let (ran, summary) = lab.run(&["kill.toml", "--samples"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let told = summary.findings.iter().find(|one| one.code == "planned-faults");
    let told = told.expect("it is told");
    assert_eq!(told.claim.matches("kill system.producer").count(), 2, "{}", told.claim);
    assert_eq!((&told.evidence["done"], &told.evidence["not_done"]), (&json!(2), &json!(0)));
    assert_eq!(finding(&summary, "process-died"), None, "the system itself went on");
    let producers = trial.systems[0].processes.iter().filter(|one| one.name == "producer");
    let pids: Vec<u32> = producers.map(|one| one.pid).collect();
    assert_eq!(pids.len(), 3, "two that were killed, and the last one: {:?}", trial.systems);
    let failures = &trial.total.failures;
    assert!(!failures.contains_key("wrong_content"), "taken for right: {failures:?}");
    judged(&summary, (Some(0.0), Judgement::Pass));
    let statuses: Vec<&str> = trial.total.statuses.keys().map(String::as_str).collect();
    assert!(statuses.iter().all(|one| ["200", "503", "504"].contains(one)), "{statuses:?}");
    assert!(trial.accounting.failed > 0, "for a moment nobody was there");
    assert_right_at_the_end(&lab);
}

/// The intended start of an exported sample, in milliseconds.
fn due(sample: &[&str]) -> u64 {
    sample[0].parse().expect("milliseconds")
}

/// In the last second every request by each way succeeded.
fn assert_right_at_the_end(lab: &Lab) {
    let jtl = lab.proofload(&["report", "run", "--format", "jtl"]).stdout;
    let samples: Vec<Vec<&str>> =
        jtl.lines().skip(1).map(|line| line.split(',').take(8).collect()).collect();
    let last = samples.iter().map(|sample| due(sample)).max().expect("samples");
    for way in WAYS {
        let end = samples.iter().filter(|sample| sample[2] == way && due(sample) + 1_000 > last);
        let right: Vec<&str> = end.map(|sample| sample[7]).collect();
        assert!(right.len() >= 30 && right.iter().all(|one| *one == "true"), "{way}: {right:?}");
    }
}

#[test]
fn a_part_that_there_is_not_is_told_before_anything_is_sent() {
    let lab = Lab::new();
    let fault = "[[fault]]\nprocess = \"system.produser\"\nat = \"1s\"\naction = \"kill\"\n";
    lab.write("bundled.toml", &struck(fault));
    let ran = lab.proofload(&["run", "bundled.toml", "--out", "run"]);
    assert_eq!(ran.code, 2, "a bundled system says beforehand what it has: {}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `producer`?"), "{}", ran.stderr);
    // The parts of a plain command are unknown before it starts.
    let bundled = "serve = \"exchange\"\nset = { reencode = false }\n";
    let another = format!("command = \"'{PROOFLOAD}' serve exchange\"\nready = \"line\"\n");
    let file = struck(fault).replace(bundled, &another);
    assert!(file.contains(&another), "{file}");
    lab.write("kill.toml", &file);
    let ran = lab.proofload(&["run", "kill.toml", "--out", "run"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    for text in [
        "error: system.produser cannot be hit: its ready line names the parts producer",
        "while: starting trial 1",
        "hint: write PROCESS.PART with a name that the ready line lists under `processes`",
    ] {
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
    assert!(lab.summary("run").is_none(), "nothing was measured");
}
