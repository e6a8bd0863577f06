//! The running processes of a trial: their resource use, whether they run, and their end.

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
use super::scratch::ScratchFolder;
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

/// A process that was started and became ready. Fields are dropped in order, so the folder outlives the process that
/// uses it.
#[derive(Debug)]
pub(super) struct Running {
    name: String,
    role: Role,
    pub child: Child,
    pub addresses: ProcessAddresses,
    line: Option<ReadyLine>,
    /// Its processes, as the ready line names them.
    pub parts: Parts,
    /// The frozen processes of each part.
    pub frozen: BTreeMap<String, Vec<Identity>>,
    begin: BTreeMap<u32, Usage>,
    end: BTreeMap<u32, Usage>,
    /// Usage in the measure phase of processes that were killed in it.
    past: Vec<Process>,
    /// Whether its end was planned or has been reported.
    pub end_is_known: bool,
    scratch: Option<ScratchFolder>,
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
    pub fn with_scratch(mut self, scratch: Option<ScratchFolder>) -> Self {
        self.scratch = scratch;
        self
    }

    /// Reads the parts of a new ready line, if it was started again.
    pub fn read_ready_line(&mut self) {
        if let Some(line) = self.child.ready_line() {
            self.parts = Parts::of(&line.processes, self.child.pid());
        }
    }

    /// All its processes, by process id.
    fn family(&self) -> BTreeMap<u32, Usage> {
        let members = usage::family(self.child.pid(), &self.parts.identities());
        let named = members.iter().map(|(pid, usage)| {
            (*pid, Usage { name: self.name_of(usage, &members), ..usage.clone() })
        });
        named.collect()
    }

    /// The ready line's name for a process; otherwise the experiment's name for the first process, and the kernel's
    /// name for others.
    fn name_of(&self, usage: &Usage, members: &BTreeMap<u32, Usage>) -> String {
        match self.parts.name_of(usage, members) {
            Some(part) => part.to_owned(),
            None if usage.pid == self.child.pid() => self.name.clone(),
            None => usage.name.clone(),
        }
    }

    /// Records the usage of these processes before they are killed. It then becomes their start value, also for a
    /// parent that waits for them.
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
            // The process was asked to end and did not.
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

    /// The addresses that placeholders in targets refer to.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Name and process ids of each, in order of start.
    pub fn pids(&self) -> Vec<(String, Vec<u32>)> {
        let pids = |running: &Running| running.family().into_keys().collect();
        self.running.iter().map(|running| (running.name.clone(), pids(running))).collect()
    }

    /// Reads the usage at the start of the measure phase.
    pub fn begin_measure(&mut self) {
        for running in &mut self.running {
            running.read_ready_line();
            running.begin = running.family();
        }
    }

    /// Reads the usage at the end of the measure phase. Call it before [`Processes::stop`], after which nothing can be
    /// read.
    pub fn end_measure(&mut self) {
        for running in &mut self.running {
            running.read_ready_line();
            running.end = running.family();
        }
    }

    /// The next process that has ended, each once. Cheap enough for every second: one system call each.
    pub fn died(&mut self) -> Option<Death> {
        self.running.iter_mut().filter(|running| !running.end_is_known).find_map(|running| {
            let status = running.child.ended()?;
            running.end_is_known = true;
            let (name, role) = (running.name.clone(), running.role);
            Some(Death { name, role, status, output: running.child.output() })
        })
    }

    /// The usage of each in the measure phase, with the configuration that it reports.
    pub fn facts(&self) -> Vec<System> {
        self.running.iter().map(Running::facts).collect()
    }

    /// Reads the counts of every observer.
    ///
    /// An observer that the system itself runs is read at the address that the system's ready line lists under the
    /// observer's name, otherwise at its `http` address.
    ///
    /// The time limit for each is the plan's, otherwise `within`.
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
    /// Returns a sentence for each that did not end when asked to.
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
