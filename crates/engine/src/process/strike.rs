//! What the plan does to processes while the load runs.

use plan::fault::{Action, Step};
use rustix::process::Signal;

use super::running::{Processes, Running};

impl Processes {
    /// Does to a process what the plan says. Returns within some milliseconds: whether what was
    /// started anew accepts work is for the load to see.
    ///
    /// Errors: a sentence on why it could not be done
    pub fn strike(&mut self, step: &Step) -> Result<(), String> {
        let place = self.called.iter().position(|name| *name == step.process);
        let place = place.ok_or_else(|| format!("{} was not started", step.process))?;
        self.running[place].strike(step.action)
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
            self.settle();
        }
    }

    fn start_again(&mut self) -> Result<(), String> {
        self.leave();
        self.child.kill();
        let address = self.place.listening.get("http").map(String::as_str);
        self.child = self.child.again(address).map_err(|error| error.to_string())?;
        // Those that the ready line named are gone.
        self.line.iter_mut().for_each(|line| line.processes.clear());
        self.mourned = false;
        Ok(())
    }
}
