use std::net::Ipv4Addr;

use rustix::process::{Pid, Signal, test_kill_process};
use serving::error::Kind;
use serving::options::Options;
use testing::Program;

use super::*;

/// Accepts one connection after the other, and says something on its output.
const ACCEPTS: &str = "import socket,sys\nprint('noise', flush=True)\n\
    listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))\nwhile True: listener.accept()";

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn read(front: &str) -> Result<Front, String> {
    let options = Options::default().with("front", front);
    let settings = Settings::new(&options.settings);
    let front = Front::read(&settings);
    settings.finish("the test").map(|()| front).map_err(|bad| bad.to_string())
}

fn python(script: &str) -> Front {
    Front::Command(
        ["python3", "-c", script, "{front_port}", "{upstream}"].map(str::to_owned).into(),
    )
}

async fn start(front: &Front) -> Result<Running, String> {
    let started = front.start(loopback(), loopback()).await;
    started.map(Option::unwrap).map_err(|error| error.to_string())
}

/// Waits until a process is gone; a bug shows as a test that does not end.
async fn gone(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    while test_kill_process(pid).is_ok() && !is_zombie(pid) {
        sleep(LOOK).await;
    }
}

/// An orphan stays a zombie where the first process does not reap it.
fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn a_command_line_is_split_like_in_a_shell() {
    let words = ["node", "my front.mjs", "{front_port}", "{upstream}"].map(str::to_owned);
    assert_eq!(
        read("node 'my front.mjs' {front_port} {upstream}"),
        Ok(Front::Command(words.into()))
    );
    assert_eq!(read("direct"), Ok(Front::Direct));
    assert!(matches!(read("front"), Ok(Front::Ours { .. })));
    for (line, told) in [
        ("nod", "got \"nod\""),
        ("", "got \"\""),
        ("node {front_port}", "with {front_port} and {upstream}"),
        ("node '{front_port} {upstream}", "a quote is never closed"),
    ] {
        let problem = read(line).unwrap_err();
        assert!(problem.contains(told), "{line}: {problem}");
    }
}

#[test]
fn settings_go_to_the_front_of_ours_and_to_no_other() {
    let with = |front: &str| {
        let options = Options::default().with("front", front).with("front_serial", true);
        let settings = Settings::new(&options.settings);
        (Front::read(&settings), settings.finish("the test"))
    };
    let (Front::Ours { settings, .. }, Ok(())) = with("front") else { panic!() };
    assert_eq!(settings, BTreeMap::from([("serial".to_owned(), Value::Bool(true))]));
    for front in ["direct", "node {front_port} {upstream}"] {
        let problems = with(front).1.unwrap_err().problems;
        let [BadOption { key, kind: Kind::Idle, .. }] = &problems[..] else {
            panic!("{problems:?}")
        };
        assert_eq!(key, "front_serial");
    }
}

#[tokio::test]
async fn a_command_is_waited_for_and_stopped() {
    let running = start(&python(ACCEPTS)).await.unwrap();
    TcpStream::connect(running.address()).await.unwrap();
    let comm = std::fs::read_to_string(format!("/proc/{}/comm", running.pid())).unwrap();
    assert!(comm.starts_with("python3"), "{comm}");
    let (pid, address) = (running.pid(), running.address());
    running.stop().await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn dropping_it_ends_it_with_all_that_it_started() {
    let script = format!(
        "import subprocess,sys\nfrom pathlib import Path\nchild = subprocess.Popen(['sleep', '1000'])\n\
         Path(sys.argv[3]).write_text(str(child.pid))\n{ACCEPTS}"
    );
    let folder = std::env::temp_dir().join(format!("front-child-{}", std::process::id()));
    let words = ["python3", "-c", &script, "{front_port}", "{upstream}", folder.to_str().unwrap()];
    let running = start(&Front::Command(words.map(str::to_owned).into())).await.unwrap();
    let grandchild = std::fs::read_to_string(&folder).unwrap().parse().unwrap();
    std::fs::remove_file(&folder).unwrap();
    drop(running);
    gone(grandchild).await;
}

#[tokio::test]
async fn its_death_is_noticed_and_told() {
    let mut running = start(&python(ACCEPTS)).await.unwrap();
    let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    let told = running.died().await.to_string();
    assert!(told.contains("it ended by itself: signal: 9"), "{told}");
}

#[tokio::test]
async fn one_that_cannot_start_says_so_at_once() {
    let told = start(&python("import sys; sys.exit(7)")).await.unwrap_err();
    assert!(told.contains("it ended before it accepted: exit status: 7"), "{told}");
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_with_what_to_do() {
    for (program, place) in [("/nowhere/front", "seen from the folder"), ("nod-x", "of PATH")] {
        let words = [program, "{front_port}", "{upstream}"].map(str::to_owned).into();
        let error = Front::Command(words).start(loopback(), loopback()).await.unwrap_err();
        let ServeError::Stopped { why, hint, .. } = error else { panic!("{error}") };
        assert!(why.contains(&format!("no program `{program}`")) && why.contains(place), "{why}");
        assert!(hint.starts_with("install it"), "{hint}");
    }
}

fn ours(program: &Program) -> Front {
    Front::Ours { program: program.path().to_owned(), settings: BTreeMap::new() }
}

#[tokio::test]
async fn ours_says_where_it_listens_and_what_is_in_force() {
    let line = r#"{"ready":true,"listening":{"http":"127.0.0.1:9"},"effective":{"serial":true}}"#;
    let program = Program::printing("front-ready", line);
    let running = start(&ours(&program)).await.unwrap();
    assert_eq!(running.address(), ([127, 0, 0, 1], 9).into());
    assert_eq!(running.effective(), &serde_json::json!({"serial": true}));
    running.stop().await;
}

#[tokio::test]
async fn ours_that_says_something_else_is_not_taken_for_ready() {
    for line in ["hello", "{}", r#"{"listening":{"http":"here"}}"#] {
        let program = Program::printing(&format!("front-line-{}", line.len()), line);
        assert!(start(&ours(&program)).await.is_err(), "{line}");
    }
}

/// A front that is a child takes every setting of the bundled front, and no other.
#[test]
fn the_settings_passed_on_are_those_that_there_are() {
    let mut options = Options::default().with("colour", "red");
    for key in PASSED {
        options = options.with(key.trim_start_matches(PREFIX), "\0");
    }
    let told = crate::front::settings::read(&options).unwrap_err().problems;
    let known = told.into_iter().filter_map(|problem| match problem.kind {
        Kind::Unknown(known) => Some((problem.key, known)),
        _ => None,
    });
    let [(unknown, exist)] = &known.collect::<Vec<_>>()[..] else { panic!("one is unknown") };
    assert_eq!(unknown, "colour");
    let exist = exist.iter().map(|setting| setting.name).filter(|key| *key != "upstream");
    let passed = PASSED.iter().map(|key| key.trim_start_matches(PREFIX));
    assert_eq!(exist.collect::<std::collections::BTreeSet<_>>(), passed.collect());
}
