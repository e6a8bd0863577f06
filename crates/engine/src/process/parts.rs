//! The parts of a process that its ready line names: found again where a new one has come in the place of one that went, and
//! signalled only where it is certain that they are ours.
//!
//! Numbers of processes are given again. So a part is known by its number and the instant of its start, and who has come in its
//! place by parent and name. What is signalled is opened first (a pidfd) and looked at after that: it descends from what we
//! started, and is still the one that was meant.

use std::collections::BTreeMap;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::ready::NamedProcess;
use super::usage::{self, Identity, Usage};

/// The parts that a ready line names.
#[derive(Debug, Default)]
pub(super) struct Parts {
    parts: Vec<Part>,
    /// Who was there when they were named: none of these has come in the place of another.
    there: Vec<Identity>,
}

#[derive(Debug)]
struct Part {
    name: String,
    pid: u32,
    /// As it was when it was looked at last; `None` if it was gone by then.
    seen: Option<Usage>,
}

impl Part {
    fn is(&self, usage: &Usage) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.identity() == usage.identity())
    }

    /// Whether this process may have come in its place, which it has left.
    fn is_followed_by(&self, usage: &Usage, members: &BTreeMap<u32, Usage>) -> bool {
        let Some(seen) = &self.seen else { return false };
        let is_there = members.get(&seen.pid).is_some_and(|one| self.is(one) && !one.ended);
        !is_there
            && (usage.parent, &usage.name) == (seen.parent, &seen.name)
            && usage.started >= seen.started
    }
}

impl Parts {
    /// These, as they are now, of what `leader` started.
    pub fn of(named: &[NamedProcess], leader: u32) -> Self {
        let part = |named: &NamedProcess| Part {
            name: named.name.clone(),
            pid: named.pid,
            seen: usage::one(named.pid),
        };
        let there = usage::family(leader, &[]).values().map(Usage::identity).collect();
        Self { parts: named.iter().map(part).collect(), there }
    }

    /// The processes that were named, beyond doubt.
    pub fn identities(&self) -> Vec<Identity> {
        self.parts.iter().filter_map(|part| part.seen.as_ref()).map(Usage::identity).collect()
    }

    /// The part that one of these processes is: the one that was named, or who has come in its place. `None` where it could be
    /// several.
    pub fn name_of(&self, usage: &Usage, members: &BTreeMap<u32, Usage>) -> Option<&str> {
        let named = self.parts.iter().find(|part| part.is(usage));
        let named = named.or_else(|| {
            let mut heirs = self.parts.iter().filter(|part| self.may_be(part, usage, members));
            heirs.next().filter(|_| heirs.next().is_none())
        });
        named.map(|part| part.name.as_str())
    }

    /// Whether a process may have come in the place of this part.
    fn may_be(&self, part: &Part, usage: &Usage, members: &BTreeMap<u32, Usage>) -> bool {
        !self.there.contains(&usage.identity()) && part.is_followed_by(usage, members)
    }

    /// Why it is certain of nobody that he has come in the place of a part.
    fn unfollowed(&self, name: &str, members: &BTreeMap<u32, Usage>) -> String {
        let part = self.parts.iter().find(|part| part.name == name);
        let may_be = |one: &Usage| part.is_some_and(|part| self.may_be(part, one, members));
        match members.values().any(|one| !one.ended && may_be(one)) {
            true => "it has ended, and who has come may be in the place of another part".to_owned(),
            false => "it has ended, and none has come in its place".to_owned(),
        }
    }

    /// Whether there is a part of this name that could be hit.
    ///
    /// Errors: why there is none, as the end of a sentence
    pub fn check(&self, name: &str, leader: u32) -> Result<(), String> {
        let Some(part) = self.parts.iter().find(|part| part.name == name) else {
            let others = self.parts.iter().filter(|part| part.pid != leader);
            let others: Vec<&str> = others.map(|part| part.name.as_str()).collect();
            return Err(match others[..] {
                [] => "its ready line names no parts".to_owned(),
                _ => format!("the parts that its ready line names are: {}", others.join(", ")),
            });
        };
        if part.pid == leader {
            return Err("that is the process itself that was started".to_owned());
        }
        let members = usage::family(leader, &[]);
        match members.values().any(|one| part.is(one) && !one.ended) {
            true => Ok(()),
            false => Err(format!(
                "process {}, which its ready line names, is none that it started and that is there",
                part.pid
            )),
        }
    }

    /// The process that is this part now, and behind it all that it started.
    ///
    /// Errors: why nobody is
    pub fn find(&mut self, name: &str, leader: u32) -> Result<Vec<Identity>, String> {
        let members = usage::family(leader, &[]);
        let living = || members.values().filter(|one| !one.ended);
        let part = self.parts.iter_mut().find(|part| part.name == name);
        let part = part.ok_or_else(|| format!("no part of this name is known: {name}"))?;
        let found = match living().find(|one| part.is(one)) {
            Some(same) => {
                // Who comes after it is told by its name, which it may have taken since.
                part.seen = Some(same.clone());
                same
            }
            None => {
                let heirs: Vec<&Usage> =
                    living().filter(|one| self.name_of(one, &members) == Some(name)).collect();
                match heirs[..] {
                    [heir] => heir,
                    [] => return Err(self.unfollowed(name, &members)),
                    _ => {
                        return Err(
                            "it has ended, and several may have come in its place".to_owned()
                        );
                    }
                }
            }
        };
        Ok(usage::below(&members, found.pid))
    }
}

/// Sends a signal to those of these processes that are there still and belong to what `leader` started. Says whether the first
/// of them got it.
pub(super) fn send(leader: u32, wanted: &[Identity], signal: Signal) -> bool {
    let open = |identity: &Identity| {
        let pid = Pid::from_raw(i32::try_from(identity.pid).ok()?)?;
        Some((*identity, pidfd_open(pid, PidfdFlags::empty()).ok()?))
    };
    let opened: Vec<_> = wanted.iter().filter_map(open).collect();
    // After that, so that what was opened is what is looked at: its number is its own as long as it is there.
    let members = usage::family(leader, &[]);
    let is_ours = |wanted: &Identity| {
        members.get(&wanted.pid).is_some_and(|one| one.identity() == *wanted && !one.ended)
    };
    let mut got = Vec::new();
    for (identity, process) in &opened {
        if is_ours(identity) && pidfd_send_signal(process, signal).is_ok() {
            got.push(*identity);
        }
    }
    got.first().is_some_and(|first| wanted.first() == Some(first))
}
