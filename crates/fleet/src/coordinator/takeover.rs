//! A coordinator takes over from one that has died: its agents go on meanwhile, and what they report is stored.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use engine::clock::monotonic;

use super::reports::{Kept, Reports};
use super::state::FleetState;
use super::{
    ANSWER_WITHIN, Attempts, Begun, Fleet, FleetAddress, UNANSWERED_LIMIT, ask, members, runtime,
};
use crate::clock::Exchange;
use crate::connection::{FleetError, RunStore, connect};
use crate::protocol::{Command, Instruction, Reply, Report, command_subject};

/// Each coordinator numbers its commands from a number that its predecessors have not reached.
const COMMANDS_BITS: u32 = 32;
/// A run with so many was not made by us.
const MOST_COORDINATORS: u32 = 1_000_000;

impl Fleet {
    /// Takes over the agents of a run. `None` if they are gone, or some of them are and the trial cannot go on without;
    /// then those that are left are sent home.
    ///
    /// Errors: no connection, or the servers refuse
    pub fn take_over(
        address: &FleetAddress,
        state: FleetState,
    ) -> Result<Option<Self>, FleetError> {
        if state.coordinators >= MOST_COORDINATORS {
            return Ok(None);
        }
        let runtime = runtime()?;
        let client = runtime.block_on(connect(&address.servers, "proofload run"))?;
        let Ok(store) = runtime.block_on(RunStore::open(&client, &state.run)) else {
            return Ok(None);
        };
        let kept = runtime.block_on(Kept::of(&store, &state.run))?;
        let known = |begun: &Begun| begun.is_of_this_clock() && kept.first <= begun.first_report;
        let begun = state.begun.filter(known);
        let first = begun.as_ref().map_or(kept.next, |begun| begun.first_report);
        let reports = runtime.block_on(Reports::receive(&store, &state.run, first))?;
        let fleet = Self {
            runtime,
            client,
            store,
            name: state.fleet,
            run: state.run,
            members: members(state.agents),
            reports,
            given: AtomicU64::new(u64::from(state.coordinators) << COMMANDS_BITS),
            coordinators: state.coordinators + 1,
            attempts: Mutex::new(Attempts { count: state.attempts, begun }),
        };
        fleet.remember_clocks();
        let absent = fleet.find_members();
        if fleet.attempts().begun.is_none() {
            // They may have got ready, or have begun.
            let call_off = fleet.members.iter().map(|member| (member, Command::CallOff));
            let _ = fleet.command_at_once(&call_off.collect::<Vec<_>>(), ANSWER_WITHIN);
        }
        let is_whole = absent.is_empty() || fleet.have_ended(absent, first)?;
        Ok(is_whole.then_some(fleet))
    }

    /// Reads the clocks of the agents that still work for this run. Returns the shares of the others, which are lost.
    fn find_members(&self) -> Vec<u32> {
        let clock = Instruction { run: self.run.clone(), number: 0, command: Command::Clock };
        let asked = self.members.iter().map(|member| {
            let (client, clock) = (self.client.clone(), clock.clone());
            let subject = command_subject(&self.name, &member.info.id);
            self.runtime.spawn(async move {
                let sent = monotonic();
                let Some(Reply::Clock { received, answered }) =
                    ask(&client, &subject, &clock).await
                else {
                    return None;
                };
                Some(Exchange { sent, received, answered, returned: monotonic() })
            })
        });
        let asked: Vec<_> = asked.collect();
        let mut absent = Vec::new();
        for (member, answer) in self.members.iter().zip(asked) {
            match self.runtime.block_on(answer) {
                Ok(Some(exchange)) => {
                    member.seen().answered(exchange);
                    self.keep_time(member);
                }
                _ => {
                    // Its clock is known from before.
                    let mut seen = member.seen();
                    (seen.at, seen.unanswered) = (0, UNANSWERED_LIMIT);
                    drop(seen);
                    absent.push(member.share.number);
                }
            }
        }
        absent
    }

    /// What the predecessor knew of the agents' clocks when their load began.
    fn remember_clocks(&self) {
        let attempts = self.attempts();
        let Some(begun) = &attempts.begun else { return };
        for (member, (at, first)) in self.members.iter().zip(begun.at.iter().zip(&begun.offsets)) {
            member.seen().clock.appoint_again(begun.start, *at, *first);
        }
    }

    /// Whether these shares had ended what was begun, by the reports from this one on.
    fn have_ended(&self, shares: Vec<u32>, first: u64) -> Result<bool, FleetError> {
        let attempts = self.attempts();
        let Some(begun) = &attempts.begun else { return Ok(false) };
        let stored = Reports::receive(&self.store, &self.run, first);
        let mut ended = vec![0; self.members.len() + 1];
        self.runtime.block_on(stored)?.show_stored(&self.runtime, |dispatch| {
            if dispatch.attempt == attempts.count
                && matches!(dispatch.report, Report::Ended { .. })
                && let Some(ended) = ended.get_mut(dispatch.share as usize)
            {
                *ended += 1;
            }
        })?;
        Ok(shares.into_iter().all(|share| ended[share as usize] == begun.trials.len()))
    }
}
