//! Real children: `/bin/sh` scripts that become ready, die, are slow, or refuse to end.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use plan::load::{Load, Model, Reuse, SteadyState, Stop, WarmUp};
use plan::plan::Arm;
use plan::process::{Observer, Ready, Service, Start, System};
use plan::target::Target;
use record::Role;
use serde_json::json;

use super::*;

mod parts;

const LONG: Duration = Duration::from_secs(60);
const READY: &str =
    r#"printf '{"ready":true,"listening":{"http":"127.0.0.1:9"},"effective":{"a":1}}\n'"#;

/// A folder of the test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rim-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn launcher(&self) -> Launcher {
        Launcher {
            ready_within: LONG,
            stop_within: LONG,
            ..Launcher::new(BTreeMap::new(), self.0.join("scratch"), Vec::new())
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn arm(services: Vec<Service>) -> Arm {
    Arm {
        name: "all".into(),
        factors: BTreeMap::new(),
        values: BTreeMap::new(),
        targets: vec![Target::default()],
        load: Load {
            model: Model::Closed,
            stop: Stop::Operations { count: 1 },
            warm_up: WarmUp::Fixed { length: Duration::ZERO },
            timeout: Duration::from_secs(1),
            connections: 1,
            streams: 1,
            reuse: Reuse::KeepAlive,
            steady_state: SteadyState::Reported,
            workers: None,
            busy_poll: false,
        },
        operations: Vec::new(),
        journeys: Vec::new(),
        setup: None,
        teardown: None,
        services,
        system: None,
        observers: Vec::new(),
        faults: Vec::new(),
    }
}

fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(String::from).to_vec()
}

fn service(name: &str, script: &str) -> Service {
    Service { name: name.into(), command: shell(script), ready: Ready::Line, ready_within: None }
}

fn never() -> bool {
    false
}

/// Whether the process is running; a zombie is not.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[track_caller]
fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

fn read_pid(path: &Path) -> u32 {
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
fn a_ready_line_gives_addresses_and_the_configuration_in_force() {
    let folder = Folder::new();
    let arm = arm(vec![service("echo", &format!("echo hello; {READY}; exec sleep 1000"))]);
    let mut processes = folder.launcher().start(&arm, &never).unwrap();
    processes.begin_measure();
    processes.end_measure();
    let target = Target { url: "http://{echo.http}/".into(), ..Target::default() };
    assert_eq!(processes.addresses().fill_target(&target).unwrap().url, "http://127.0.0.1:9/");
    let facts = processes.facts();
    assert_eq!((facts[0].name.as_str(), &facts[0].effective["a"]), ("echo", &json!(1)));
    assert_eq!(facts[0].processes[0].name, "echo");
    assert!(facts[0].processes[0].rss_peak_bytes > 0);
    assert_eq!(processes.died(), None);
    let pid = processes.pids()[0].1[0];
    assert!(lives(pid));
    assert_eq!(processes.stop(), Vec::<String>::new());
    assert!(!lives(pid));
}

#[test]
fn a_child_that_dies_is_quoted() {
    let folder = Folder::new();
    let arm = arm(vec![service("broken", "echo 'no such option' >&2; exit 3")]);
    let error = folder.launcher().start(&arm, &never).unwrap_err();
    let text = error.to_string();
    assert_eq!(text, "broken ended before it was ready: exit status 3\n  | no such option");
    assert!(error.hint().is_some());
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = Folder::new();
    let command = vec!["/no/such/program".to_owned()];
    let arm =
        arm(vec![Service { name: "x".into(), command, ready: Ready::Line, ready_within: None }]);
    let error = folder.launcher().start(&arm, &never).unwrap_err();
    assert!(matches!(&error, ProcessError::Spawn { command, .. } if command == "/no/such/program"));
}

#[test]
fn a_child_that_never_gets_ready_is_given_up_and_ended() {
    let folder = Folder::new();
    let pid_file = folder.0.join("pid");
    let script = format!("echo $$ > {}; echo waiting; exec sleep 1000", pid_file.display());
    let short = Duration::from_millis(300);
    let by_default = Launcher { ready_within: short, ..folder.launcher() };
    let as_planned = Service { ready_within: Some(short), ..service("slow", &script) };
    for (launcher, service) in
        [(by_default, service("slow", &script)), (folder.launcher(), as_planned)]
    {
        let error = launcher.start(&arm(vec![service]), &never).unwrap_err();
        let given_up = matches!(&error, ProcessError::NotReady { name, within, .. } if name == "slow" && *within == short);
        assert!(given_up, "{error}");
        assert!(!lives(read_pid(&pid_file)));
    }
}

#[test]
fn a_failure_stops_what_was_started_before() {
    let folder = Folder::new();
    let pid_file = folder.0.join("pid");
    let first = format!("echo $$ > {}; {READY}; exec sleep 1000", pid_file.display());
    let arm = arm(vec![service("first", &first), service("second", "exit 1")]);
    assert!(folder.launcher().start(&arm, &never).is_err());
    assert!(!lives(read_pid(&pid_file)));
}

#[test]
fn the_user_may_stop_the_wait() {
    let folder = Folder::new();
    let arm = arm(vec![service("slow", "exec sleep 1000")]);
    let error = folder.launcher().start(&arm, &|| true).unwrap_err();
    assert_eq!(error, ProcessError::Interrupted { name: "slow".into() });
}

#[test]
fn a_stubborn_child_is_killed_and_so_are_its_children() {
    let folder = Folder::new();
    let inner = folder.0.join("inner");
    let script = format!(
        "trap '' TERM; sleep 1000 & echo $! > {}; {READY}; while :; do sleep 1000; done",
        inner.display()
    );
    let launcher = Launcher { stop_within: Duration::from_millis(50), ..folder.launcher() };
    let processes = launcher.start(&arm(vec![service("stubborn", &script)]), &never).unwrap();
    let pids = processes.pids().remove(0).1;
    assert!(pids.contains(&read_pid(&inner)));
    let notes = processes.stop();
    assert_eq!(notes, ["stubborn did not end when asked to and was killed"]);
    for pid in pids {
        assert!(!lives(pid));
    }
}

#[test]
fn orphans_and_those_who_left_the_group_end_too() {
    let folder = Folder::new();
    let (orphan, stray) = (folder.0.join("orphan"), folder.0.join("stray"));
    // The orphan's parent ends at once; the stray leads a session of its own.
    let script = format!(
        "(sleep 1000 & echo $! > {}); setsid sh -c 'echo $$ > {}; exec sleep 1000' & \
         while [ ! -s {} ]; do :; done; {READY}; wait",
        orphan.display(),
        stray.display(),
        stray.display()
    );
    let processes = folder.launcher().start(&arm(vec![service("many", &script)]), &never).unwrap();
    let (orphan, stray) = (read_pid(&orphan), read_pid(&stray));
    assert!(lives(orphan) && lives(stray));
    drop(processes);
    for pid in [orphan, stray] {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "not even a zombie is left");
    }
}

