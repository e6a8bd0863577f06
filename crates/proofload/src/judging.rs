//! Makes the summary of a run folder: one trial at a time, from the folder alone.
//!
//! Not here: which trials were to be executed (see `agenda`), and the judgement itself (see `judge`).

use std::collections::{BTreeMap, BTreeSet};

use engine::trial::layout;
use judge::summarize::{Summariser, TrialInput, agent};
use plan::plan::{Plan, TrialPlan};
use record::event::EventKind;
use record::folder::{RunReader, names};
use record::summary::{Agent, Run, Summary};
use record::{EarlyEnd, EndReason, RecordError, TrialFacts, Window};

use crate::agenda::{self, Agenda, TrialOutcome};
use crate::disk::Disk;
use crate::execution::driver;
use crate::problem::Problem;

/// A run folder and the plan that it is judged by.
#[derive(Debug, Clone, Copy)]
pub struct JudgedFolder<'a> {
    /// With the criteria.
    pub plan: &'a Plan,
    /// With the trials.
    pub disk: &'a Disk,
}

/// What became of the trials of a run.
#[derive(Debug)]
pub struct TrialOutcomes<'a> {
    /// By trial number.
    pub states: &'a BTreeMap<u32, TrialOutcome>,
    /// Those from earlier invocations.
    pub before: &'a BTreeMap<u32, TrialOutcome>,
    /// The trials that remain.
    pub agenda: Agenda,
    /// The whole trial that made the run give up, and why.
    pub lost: Option<(TrialPlan, EarlyEnd)>,
}

impl JudgedFolder<'_> {
    /// Outcomes of the plan's trials in the folder, which may also contain trials of a search.
    pub fn states(self) -> BTreeMap<u32, TrialOutcome> {
        let reader = RunReader::new(self.disk);
        let planned: BTreeSet<u32> = agenda::all(self.plan).map(|trial| trial.index).collect();
        let begun = reader.trials().into_iter().filter(|trial| planned.contains(trial));
        let begun = begun.map(|trial| {
            let state = match reader.facts(trial) {
                Ok(facts) => state(&facts),
                Err(_) if refusal(&reader, trial).is_some() => TrialOutcome::NotExecuted,
                Err(_) => TrialOutcome::Unfinished,
            };
            (trial, state)
        });
        begun.collect()
    }

    /// Judges the folder.
    ///
    /// Errors: it cannot be read
    pub fn summary(self, mut run: Run, outcomes: TrialOutcomes<'_>) -> Result<Summary, Problem> {
        let TrialOutcomes { states, before, agenda, lost } = outcomes;
        let reader = RunReader::new(self.disk);
        let mut summariser = Summariser::new(self.plan);
        for trial in agenda::all(self.plan).filter(|trial| states.contains_key(&trial.index)) {
            let superseded = agenda.is_superseded(self.plan, &trial);
            let fell = match reader.facts(trial.index) {
                Ok(facts) => {
                    run.machine.placement = facts.generator.placement.clone();
                    let died = facts.died.clone();
                    self.add(&mut summariser, facts, &trial, superseded)?;
                    died
                }
                Err(_) => refusal(&reader, trial.index),
            };
            match fell {
                Some(why) if superseded => summariser.repeated(&trial, &why),
                Some(why) if states[&trial.index] == TrialOutcome::NotExecuted => {
                    summariser.not_executed(&trial, &why);
                }
                _ => {}
            }
        }
        let standing = agenda.standing(self.plan, states);
        let kept = agenda.standing(self.plan, before).len();
        if kept > 0 && kept < standing.len() {
            summariser.resumed(kept);
        }
        let matters =
            |early: &EarlyEnd| early.reason == EndReason::AllFailed || !agenda.trials.is_empty();
        if let Some((trial, early)) = lost.filter(|(_, early)| matters(early)) {
            summariser.gave_up(&trial, &early);
        }
        Ok(summariser.finish(run))
    }

    fn add(
        self,
        summariser: &mut Summariser<'_>,
        mut facts: TrialFacts,
        trial: &TrialPlan,
        superseded: bool,
    ) -> Result<(), Problem> {
        let arm = &self.plan.arms[trial.arm];
        // The stored name is redacted; the plan has the original.
        facts.arm.clone_from(&arm.name);
        let names = layout(arm, &driver(arm)?);
        let reader = RunReader::new(self.disk);
        let windows =
            |show: &mut dyn FnMut(&Window)| reader.visit_windows(trial.index, &names.names(), show);
        let input = TrialInput { trial: &facts, spans: &names.spans, windows: &windows };
        let added = match superseded {
            true => summariser.add_superseded(input),
            false => {
                self.agents(&facts, trial).and_then(|agents| summariser.add_merged(input, agents))
            }
        };
        added.map_err(|error| {
            Problem::environment(format!("cannot read the record back: {error}"))
                .during(format!("judging trial {}", trial.index))
        })
    }

    /// The machines that performed the trial together; none where it was one.
    fn agents(self, facts: &TrialFacts, trial: &TrialPlan) -> Result<Vec<Agent>, RecordError> {
        let reader = RunReader::new(self.disk);
        let arm = &self.plan.arms[trial.arm];
        let mut agents = Vec::new();
        for share in 1..=facts.merged_from {
            let facts = reader.facts_at(&names::agent(trial.index, share))?;
            agents.extend(agent(&facts, arm)?);
        }
        Ok(agents)
    }
}

/// How a trial ended, from its facts.
pub fn state(facts: &TrialFacts) -> TrialOutcome {
    match facts {
        facts if facts.interrupted || all_failed(facts) => TrialOutcome::Unfinished,
        facts if facts.died.is_some() => TrialOutcome::Spoiled,
        _ => TrialOutcome::Whole,
    }
}

/// Whether every operation failed, which ended the trial; it is executed again once the cause is fixed.
fn all_failed(facts: &TrialFacts) -> bool {
    facts.early_end.as_ref().is_some_and(|early| early.reason == EndReason::AllFailed)
}

/// Why a trial could not begin, if it could not.
pub fn refusal(reader: &RunReader<'_>, trial: u32) -> Option<String> {
    let mut events = reader.events(trial).ok()?.filter_map(Result::ok);
    events.find_map(|event| match event.kind {
        EventKind::NotExecuted { reason } => Some(reason),
        _ => None,
    })
}
