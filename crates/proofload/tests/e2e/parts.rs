//! Times that a target reports for its parts, from its answers to criteria, spans and findings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use record::summary::Summary;

use crate::lab::answering::answering;
use crate::lab::{Lab, assert_accounting, finding};

const FILE: &str = r#"title = "what lies between"
criteria = ["gateway max < 1ms", "search embed p50 < 1ms", "search failed == 0"]
[target]
url = "URL"
[factors]
path = ["direct", "front"]
[load]
connections = 10
operations = 200
warm_up = "0s"
[[operation]]
name = "search"
http = { path = "/{{factor.path}}", server_timing = ["gateway", ["embed", "join"]] }
"#;

/// The delay that the front adds: many times what a busy machine adds to an answer or to the sending of a request, so
/// that the report names the front even there.
const ADDED: Duration = Duration::from_millis(200);
/// The delay of every answer: without one, the generator would be busy, and late where the machine is.
const BOTH: Duration = Duration::from_millis(50);

/// Reports 0.4 ms for every answer, and something invalid in one of ten over all connections; requests to the front
/// take longer.
fn target() -> String {
    let answers = Arc::new(AtomicU32::new(0));
    let address = answering(move || {
        let answers = Arc::clone(&answers);
        move |head: &str| {
            // The test needs exactly these delays; it does not wait for an event.
            thread::sleep(if head.starts_with("GET /front") { ADDED + BOTH } else { BOTH });
            let number = answers.fetch_add(1, Ordering::Relaxed);
            let join = if number.is_multiple_of(10) { "x" } else { "0.02" };
            let told =
                format!("embed;dur=0.012, join;dur={join}, gateway;desc=\"all, of it\";dur=0.4");
            format!("HTTP/1.1 200 OK\r\nserver-timing: {told}\r\ncontent-length: 0\r\n\r\n")
        }
    });
    format!("http://{address}")
}

/// The first of three runs whose generator kept its times: a busy machine delays it.
fn measured() -> (Lab, Summary) {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let lab = Lab::new();
        lab.write("between.toml", &FILE.replace("URL", &target()));
        let (_, summary) = lab.run(&["between.toml"]);
        if summary.criteria.iter().all(|one| one.observed.is_some()) {
            return (lab, summary);
        }
        seen.push(summary.criteria);
    }
    panic!("the criteria were judged in none of three runs: {seen:?}");
}

#[test]
fn parts_are_spans_and_the_level_that_adds_time_around_them_is_named() {
    let (lab, summary) = measured();
    for trial in summary.arms.iter().flat_map(|arm| &arm.trials) {
        assert_accounting(trial);
        let search = &trial.operations[0];
        let told = |name: &str| {
            let span = &search.spans[name];
            (span.count, span.min_ns, span.max_ns)
        };
        assert_eq!(told("gateway"), (200, 400_000, 400_000));
        assert_eq!(told("embed"), (200, 12_000, 12_000));
        assert_eq!(told("join"), (180, 20_000, 20_000));
        assert_eq!(search.parts[2].within.as_deref(), Some("gateway"));
        let note = "operation search: 20 metrics of `Server-Timing`, warm-up included, could not be parsed";
        assert!(trial.generator.notes.iter().any(|one| one == note), "{:?}", trial.generator.notes);
    }
    let outside = finding(&summary, "time-outside-parts").expect("200 ms are in no part");
    assert!(outside.contains("that search takes on average `gateway` took 400 µs"), "{outside}");
    let adds = finding(&summary, "level-adds-time-outside").expect("one level adds them");
    assert!(adds.starts_with("path = front adds "), "{adds}");
    let itself =
        "outside of `gateway` (search), which itself took 400 µs versus 400 µs with path = direct";
    assert!(adds.ends_with(itself), "{adds}");
    let page = lab.read("run/report.html");
    assert!(page.contains("<td>target</td>"), "whose word it is stands beside the span");
}

#[test]
fn a_served_system_is_called_what_it_serves() {
    let _lab = Lab::new();
    let (served, _) = crate::lab::server::bundled("truth", &["mode=none"]);
    let name = std::fs::read_to_string(format!("/proc/{}/comm", served.child.id()));
    assert_eq!(name.expect("it runs").trim(), "truth");
}

#[test]
fn trying_shows_what_the_answer_tells() {
    let lab = Lab::new();
    lab.write("between.toml", &FILE.replace("URL", &target()));
    let ran = lab.proofload(&["check", "--try", "between.toml"]);
    assert!(ran.stdout.contains("holds: Server-Timing reports gateway (seen: 0.4 ms)"), "{ran:?}");
    assert!(ran.stdout.contains("DOES NOT HOLD: Server-Timing reports join (seen: no time)"));
}
