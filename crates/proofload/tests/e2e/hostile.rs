//! Hostile input and environment: the run ends with a clear error and the right exit code, and
//! nothing leaks.

use std::io::{Read, Write};
use std::net::TcpListener;

use rustix::fs::{FileType, Mode};
use rustix::process::Signal;

use crate::lab::files_below;
use crate::lab::server::{echo, truth};
use crate::lab::{Lab, Ran, assert_accounting, finding, only_trial};

const TOKEN: &str = "h0stile-t0ken";

/// An experiment of three operations with one more line for the operation.
fn experiment(url: &str, operation: &str) -> String {
    format!(
        "title = \"hostile\"\nquestion = \"Does it hold?\"\n[target]\nurl = \"{url}\"\n\
         [load]\nconnections = 1\noperations = 3\nwarm_up = \"0s\"\n\
         [[operation]]\nname = \"home\"\n{operation}\n"
    )
}

fn assert_unseen(ran: &Ran) {
    assert!(!ran.stdout.contains(TOKEN), "on stdout:\n{}", ran.stdout);
    assert!(!ran.stderr.contains(TOKEN), "on stderr:\n{}", ran.stderr);
}

fn assert_unwritten(lab: &Lab, folder: &str) {
    for file in files_below(&lab.path(folder)) {
        let bytes = std::fs::read(&file).expect("readable");
        let found = bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
        assert!(!found, "in {}", file.display());
    }
}

#[test]
fn a_file_without_an_end_is_refused() {
    let lab = Lab::new();
    let pipe = lab.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    let (url, cacert) = ("https://127.0.0.1:1/", "--cacert");
    for (endless, kind) in [("/dev/zero", "device"), ("pipe", "pipe")] {
        let says = format!("it is a {kind}, not a regular file");
        let named = |value: &str| {
            let operation = "http = { path = \"/{{row.x}}\" }\nrows = { file = \"NAMED\" }";
            experiment("http://127.0.0.1:9", &operation.replace("NAMED", value))
        };
        lab.write("rows.toml", &named(endless));
        let body = format!("http = {{ path = \"/\", body_file = \"{endless}\" }}");
        lab.write("body.toml", &experiment("http://127.0.0.1:9", &body));
        for arguments in [
            &["check", "rows.toml"][..],
            &["check", "body.toml"],
            &["check", endless],
            &["run", endless],
            &["run", url, cacert, endless],
            &["run", url, "--cert", endless, "--key", endless],
            &["audit", endless],
        ] {
            let ran = lab.proofload(arguments);
            assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(&says), "{arguments:?}: {}", ran.stderr);
        }
    }
}

/// Clears the screen, changes its title, and reverses the direction of text.
const STEERING: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";

fn assert_steers_nothing(ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        for steering in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\r'] {
            assert!(!text.contains(steering), "{steering:?} in {text:?}");
        }
    }
}

#[test]
fn an_answer_that_steers_a_terminal_is_shown_without_that() {
    let lab = Lab::new();
    let operation = "http = { path = \"/\" }\nexpect = { contains = \"never there\" }";
    lab.write("steering.toml", &experiment(&steering_server(), operation));
    for arguments in [
        &["check", "steering.toml", "--try"][..],
        &["run", "steering.toml", "--out", "run"],
        &["report", "run"],
        &["report", "run", "--format", "markdown"],
    ] {
        let ran = lab.proofload(arguments);
        assert_steers_nothing(&ran);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("owned"), "it is shown: {said}");
    }
}

/// A server whose answers contain terminal control sequences; it ends with the test process.
fn steering_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while stream.read(&mut request).is_ok_and(|read| read > 0) {
                    let length = STEERING.len();
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                    if stream.write_all((head + STEERING).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

#[test]
fn a_process_that_steers_a_terminal_is_quoted_without_that() {
    let lab = Lab::new();
    let words = "printf '\\033[2Jlast\\007 words\\n' >&2; exit 3";
    lab.write("dies.sh", words);
    let system = "[system]\ncommand = \"sh dies.sh\"\nready = \"line\"\n[load]\nrate = \"5/s\"\n\
                  duration = \"1s\"\n[[operation]]\nhttp = { path = \"/\" }\n";
    lab.write("dies.toml", system);
    let ran = lab.proofload(&["run", "dies.toml", "--out", "run"]);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("last") && ran.stderr.contains("words"), "{}", ran.stderr);
    assert_steers_nothing(&ran);
}

#[test]
fn a_stop_while_something_starts_leaves_a_record_and_exits_3() {
    let lab = Lab::new();
    let begun = lab.path("begun");
    let system = format!(
        "[system]\ncommand = \"sh -c 'touch {}; exec sleep 3600'\"\nready = \"line\"\n[load]\n\
         rate = \"5/s\"\nduration = \"1s\"\n[[operation]]\nhttp = {{ path = \"/\" }}\n",
        begun.display()
    );
    lab.write("never.toml", &system);
    let running = lab.start(&["run", "never.toml", "--out", "run", "--quiet"]);
    running.await_in(&lab, &lab.path(""), || begun.exists());
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    assert!(finding(&summary, "interrupted").is_some(), "{summary:?}");
    assert!(lab.read("run/report.md").contains("stopped"));
}

#[test]
fn a_stop_during_the_drain_is_no_pass() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=hang"]);
    let load = ["--requests", "2", "--connections", "2", "--warm-up", "0s", "--timeout", "1h"];
    let running = lab.start(&[&["run", &url, "--out", "run", "--quiet"], &load[..]].concat());
    running.await_events(&lab, "progress", 1);
    running.signal(Signal::INT);
    running.await_events(&lab, "interrupted", 1);
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    let summary = lab.summary("run").expect("a summary");
    assert_accounting(only_trial(&summary));
    assert!(finding(&summary, "interrupted").is_some(), "{summary:?}");
}

