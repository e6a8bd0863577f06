//! Children that serve: the bundled truth system, and anything else; always ended and reaped.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::PROOFLOAD;

/// A child that is ended with the test.
#[derive(Debug)]
pub struct Served {
    pub child: Child,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The truth system with these settings, and its URL.
pub fn truth(settings: &[&str]) -> (Served, String) {
    let mut command = Command::new(PROOFLOAD);
    command.args(["serve", "truth", "--listen", "127.0.0.1:0"]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the truth system starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("its stdout");
    BufReader::new(stdout).read_line(&mut line).expect("its ready line");
    let ready: serde_json::Value = serde_json::from_str(&line).expect("a ready line in JSON");
    let address = ready["listening"]["http"].as_str().expect("an HTTP address").to_owned();
    (Served { child }, format!("http://{address}/"))
}

/// An address of this machine where nobody listens.
pub fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").to_string()
}
