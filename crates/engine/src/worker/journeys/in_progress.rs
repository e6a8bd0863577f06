//! One journey in progress: where it is, and what is next.

use std::rc::Rc;
use std::time::Duration;

use plan::journey::{Action, AfterFailure, Condition, Journey, Memory, Repeat, Step};
use plan::mix::Assignment;
use plan::schedule::nanos;
use plan::sessions::Sessions;
use record::{FailureKind, Outcome, StepOutcome};

use super::JourneyStart;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::transport::Network;
use crate::worker::connections::{ConnectionGroup, ConnectionSet};
use crate::worker::slot::Ended;
use crate::worker::workload::Workload;

/// A journey that has begun and not ended.
pub(super) struct InProgress<C: Clock, N: Network, D: Driver> {
    /// Which one, and its row.
    pub(super) assignment: Assignment,
    pub(super) seed: u64,
    pub(super) intended_at: u64,
    /// The user who performs it.
    pub(super) user: Option<u32>,
    /// When the next operation is due.
    pub(super) due_at: u64,
    /// When the last operation ended; 0 before that.
    pub(super) ended_at: u64,
    /// Nanoseconds of thinking before the operations that have begun.
    pub(super) thought: u64,
    /// Operations begun so far.
    pub(super) ordinal: u32,
    /// The first failure, and the step that it was in.
    pub(super) failure: Option<(FailureKind, usize)>,
    pub(super) memory: Rc<Memory>,
    /// By lane; `None` while they are lent, or not opened yet.
    pub(super) connections: Vec<Option<ConnectionSet<C, N, D>>>,
    /// What its lanes share, where a connection carries several operations at the same time.
    pub(super) group: Option<Rc<ConnectionGroup<C, N, D>>>,
    /// The step at hand.
    step: usize,
    /// How often it was performed.
    round: u32,
    /// How often it will be.
    rounds: u32,
    /// When the step at hand was due; within a session, its request.
    step_due_at: u64,
    /// Nanoseconds of thinking so far.
    thinking: u64,
    /// Operations of the step that have not ended.
    outstanding: u8,
    step_failure: Option<FailureKind>,
    abandoned: bool,
    /// Whether one of its operations got as far as the wire.
    connected: bool,
}

/// What is next for a journey.
pub(super) enum Next {
    /// This step is left out.
    Skip { step: usize },
    /// Nothing before this instant.
    Wait(u64),
    /// The step is due.
    Perform,
    /// It has come to its end.
    Finish,
}

/// What follows from the end of an operation.
pub(super) enum After {
    /// Others of the same step are not finished.
    Waits,
    /// The same step once more.
    Proceeds,
    /// The step has ended, and with it the journey if `ends`. `step`: its place among those that perform something.
    StepEnded { step: usize, outcome: StepOutcome, ends: bool },
}

impl<C: Clock, N: Network, D: Driver> InProgress<C, N, D> {
    pub(super) fn new(start: JourneyStart) -> Self {
        Self {
            assignment: start.assignment,
            seed: start.seed,
            intended_at: start.intended_at,
            user: start.user,
            due_at: start.intended_at,
            ended_at: 0,
            thought: 0,
            ordinal: 0,
            failure: None,
            memory: Rc::default(),
            connections: Vec::new(),
            group: None,
            step: 0,
            round: 0,
            rounds: 0,
            step_due_at: start.intended_at,
            thinking: 0,
            outstanding: 0,
            step_failure: None,
            abandoned: false,
            connected: false,
        }
    }

    /// Whether its user must not begin again at once: nothing of it got as far as the wire, or took any time.
    pub(super) fn is_stuck(&self) -> bool {
        !self.connected || self.due_at == self.intended_at
    }

    /// The step that it has performed at least once and will perform again, by its place in the layout.
    pub(super) fn begun_step(&self, workload: &Workload<D>) -> Option<usize> {
        let steps = workload.steps(self.assignment.operation);
        (self.round > 0).then(|| place(steps, self.step))
    }

    /// The step at hand, by its place in the layout.
    pub(super) fn current_step(&self, workload: &Workload<D>) -> usize {
        place(workload.steps(self.assignment.operation), self.step)
    }

    /// Goes through pauses and steps that are left out to what is next.
    pub(super) fn next(&mut self, workload: &Workload<D>, now: u64) -> Next {
        loop {
            let steps = workload.steps(self.assignment.operation);
            match steps.get(self.step) {
                None => return Next::Finish,
                Some(Step::Think(think)) => {
                    let index = self.assignment.index;
                    self.pause(Journey::pause(think, self.seed, index, self.step));
                    self.step += 1;
                }
                Some(Step::Do(action)) if self.round == 0 => {
                    self.rounds = self.rounds_of(action, workload);
                    if self.rounds == 0 {
                        let step = place(steps, self.step);
                        self.step += 1;
                        return Next::Skip { step };
                    }
                    return self.when_due(now);
                }
                Some(Step::Do(_) | Step::Together(_)) => return self.when_due(now),
            }
        }
    }

