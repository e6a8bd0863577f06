//! Trials that agents perform together, and the processes that run here meanwhile.

use std::time::Duration;

use engine::clock::monotonic;
use engine::selfcheck;
use engine::trial::{Host, TrialOutput};
use engine::{EndSignal, StopSignal};
use record::event::{Event, EventKind};
use record::summary::AgentFacts;
use record::{EarlyEnd, Layout, OperationWindow, TrialFacts, Window, WindowSpan};

use super::reports::Kept;
use super::{ANSWERED_WITHIN, Begun, Fleet, FleetState, Member, READY_WITHIN};
use crate::connection::FleetError;
use crate::merger::OutputMerger;
use crate::partial::PartialTotals;
use crate::protocol::{AgentInfo, Assignment, Command, Dispatch, Output, Report};

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

/// Trials that agents perform at the same time.
pub struct RemoteTrials<'a> {
    /// At least one.
    pub trials: Vec<RemoteTrial<'a>>,
    /// Their processes, which run here.
    pub host: &'a mut Host,
    /// From the start of the load to that of the measure phase.
    pub lead_ns: u64,
    /// Length of the measure phase; `None` where answers decide.
    pub measure_ns: Option<u64>,
    /// Time limit of an operation.
    pub timeout_ns: u64,
    /// The user's signal to stop.
    pub stop: StopSignal,
    /// The signal to end the measure phase early.
    pub end: EndSignal,
    /// The time of day now, RFC 3339, UTC.
    pub calendar: fn() -> String,
    /// Keeps what another coordinator needs to take over.
    pub keep: &'a KeepState<'a>,
}

/// Keeps the state of a fleet.
pub type KeepState<'a> = dyn Fn(&FleetState) -> std::io::Result<()> + 'a;

/// A trial for agents.
#[derive(Debug)]
pub struct RemoteTrial<'a> {
    /// What agents need to know of it.
    pub assignment: Assignment,
    /// Names of what it records.
    pub layout: &'a Layout,
    /// Length of a window.
    pub window_ns: u64,
    /// The time that progress shows.
    pub span: WindowSpan,
}

/// Receives the merged output of trials, with the place of each among those that run at the same time.
pub type OnMerged<'a> = dyn FnMut(usize, TrialOutput) + 'a;

/// What agents have performed.
#[derive(Debug)]
pub struct Performed {
    /// By trial, then by agent.
    pub results: Vec<Vec<ShareResult>>,
    /// When the measure phase began, on CLOCK_MONOTONIC here.
    pub measure_from: u64,
}

/// The result of one agent.
#[derive(Debug)]
pub struct ShareResult {
    /// Whose.
    pub agent: AgentFacts,
    /// Its facts; where it was lost, what it had reported by then.
    pub ended: Result<Box<StoredFacts>, PartialTotals>,
}

/// The facts of an agent as it stored them: many agents' histograms need not be in memory at the same time.
#[derive(Debug)]
pub struct StoredFacts {
    json: Vec<u8>,
    agent: Option<AgentFacts>,
}

impl StoredFacts {
    fn of(json: Vec<u8>) -> Option<Self> {
        let facts = TrialFacts::from_json(str::from_utf8(&json).ok()?).ok()?;
        Some(Self { json, agent: facts.agent })
    }

    /// The facts.
    ///
    /// Errors: none that storing them would not have had
    pub fn facts(&self) -> Result<TrialFacts, FleetError> {
        let failed = |error: &dyn std::fmt::Display| {
            FleetError::new(format!("the facts of an agent: {error}"))
        };
        let text = str::from_utf8(&self.json).map_err(|error| failed(&error))?;
        TrialFacts::from_json(text).map_err(|error| failed(&error))
    }
}

/// An agent while a trial runs.
enum State {
    Running(PartialTotals),
    Ended(Box<StoredFacts>),
    Lost(PartialTotals),
}

impl State {
    /// The agent of a running share is lost, or its facts are.
    fn lose(&mut self, layout: &Layout) {
        *self = match std::mem::replace(self, Self::Lost(PartialTotals::new(layout))) {
            Self::Running(partial) | Self::Lost(partial) => Self::Lost(partial),
            ended @ Self::Ended(_) => ended,
        };
    }
}

