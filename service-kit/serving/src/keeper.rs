//! A part of a system that is kept: started with it, started again where it died, ended with it.
//!
//! It comes back where it was, at the addresses that the first one was given. Whoever asks it meanwhile is told at once
//! that nobody is there.
//!
//! Not here: how one child is held ([`crate::child`]), and what a part leaves behind when it is killed.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
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

/// How a part is started.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// A program that serves the part (see [`crate::program`]).
    pub program: PathBuf,
    /// What the part is called there.
    pub system: &'static str,
    /// Its settings by name.
    pub settings: BTreeMap<String, Value>,
}

impl Recipe {
    /// A part that this program serves, and its settings: those of `keys` that are given, each with the prefix before the
    /// name that it has there. What the part would find wrong with them is told by the keys that were given.
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

/// What is known of a part.
#[derive(Debug, Default)]
pub struct State {
    now: Mutex<Now>,
    restarts: Counter,
}

#[derive(Debug, Clone, Default)]
struct Now {
    /// `None` while it is away, or where it is nobody's of ours.
    pid: Option<u32>,
    /// How it ended last, or why it did not start again.
    ended: Option<String>,
}

impl State {
    /// Of a part that runs elsewhere: nothing.
    pub fn unknown() -> Arc<Self> {
        Arc::default()
    }

    /// For whoever asks how it is.
    pub fn told(&self) -> Value {
        let Now { pid, ended } = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut told = json!({ "restarts": self.restarts.get() });
        if let Some(pid) = pid {
            told["pid"] = json!(pid);
        }
        if let Some(ended) = ended {
            told["ended"] = json!(ended);
        }
        told
    }

    fn went(&self, why: &io::Error) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = Now { pid: None, ended: Some(why.to_string()) };
    }

    fn came_back(&self, pid: u32) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).pid = Some(pid);
        self.restarts.one();
    }
}

/// Where a part is.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    http: SocketAddr,
    /// All that the ready line has of it.
    listening: Value,
}

impl Place {
    fn told(ready: &Value) -> io::Result<Self> {
        let listening = ready["listening"].clone();
        let http = listening["http"].as_str().and_then(|text| text.parse().ok());
        match http {
            Some(http) => Ok(Self { http, listening }),
            None => Err(io::Error::other(format!("its address is not in {ready}"))),
        }
    }
}

/// A part that is kept alive.
#[derive(Debug)]
pub struct Keeper {
    /// What is known of it.
    pub state: Arc<State>,
    /// What the first one said when it was ready.
    pub ready: Value,
    /// The process that was started first.
    pub pid: u32,
    stopper: Stopper,
    kept: JoinHandle<()>,
}

impl Keeper {
    /// Starts a part on loopback and waits until it is ready. `restarts` counts how often it is started again, and
    /// `lasting` says from the first ready line which settings those have that come in its place, beside its own.
    ///
    /// Errors: it does not start, or does not say where it is; those of `lasting`
    pub async fn start(
        mut recipe: Recipe,
        restarts: Counter,
        lasting: impl FnOnce(&Value) -> io::Result<BTreeMap<String, Value>>,
    ) -> io::Result<Self> {
        let (running, ready) = recipe.start((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let place = Place::told(&ready)?;
        recipe.settings.extend(lasting(&ready)?);
        let (stopper, stop) = Stop::pair();
        let pid = running.pid();
        let now = Mutex::new(Now { pid: Some(pid), ended: None });
        let state = Arc::new(State { now, restarts });
        let kept = tokio::spawn(keep(running, recipe, place, Arc::clone(&state), stop));
        Ok(Self { state, ready, pid, stopper, kept })
    }

    /// Where something of it listens, also when it comes back.
    ///
    /// Errors: it has not said so
    pub fn listening(&self, kind: &str) -> io::Result<&str> {
        let place = self.ready["listening"][kind].as_str();
        place.ok_or_else(|| io::Error::other(format!("no `{kind}` in {}", self.ready)))
    }

    /// The configuration in force that it told.
    pub fn effective(&self) -> Value {
        self.ready["effective"].clone()
    }

    /// Ends the part, and waits for that.
    pub async fn stop(self) {
        self.stopper.stop();
        // A task that panicked has dropped its process, which ends it.
        let _ = self.kept.await;
    }
}

async fn keep(
    mut running: Running,
    recipe: Recipe,
    place: Place,
    state: Arc<State>,
    mut stop: Stop,
) {
    loop {
        tokio::select! {
            () = stop.pulled() => return running.stop().await,
            error = running.died() => state.went(&error),
        }
        running = tokio::select! {
            () = stop.pulled() => return,
            back = again(&recipe, &place, &state) => back,
        };
        state.came_back(running.pid());
    }
}

/// Tries until it is back.
async fn again(recipe: &Recipe, place: &Place, state: &State) -> Running {
    let mut pause = PAUSE;
    loop {
        sleep(pause).await;
        let started = recipe.start(place.http).await;
        let same = started.and_then(|(running, ready)| match Place::told(&ready)? == *place {
            true => Ok(running),
            false => Err(io::Error::other(format!("it is elsewhere: {ready}"))),
        });
        match same {
            Ok(running) => return running,
            Err(error) => state.went(&error),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
