//! A producer in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use exchange::failure::Failure;
use exchange::payload::Payload;
use exchange::request::DataRequest;
use exchange::transport::Transport;
use exchange::transports::{Http, Shm, Unix};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use serving::options::Options as Settings;

use super::{Options, pin};

/// The word that starts this process again as a producer.
pub const PART: &str = "produce";

/// Produces until told to stop, or until whoever started it ends.
pub fn run(options: &Options) {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).unwrap();
    if options.has("processor") {
        pin(options.number("processor", 0) as usize);
    }
    let settings = Settings::default()
        .with("spin", options.text("spin", "0"))
        .with("threads", options.number("threads", 1))
        .with("workers", options.number("workers", 1));
    exchange::producer::SYSTEM
        .serve(&settings, |ready| {
            let mut out = std::io::stdout();
            writeln!(out, "{}", ready.line()).and_then(|()| out.flush()).unwrap();
        })
        .unwrap();
}

/// A running producer, stopped at the end.
pub struct Server {
    child: Child,
    listening: Value,
}

impl Server {
    /// Starts one with these words, and waits until it is ready.
    pub fn start(words: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(PART)
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).expect("a ready line");
        Self { child, listening: ready["listening"].clone() }
    }

    /// A way to it.
    pub fn way(&self, name: &str, spin: Duration) -> AnyTransport {
        let at = |kind: &str| self.listening[kind].as_str().unwrap().to_owned();
        match name {
            "http" => AnyTransport::Http(Http::new(at("http").parse().unwrap(), 1)),
            "unix" => AnyTransport::Unix(Unix::new(PathBuf::from(at("unix")), 1)),
            _ => AnyTransport::Shm(Shm::new(PathBuf::from(at("shm")), spin)),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// One of the ways, chosen by name.
pub enum AnyTransport {
    Http(Http),
    Unix(Unix),
    Shm(Shm),
}

impl AnyTransport {
    pub async fn fetch(&self, ask: &DataRequest, deadline: Duration) -> Result<Payload, Failure> {
        match self {
            Self::Http(way) => way.fetch(ask, deadline).await,
            Self::Unix(way) => way.fetch(ask, deadline).await,
            Self::Shm(way) => way.fetch(ask, deadline).await,
        }
    }
}