/// A trial while it runs.
struct Side<'a> {
    trial: &'a RemoteTrial<'a>,
    /// By agent.
    states: Vec<State>,
    merger: OutputMerger,
    last_window: u64,
}

/// No agent of ours counts so many operations in a window.
const MOST_OPERATIONS: u64 = 1 << 40;

/// Whether an agent of ours may report this window.
fn is_possible(window: &Window, layout: &Layout, last_window: u64) -> bool {
    let counts = |one: &OperationWindow| {
        let failed = one.failed.iter().map(|(_, count)| *count);
        [one.planned, one.succeeded, one.missed].into_iter().chain(failed).max()
    };
    let mut all = window.operations.iter().chain(&window.journeys);
    window.number <= last_window
        && window.operations.len() == layout.operations.len()
        && window.journeys.len() == layout.journeys.len()
        && all.all(|one| counts(one) <= Some(MOST_OPERATIONS))
}

impl<'a> Side<'a> {
    fn new(trial: &'a RemoteTrial<'a>, agents: usize, length_ns: Option<u64>) -> Self {
        let running = || State::Running(PartialTotals::new(trial.layout));
        let windows = |length: u64| length / trial.window_ns.max(1) + 1;
        Self {
            trial,
            states: (0..agents).map(|_| running()).collect(),
            merger: OutputMerger::new(agents, trial.layout, trial.window_ns, trial.span),
            last_window: length_ns.map_or(MOST_WINDOWS, windows),
        }
    }

    fn is_running(&self) -> bool {
        self.states.iter().any(|state| matches!(state, State::Running(_)))
    }

    /// Nothing more comes from this agent.
    fn lose(&mut self, agent: usize) -> Vec<TrialOutput> {
        self.states[agent].lose(self.trial.layout);
        self.merger.end(agent)
    }

    /// Takes a report of a running agent; returns what that completes.
    fn take(&mut self, agent: usize, report: Report, read: &ReadFacts<'_>) -> Vec<TrialOutput> {
        let (layout, last) = (self.trial.layout, self.last_window);
        let Some(State::Running(partial)) = self.states.get_mut(agent) else { return Vec::new() };
        match report {
            Report::Output(Output::Part(window) | Output::Window(window))
                if !is_possible(&window, layout, last) =>
            {
                self.lose(agent)
            }
            Report::Output(Output::Part(window)) => {
                partial.add(&window);
                self.merger.part(agent, window)
            }
            Report::Output(Output::Window(window)) => {
                partial.add(&window);
                self.merger.receive(agent, TrialOutput::Window(window))
            }
            Report::Output(Output::Event(event)) => {
                self.merger.receive(agent, TrialOutput::Event(event))
            }
            Report::Output(Output::AllFailed(failed)) => {
                self.merger.receive(agent, TrialOutput::AllFailed(failed))
            }
            Report::Ended { facts } => match read(&facts) {
                Some(facts) => {
                    self.states[agent] = State::Ended(Box::new(facts));
                    self.merger.end(agent)
                }
                None => self.lose(agent),
            },
            Report::CouldNotBegin(_) => self.lose(agent),
            Report::Loaded | Report::Refused(_) | Report::Ready => Vec::new(),
        }
    }
}

/// Reads the facts of a trial that an agent has stored.
type ReadFacts<'a> = dyn Fn(&str) -> Option<StoredFacts> + 'a;