    /// Counts the operations of the step at hand as begun. Returns its place in the journey.
    pub(super) fn launch(&mut self, workload: &Workload<D>) -> usize {
        let step = &workload.steps(self.assignment.operation)[self.step];
        if self.round == 0 || is_session(step) {
            self.step_due_at = self.due_at;
        }
        let each = match step {
            Step::Do(Action { repeat: Repeat::Each { capture, .. }, .. }) => {
                Some((*capture, self.round as usize))
            }
            _ => None,
        };
        self.memory.set_each(each);
        self.thought = self.thinking;
        // A step performs at most a handful of operations at the same time.
        self.outstanding = step.operations().len() as u8;
        self.ordinal = self.ordinal.wrapping_add(u32::from(self.outstanding));
        self.step
    }

    /// An operation of the step at hand has ended.
    pub(super) fn ended(&mut self, workload: &Workload<D>, ended: Ended) -> After {
        self.outstanding -= 1;
        self.connected |= ended.connected;
        self.ended_at = self.ended_at.max(ended.at);
        self.due_at = self.due_at.max(ended.at);
        match ended.outcome {
            Outcome::Succeeded => {}
            Outcome::Failed(kind) => {
                self.step_failure.get_or_insert(kind);
            }
            Outcome::Abandoned => self.abandoned = true,
        }
        if self.outstanding > 0 {
            return After::Waits;
        }
        let steps = workload.steps(self.assignment.operation);
        let journey = workload.journey(self.assignment.operation);
        let ends_on_failure =
            journey.is_none_or(|journey| journey.after_failure == AfterFailure::End);
        // A session that continues after a failure has its other requests, too.
        let goes_on =
            self.step_failure.is_none() || is_session(&steps[self.step]) && !ends_on_failure;
        if goes_on && !self.abandoned && self.repeats(&steps[self.step], workload) {
            self.round += 1;
            return After::Proceeds;
        }
        let step = place(steps, self.step);
        let (outcome, ends) = match self.step_failure.take() {
            _ if self.abandoned => (StepOutcome::Abandoned, true),
            Some(kind) => {
                self.failure.get_or_insert((kind, self.step));
                (StepOutcome::Failed { ends: ends_on_failure }, ends_on_failure)
            }
            None => (StepOutcome::Succeeded, false),
        };
        self.step += 1;
        self.round = 0;
        After::StepEnded { step, outcome, ends }
    }

    /// Whether the step is performed once more, at `due_at`.
    fn repeats(&mut self, step: &Step, workload: &Workload<D>) -> bool {
        let Step::Do(action) = step else { return false };
        match &action.repeat {
            Repeat::Session => {
                let next = self.round + 1;
                let Some(sessions) = self.sessions(workload).filter(|_| next < self.rounds) else {
                    return false;
                };
                let after = sessions.after_ns(self.assignment.row, next);
                let at = self.step_due_at.saturating_add(after);
                self.pause(Duration::from_nanos(at.saturating_sub(self.due_at)));
                true
            }
            Repeat::Once | Repeat::Times(_) | Repeat::Each { .. } => self.round + 1 < self.rounds,
            Repeat::Until { condition, every, within } => {
                if self.holds(condition) {
                    return false;
                }
                let last = self.step_due_at.saturating_add(nanos(*within));
                if self.due_at.saturating_add(nanos(*every)) > last {
                    self.step_failure = Some(FailureKind::WrongContent);
                    return false;
                }
                self.pause(*every);
                true
            }
        }
    }

    /// The row of the operations of the step at hand: the journey's, or the place of a request of its session.
    pub(super) fn row(&self, workload: &Workload<D>) -> usize {
        let (row, step) =
            (self.assignment.row, &workload.steps(self.assignment.operation)[self.step]);
        let sessions = self.sessions(workload).filter(|_| is_session(step));
        sessions.map_or(row, |sessions| sessions.place(row, self.round))
    }

    fn sessions<'w>(&self, workload: &'w Workload<D>) -> Option<&'w Sessions> {
        workload.journey(self.assignment.operation)?.sessions.as_deref()
    }

    /// How often an action is performed; 0 where it is left out.
    fn rounds_of(&self, action: &Action, workload: &Workload<D>) -> u32 {
        let index = self.assignment.index;
        let drawn = |share| Journey::takes(share, self.seed, index, self.step);
        let taken = action.share.is_none_or(drawn)
            && action.when.as_ref().is_none_or(|condition| self.holds(condition));
        if !taken {
            return 0;
        }
        match &action.repeat {
            Repeat::Once => 1,
            Repeat::Times(times) => *times,
            Repeat::Session => {
                self.sessions(workload).map_or(0, |sessions| sessions.count(self.assignment.row))
            }
            Repeat::Each { capture, at_most } => {
                u32::try_from(self.memory.count(*capture)).unwrap_or(u32::MAX).min(*at_most)
            }
            Repeat::Until { .. } => u32::MAX,
        }
    }

    fn holds(&self, condition: &Condition) -> bool {
        self.memory.look(condition.capture, |value| condition.test.holds(value))
    }

    fn pause(&mut self, pause: Duration) {
        let pause = nanos(pause);
        self.due_at = self.due_at.saturating_add(pause);
        self.thinking = self.thinking.saturating_add(pause);
    }

    fn when_due(&self, now: u64) -> Next {
        if self.due_at > now { Next::Wait(self.due_at) } else { Next::Perform }
    }
}

fn is_session(step: &Step) -> bool {
    matches!(step, Step::Do(Action { repeat: Repeat::Session, .. }))
}

/// The place of a step among those that perform something.
fn place(steps: &[Step], step: usize) -> usize {
    steps[..step].iter().filter(|step| !matches!(step, Step::Think(_))).count()
}
