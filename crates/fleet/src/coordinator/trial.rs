//! One trial that agents perform together.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use engine::clock::monotonic;
use engine::trial::TrialOutput;
use engine::{EndSignal, StopSignal};
use record::summary::AgentFacts;
use record::{EarlyEnd, Layout, TrialFacts, WindowSpan};

use super::{Fleet, Member};
use crate::connection::FleetError;
use crate::merger::OutputMerger;
use crate::partial::PartialTotals;
use crate::protocol::{AgentInfo, Command, Dispatch, Output, Report};

/// Time limit for the agents to get ready: `[setup]` may take long.
const READY_WITHIN: Duration = Duration::from_mins(10);
/// Time from the barrier to the first load, in which every agent must have its instant.
const AHEAD_NS: u64 = 3_000_000_000;
/// All agents must have learned by then when to begin.
const TOLD_WITHIN: Duration = Duration::from_millis(2_500);
/// After the user's second signal, so long until the record is closed without those that do not answer.
const HURRY_NS: u64 = 10_000_000_000;
/// More windows than a trial without a planned end can have: a year of seconds.
const MOST_WINDOWS: u64 = 1 << 25;
/// Attempts to read facts that an agent has stored.
const READS: usize = 5;
/// So long after the planned end, whoever has not reported is lost.
const PATIENCE_NS: u64 = 300_000_000_000;
/// Time between two looks at signals and agents.
const TICK: Duration = Duration::from_millis(100);

/// A trial for agents.
#[derive(Debug)]
pub struct RemoteTrial<'a> {
    /// Number of the trial.
    pub trial: u32,
    /// Names of what it records.
    pub layout: &'a Layout,
    /// Length of a window.
    pub window_ns: u64,
    /// The time that progress shows.
    pub span: WindowSpan,
    /// From the start of the load to the last possible end; `None` where answers decide.
    pub length_ns: Option<u64>,
    /// The user's signal to stop.
    pub stop: StopSignal,
    /// The signal to end the measure phase early.
    pub end: EndSignal,
}

/// The result of one agent.
#[derive(Debug)]
pub struct ShareResult {
    /// Whose.
    pub agent: AgentFacts,
    /// Its facts; where it was lost, what it had reported by then.
    pub ended: Result<Box<TrialFacts>, Box<PartialTotals>>,
}

/// An agent while a trial runs.
enum State {
    Running(Box<PartialTotals>),
    Ended(Box<TrialFacts>),
    Lost(Box<PartialTotals>),
}

impl State {
    /// The agent of a running share is lost, or its facts are.
    fn lose(&mut self, layout: &Layout) {
        let empty = || Box::new(PartialTotals::new(layout));
        *self = match std::mem::replace(self, Self::Lost(empty())) {
            Self::Running(partial) | Self::Lost(partial) => Self::Lost(partial),
            ended @ Self::Ended(_) => ended,
        };
    }
}