impl Fleet {
    /// Lets all agents perform trials at the same time, and calls `on` with the merged output of each.
    ///
    /// Errors: they could not begin; nothing was sent then
    pub fn perform(
        &self,
        together: &mut RemoteTrials<'_>,
        on: &mut OnMerged<'_>,
    ) -> Result<Performed, FleetError> {
        let taken_over = self.attempts().begun.take();
        let begun = match taken_over {
            Some(begun) => begun,
            None => self.begin(together).inspect_err(|_| self.command_all(&Command::CallOff))?,
        };
        let Begun { start, .. } = begun;
        let RemoteTrials {
            trials, host, lead_ns, measure_ns, timeout_ns, stop, end, calendar, ..
        } = together;
        let length = measure_ns.map(|measured| measured + *lead_ns + *timeout_ns);
        let side = |trial| Side::new(trial, self.members.len(), length);
        let mut sides: Vec<Side<'_>> = trials.iter().map(side).collect();
        let give_up = length.map(|length| start + length + PATIENCE_NS);
        let measure_from = start + *lead_ns;
        let measure_to = measure_ns.map_or(u64::MAX, |measured| measure_from + measured);
        let read = |name: &str| self.read_facts(name);
        let mut signals = Signals { stop: stop.clone(), end: end.clone(), given: Given::default() };
        introduce(host, measure_from, on);
        date(sides.len(), *calendar, measure_from, on);
        while sides.iter().any(Side::is_running) {
            signals.pass_on(self);
            let now = monotonic();
            if watch(host, now, (measure_from, measure_to), on) {
                // The trial cannot go on without it.
                self.command_all(&Command::Stop { requests: 2 });
            }
            let fault = host.next_fault(measure_from);
            let patience =
                fault.map_or(TICK, |at| TICK.min(Duration::from_nanos(at.saturating_sub(now))));
            if let Some(dispatch) = self.reports.next(&self.runtime, patience) {
                self.take(dispatch, &mut sides, &read, (host, on));
            }
            if self.reports.is_behind() {
                // What a lost agent has reported before counts.
                continue;
            }
            let too_late = give_up.is_some_and(|at| monotonic() > at)
                || signals.given.hurried.is_some_and(|at| monotonic() > at + HURRY_NS);
            for (place, side) in sides.iter_mut().enumerate() {
                for agent in self.silent(&side.states, too_late) {
                    side.lose(agent).into_iter().for_each(|output| on(place, output));
                }
            }
        }
        host.end_measure();
        let end = monotonic();
        watch(host, end, (measure_from, measure_to), on);
        let of_side = |side: Side<'_>| self.members.iter().zip(side.states).map(result).collect();
        Ok(Performed { results: sides.into_iter().map(of_side).collect(), measure_from })
    }

    /// Everything up to the instant at which all begin.
    fn begin(&self, together: &RemoteTrials<'_>) -> Result<Begun, FleetError> {
        let keep = || {
            (together.keep)(&self.state())
                .map_err(|error| FleetError::new(format!("cannot write the record: {error}")))
        };
        let kept = self.runtime.block_on(Kept::of(&self.store, &self.run))?;
        let attempt = {
            let mut attempts = self.attempts();
            attempts.count += 1;
            attempts.count
        };
        keep()?;
        let stopped = || together.stop.requests() > 0;
        if let Some(lost) = self.members.iter().find(|member| self.is_lost(member)) {
            return Err(FleetError::new(format!("{} was lost", lost.name())));
        }
        let assignments: Vec<_> =
            together.trials.iter().map(|trial| trial.assignment.clone()).collect();
        let prepare = Command::Prepare { attempt, trials: assignments.clone() };
        let prepare: Vec<_> = self.members.iter().map(|one| (one, prepare.clone())).collect();
        self.command_at_once(&prepare, ANSWERED_WITHIN)?;
        self.all_report(READY_WITHIN, attempt, &stopped, &|report| match report {
            Report::Ready => Some(Ok(())),
            Report::CouldNotBegin(why) => Some(Err(why.clone())),
            _ => None,
        })?;
        let start = monotonic() + AHEAD_NS;
        let (mut at, mut offsets) = (Vec::new(), Vec::new());
        for member in &self.members {
            let clock = &mut member.seen().clock;
            let there = clock.there(start).ok_or_else(|| {
                FleetError::new(format!("the clock of {} cannot be read", member.name()))
            })?;
            clock.appoint(start, there);
            offsets.extend(clock.appointed().map(|(first, _)| first));
            at.push(there);
        }
        let begin = |(member, at_ns): (_, &u64)| (member, Command::Begin { at_ns: *at_ns });
        let commands: Vec<_> = self.members.iter().zip(&at).map(begin).collect();
        self.command_at_once(&commands, TOLD_WITHIN)?;
        if monotonic() >= start {
            return Err(FleetError::new("the agents did not learn in time when to begin")
                .hint("look at the connection to NATS: commands took seconds"));
        }
        let trials = assignments.iter().map(|assignment| assignment.trial.index).collect();
        let boot_id = selfcheck::identity().boot_id;
        let begun = Begun { trials, start, at, offsets, boot_id, first_report: kept.next };
        self.attempts().begun = Some(begun.clone());
        keep()?;
        self.attempts().begun = None;
        Ok(begun)
    }

