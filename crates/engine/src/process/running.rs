//! The processes of a trial while it goes on: what they use, whether they live, and their end.

use std::collections::BTreeMap;
use std::time::Duration;

use plan::process::Observer;
use record::Role;
use record::summary::{Process, System};

use super::child::Child;
use super::observed::{Observation, Observed};
use super::places::{Place, Places};
use super::ready::ReadyLine;
use super::scratch::Scratch;
use super::usage::{self, Usage, Used};

/// Everything that was started for a trial. Dropping it stops all of it, in reverse order.
#[derive(Debug)]
pub struct Processes {
    pub(super) places: Places,
    pub(super) running: Vec<Running>,
    /// What the experiment calls each of those.
    pub(super) called: Vec<String>,
    observers: Vec<Observer>,
}

/// A process that ended though nobody asked it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Its name in the experiment.
    pub name: String,
    /// What it was there for.
    pub role: Role,
    /// Exit status or signal, in words.
    pub status: String,
    /// The last lines that it printed.
    pub output: Vec<String>,
}

/// One process that was started and got ready. The folder outlives the process that uses it: fields
/// are dropped in order.
#[derive(Debug)]
pub(super) struct Running {
    name: String,
    role: Role,
    pub child: Child,
    pub place: Place,
    pub line: Option<ReadyLine>,
    begin: BTreeMap<u32, Usage>,
    end: BTreeMap<u32, Usage>,
    /// What those used in the measure phase that were killed in it.
    past: Vec<Used>,
    /// Whether nobody need be told of its end.
    pub mourned: bool,
    _scratch: Option<Scratch>,
}

impl Running {
    pub fn new(
        (name, role): (&str, Role),
        child: Child,
        place: Place,
        line: Option<ReadyLine>,
        scratch: Option<Scratch>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            role,
            child,
            place,
            line,
            begin: BTreeMap::new(),
            end: BTreeMap::new(),
            past: Vec::new(),
            mourned: false,
            _scratch: scratch,
        }
    }

    fn named_pids(&self) -> Vec<u32> {
        self.line.iter().flat_map(|line| &line.processes).map(|process| process.pid).collect()
    }

    fn family(&self) -> BTreeMap<u32, Usage> {
        usage::family(self.child.pid(), &self.named_pids())
    }

    /// Its own name for a process, else the experiment's for the first one, else the kernel's.
    fn name_of(&self, pid: u32, known_as: &str) -> String {
        let named = self.line.iter().flat_map(|line| &line.processes).find(|one| one.pid == pid);
        match named {
            Some(process) => process.name.clone(),
            None if pid == self.child.pid() => self.name.clone(),
            None => known_as.to_owned(),
        }
    }

    /// Keeps what it has used so far: it is about to go.
    pub fn settle(&mut self) {
        self.past.extend(usage::used(&self.begin, &self.family()));
    }

    fn facts(&self) -> System {
        let used = usage::used(&self.begin, &self.end);
        let processes = self
            .past
            .iter()
            .chain(&used)
            .map(|used| Process {
                name: self.name_of(used.pid, &used.name),
                pid: used.pid,
                cpu_ns: used.cpu_ns,
                rss_peak_bytes: used.rss_peak_bytes,
            })
            .collect();
        System {
            name: self.name.clone(),
            processes,
            version: self.line.as_ref().and_then(|line| line.version.clone()),
            effective: self.line.as_ref().map(|line| line.effective.clone()).unwrap_or_default(),
        }
    }
}

impl Processes {
    pub(super) fn new(observers: &[Observer]) -> Self {
        Self {
            places: Places::default(),
            running: Vec::new(),
            called: Vec::new(),
            observers: observers.to_vec(),
        }
    }

    pub(super) fn add(&mut self, place: &str, running: Running) {
        self.places.add(place, running.place.clone());
        self.called.push(place.to_owned());
        self.running.push(running);
    }

    /// Addresses that placeholders in targets stand for.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Name and process ids of each, in order of start.
    pub fn pids(&self) -> Vec<(String, Vec<u32>)> {
        let pids = |running: &Running| running.family().into_keys().collect();
        self.running.iter().map(|running| (running.name.clone(), pids(running))).collect()
    }

    /// Reads what they have used so far: the measure phase begins.
    pub fn begin_measure(&mut self) {
        for running in &mut self.running {
            running.begin = running.family();
        }
    }

    /// Reads it again: the measure phase ends. Before [`Processes::stop`], which leaves nothing to
    /// be read.
    pub fn end_measure(&mut self) {
        for running in &mut self.running {
            running.end = running.family();
        }
    }

    /// The next process found dead, each once. Cheap enough for every second: one system call each.
    pub fn died(&mut self) -> Option<Death> {
        self.running.iter_mut().filter(|running| !running.mourned).find_map(|running| {
            let status = running.child.ended()?;
            running.mourned = true;
            let (name, role) = (running.name.clone(), running.role);
            Some(Death { name, role, status, output: running.child.output() })
        })
    }

    /// What each used in the measure phase, with the configuration it says it has.
    pub fn facts(&self) -> Vec<System> {
        self.running.iter().map(Running::facts).collect()
    }

    /// Asks every observer what it counted, each within this bound.
    ///
    /// One that the system itself keeps is asked at the address that the system's ready line lists
    /// under the observer's name, or else at its `http` address.
    ///
    /// Each is given the time that the plan says, or else this.
    pub fn observe(&self, within: Duration) -> Vec<Observation> {
        self.observers
            .iter()
            .map(|observer| Observation {
                name: observer.name.clone(),
                expect: observer.expect.clone(),
                answer: self.address_of(observer).and_then(|address| {
                    Observed::read(&address, observer.answers_within.unwrap_or(within))
                }),
            })
            .collect()
    }

    fn address_of(&self, observer: &Observer) -> Result<String, String> {
        let owner = if observer.start.is_some() { &observer.name } else { "system" };
        let place = self.places.get(owner).ok_or(format!("{owner} was not started"))?;
        place
            .listening
            .get(&observer.name)
            .or_else(|| place.listening.get("http"))
            .or(place.main.as_ref())
            .cloned()
            .ok_or(format!("{owner} has no address at which it could be asked"))
    }

    /// Stops all, the last one first: asks each to end, waits, kills.
    ///
    /// Gives a sentence for each that did not end when asked to.
    pub fn stop(mut self) -> Vec<String> {
        self.stop_all()
    }

    fn stop_all(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        while let Some(mut running) = self.running.pop() {
            if running.child.stop() {
                notes.push(format!("{} did not end when asked to and was killed", running.name));
            }
        }
        notes
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop_all();
    }
}
