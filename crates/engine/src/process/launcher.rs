//! Starts the processes of an arm, one after the other, each ready before the next.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use plan::plan::Arm;
use plan::process::{Ready, Start};
use record::Role;
use rustix::process::{getpid, set_child_subreaper};
use serde_json::Value;

use super::addresses::{Addresses, OwnPlaceholders, ProcessAddresses};
use super::child::{ANY_PORT, Child, PAUSE};
use super::error::ProcessError;
use super::probe;
use super::ready::ReadyLine;
use super::running::{Processes, Running};
use super::scratch::ScratchFolder;
use crate::placement::core_set;

/// The settings for starting processes.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// For each system in the plan, the program that serves it.
    pub programs: BTreeMap<String, PathBuf>,
    /// Where scratch folders are made.
    pub scratch_root: PathBuf,
    /// Processors that they may use; empty for all.
    pub cores: Vec<usize>,
    /// Time limit for each to become ready, if the plan has none.
    pub ready_within: Duration,
    /// Time limit for each to end when asked to, before it is killed.
    pub stop_within: Duration,
}

/// One process to be started.
struct ProcessSpec<'a> {
    /// Its name in the experiment, for messages and the record.
    name: &'a str,
    /// Its name in placeholders.
    placeholder: &'a str,
    role: Role,
    start: &'a Start,
    set: &'a BTreeMap<String, Value>,
    ready: &'a Ready,
    within: Duration,
}

impl Launcher {
    /// Default time limit for readiness.
    pub const READY_WITHIN: Duration = Duration::from_secs(10);
    /// Default time limit for a process to end by itself.
    pub const STOP_WITHIN: Duration = Duration::from_secs(5);

    /// A launcher with the default bounds.
    pub fn new(
        programs: BTreeMap<String, PathBuf>,
        scratch_root: PathBuf,
        cores: Vec<usize>,
    ) -> Self {
        Self {
            programs,
            scratch_root,
            cores,
            ready_within: Self::READY_WITHIN,
            stop_within: Self::STOP_WITHIN,
        }
    }