    fn take(
        &self,
        dispatch: Dispatch,
        sides: &mut [Side<'_>],
        read: &ReadFacts<'_>,
        (host, on): (&mut Host, &mut OnMerged<'_>),
    ) {
        if dispatch.attempt != self.attempts().count {
            return;
        }
        let is_of = |side: &Side<'_>| side.trial.assignment.trial.index == dispatch.trial;
        let place = sides.iter().position(is_of);
        let Some((place, agent)) = place.zip((dispatch.share as usize).checked_sub(1)) else {
            return;
        };
        for output in sides[place].take(agent, dispatch.report, read) {
            if let TrialOutput::Event(Event { kind: EventKind::EndedEarly(_), .. }) = &output {
                host.end_measure();
            }
            on(place, output);
        }
    }

    fn read_facts(&self, name: &str) -> Option<StoredFacts> {
        let read = || self.runtime.block_on(self.store.read(name)).ok();
        StoredFacts::of((0..READS).find_map(|_| read())?)
    }

    /// The running agents that are lost.
    fn silent(&self, states: &[State], too_late: bool) -> Vec<usize> {
        let running =
            states.iter().enumerate().filter(|(_, state)| matches!(state, State::Running(_)));
        let lost = running.filter(|(place, _)| too_late || self.is_lost(&self.members[*place]));
        lost.map(|(place, _)| place).collect()
    }
}

/// Passes on an event of a process.
fn event(at: u64, measure_from: u64, kind: EventKind) -> TrialOutput {
    TrialOutput::Event(Event { at_ns: at.cast_signed() - measure_from.cast_signed(), kind })
}

fn introduce(host: &Host, measure_from: u64, on: &mut OnMerged<'_>) {
    host.introduce(&mut |place, at, kind| on(place, event(at, measure_from, kind)));
}

/// Both clocks at once, for each trial.
fn date(trials: usize, calendar: fn() -> String, measure_from: u64, on: &mut OnMerged<'_>) {
    let (wall_clock, at) = (calendar(), monotonic());
    for place in 0..trials {
        let kind = EventKind::Dated { wall_clock: wall_clock.clone() };
        on(place, event(at, measure_from, kind));
    }
}

/// Watches the processes of the trials; returns whether one has died.
fn watch(
    host: &mut Host,
    now: u64,
    (measure_from, measure_to): (u64, u64),
    on: &mut OnMerged<'_>,
) -> bool {
    if now >= measure_from {
        host.begin_measure();
    }
    if now >= measure_to {
        host.end_measure();
    }
    let on = &mut |place: usize, at, kind| on(place, event(at, measure_from, kind));
    host.inject(measure_from, on);
    host.check(now, on)
}

/// The signals that end trials early, to be passed on to agents.
struct Signals {
    stop: StopSignal,
    end: EndSignal,
    given: Given,
}

/// What the agents were given of them.
#[derive(Default)]
struct Given {
    stops: u32,
    /// When the user asked to stop at once.
    hurried: Option<u64>,
    ended: Option<EarlyEnd>,
}

impl Signals {
    fn pass_on(&mut self, fleet: &Fleet) {
        let requests = self.stop.requests();
        if requests > self.given.stops {
            self.given.stops = requests;
            if requests > 1 {
                self.given.hurried.get_or_insert_with(monotonic);
            }
            fleet.command_all(&Command::Stop { requests });
        }
        if self.given.ended.is_none()
            && let Some(why) = self.end.reason()
        {
            fleet.command_all(&Command::End(why.clone()));
            self.given.ended = Some(why);
        }
    }
}

fn result((member, state): (&Member, State)) -> ShareResult {
    let AgentInfo { name, machine, boot_id, .. } = &member.info;
    let (clock_offset, start_error_ns) = member.seen().clock.appointed().unzip();
    let known = |own: Option<AgentFacts>| AgentFacts {
        share: member.share.number,
        of: member.share.of,
        host: name.clone(),
        machine: machine.clone(),
        boot_id: boot_id.clone(),
        clock_offset,
        start_error_ns,
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
