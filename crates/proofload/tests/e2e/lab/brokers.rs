//! Redis and NATS of a test's own, on free ports, ended and reaped with it.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;

use super::Lab;
use super::server::Served;

/// A Redis that appends to a file, and its URL.
pub fn redis(lab: &Lab) -> (Served, String) {
    let folder = folder(lab, "redis");
    // Somebody may take the free port before Redis does; then another one is free.
    let started = (0..5).find_map(|_| {
        let port = free_port().to_string();
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "yes"]);
        command.args(["--dir", &folder]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("redis-server starts (Debian: redis-server)");
        let log = child.stdout.take().expect("its log");
        let served = Served { child };
        until(log, "Ready to accept connections")
            .map(|_| (served, format!("redis://127.0.0.1:{port}")))
    });
    started.expect("redis-server gets ready on one of five free ports")
}

/// A NATS with JetStream, and its URL.
pub fn nats(lab: &Lab) -> (Served, String) {
    let folder = folder(lab, "nats");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut child = Command::new("nats-server")
        // Servers of Debian stand outside a user's path.
        .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
        .args(["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", &folder])
        .stderr(Stdio::piped())
        .spawn()
        .expect("nats-server starts (Debian: nats-server)");
    let log = child.stderr.take().expect("its log");
    let served = Served { child };
    let said = until(log, "Server is ready").expect("nats-server gets ready");
    let port = said.split("client connections on 127.0.0.1:").nth(1).expect("where it listens");
    let port = port.split_whitespace().next().expect("a port");
    (served, format!("nats://127.0.0.1:{port}"))
}

fn folder(lab: &Lab, name: &str) -> String {
    let folder = lab.path(name);
    std::fs::create_dir_all(&folder).expect("a folder for the server");
    folder.display().to_string()
}

/// What a log says until these words come; `None` if it ends before.
fn until(log: impl Read + Send + 'static, words: &str) -> Option<String> {
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let mut said = String::new();
    while !said.contains(words) {
        said.push_str(&lines.next()?);
        said.push('\n');
    }
    // Read to its end, which is the server's: a log that nobody reads would stop it.
    thread::spawn(move || lines.for_each(drop));
    Some(said)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