    /// Starts services, system and observers, in this order. If one of them fails, those that were started are stopped
    /// again.
    ///
    /// The kernel ends the children when the calling thread ends, so they cannot outlive this process even if it is
    /// killed: call it on a thread that lives through the trial. Makes this process the reaper of orphaned
    /// descendants.
    ///
    /// Errors: the first process that does not start, with what it printed; a fault that names an unknown part
    pub fn start(
        &self,
        arm: &Arm,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Processes, ProcessError> {
        // If the kernel refuses, init adopts orphans and reaps them as well.
        let _ = set_child_subreaper(Some(getpid()));
        let line = Ready::Line;
        let none = BTreeMap::new();
        let commands: Vec<Start> =
            arm.services.iter().map(|service| Start::Command(service.command.clone())).collect();
        let mut specs = Vec::new();
        for (service, start) in arm.services.iter().zip(&commands) {
            let name = service.name.as_str();
            let (set, ready, role) = (&none, &service.ready, Role::Service);
            let within = self.bound(service.ready_within);
            specs.push(ProcessSpec { name, placeholder: name, role, start, set, ready, within });
        }
        if let Some(system) = &arm.system {
            let (name, ready) = match &system.start {
                Start::Serve(name) => (name.as_str(), &line),
                Start::Command(_) => ("system", &system.ready),
            };
            let (start, set, placeholder, role) =
                (&system.start, &system.set, "system", Role::System);
            let within = self.bound(system.ready_within);
            specs.push(ProcessSpec { name, placeholder, role, start, set, ready, within });
        }
        for observer in &arm.observers {
            if let Some(start) = &observer.start {
                let (name, set, role) = (observer.name.as_str(), &observer.set, Role::Observer);
                let within = self.bound(observer.ready_within);
                specs.push(ProcessSpec {
                    name,
                    placeholder: name,
                    role,
                    start,
                    set,
                    ready: &line,
                    within,
                });
            }
        }
        let mut processes = Processes::new(&arm.observers);
        for spec in &specs {
            processes.addresses.expect(spec.placeholder);
        }
        for spec in &specs {
            let running = self.start_one(spec, &processes.addresses, interrupted)?;
            processes.add(spec.placeholder, running);
        }
        // A fault that cannot be injected must fail now, not in the middle of the load.
        arm.faults.iter().try_for_each(|fault| processes.expect(&fault.whom))?;
        Ok(processes)
    }

    fn bound(&self, asked: Option<Duration>) -> Duration {
        asked.unwrap_or(self.ready_within)
    }

    fn start_one(
        &self,
        spec: &ProcessSpec<'_>,
        addresses: &Addresses,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Running, ProcessError> {
        let wanted = arguments(spec);
        let uses = |what: &str| wanted.iter().any(|argument| argument.contains(what));
        let lacks = |what: &str, error: std::io::Error| ProcessError::Resource {
            name: spec.name.to_owned(),
            what: what.to_owned(),
            reason: error.to_string(),
        };
        let port = uses("{port}").then(probe::free_port).transpose();
        let port = port.map_err(|error| lacks("a free port", error))?;
        let scratch =
            uses("{scratch}").then(|| ScratchFolder::new(&self.scratch_root, spec.placeholder));
        let scratch = scratch.transpose().map_err(|error| {
            lacks(&format!("a folder below {}", self.scratch_root.display()), error)
        })?;
        let own = OwnPlaceholders {
            port,
            scratch: scratch.as_ref().map(|folder| folder.path().to_owned()),
        };
        let mut argv = self.program(spec)?;
        for argument in &wanted {
            argv.push(addresses.fill(argument, &own).map_err(|reason| misplaced(spec, reason))?);
        }
        if port.is_none() && !matches!(spec.ready, Ready::Line) {
            let reason = "`ready` asks at its port, but the command has no {port}; put {port} where the program expects its port";
            return Err(misplaced(spec, reason.to_owned()));
        }
        let child = Child::spawn(&argv, core_set(&self.cores), self.stop_within);
        let mut child = child.map_err(|error| ProcessError::Spawn {
            name: spec.name.to_owned(),
            command: argv.first().cloned().unwrap_or_default(),
            reason: error.to_string(),
        })?;
        let line = self.await_ready(spec, &mut child, port.unwrap_or(0), interrupted)?;
        let addresses = addresses_of(port, line.as_ref());
        let running = Running::new(spec.name, spec.role, child, addresses, line);
        Ok(running.with_scratch(scratch))
    }

    /// The program that serves a system; empty for a command, whose arguments start with its program.
    fn program(&self, spec: &ProcessSpec<'_>) -> Result<Vec<String>, ProcessError> {
        let Start::Serve(system) = spec.start else { return Ok(Vec::new()) };
        let program = self.programs.get(system).and_then(|path| path.to_str());
        let unknown = || ProcessError::Spawn {
            name: spec.name.to_owned(),
            command: system.clone(),
            reason: "no program for this system was found".to_owned(),
        };
        program.map(|program| vec![program.to_owned()]).ok_or_else(unknown)
    }

    fn await_ready(
        &self,
        spec: &ProcessSpec<'_>,
        child: &mut Child,
        port: u16,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<ReadyLine>, ProcessError> {
        let name = spec.name.to_owned();
        let deadline = Instant::now() + spec.within;
        loop {
            let seen = is_ready(spec.ready, child, port);
            // Checked after readiness, because another process at the port could look like a ready child.
            if let Some(status) = child.ended() {
                return Err(ProcessError::Died { name, status, output: child.output() });
            }
            if let Some(line) = seen {
                return Ok(line);
            }
            if interrupted() {
                return Err(ProcessError::Interrupted { name });
            }
            if Instant::now() >= deadline {
                return Err(ProcessError::NotReady {
                    name,
                    within: spec.within,
                    waited_for: waited_for(spec.ready, port),
                    output: child.output(),
                });
            }
            thread::sleep(PAUSE);
        }
    }
}

fn misplaced(spec: &ProcessSpec<'_>, reason: String) -> ProcessError {
    ProcessError::Placeholder { name: spec.name.to_owned(), reason }
}

/// The command line with unfilled placeholders, without the program that serves a system.
fn arguments(spec: &ProcessSpec<'_>) -> Vec<String> {
    match spec.start {
        Start::Command(argv) => argv.clone(),
        Start::Serve(name) => {
            let mut argv = vec![name.clone(), "--listen".to_owned(), ANY_PORT.to_owned()];
            for (key, value) in spec.set {
                argv.push("--set".to_owned());
                argv.push(match value {
                    Value::String(text) => format!("{key}={text}"),
                    other => format!("{key}={other}"),
                });
            }
            argv
        }
    }
}

/// The ready state, with the ready line if there is one.
#[expect(clippy::option_option, reason = "not ready, ready without a line, ready with one")]
fn is_ready(ready: &Ready, child: &Child, port: u16) -> Option<Option<ReadyLine>> {
    // Each attempt is short, so that the loop notices an end of the process and a request to stop.
    let attempt = Duration::from_millis(500);
    match ready {
        Ready::Line => child.ready_line().map(Some),
        Ready::Tcp => probe::accepts(port, attempt).then_some(None),
        Ready::Http(path) => {
            let answer = probe::get(&format!("127.0.0.1:{port}"), path, attempt);
            matches!(answer, Ok((200, _))).then_some(None)
        }
    }
}

fn waited_for(ready: &Ready, port: u16) -> String {
    match ready {
        Ready::Line => "no line {\"ready\":true,…} on its stdout".to_owned(),
        Ready::Tcp => format!("nothing accepts connections at 127.0.0.1:{port}"),
        Ready::Http(path) => format!("GET http://127.0.0.1:{port}{path} does not answer 200"),
    }
}

/// Addresses of a ready process. The addresses in its ready line override the assigned port.
fn addresses_of(port: Option<u16>, line: Option<&ReadyLine>) -> ProcessAddresses {
    let given = port.map(|port| format!("127.0.0.1:{port}"));
    let mut listening = line.map(|line| line.listening.clone()).unwrap_or_default();
    let main = match (&given, listening.len()) {
        (Some(address), _) => Some(address.clone()),
        (None, 1) => listening.values().next().cloned(),
        (None, _) => listening.get("http").cloned(),
    };
    if let (Some(address), true) = (given, listening.is_empty()) {
        listening.insert("http".to_owned(), address);
    }
    ProcessAddresses { main, listening }
}
