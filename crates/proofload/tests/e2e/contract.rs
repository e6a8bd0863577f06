//! Programs for systems from outside this repository: the example on the contract's page, and programs that break the
//! contract.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fences::blocks;
use crate::lab::process::pid;
use crate::lab::server::{Served, ready_line};
use crate::lab::{Lab, PROOFLOAD, Ran, assert_accounting, assert_measured, only_trial, repository};

/// The binary with this folder first on PATH.
fn with_path(lab: &Lab, folder: &Path, arguments: &[&str]) -> Command {
    let path = std::env::var("PATH").expect("a PATH");
    let mut command = lab.command(arguments);
    command.env("PATH", format!("{}:{path}", folder.display()));
    command
}

fn ran(mut command: Command) -> Ran {
    Ran::from(command.output().expect("the binary starts"))
}

/// A program with this name and script, in a folder of the test.
fn program(lab: &Lab, name: &str, script: &str) -> PathBuf {
    let folder = lab.path("programs");
    fs::create_dir_all(&folder).expect("a folder for programs");
    // Another process writes the file: a file that is open for writing cannot be executed, and another test may start
    // a child that inherits it.
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$2\" && chmod +x \"$2\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", write, "sh", script]).arg(folder.join(name));
    assert!(shell.status().expect("a shell").success());
    folder
}

const SYSTEM: &str = "[system]\nserve = \"hello\"\n";
const LOAD: &str = "[load]\nrate = \"100/s\"\nduration = \"1s\"\nwarm_up = \"0s\"\n\
                    [[operation]]\nhttp = { path = \"/\" }\n";

#[test]
fn the_example_on_the_page_is_the_file() {
    let page = fs::read_to_string(repository("docs/reference/system-contract.md")).expect("a page");
    let file = fs::read_to_string(repository("examples/proofload-hello")).expect("a program");
    assert_eq!(blocks(&page, "python").next(), Some(&*file));
    assert!(file.lines().count() <= 50, "it fits on a screen");
}

#[test]
fn the_example_is_listed_checked_and_run_like_a_system_of_ours() {
    let lab = Lab::new();
    let examples = repository("examples");
    let listed = ran(with_path(&lab, &examples, &["serve"]));
    let line = listed.stdout.lines().find(|line| line.starts_with("hello "));
    let line = line.unwrap_or_else(|| panic!("{listed:?}"));
    assert!(line.ends_with("answers every request with a greeting (proofload-hello)"), "{line}");
    let page = fs::read_to_string(repository("docs/reference/system-contract.md")).expect("a page");
    let experiment = blocks(&page, "toml").next();
    let experiment =
        experiment.expect("an experiment").replace("\"10s\"", "\"1s\"\nwarm_up = \"0s\"");
    lab.write("hello.toml", &experiment);
    let checked = ran(with_path(&lab, &examples, &["check", "hello.toml"]));
    assert_eq!((checked.code, &*checked.stderr), (0, ""), "{checked:?}");
    let arguments = ["run", "hello.toml", "--out", "run", "--quiet"];
    let ran = ran(with_path(&lab, &examples, &arguments));
    let summary = lab.summary("run").unwrap_or_else(|| panic!("no summary: {ran:?}"));
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert!(trial.accounting.succeeded > 0, "{:?}", trial.accounting);
    assert_eq!(trial.systems[0].effective["greeting"], "good morning");
    let observer = serde_json::to_value(&trial.observers).expect("observers as JSON");
    assert_eq!(observer[0]["expect"]["holds"], true, "{observer}");
    assert_eq!(observer[0]["received"], trial.accounting.succeeded, "{observer}");
}

