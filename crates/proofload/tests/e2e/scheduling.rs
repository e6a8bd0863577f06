//! The scheduling of workers: the record matches the kernel's state, and nothing else changes.

use std::fs;

use record::summary::{Scheduling, SchedulingPolicy, SchedulingReason};

use crate::lab::server::truth;
use crate::lab::{Lab, assert_measured, only_trial};

const LOAD: [&str; 6] = ["--rate", "200/s", "--duration", "3s", "--warm-up", "0s"];
const SYSTEM: &str = "[load]\nrate = \"200/s\"\nduration = \"3s\"\nwarm_up = \"0s\"\n\
                      [system]\nserve = \"truth\"\n\
                      [[operation]]\nname = \"get\"\nhttp = { path = \"/\" }\n";

/// Scheduling policy and nice value of each thread of a process, by the thread's name.
fn threads(process: u32) -> Vec<(String, (u64, i64))> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
    stats
        .map(|stat| {
            let (head, tail) = stat.rsplit_once(") ").expect("proc_pid_stat(5)");
            let (_, name) = head.split_once(" (").expect("a name");
            let fields: Vec<&str> = tail.split(' ').collect();
            let policy = fields[38].trim_end().parse().expect("the 41st field");
            (name.to_owned(), (policy, fields[16].parse().expect("the 19th field")))
        })
        .collect()
}

fn had(lab: &Lab) -> Scheduling {
    let summary = lab.summary("run").expect("a summary");
    only_trial(&summary).generator.scheduling.expect("every trial of this version says it")
}

#[test]
fn workers_have_what_the_record_says_and_everything_else_is_ordinary() {
    let lab = Lab::new();
    lab.write("own.toml", SYSTEM);
    let run = lab.start(&["run", "own.toml", "--out", "run", "--quiet"]);
    run.await_windows(&lab, 1);
    let generator = run.pid().as_raw_nonzero().get().unsigned_abs();
    let own = fs::read_to_string("/proc/thread-self/stat").expect("this thread's");
    let nice = own.rsplit_once(") ").and_then(|(_, tail)| tail.split(' ').nth(16)?.parse().ok());
    let ordinary = (0, nice.expect("a nice value"));
    let seen = threads(generator);
    let children = fs::read_to_string(format!("/proc/{generator}/task/{generator}/children"));
    let children = children.unwrap_or_default();
    let started: Vec<u32> = children.split(' ').filter_map(|pid| pid.parse().ok()).collect();
    assert!(!started.is_empty(), "the system is a child of the instrument");
    for (name, scheduled) in started.iter().flat_map(|&pid| threads(pid)) {
        assert_eq!(scheduled, ordinary, "{name} of the system");
    }
    run.finish();
    let had = had(&lab);
    let (workers, others): (Vec<_>, Vec<_>) =
        seen.into_iter().partition(|(name, _)| name.starts_with("worker-"));
    assert!(!workers.is_empty() && others.iter().all(|(_, scheduled)| *scheduled == ordinary));
    // On a busy machine a worker may come near the limit between this check and its end.
    if had.reason != Some(SchedulingReason::NearLimit) {
        for (name, (policy, nice)) in workers {
            let fifo = had.policy == SchedulingPolicy::Fifo;
            assert_eq!(policy, u64::from(fifo), "{name}: {had:?}");
            assert!(fifo || nice == i64::from(had.nice), "{name} has nice {nice}: {had:?}");
        }
    }
}

#[test]
fn no_realtime_leaves_workers_as_they_are_and_the_pages_say_so() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let (ran, summary) = lab.run(&[&[url.as_str(), "--no-realtime"], &LOAD[..]].concat());
    assert_measured(&ran, &summary);
    let had = had(&lab);
    assert_eq!(
        (had.policy, had.reason),
        (SchedulingPolicy::Ordinary, Some(SchedulingReason::SwitchedOff))
    );
    for page in [lab.read("run/report.md"), lab.read("run/report.html")] {
        assert!(page.contains("--no-realtime") && page.contains("scheduling of workers"));
    }
}

#[test]
fn a_closed_load_does_not_ask_for_fifo() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=constant", "service=1ms"]);
    lab.run(&[&url, "--warm-up", "0s", "--connections", "2", "--duration", "1s"]);
    let had = had(&lab);
    assert_eq!(
        (had.policy, had.reason),
        (SchedulingPolicy::Ordinary, Some(SchedulingReason::ClosedLoad))
    );
}
