//! Servers that tests start: bundled systems as children, always ended and reaped, and a server of a few lines that
//! shows what it received.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::Value;

use super::answering::answering;
use super::proofload;

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

/// The truth system while it runs.
#[derive(Debug)]
pub struct Truth {
    pub served: Served,
    /// Its address for load.
    pub http: String,
    control: String,
}

impl Truth {
    /// Starts it with these settings and waits for its ready line.
    pub fn start(settings: &[&str]) -> Self {
        let (served, ready) = bundled("truth", settings);
        let address = |name: &str| {
            ready["listening"][name].as_str().expect("an address in the ready line").to_owned()
        };
        Self { http: address("http"), control: address("control"), served }
    }

    /// The greatest lateness of its own answers in nanoseconds; the generator is not to blame for it.
    pub fn own_lateness_ns(&self) -> f64 {
        self.report()["answer_lateness_ns"]["max"].as_f64().expect("its lateness")
    }

    /// The lateness of nine in ten of its answers, at most.
    pub fn usual_lateness_ns(&self) -> f64 {
        self.report()["answer_lateness_ns"]["p90"].as_f64().expect("its lateness")
    }

    /// The address of its reports.
    pub fn control(&self) -> &str {
        &self.control
    }

    /// Requests that have arrived.
    pub fn received(&self) -> u64 {
        self.report()["received"].as_u64().expect("its count")
    }

    /// What it saw and planned.
    pub fn report(&self) -> Value {
        let answer = get(&self.control, "/truth/report");
        serde_json::from_str(&answer).expect("a report in JSON")
    }
}

/// A bundled system with these settings, started on a free port, and its ready line.
pub fn bundled(system: &str, settings: &[&str]) -> (Served, Value) {
    bundled_at("127.0.0.1:0", system, settings)
}

/// The same at a given address, such as that of a killed one.
pub fn bundled_at(address: &str, system: &str, settings: &[&str]) -> (Served, Value) {
    let mut command = proofload();
    command.args(["serve", system, "--listen", address]);
    settings.iter().for_each(|setting| {
        command.args(["--set", setting]);
    });
    let child = command.stdout(Stdio::piped()).spawn().expect("the system starts");
    let mut served = Served { child };
    let ready = ready_line(&mut served.child);
    (served, ready)
}

/// The line that a system prints once it is ready.
pub fn ready_line(child: &mut Child) -> Value {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("its stdout");
    BufReader::new(stdout).read_line(&mut line).expect("its ready line");
    serde_json::from_str(&line).expect("a ready line in JSON")
}

/// Python's file server for this folder, and its port.
pub fn python(folder: &Path) -> (Served, u16) {
    let mut child = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("python3 starts");
    let stdout = child.stdout.take().expect("its stdout");
    let served = Served { child };
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    // "Serving HTTP on 127.0.0.1 port 40123 (http://…) ..."
    let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a port");
    (served, port.parse().expect("a number"))
}

/// The truth system with these settings, and its URL.
pub fn truth(settings: &[&str]) -> (Served, String) {
    let truth = Truth::start(settings);
    (truth.served, format!("http://{}/", truth.http))
}

/// The body of an answer.
pub fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the control address");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: truth\r\nconnection: close\r\n\r\n")
        .expect("asks");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}

/// A server that answers every request with the request itself and also sends its head to a channel; it ends with the
/// test process.
pub fn echo() -> (String, mpsc::Receiver<String>) {
    let (heads, received) = mpsc::channel();
    let address = answering(move || {
        let heads = heads.clone();
        move |head: &str| {
            // Nobody may want to know any more.
            let _ = heads.send(head.to_owned());
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len())
        }
    });
    (format!("http://{address}"), received)
}

/// An address of this machine without a listener. A port that was free just now is not safe: another test may take it,
/// or a starting process may still hold it.
pub const NOBODY: &str = "127.0.0.1:1";

/// A port that was free just now; the server that starts there detects if it is taken.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
