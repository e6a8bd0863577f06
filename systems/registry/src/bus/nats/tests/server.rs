//! A real nats-server in its own folder, ended and reaped with its owner.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::Signal;

use super::TempFolder;

/// How long a server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server on a port that it keeps across restarts.
pub struct Server {
    child: Option<Child>,
    port: u16,
    folder: TempFolder,
    arguments: Vec<String>,
}

impl Server {
    /// A server with JetStream.
    pub fn start() -> Self {
        Self::over(TempFolder::new(), &["-js"])
    }

    /// A server without storage.
    pub fn without_streams() -> Self {
        Self::over(TempFolder::new(), &[])
    }

    /// A server with this configuration.
    pub fn configured(text: &str) -> Self {
        let folder = TempFolder::new();
        let path = folder.0.join("configuration");
        std::fs::write(&path, text).unwrap();
        Self::over(folder, &["-js", "-c", path.to_str().unwrap()])
    }

    fn over(folder: TempFolder, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let mut server = Self { child: None, port: 0, folder, arguments };
        server.start_again();
        server
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Stops all its threads, or lets them continue.
    pub fn stand_still(&self, stop: bool) {
        let id = self.child.as_ref().unwrap().id();
        let pid = rustix::process::Pid::from_raw(id as i32).unwrap();
        let signal = if stop { Signal::STOP } else { Signal::CONT };
        rustix::process::kill_process(pid, signal).unwrap();
        let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
            let stat = task.and_then(|task| std::fs::read_to_string(task.path().join("stat")));
            stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|s| s.starts_with('T')))
        };
        let tasks = || std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
        while stop && !tasks().all(is_stopped) {
            std::thread::yield_now();
        }
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it again with its former store and port.
    pub fn start_again(&mut self) {
        assert!(self.child.is_none());
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("nats-server")
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .args(["-a", "127.0.0.1", "-p", &port, "-sd"])
            .arg(&self.folder.0)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("nats-server is installed");
        let log = BufReader::new(child.stderr.take().unwrap());
        self.child = Some(child);
        let (ready, is_ready) = mpsc::channel();
        // Reads to the end: a log that nobody reads would block the server.
        std::thread::spawn(move || {
            let mut port = None;
            for line in log.lines().map_while(Result::ok) {
                if let Some(at) = line.split("client connections on 127.0.0.1:").nth(1) {
                    port = at.trim().parse().ok();
                }
                if line.contains("Server is ready") {
                    let _ = ready.send(port.expect("it says where it listens"));
                }
            }
        });
        self.port = is_ready.recv_timeout(PATIENCE).expect("nats-server is ready in time");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
