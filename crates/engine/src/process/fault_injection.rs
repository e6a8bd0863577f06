//! Injects planned faults into processes while the load runs.

use plan::fault::{FaultAction, FaultStep, FaultTarget};
use rustix::process::Signal;

use super::error::ProcessError;
use super::parts;
use super::running::{Processes, Running};

impl Processes {
    /// Checks that the part which a fault will hit exists. A whole process needs no check, because it was started.
    ///
    /// Errors: why the part cannot be hit
    pub(super) fn expect(&self, whom: &FaultTarget) -> Result<(), ProcessError> {
        let Some(part) = &whom.part else { return Ok(()) };
        let running = self.position(whom).map(|place| &self.running[place]);
        let checked = running.and_then(|running| running.parts.check(part, running.child.pid()));
        checked.map_err(|reason| ProcessError::Part { whom: whom.to_string(), reason })
    }

    /// Injects one step of a fault. Returns within some milliseconds: it does not wait until a restarted process is
    /// ready.
    ///
    /// Errors: a sentence that says why it failed
    pub fn inject(&mut self, step: &FaultStep) -> Result<(), String> {
        let place = self.position(&step.whom)?;
        match &step.whom.part {
            None => self.running[place].inject(step.action),
            Some(part) => self.running[place].inject_into_part(part, step.action),
        }
    }

    fn position(&self, whom: &FaultTarget) -> Result<usize, String> {
        let place = self.placeholders.iter().position(|name| *name == whom.process);
        place.ok_or_else(|| format!("{} was not started", whom.process))
    }
}

impl Running {
    fn inject(&mut self, action: FaultAction) -> Result<(), String> {
        match action {
            FaultAction::Kill => {
                self.note_planned_end();
                self.child.kill();
            }
            FaultAction::Stop => {
                self.note_planned_end();
                self.child.send(Signal::TERM);
            }
            FaultAction::Freeze => self.child.send(Signal::STOP),
            FaultAction::Continue => self.child.send(Signal::CONT),
            FaultAction::Start => return self.start_again(),
        }
        Ok(())
    }

    fn note_planned_end(&mut self) {
        if !std::mem::replace(&mut self.end_is_known, true) {
            self.keep_usage(|_| true);
        }
    }

    fn start_again(&mut self) -> Result<(), String> {
        self.note_planned_end();
        self.child.kill();
        let address = self.addresses.listening.get("http").map(String::as_str);
        self.child = self.child.again(address).map_err(|error| error.to_string())?;
        // The parts of the old ready line are gone.
        self.parts = parts::Parts::default();
        self.end_is_known = false;
        Ok(())
    }

    /// The same for a part of a process. Its end aborts nothing: the process itself may restart it.
    fn inject_into_part(&mut self, part: &str, action: FaultAction) -> Result<(), String> {
        if let Some(status) = self.child.ended() {
            return Err(format!("the process that started it has ended: {status}"));
        }
        self.read_ready_line();
        let leader = self.child.pid();
        let (signal, hit) = match action {
            FaultAction::Kill => (Signal::KILL, self.parts.find(part, leader)?),
            FaultAction::Stop => (Signal::TERM, self.parts.find(part, leader)?),
            FaultAction::Freeze => (Signal::STOP, self.parts.find(part, leader)?),
            // Continue the processes that were frozen, not their successors.
            FaultAction::Continue => {
                let frozen = self.frozen.remove(part);
                (Signal::CONT, frozen.ok_or_else(|| "it was not frozen".to_owned())?)
            }
            FaultAction::Start => {
                return Err("only the process that started it can start it again".to_owned());
            }
        };
        match action {
            FaultAction::Kill | FaultAction::Stop => {
                self.keep_usage(|pid| hit.iter().any(|one| one.pid == pid));
            }
            FaultAction::Freeze => _ = self.frozen.insert(part.to_owned(), hit.clone()),
            FaultAction::Continue | FaultAction::Start => {}
        }
        match parts::send(leader, &hit, signal) {
            true => Ok(()),
            false => Err("it has ended".to_owned()),
        }
    }
}