impl Fleet {
    /// Lets all agents perform a trial, and calls `on` with the merged output.
    ///
    /// Errors: it could not begin; nothing was sent then
    pub fn perform(
        &self,
        trial: &RemoteTrial<'_>,
        on: &mut dyn FnMut(TrialOutput),
    ) -> Result<Vec<ShareResult>, FleetError> {
        let begun = self.begin(trial);
        let start = match begun {
            Ok(start) => start,
            Err(error) => {
                self.command_all(&Command::CallOff);
                return Err(error);
            }
        };
        let running = || State::Running(Box::new(PartialTotals::new(trial.layout)));
        let mut states: Vec<State> = self.members.iter().map(|_| running()).collect();
        let mut merger =
            OutputMerger::new(self.members.len(), trial.layout, trial.window_ns, trial.span);
        let give_up = trial.length_ns.map(|length| start + length + PATIENCE_NS);
        let windows = |length: u64| length / trial.window_ns.max(1) + 1;
        let limit = trial.length_ns.map_or(MOST_WINDOWS, windows);
        let mut signalled = Signalled::default();
        while states.iter().any(|state| matches!(state, State::Running(_))) {
            signalled.pass_on(self, trial);
            match self.reports.recv_timeout(TICK) {
                Ok(dispatch) if dispatch.trial == trial.trial => {
                    self.take(dispatch, (trial.layout, limit), (&mut states, &mut merger), on);
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                // The receiving task ends with the runtime alone.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            }
            let too_late = give_up.is_some_and(|at| monotonic() > at)
                || signalled.hurried.is_some_and(|at| monotonic() > at + HURRY_NS);
            for place in self.silent(&states, too_late) {
                states[place].lose(trial.layout);
                merger.end(place).into_iter().for_each(&mut *on);
            }
        }
        let end = monotonic();
        let results = self.members.iter().zip(states);
        Ok(results.map(|(member, state)| result(member, state, (start, end))).collect())
    }

    /// Everything up to the instant at which all begin, which is returned.
    fn begin(&self, trial: &RemoteTrial<'_>) -> Result<u64, FleetError> {
        let stopped = || trial.stop.requests() > 0;
        if let Some(lost) = self.members.iter().find(|member| self.is_lost(member)) {
            return Err(FleetError::new(format!("{} was lost", lost.name())));
        }
        for member in &self.members {
            self.command(member, &Command::Prepare { trial: trial.trial })?;
        }
        self.all_report(READY_WITHIN, trial.trial, &stopped, &|report| match report {
            Report::Ready => Some(Ok(())),
            Report::CouldNotBegin(why) => Some(Err(why.clone())),
            _ => None,
        })?;
        let start = monotonic() + AHEAD_NS;
        let mut commands = Vec::new();
        for member in &self.members {
            let there = member.seen().clock.there(start);
            let at_ns = there.ok_or_else(|| {
                FleetError::new(format!("the clock of {} cannot be read", member.name()))
            })?;
            commands.push((member, Command::Begin { at_ns }));
        }
        self.command_at_once(&commands, TOLD_WITHIN)?;
        match monotonic() < start {
            true => Ok(start),
            false => Err(FleetError::new("the agents did not learn in time when to begin")
                .hint("look at the connection to NATS: commands took seconds")),
        }
    }

    fn take(
        &self,
        dispatch: Dispatch,
        (layout, limit): (&Layout, u64),
        (states, merger): (&mut [State], &mut OutputMerger),
        on: &mut dyn FnMut(TrialOutput),
    ) {
        let Some(place) = (dispatch.share as usize).checked_sub(1) else { return };
        let Some(State::Running(partial)) = states.get_mut(place) else { return };
        match dispatch.report {
            Report::Output(output) => {
                let output = match output {
                    Output::Part(window) | Output::Window(window) if window.number > limit => {
                        // No agent of ours reports that.
                        states[place].lose(layout);
                        return merger.end(place).into_iter().for_each(on);
                    }
                    Output::Part(window) => {
                        partial.add(&window);
                        return merger.part(place, window).into_iter().for_each(on);
                    }
                    Output::Window(window) => {
                        partial.add(&window);
                        TrialOutput::Window(window)
                    }
                    Output::Event(event) => TrialOutput::Event(event),
                    Output::AllFailed(failed) => TrialOutput::AllFailed(failed),
                };
                merger.receive(place, output).into_iter().for_each(on);
            }
            Report::Ended { facts } => {
                let read = || self.runtime.block_on(self.store.read(&facts)).ok();
                let read = (0..READS).find_map(|_| read());
                match read.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                    Some(facts) => states[place] = State::Ended(Box::new(facts)),
                    None => states[place].lose(layout),
                }
                merger.end(place).into_iter().for_each(on);
            }
            Report::CouldNotBegin(_) => {
                states[place].lose(layout);
                merger.end(place).into_iter().for_each(on);
            }
            Report::Loaded | Report::Refused(_) | Report::Ready => {}
        }
    }

    /// The running agents that are lost.
    fn silent(&self, states: &[State], too_late: bool) -> Vec<usize> {
        let running =
            states.iter().enumerate().filter(|(_, state)| matches!(state, State::Running(_)));
        let lost = running.filter(|(place, _)| too_late || self.is_lost(&self.members[*place]));
        lost.map(|(place, _)| place).collect()
    }
}

/// Signals that the agents were given.
#[derive(Default)]
struct Signalled {
    stops: u32,
    /// When the user asked to stop at once.
    hurried: Option<u64>,
    ended: Option<EarlyEnd>,
}

impl Signalled {
    fn pass_on(&mut self, fleet: &Fleet, trial: &RemoteTrial<'_>) {
        let requests = trial.stop.requests();
        if requests > self.stops {
            self.stops = requests;
            if requests > 1 {
                self.hurried.get_or_insert_with(monotonic);
            }
            fleet.command_all(&Command::Stop { requests });
        }
        if self.ended.is_none()
            && let Some(why) = trial.end.reason()
        {
            fleet.command_all(&Command::End(why.clone()));
            self.ended = Some(why);
        }
    }
}

fn result(member: &Member, state: State, (start, end): (u64, u64)) -> ShareResult {
    let AgentInfo { name, machine, boot_id, .. } = &member.info;
    let known = |own: Option<AgentFacts>| AgentFacts {
        share: member.share.number,
        of: member.share.of,
        host: name.clone(),
        machine: machine.clone(),
        boot_id: boot_id.clone(),
        start_error_ns: member.seen().clock.error_over(start, end),
        ..own.unwrap_or_default()
    };
    match state {
        State::Ended(facts) => ShareResult { agent: known(facts.agent.clone()), ended: Ok(facts) },
        State::Running(partial) | State::Lost(partial) => {
            let agent = AgentFacts { lost_after_windows: Some(partial.windows), ..known(None) };
            ShareResult { agent, ended: Err(partial) }
        }
    }
}
