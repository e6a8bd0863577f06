//! The parts of a process that its ready line names: they are found again after a restart, and signalled only if they
//! are certain to belong to this trial.
//!
//! The kernel reuses process ids. So a part is identified by its id and its start time, and its successor by parent
//! and name. A process is opened (a pidfd) before it is checked and signalled: it must descend from a process that the
//! trial started, and it must still be the intended process. Before Linux 5.3 there is nothing to open; then it is
//! checked right before the signal.

use std::collections::BTreeMap;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::ready::NamedProcess;
use super::usage::{self, Identity, Usage};

/// The parts that a ready line names.
#[derive(Debug, Default)]
pub(super) struct Parts {
    parts: Vec<Part>,
    /// The processes that existed when the parts were named: none of them is a successor.
    original: Vec<Identity>,
}

#[derive(Debug)]
struct Part {
    name: String,
    pid: u32,
    /// As last read; `None` if it had ended by then.
    last_read: Option<Usage>,
}

impl Part {
    fn is(&self, usage: &Usage) -> bool {
        self.last_read.as_ref().is_some_and(|known| known.identity() == usage.identity())
    }

    /// Whether this process may be its successor; `false` until it has ended.
    fn may_be_replaced_by(&self, usage: &Usage, members: &BTreeMap<u32, Usage>) -> bool {
        let Some(known) = &self.last_read else { return false };
        let is_alive = members.get(&known.pid).is_some_and(|one| self.is(one) && !one.ended);
        !is_alive
            && (usage.parent, &usage.name) == (known.parent, &known.name)
            && usage.started >= known.started
    }
}

impl Parts {
    /// The current processes of these parts; `leader` is the process that the trial started.
    pub fn of(named: &[NamedProcess], leader: u32) -> Self {
        let part = |named: &NamedProcess| Part {
            name: named.name.clone(),
            pid: named.pid,
            last_read: usage::one(named.pid),
        };
        let original = usage::family(leader, &[]).values().map(Usage::identity).collect();
        Self { parts: named.iter().map(part).collect(), original }
    }

    /// The processes that were named, identified beyond doubt.
    pub fn identities(&self) -> Vec<Identity> {
        self.parts.iter().filter_map(|part| part.last_read.as_ref()).map(Usage::identity).collect()
    }

    /// The name of this process's part: the process was named, or is a successor. `None` if several parts are
    /// possible.
    pub fn name_of(&self, usage: &Usage, members: &BTreeMap<u32, Usage>) -> Option<&str> {
        let named = self.parts.iter().find(|part| part.is(usage));
        let named = named.or_else(|| {
            let mut successors = self.parts.iter().filter(|part| self.may_be(part, usage, members));
            successors.next().filter(|_| successors.next().is_none())
        });
        named.map(|part| part.name.as_str())
    }

    /// Whether a process may be the successor of this part.
    fn may_be(&self, part: &Part, usage: &Usage, members: &BTreeMap<u32, Usage>) -> bool {
        !self.original.contains(&usage.identity()) && part.may_be_replaced_by(usage, members)
    }

    /// Why no process is certain to be the successor of a part.
    fn no_successor(&self, name: &str, members: &BTreeMap<u32, Usage>) -> String {
        let part = self.parts.iter().find(|part| part.name == name);
        let may_be = |one: &Usage| part.is_some_and(|part| self.may_be(part, one, members));
        match members.values().any(|one| !one.ended && may_be(one)) {
            true => "it has ended, and its successor may be that of another part".to_owned(),
            false => "it has ended and was not replaced".to_owned(),
        }
    }

    /// Checks that a part of this name is running.
    ///
    /// Errors: why there is none, as the end of a sentence
    pub fn check(&self, name: &str, leader: u32) -> Result<(), String> {
        let Some(part) = self.parts.iter().find(|part| part.name == name) else {
            let others = self.parts.iter().filter(|part| part.pid != leader);
            let others: Vec<&str> = others.map(|part| part.name.as_str()).collect();
            return Err(match others[..] {
                [] => "its ready line names no parts".to_owned(),
                _ => format!("its ready line names the parts {}", others.join(", ")),
            });
        };
        if part.pid == leader {
            return Err("that is the started process itself; name it without the part".to_owned());
        }
        let members = usage::family(leader, &[]);
        match members.values().any(|one| part.is(one) && !one.ended) {
            true => Ok(()),
            false => Err(format!(
                "its ready line names process {}, which is not one of its running children",
                part.pid
            )),
        }
    }

    /// The process that is this part now, followed by its descendants.
    ///
    /// Errors: why there is none
    pub fn find(&mut self, name: &str, leader: u32) -> Result<Vec<Identity>, String> {
        let members = usage::family(leader, &[]);
        let living = || members.values().filter(|one| !one.ended);
        let part = self.parts.iter_mut().find(|part| part.name == name);
        let part = part.ok_or_else(|| format!("no part of this name is known: {name}"))?;
        let found = match living().find(|one| part.is(one)) {
            Some(same) => {
                // A successor is recognised by its name, which the process may have changed since the last read.
                part.last_read = Some(same.clone());
                same
            }
            None => {
                let successors: Vec<&Usage> =
                    living().filter(|one| self.name_of(one, &members) == Some(name)).collect();
                match successors[..] {
                    [successor] => successor,
                    [] => return Err(self.no_successor(name, &members)),
                    _ => {
                        return Err(
                            "it has ended, and several processes may be its successor".to_owned()
                        );
                    }
                }
            }
        };
        Ok(usage::below(&members, found.pid))
    }
}

/// Sends a signal to those of these processes that are still running and descend from `leader`. Returns whether the
/// first of them got it.
pub(super) fn send(leader: u32, wanted: &[Identity], signal: Signal) -> bool {
    let open = |identity: &Identity| {
        let pid = Pid::from_raw(i32::try_from(identity.pid).ok()?)?;
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => Some((*identity, pid, Some(process))),
            // Before Linux 5.3. A number is unlikely to be given again in the milliseconds between check and signal.
            Err(Errno::NOSYS) => Some((*identity, pid, None)),
            Err(_) => None,
        }
    };
    let opened: Vec<_> = wanted.iter().filter_map(open).collect();
    // Checked after opening: while it is open, another process cannot get its id, so the check and the signal reach
    // the same process.
    let members = usage::family(leader, &[]);
    let is_ours = |wanted: &Identity| {
        members.get(&wanted.pid).is_some_and(|one| one.identity() == *wanted && !one.ended)
    };
    let mut got = Vec::new();
    for (identity, pid, process) in &opened {
        let reach = || match process {
            Some(process) => pidfd_send_signal(process, signal),
            None => kill_process(*pid, signal),
        };
        if is_ours(identity) && reach().is_ok() {
            got.push(*identity);
        }
    }
    got.first().is_some_and(|first| wanted.first() == Some(first))
}
