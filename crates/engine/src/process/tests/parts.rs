//! Faults on a part: a shell with a second process, which the shell can replace.

use plan::fault::{Fault, FaultAction, FaultStep, FaultTarget};
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::process::parts::send;
use crate::process::usage::{Identity, one};

/// Starts a process next to the shell, as its `part`, and waits until it has its name.
const BEGUN: &str = r#"work() {
    sleep 1000 & part=$!
    while [ -e /proc/$part ] && [ "$(cat /proc/$part/comm 2>/dev/null)" != sleep ]; do :; done
}
work
printf '{"ready":true,"processes":[{"name":"front","pid":%d},{"name":"part","pid":%d}]}\n' $$ $part
"#;

/// A service that restarts its part.
fn kept() -> Service {
    service("two", &format!("{BEGUN}while :; do wait $part; work; done"))
}

fn whom(part: &str) -> FaultTarget {
    let part = (!part.is_empty()).then(|| part.to_owned());
    FaultTarget { process: "two".to_owned(), part }
}

fn step(part: &str, action: FaultAction) -> FaultStep {
    FaultStep { at: Duration::ZERO, whom: whom(part), action }
}

fn started(folder: &Folder, service: Service) -> Processes {
    folder.launcher().start(&arm(vec![service]), &never).unwrap()
}

fn leader(processes: &Processes) -> u32 {
    processes.running[0].child.pid()
}

/// The process that is currently the part.
fn sleeper(processes: &Processes) -> Option<u32> {
    let pids = processes.pids().remove(0).1;
    pids.into_iter().find(|pid| one(*pid).is_some_and(|one| one.name == "sleep" && !one.ended))
}

/// Waits for a new process that is the part, and returns it.
fn successor(processes: &Processes, before: u32) -> u32 {
    let mut found = before;
    await_that("another one comes in its place", || {
        found = sleeper(processes).unwrap_or(before);
        found != before
    });
    found
}

