//! The running processes of a trial: what they use, whether they are alive, and their end.

use std::collections::BTreeMap;
use std::time::Duration;

use plan::process::Observer;
use record::Role;
use record::summary::{Process, System};

use super::addresses::{Addresses, ProcessAddresses};
use super::child::Child;
use super::observation::{Observation, Observed};
use super::parts::Parts;
use super::ready::ReadyLine;
use super::scratch::Scratch;
use super::usage::{self, Identity, Usage};

/// Everything that was started for a trial. Dropping it stops all of it, in reverse order.
#[derive(Debug)]
pub struct Processes {
    pub(super) addresses: Addresses,
    pub(super) running: Vec<Running>,
    /// The name of each in placeholders.
    pub(super) placeholders: Vec<String>,
    observers: Vec<Observer>,
}

/// A process that ended without being asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Its name in the experiment.
    pub name: String,
    /// Its role in the trial.
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
    pub addresses: ProcessAddresses,
    line: Option<ReadyLine>,
    /// Its processes, as the ready line names them.
    pub parts: Parts,
    /// Those that were frozen, by the part that they are.
    pub frozen: BTreeMap<String, Vec<Identity>>,
    begin: BTreeMap<u32, Usage>,
    end: BTreeMap<u32, Usage>,
    /// What those used in the measure phase that were killed in it.
    past: Vec<Process>,
    /// Whether its end was planned or has been reported.
    pub end_is_known: bool,
    scratch: Option<Scratch>,
}

impl Running {
    pub fn new(
        name: &str,
        role: Role,
        child: Child,
        addresses: ProcessAddresses,
        line: Option<ReadyLine>,
    ) -> Self {
        let pid = child.pid();
        let named = line.iter().flat_map(|line| &line.processes).cloned().collect::<Vec<_>>();
        Self {
            name: name.to_owned(),
            role,
            child,
            addresses,
            line,
            parts: Parts::of(&named, pid),
            frozen: BTreeMap::new(),
            begin: BTreeMap::new(),
            end: BTreeMap::new(),
            past: Vec::new(),
            end_is_known: false,
            scratch: None,
        }
    }

    /// Keeps its scratch folder until it is dropped.
    pub fn with_scratch(mut self, scratch: Option<Scratch>) -> Self {
        self.scratch = scratch;
        self
    }

    /// Reads the parts of a new ready line, if it was started again.
    pub fn read_ready_line(&mut self) {
        if let Some(line) = self.child.ready_line() {
            self.parts = Parts::of(&line.processes, self.child.pid());
        }
    }

    /// All its processes, by the names that they have here.
    fn family(&self) -> BTreeMap<u32, Usage> {
        let members = usage::family(self.child.pid(), &self.parts.identities());
        let named = members.iter().map(|(pid, usage)| {
            (*pid, Usage { name: self.name_of(usage, &members), ..usage.clone() })
        });
        named.collect()
    }

    /// Its own name for a process, else the experiment's for the first one, else the kernel's.
    fn name_of(&self, usage: &Usage, members: &BTreeMap<u32, Usage>) -> String {
        match self.parts.name_of(usage, members) {
            Some(part) => part.to_owned(),
            None if usage.pid == self.child.pid() => self.name.clone(),
            None => usage.name.clone(),
        }
    }

    /// Keeps what these have used so far, since they are about to end. From here on that counts as their start value,
    /// also for a parent that waits for them.
    pub fn keep_usage(&mut self, is_meant: impl Fn(u32) -> bool) {
        let mut now = self.family();
        now.retain(|pid, _| is_meant(*pid));
        self.past.extend(usage::used(&self.begin, &now));
        self.begin.extend(now);
    }

    fn facts(&self) -> System {
        let used = usage::used(&self.begin, &self.end);
        let mut processes: Vec<Process> = Vec::new();
        for used in self.past.iter().cloned().chain(used) {
            let is_same = |one: &&mut Process| (one.pid, &one.name) == (used.pid, &used.name);
            // One that was asked to end and did not.
            match processes.iter_mut().find(is_same) {
                Some(known) => {
                    known.cpu_ns += used.cpu_ns;
                    known.run_queue_ns += used.run_queue_ns;
                    known.rss_peak_bytes = known.rss_peak_bytes.max(used.rss_peak_bytes);
                }
                None => processes.push(used),
            }
        }
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
            addresses: Addresses::default(),
            running: Vec::new(),
            placeholders: Vec::new(),
            observers: observers.to_vec(),
        }
    }

    pub(super) fn add(&mut self, name: &str, running: Running) {
        self.addresses.add(name, running.addresses.clone());
        self.placeholders.push(name.to_owned());
        self.running.push(running);
    }

    /// Addresses that placeholders in targets stand for.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Name and process ids of each, in order of start.
    pub fn pids(&self) -> Vec<(String, Vec<u32>)> {
        let pids = |running: &Running| running.family().into_keys().collect();
        self.running.iter().map(|running| (running.name.clone(), pids(running))).collect()
    }

    /// Reads what they have used so far: the measure phase begins.
    pub fn begin_measure(&mut self) {
        for running in &mut self.running {
            running.read_ready_line();
            running.begin = running.family();
        }
    }

    /// Reads it again: the measure phase ends. Before [`Processes::stop`], which leaves nothing to
    /// be read.
    pub fn end_measure(&mut self) {
        for running in &mut self.running {
            running.read_ready_line();
            running.end = running.family();
        }
    }

    /// The next process found dead, each once. Cheap enough for every second: one system call each.
    pub fn died(&mut self) -> Option<Death> {
        self.running.iter_mut().filter(|running| !running.end_is_known).find_map(|running| {
            let status = running.child.ended()?;
            running.end_is_known = true;
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
        let addresses = self.addresses.get(owner).ok_or(format!("{owner} was not started"))?;
        addresses
            .listening
            .get(&observer.name)
            .or_else(|| addresses.listening.get("http"))
            .or(addresses.main.as_ref())
            .cloned()
            .ok_or(format!("{owner} lists no address that can be asked for the counts"))
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