#[test]
fn a_panic_ends_the_children() {
    let folder = Folder::new();
    let launcher = folder.launcher();
    let arm = arm(vec![service("x", &format!("{READY}; exec sleep 1000"))]);
    let mut pid = 0;
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let processes = launcher.start(&arm, &never).unwrap();
        pid = processes.pids()[0].1[0];
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(outcome.is_err());
    assert!(pid > 0 && !lives(pid));
}

#[test]
fn the_kernel_ends_the_children_of_a_parent_that_could_not() {
    let folder = Folder::new();
    let launcher = folder.launcher();
    let arm = arm(vec![service("x", &format!("{READY}; exec sleep 1000"))]);
    // The kernel acts on the end of the starting thread, just as when this process is killed.
    let pid = std::thread::spawn(move || {
        let processes = launcher.start(&arm, &never).unwrap();
        let pid = processes.pids()[0].1[0];
        std::mem::forget(processes);
        pid
    })
    .join()
    .unwrap();
    await_that("the child ends", || !lives(pid));
}

#[test]
fn a_death_is_noticed_once() {
    let folder = Folder::new();
    let go = folder.0.join("go");
    let script =
        format!("{READY}; while [ ! -e {} ]; do :; done; echo gone >&2; kill -9 $$", go.display());
    let mut processes = folder.launcher().start(&arm(vec![service("x", &script)]), &never).unwrap();
    assert_eq!(processes.died(), None);
    fs::write(&go, "").unwrap();
    let mut death = None;
    await_that("the death is seen", || {
        death = processes.died();
        death.is_some()
    });
    let death = death.unwrap();
    assert_eq!((death.name.as_str(), death.status.as_str()), ("x", "killed by signal 9"));
    assert_eq!(death.role, Role::Service);
    assert_eq!(death.output, ["gone"]);
    assert_eq!(processes.died(), None);
}

#[test]
fn scratch_folders_are_its_own_and_removed() {
    let folder = Folder::new();
    let seen = folder.0.join("seen");
    let script = |name: &str| {
        format!(
            "echo x > {{scratch}}/file; echo {{scratch}} >> {}; {READY}; # {name}\nexec sleep 1000",
            seen.display()
        )
    };
    let arm = arm(vec![service("a", &script("a")), service("b", &script("b"))]);
    let processes = folder.launcher().start(&arm, &never).unwrap();
    let listed = fs::read_to_string(&seen).unwrap();
    let paths: Vec<&Path> = listed.lines().map(Path::new).collect();
    assert!(paths.len() == 2 && paths[0] != paths[1]);
    assert!(paths.iter().all(|path| path.join("file").exists()));
    drop(processes);
    assert!(paths.iter().all(|path| !path.exists()));
}

