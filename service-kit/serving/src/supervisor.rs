//! Supervises a part of a system: starts it with the system, restarts it when it dies, and stops it with the system.
//!
//! It comes back at the addresses that it had at first. Until then, connections to it are refused at once.
//!
//! Not here: how one child is held ([`crate::child`]), and what a part leaves behind when it is killed.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::child::Running;
use crate::error::BadOption;
use crate::metrics::Counter;
use crate::options::Options;
use crate::settings::Settings;
use crate::start::System;
use crate::stop::{Stop, Stopper};

/// Pause before a part that died is started again; doubled each time that this fails.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How a part is started: program, system and settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildSpec {
    /// A program that serves the part (see [`crate::program`]).
    pub program: PathBuf,
    /// What the part is called there.
    pub system: &'static str,
    /// Its settings by name.
    pub settings: BTreeMap<String, Value>,
}

impl ChildSpec {
    /// A part that this program serves. Its settings are those of `keys` that are given; each key is the name of the
    /// part's setting behind `prefix`. Problems that the part finds with them are reported under these keys.
    pub fn read(
        settings: &Settings<'_>,
        prefix: &str,
        keys: &[&'static str],
        part: &System,
    ) -> Self {
        let plain = |key: &str| key.strip_prefix(prefix).unwrap_or(key).to_owned();
        let given = keys.iter().filter_map(|key| Some((plain(key), settings.value(key)?.clone())));
        let given: BTreeMap<String, Value> = given.collect();
        let options = Options { settings: given.clone(), ..Options::default() };
        let bad = (part.check)(&options).err().unwrap_or_default();
        for problem in bad.problems {
            let key = format!("{prefix}{}", problem.key);
            settings.refuse(BadOption { key, ..problem });
        }
        let program = std::env::current_exe().unwrap_or_else(|error| {
            settings.refuse(format!("this program cannot be found: {error}"));
            PathBuf::new()
        });
        Self { program, system: part.name, settings: given }
    }

    async fn start(&self, listen: SocketAddr) -> io::Result<(Running, Value)> {
        Running::serve(&self.program, self.system, listen, &self.settings).await
    }
}

/// What is known about a part.
#[derive(Debug, Default)]
pub struct ChildState {
    status: Mutex<Status>,
    restarts: Counter,
}

#[derive(Debug, Clone, Default)]
struct Status {
    /// `None` while it is not running, or if it runs elsewhere.
    pid: Option<u32>,
    /// How it ended last, or why it did not start again.
    ended: Option<String>,
}

impl ChildState {
    /// The state of a part that runs elsewhere, of which nothing is known.
    pub fn unknown() -> Arc<Self> {
        Arc::default()
    }

    /// `restarts`, and `pid` and `ended` as far as there are any, for health checks.
    pub fn report(&self) -> Value {
        let Status { pid, ended } = self.status().clone();
        let mut report = json!({ "restarts": self.restarts.get() });
        if let Some(pid) = pid {
            report["pid"] = json!(pid);
        }
        if let Some(ended) = ended {
            report["ended"] = json!(ended);
        }
        report
    }

    fn mark_ended(&self, why: &io::Error) {
        *self.status() = Status { pid: None, ended: Some(why.to_string()) };
    }

    fn mark_restarted(&self, pid: u32) {
        self.status().pid = Some(pid);
        self.restarts.one();
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a part listens.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    http: SocketAddr,
    /// All that the ready line has of it.
    listening: Value,
}

impl Place {
    fn read(ready: &Value) -> io::Result<Self> {
        let listening = ready["listening"].clone();
        let http = listening["http"].as_str().and_then(|text| text.parse().ok());
        match http {
            Some(http) => Ok(Self { http, listening }),
            None => Err(io::Error::other(format!(
                "its ready line has no address under `listening.http`: {ready}"
            ))),
        }
    }
}

/// A part that is kept running.
#[derive(Debug)]
pub struct Supervisor {
    /// What is known about it.
    pub state: Arc<ChildState>,
    /// Its first ready line.
    pub ready: Value,
    /// The process that was started first.
    pub pid: u32,
    stopper: Stopper,
    task: JoinHandle<()>,
}

impl Supervisor {
    /// Starts a part on loopback and waits until it is ready. `restarts` counts restarts, and `lasting`
    /// takes from the first ready line the settings that a restarted part needs beside its own.
    ///
    /// Errors: it does not start, or its ready line has no address; those of `lasting`
    pub async fn start(
        mut spec: ChildSpec,
        restarts: Counter,
        lasting: impl FnOnce(&Value) -> io::Result<BTreeMap<String, Value>>,
    ) -> io::Result<Self> {
        let (running, ready) = spec.start((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let place = Place::read(&ready)?;
        spec.settings.extend(lasting(&ready)?);
        let (stopper, stop) = Stop::pair();
        let pid = running.pid();
        let status = Mutex::new(Status { pid: Some(pid), ended: None });
        let state = Arc::new(ChildState { status, restarts });
        let task = tokio::spawn(supervise(running, spec, place, Arc::clone(&state), stop));
        Ok(Self { state, ready, pid, stopper, task })
    }

    /// One of its addresses, which it also has after a restart.
    ///
    /// Errors: its ready line has no such address
    pub fn listening(&self, kind: &str) -> io::Result<&str> {
        let place = self.ready["listening"][kind].as_str();
        place.ok_or_else(|| io::Error::other(format!("no `{kind}` in {}", self.ready)))
    }

    /// Its configuration in force, from its ready line.
    pub fn effective(&self) -> Value {
        self.ready["effective"].clone()
    }

    /// Stops the part, and waits for its end.
    pub async fn stop(self) {
        self.stopper.stop();
        // A task that panicked has dropped its process, which ends it.
        let _ = self.task.await;
    }
}

async fn supervise(
    mut running: Running,
    spec: ChildSpec,
    place: Place,
    state: Arc<ChildState>,
    mut stop: Stop,
) {
    loop {
        tokio::select! {
            () = stop.pulled() => return running.stop().await,
            error = running.died() => state.mark_ended(&error),
        }
        running = tokio::select! {
            () = stop.pulled() => return,
            back = restart(&spec, &place, &state) => back,
        };
        state.mark_restarted(running.pid());
    }
}

/// Tries until it runs again.
async fn restart(spec: &ChildSpec, place: &Place, state: &ChildState) -> Running {
    let mut pause = PAUSE;
    loop {
        sleep(pause).await;
        let started = spec.start(place.http).await;
        let same = started.and_then(|(running, ready)| match Place::read(&ready)? == *place {
            true => Ok(running),
            false => Err(io::Error::other(format!("it listens elsewhere than before: {ready}"))),
        });
        match same {
            Ok(running) => return running,
            Err(error) => state.mark_ended(&error),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
