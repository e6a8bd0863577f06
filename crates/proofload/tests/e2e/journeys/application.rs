//! A web application as a child: written in Python or for Node, with packages that `scripts/prerequisites` installs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Signal, kill_process};

use crate::lab::process::pid;
use crate::lab::{Lab, Ran, repository};

/// It ends with the test.
pub struct Application {
    child: Child,
    /// Its address.
    pub url: String,
}

impl Application {
    /// Starts it and waits until its log (stderr) names its address.
    pub fn start(mut command: Command) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the application starts");
        let mut log = BufReader::new(child.stderr.take().expect("its stderr")).lines();
        let mut seen = String::new();
        let url = loop {
            let Some(Ok(line)) = log.next() else { panic!("no address in its log:\n{seen}") };
            if let Some(url) = address(&line) {
                break url;
            }
            seen.push_str(&line);
            seen.push('\n');
        };
        // Read to its end, so that the application never waits to write.
        thread::spawn(move || log.for_each(drop));
        Self { child, url }
    }

    /// Its host and port.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }
}

impl Drop for Application {
    /// A signal that it passes on to its workers.
    fn drop(&mut self) {
        let _ = kill_process(pid(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// `http://127.0.0.1:PORT` in this line.
fn address(line: &str) -> Option<String> {
    let port = line.split("http://127.0.0.1:").nth(1)?;
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("http://127.0.0.1:{port}"))
}

/// The Python of the tests' own environment, which finds the applications beside this file and works in the test's
/// folder.
pub fn python(lab: &Lab, arguments: &[&str]) -> Command {
    let interpreter = repository(".venv/bin/python");
    assert!(interpreter.exists(), "run scripts/prerequisites, which makes .venv");
    let mut command = Command::new(interpreter);
    command.args(arguments).current_dir(lab.path(""));
    command.env("PYTHONPATH", applications()).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// An application for uvicorn, such as `orders:app`.
pub fn uvicorn(lab: &Lab, application: &str) -> Application {
    let options = ["--port", "0", "--no-access-log", "--timeout-keep-alive", "60", application];
    Application::start(python(lab, &[&["-m", "uvicorn"], &options[..]].concat()))
}

/// Runs a Python program to its good end and returns what it prints.
pub fn python_output(lab: &Lab, arguments: &[&str]) -> String {
    let ran = Ran::from(python(lab, arguments).output().expect("python"));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

/// Node with the packages of the tests' own environment.
pub fn node(lab: &Lab, program: &str) -> Command {
    let modules = repository(".node/node_modules");
    assert!(modules.exists(), "run scripts/prerequisites, which makes .node");
    let mut command = Command::new("node");
    command.arg(applications().join(program)).current_dir(lab.path("")).env("NODE_PATH", modules);
    command
}

/// Where the applications are.
pub fn applications() -> PathBuf {
    repository("crates/proofload/tests/e2e/journeys/applications")
}