fn stands_still(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn a_part_is_hit_and_so_is_who_comes_in_its_place() {
    let folder = Folder::new();
    let mut processes = started(&folder, kept());
    let front = leader(&processes);
    processes.begin_measure();
    let first = sleeper(&processes).unwrap();
    assert_eq!(processes.inject(&step("part", FaultAction::Kill)), Ok(()));
    let second = successor(&processes, first);
    assert!(!lives(first));
    assert_eq!(processes.inject(&step("part", FaultAction::Freeze)), Ok(()));
    await_that("it stands still", || stands_still(second));
    assert!(!stands_still(front), "and nobody else does");
    assert_eq!(processes.inject(&step("part", FaultAction::Continue)), Ok(()));
    await_that("it goes on", || !stands_still(second));
    assert_eq!(processes.inject(&step("part", FaultAction::Stop)), Ok(()));
    let third = successor(&processes, second);
    processes.end_measure();
    assert_eq!(processes.died(), None, "the system itself lives on");
    let facts = processes.facts().remove(0);
    let called = |name: &str| -> Vec<u32> {
        facts.processes.iter().filter(|one| one.name == name).map(|one| one.pid).collect()
    };
    assert_eq!(called("part"), [first, second, third]);
    assert_eq!(called("front"), [front]);
    assert_eq!(processes.stop(), Vec::<String>::new());
    assert!(!lives(third));
}

#[test]
fn a_part_that_could_not_be_hit_is_refused_before_the_load() {
    let refused = |service: Service, part: &str| {
        let folder = Folder::new();
        let (at, action) = (Duration::from_secs(1), FaultAction::Kill);
        let mut arm = arm(vec![service]);
        arm.faults = vec![Fault { whom: whom(part), at, action, undone_after: None }];
        let error = folder.launcher().start(&arm, &never).unwrap_err();
        assert!(error.hint().is_some());
        error.to_string()
    };
    let stranger = |pid: u32| {
        let line = format!(r#"{{"ready":true,"processes":[{{"name":"part","pid":{pid}}}]}}"#);
        service("two", &format!("echo '{line}'; exec sleep 1000"))
    };
    let (this, nobody) = (std::process::id(), i32::MAX.unsigned_abs());
    let none = |pid: u32| {
        format!("its ready line names process {pid}, which is not one of its running children")
    };
    for (service, part, reason) in [
        (kept(), "prt", "its ready line names the parts part".to_owned()),
        (
            kept(),
            "front",
            "that is the started process itself; name it without the part".to_owned(),
        ),
        (
            service("two", &format!("{READY}; exec sleep 1000")),
            "part",
            "its ready line names no parts".to_owned(),
        ),
        (stranger(this), "part", none(this)),
        (stranger(nobody), "part", none(nobody)),
    ] {
        assert_eq!(refused(service, part), format!("two.{part} cannot be hit: {reason}"));
    }
}

#[test]
fn a_part_that_is_gone_is_not_hit() {
    let folder = Folder::new();
    let alone = service("two", &format!("{BEGUN}exec tail -f /dev/null"));
    let mut processes = started(&folder, alone);
    let part = sleeper(&processes).unwrap();
    assert_eq!(processes.inject(&step("part", FaultAction::Freeze)), Ok(()));
    kill(part);
    await_that("it ends", || !lives(part));
    let told = |text: &str| Err(text.to_owned());
    assert_eq!(processes.inject(&step("part", FaultAction::Continue)), told("it has ended"));
    let none = told("it has ended and was not replaced");
    assert_eq!(processes.inject(&step("part", FaultAction::Kill)), none);
    kill(leader(&processes));
    let gone = told("the process that started it has ended: killed by signal 9");
    await_that("its end is seen", || processes.inject(&step("part", FaultAction::Kill)) == gone);
}

/// Two parts that are alike have ended, and one new process has started.
#[test]
fn a_process_that_may_be_another_part_is_not_hit() {
    let folder = Folder::new();
    let begun = r#"
mkfifo "$0"
sleep 1000 & a=$!
sleep 1000 & b=$!
for part in $a $b; do while [ "$(cat /proc/$part/comm)" != sleep ]; do :; done; done
printf '{"ready":true,"processes":[{"name":"a","pid":%d},{"name":"b","pid":%d}]}\n' $a $b
wait $a; wait $b; read -r go < "$0"; sleep 1000 & wait
"#;
    let go = folder.0.join("go");
    let command = [&shell(begun)[..], &[go.display().to_string()]].concat();
    let mut processes = started(&folder, Service { command, ..service("two", "") });
    let parts = processes.pids().remove(0).1;
    for part in parts.into_iter().filter(|pid| *pid != leader(&processes)) {
        kill(part);
        await_that("it ends", || !lives(part));
    }
    let told = |text: &str| Err(text.to_owned());
    let none = told("it has ended and was not replaced");
    assert_eq!(processes.inject(&step("a", FaultAction::Kill)), none);
    fs::write(&go, "go\n").unwrap();
    await_that("one comes", || sleeper(&processes).is_some());
    for part in ["a", "b"] {
        let other = told("it has ended, and its successor may be that of another part");
        assert_eq!(processes.inject(&step(part, FaultAction::Kill)), other);
    }
}

#[test]
fn a_restarted_process_names_its_parts_anew() {
    let folder = Folder::new();
    let mut processes = started(&folder, kept());
    let first = sleeper(&processes).unwrap();
    assert_eq!(processes.inject(&step("", FaultAction::Kill)), Ok(()));
    assert_eq!(processes.inject(&step("", FaultAction::Start)), Ok(()));
    await_that("it is ready", || processes.inject(&step("part", FaultAction::Kill)).is_ok());
    assert!(!lives(first));
    assert!(lives(leader(&processes)));
}

#[test]
fn a_process_that_reuses_an_id_is_not_taken_for_the_old_one() {
    let folder = Folder::new();
    let processes = started(&folder, kept());
    let (front, part) = (leader(&processes), sleeper(&processes).unwrap());
    let real = one(part).unwrap().identity();
    let other = Identity { started: real.started + 1, ..real };
    assert!(!send(front, &[other], Signal::KILL));
    assert!(lives(part));
    let mut stranger = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let not_ours = one(stranger.id()).unwrap().identity();
    assert!(!send(front, &[not_ours], Signal::KILL));
    assert_eq!(stranger.try_wait().unwrap(), None);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(send(front, &[real], Signal::KILL));
    await_that("it ends", || !lives(part));
}
