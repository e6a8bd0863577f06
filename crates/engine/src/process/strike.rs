//! What the plan does to processes while the load runs.

use plan::fault::{Action, Step, Whom};
use rustix::process::Signal;

use super::error::ProcessError;
use super::parts;
use super::running::{Processes, Running};

impl Processes {
    /// Whether the part that the plan will hit is one. Of whole processes nothing is asked: they were started.
    ///
    /// Errors: why it could not be hit, whenever that is
    pub(super) fn expect(&self, whom: &Whom) -> Result<(), ProcessError> {
        let Some(part) = &whom.part else { return Ok(()) };
        let running = self.position(whom).map(|place| &self.running[place]);
        let checked = running.and_then(|running| running.parts.check(part, running.child.pid()));
        checked.map_err(|reason| ProcessError::Part { whom: whom.to_string(), reason })
    }

    /// Does to a process what the plan says. Returns within some milliseconds: whether what was
    /// started anew accepts work is for the load to see.
    ///
    /// Errors: a sentence on why it could not be done
    pub fn strike(&mut self, step: &Step) -> Result<(), String> {
        let place = self.position(&step.whom)?;
        match &step.whom.part {
            None => self.running[place].strike(step.action),
            Some(part) => self.running[place].strike_part(part, step.action),
        }
    }

    fn position(&self, whom: &Whom) -> Result<usize, String> {
        let place = self.called.iter().position(|name| *name == whom.process);
        place.ok_or_else(|| format!("{} was not started", whom.process))
    }
}

impl Running {
    fn strike(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Kill => {
                self.leave();
                self.child.kill();
            }
            Action::Stop => {
                self.leave();
                self.child.send(Signal::TERM);
            }
            Action::Freeze => self.child.send(Signal::STOP),
            Action::Continue => self.child.send(Signal::CONT),
            Action::Start => return self.start_again(),
        }
        Ok(())
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.mourned, true) {
            self.settle(|_| true);
        }
    }

    fn start_again(&mut self) -> Result<(), String> {
        self.leave();
        self.child.kill();
        let address = self.place.listening.get("http").map(String::as_str);
        self.child = self.child.again(address).map_err(|error| error.to_string())?;
        // Those that the ready line named are gone.
        self.parts = parts::Parts::default();
        self.mourned = false;
        Ok(())
    }

    /// The same for one of its parts, which nobody mourns: whether it comes back is for itself to see to.
    fn strike_part(&mut self, part: &str, action: Action) -> Result<(), String> {
        if let Some(status) = self.child.ended() {
            return Err(format!("what started it has ended: {status}"));
        }
        self.listen();
        let leader = self.child.pid();
        let (signal, struck) = match action {
            Action::Kill => (Signal::KILL, self.parts.find(part, leader)?),
            Action::Stop => (Signal::TERM, self.parts.find(part, leader)?),
            Action::Freeze => (Signal::STOP, self.parts.find(part, leader)?),
            // Those that were frozen, and none that has come in their place.
            Action::Continue => {
                let frozen = self.frozen.remove(part);
                (Signal::CONT, frozen.ok_or_else(|| "it was not frozen".to_owned())?)
            }
            Action::Start => return Err("only what started it can start it again".to_owned()),
        };
        match action {
            Action::Kill | Action::Stop => {
                self.settle(|pid| struck.iter().any(|one| one.pid == pid));
            }
            Action::Freeze => _ = self.frozen.insert(part.to_owned(), struck.clone()),
            Action::Continue | Action::Start => {}
        }
        match parts::send(leader, &struck, signal) {
            true => Ok(()),
            false => Err("it has ended".to_owned()),
        }
    }
}