#[test]
fn what_the_example_does_not_have_is_refused_with_near_misses() {
    let lab = Lab::new();
    let observer = "[[observer]]\nname = \"hello\"\nexpect = \"byts >= 1\"\n";
    let target = "[target]\nurl = \"http://{system.htp}\"\n";
    let set = "set = { greting = \"x\", greeting = \"\" }\n";
    lab.write("hello.toml", &format!("{SYSTEM}{set}{observer}{target}{LOAD}"));
    let ran = ran(with_path(&lab, &repository("examples"), &["check", "hello.toml"]));
    assert_eq!(ran.code, 2, "{ran:?}");
    for told in [
        "did you mean `greeting`?",
        "`greeting` of `hello`: it is empty",
        "did you mean `bytes`?",
        "did you mean `http`?",
    ] {
        assert!(ran.stderr.contains(told), "{told} in {}", ran.stderr);
    }
}

#[test]
fn serve_becomes_the_program_which_drains_on_sigterm() {
    let lab = Lab::new();
    let mut command =
        with_path(&lab, &repository("examples"), &["serve", "hello", "--set", "greeting=hi"]);
    let child = command.stdout(std::process::Stdio::piped()).spawn().expect("the binary starts");
    let mut served = Served { child };
    let ready = ready_line(&mut served.child);
    assert_eq!(
        ready["processes"][0]["pid"],
        served.child.id(),
        "the process itself went on as the program"
    );
    assert_eq!(ready["effective"]["greeting"], "hi");
    rustix::process::kill_process(pid(&served.child), rustix::process::Signal::TERM)
        .expect("signals");
    let status = served.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn programs_that_break_the_contract_are_told_plainly_and_hurt_nobody() {
    let lab = Lab::new();
    lab.write("hello.toml", &format!("{SYSTEM}{LOAD}"));
    for (script, told) in [
        ("echo hello", "its description is not valid: expected value at line 1 column 1"),
        ("exit 3", "it ended with exit status 3"),
        ("echo 'no Python' >&2; exit 127", "it ended with exit status 127: no Python"),
        ("yes", "it printed more than 1048576 bytes"),
        ("exec sleep 1000", "it did not end within 10s"),
        ("echo '{\"contract\": 2}'", "it follows version 2 of the contract, and this is version 1"),
        ("echo '{\"contract\": 1, \"systems\": []}'", "its description is of another system"),
    ] {
        let folder = program(&lab, "proofload-hello", script);
        let ran = ran(with_path(&lab, &folder, &["check", "hello.toml"]));
        assert_eq!((ran.code, ran.stderr.matches("error: ").count()), (2, 1), "{script}: {ran:?}");
        assert!(ran.stderr.contains(told), "{told} in {}", ran.stderr);
        assert!(ran.stderr.contains("proofload-hello"), "which program: {}", ran.stderr);
    }
}

#[test]
fn a_system_that_no_program_serves_is_told_with_what_was_looked_for_and_what_to_do() {
    let lab = Lab::new();
    let folder = program(&lab, "proofload-broken", "echo '\\033[2J' >&2; exit 1");
    let ran = ran(with_path(&lab, &folder, &["serve", "no-such-thing"]));
    assert_eq!(ran.code, 2, "{ran:?}");
    for told in [
        "no program serves a system called \"no-such-thing\"",
        "programs are files proofload-NAME in ",
        "or on PATH",
        "`cargo build -p no`",
        "proofload-broken cannot be asked: it ended with exit status 1",
    ] {
        assert!(ran.stderr.contains(told), "{told} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
    let near = lab.proofload(&["serve", "registri"]).stderr;
    assert!(near.contains("did you mean registry?"), "{near}");
}

#[test]
fn an_instrument_alone_says_that_it_found_no_system() {
    let lab = Lab::new();
    let alone = lab.path("proofload");
    fs::copy(PROOFLOAD, &alone).expect("a copy");
    let mut serve = Command::new(&alone);
    serve.arg("serve").env("PATH", "/nowhere");
    let listed = ran(serve);
    assert_eq!((listed.code, listed.stdout.as_str()), (2, ""), "{listed:?}");
    assert!(listed.stderr.starts_with("error: no system is installed\n"), "{listed:?}");
    assert!(listed.stderr.contains("programs are files proofload-NAME in "), "{listed:?}");
}