#[test]
fn a_served_system_gets_its_settings_with_addresses_filled_in() {
    let folder = Folder::new();
    let seen = folder.0.join("seen");
    let program = folder.0.join("proofload-registry");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}; {READY}; exec sleep 1000\n",
        seen.display()
    );
    // Another process writes the file: a file that is open for writing cannot be executed, and another test may start
    // a child that inherits it.
    let write = "printf %s \"$1\" >\"$2\" && chmod +x \"$2\"";
    let mut written = std::process::Command::new("sh");
    written.args(["-c", write, "sh", &script]).arg(&program);
    assert!(written.status().unwrap().success());
    let programs = [("registry".to_owned(), program)].into();
    let launcher = Launcher { programs, ..folder.launcher() };
    let mut arm = arm(vec![service("redis", &format!("{READY}; exec sleep 1000"))]);
    arm.system = Some(System {
        start: Start::Serve("registry".into()),
        set: BTreeMap::from([
            ("store".into(), json!("redis://{redis}")),
            ("workers".into(), json!(200)),
        ]),
        ready: Ready::Line,
        ready_within: None,
    });
    let processes = launcher.start(&arm, &never).unwrap();
    assert_eq!(
        fs::read_to_string(&seen).unwrap(),
        "registry\n--listen\n127.0.0.1:0\n--set\nstore=redis://127.0.0.1:9\n--set\nworkers=200\n"
    );
    assert_eq!(processes.facts()[1].name, "registry");
    drop(processes);
    let error = folder.launcher().start(&arm, &never).unwrap_err().to_string();
    assert_eq!(error, "cannot start registry: registry: no program for this system was found");
}

#[test]
fn readiness_at_a_port_needs_a_port() {
    let folder = Folder::new();
    let ready = Ready::Tcp;
    let arm = arm(vec![Service {
        name: "x".into(),
        command: shell("sleep 1000"),
        ready,
        ready_within: None,
    }]);
    let error = folder.launcher().start(&arm, &never).unwrap_err();
    assert!(matches!(error, ProcessError::Placeholder { .. }), "{error}");
}

#[test]
fn a_service_is_ready_when_its_port_answers_and_an_observer_is_asked() {
    let folder = Folder::new();
    let observed = folder.0.join("observed");
    fs::write(&observed, r#"{"received":7,"detail":{"x":1}}"#).unwrap();
    let command: Vec<String> =
        ["python3", "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory"]
            .map(String::from)
            .into_iter()
            .chain([folder.0.display().to_string()])
            .collect();
    if std::process::Command::new("python3").arg("-V").output().is_err() {
        eprintln!("python3 is not installed: nothing was tested here");
        return;
    }
    let mut arm = arm(vec![Service {
        name: "tcp".into(),
        command: command.clone(),
        ready: Ready::Tcp,
        ready_within: None,
    }]);
    arm.system = Some(System {
        start: Start::Command(command),
        set: BTreeMap::new(),
        ready: Ready::Http("/observed".into()),
        ready_within: None,
    });
    arm.observers = vec![Observer {
        name: "monitor".into(),
        start: None,
        set: BTreeMap::new(),
        expect: Some("received == 7".into()),
        ready_within: None,
        answers_within: None,
    }];
    let processes = folder.launcher().start(&arm, &never).unwrap();
    let observations = processes.observe(LONG);
    assert_eq!(observations[0].expect.as_deref(), Some("received == 7"));
    let answer = observations[0].answer.clone().unwrap();
    assert_eq!((answer.received, &answer.detail["x"]), (7, &json!(1)));
}

#[test]
fn children_stay_on_the_processors_of_the_systems() {
    let folder = Folder::new();
    let last = *crate::placement::allowed_cores().unwrap().last().unwrap();
    let launcher = Launcher { cores: vec![last], ..folder.launcher() };
    let arm = arm(vec![service("x", &format!("{READY}; exec sleep 1000"))]);
    let processes = launcher.start(&arm, &never).unwrap();
    let pid = processes.pids()[0].1[0];
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{status}");
}

#[test]
fn a_death_says_what_the_process_was_there_for() {
    let folder = Folder::new();
    let go = folder.0.join("go");
    let script = format!("{READY}; while [ ! -e {} ]; do :; done", go.display());
    let mut arm = arm(vec![service("db", &script)]);
    let start = Start::Command(shell(&script));
    arm.system =
        Some(System { start, set: BTreeMap::new(), ready: Ready::Line, ready_within: None });
    let start = Some(Start::Command(shell(&script)));
    let (name, set) = ("counter".to_owned(), BTreeMap::new());
    arm.observers =
        vec![Observer { name, start, set, expect: None, ready_within: None, answers_within: None }];
    let mut processes = folder.launcher().start(&arm, &never).unwrap();
    fs::write(&go, "").unwrap();
    let mut deaths = Vec::new();
    await_that("all deaths are seen", || {
        deaths.extend(processes.died().map(|death| (death.name, death.role)));
        deaths.len() == 3
    });
    deaths.sort_by(|(one, _), (other, _)| one.cmp(other));
    let named = |name: &str, role| (name.to_owned(), role);
    let known = [
        named("counter", Role::Observer),
        named("db", Role::Service),
        named("system", Role::System),
    ];
    assert_eq!(deaths, known);
}