#[test]
fn one_stop_ends_a_calibration() {
    let lab = Lab::new();
    let running = lab.start(&["calibrate", "--quiet", "--out", "kept"]);
    running.await_in(&lab, &lab.path("kept"), || {
        let folder = std::fs::read_dir(lab.path("kept"));
        folder.is_ok_and(|mut entries| entries.next().is_some())
    });
    running.signal(Signal::TERM);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("error: stopped before its end"), "{}", ran.stderr);
}

#[test]
fn one_stop_ends_a_trying() {
    let lab = Lab::new();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", silent.local_addr().expect("its address"));
    lab.write("try.toml", &experiment(&url, "http = { path = \"/\" }"));
    let running = lab.start(&["check", "try.toml", "--try"]);
    let _accepted = silent.accept().expect("it connects");
    running.signal(Signal::INT);
    let ran = running.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("stopped before everything was tried"), "{}", ran.stderr);
}

#[test]
fn what_came_before_a_time_out_is_shown() {
    let lab = Lab::new();
    let begins = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", begins.local_addr().expect("its address"));
    let half = std::thread::spawn(move || {
        let (mut stream, _) = begins.accept().expect("it connects");
        let read = stream.read(&mut [0; 4096]).expect("a request");
        assert!(read > 0);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it")
            .expect("sent");
        // Open until the instrument closes it.
        let _ = stream.read(&mut [0; 1]);
    });
    let file = experiment(&url, "http = { path = \"/asked\" }");
    lab.write("half.toml", &file.replace("[load]", "[load]\ntimeout = \"500ms\""));
    let ran = lab.proofload(&["check", "half.toml", "--try"]);
    half.join().expect("it was asked");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for shown in ["> GET /asked", "< HTTP/1.1 200 OK", "< half of it", "failed: timeout"] {
        assert!(said.contains(shown), "{shown}: {said}");
    }
}

/// A secret written into the file may appear there, but nowhere else.
#[test]
fn a_header_that_authorises_is_written_nowhere() {
    let lab = Lab::new();
    let (url, received) = echo();
    let http =
        format!("http = {{ path = \"/\", header = {{ authorization = \"Bearer {TOKEN}\" }} }}");
    lab.write("open.toml", &experiment(&url, &http));
    let ran = lab.proofload(&["run", "open.toml", "--out", "run", "--quiet", "--samples"]);
    assert_unseen(&ran);
    assert_unwritten(&lab, "run");
    assert!(received.recv().expect("a request").contains(TOKEN), "it is sent");
    for checked in [&["check", "open.toml"][..], &["check", "open.toml", "--try"][..]] {
        assert_unseen(&lab.proofload(checked));
    }
}

#[test]
fn a_level_from_the_environment_is_shown_by_its_name() {
    let lab = Lab::new();
    let (url, _received) = echo();
    let factors = "http = { path = \"/{{factor.x}}\" }\n[factors]\nx = [\"{{env.LEVEL}}\", \"b\"]";
    lab.write("level.toml", &experiment(&url, factors));
    for arguments in [
        &["run", "level.toml", "--out", "run"][..],
        &["check", "level.toml", "--try"][..],
        &["check", "level.toml", "--set", "load.connections={{env.LEVEL}}"][..],
    ] {
        let output = lab.command(arguments).env("LEVEL", TOKEN).output();
        assert_unseen(&Ran::from(output.expect("the binary starts")));
    }
    assert_unwritten(&lab, "run");
}

#[test]
fn credentials_of_an_address_are_refused_unread() {
    let lab = Lab::new();
    let ran = lab.proofload(&["run", &format!("http://user:{TOKEN}@127.0.0.1:9/")]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("credentials go into a header"), "{}", ran.stderr);
    assert_unseen(&ran);
}

#[test]
fn a_damaged_file_is_not_taken_for_a_full_disk() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    lab.run(&[&url, "--requests", "5", "--warm-up", "0s", "--samples"]);
    lab.write("run/trials/001/samples.csv", "not,samples\nat,all\n");
    let ran = lab.proofload(&["report", "run", "--format", "jtl"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot read the run"), "{}", ran.stderr);
    assert!(ran.stderr.contains("samples.csv"), "{}", ran.stderr);
    std::fs::remove_file(lab.path("run/trials/001/operation-1.hgrm")).expect("it was there");
    let ran = lab.proofload(&["report", "run", "--format", "hgrm"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("operation-1.hgrm"), "{}", ran.stderr);
}
