//! A Redis for one test, on a free port, ended and reaped with the test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use registry::store::redis::Redis;
use rustix::process::{Pid, Signal, kill_process};

use crate::temp_folder::TempFolder;

/// The server, possibly stopped.
pub struct Server {
    child: Option<Child>,
    port: u16,
    temp_folder: TempFolder,
    appends: bool,
}

impl Server {
    /// A server that keeps everything in memory.
    pub fn start() -> Self {
        Self::of(false)
    }

    /// A server that writes each change to a file before it answers.
    pub fn durable() -> Self {
        Self::of(true)
    }

    fn of(appends: bool) -> Self {
        let mut server =
            Self { child: None, port: 0, temp_folder: TempFolder::new("redis"), appends };
        // Another process may take the free port first; then the next attempt uses another port.
        for _ in 0..5 {
            server.port = free_port();
            if server.begin() {
                return server;
            }
        }
        panic!("redis-server does not start: {}", server.log());
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// A coordinator's store on it.
    pub async fn store(&self) -> Redis {
        Redis::connect(&self.url()).await.unwrap()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it again on its port, with the contents of its files.
    pub fn restart(&mut self) {
        assert!(self.begin(), "redis-server does not start again: {}", self.log());
    }

    /// Stops its process, but keeps its connections.
    pub fn freeze(&self) {
        kill_process(self.pid(), Signal::STOP).unwrap();
    }

    pub fn thaw(&self) {
        kill_process(self.pid(), Signal::CONT).unwrap();
    }

    /// Runs a Redis command and returns the answer.
    pub fn tell<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let mut connection = redis::Client::open(self.url()).unwrap().get_connection().unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query(&mut connection).unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("it runs"))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.temp_folder.path("log")).unwrap_or_default()
    }

    /// Starts it and waits until it answers; `false` if it ends instead.
    fn begin(&mut self) -> bool {
        let appends = if self.appends { "yes" } else { "no" };
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--appendonly", appends])
            .arg("--dir")
            .arg(self.temp_folder.path(""))
            .arg("--logfile")
            .arg(self.temp_folder.path("log"))
            .stdout(Stdio::null())
            .spawn();
        let child = self.child.insert(child.expect("redis-server starts (Debian: redis-server)"));
        // Readiness has no event to wait for: each refused attempt yields and tries again.
        loop {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            if answers(self.port, child) {
                return true;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether this process has the port, has read its files and accepts commands.
fn answers(port: u16, child: &Child) -> bool {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/0")).unwrap();
    let Ok(mut connection) = client.get_connection() else { return false };
    let facts = redis::cmd("INFO").arg("server").query::<redis::InfoDict>(&mut connection);
    let is_ours = facts.is_ok_and(|facts| facts.get("process_id") == Some(child.id()));
    is_ours && redis::cmd("PING").query::<String>(&mut connection).is_ok()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
