//! Decides which trials remain, from the plan and the outcome of each trial so far.
//!
//! The same function decides during a run and when a run is resumed. If a trial ended early or
//! could not begin, its whole block is executed again, because comparisons pair trials within a
//! block. The repetition of trial i of n has the number n + i; a repetition is not repeated. A plan
//! with a single trial has no pairs, so nothing is repeated.

use std::collections::{BTreeMap, BTreeSet};

use plan::plan::{Plan, TrialPlan};

/// Outcome of a trial that was begun, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrialOutcome {
    /// The user stopped the run during the trial.
    Unfinished,
    /// It could not begin.
    NotExecuted,
    /// It ended early.
    Spoiled,
    /// It ended as planned.
    Whole,
}

/// The remaining trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agenda {
    /// In order of execution.
    pub trials: Vec<TrialPlan>,
    /// Blocks that are executed again.
    pub repeated: BTreeSet<u32>,
}

impl TrialOutcome {
    /// Whether the trial stored its facts.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Whole | Self::Spoiled)
    }
}

impl Agenda {
    /// `states` maps trial numbers to outcomes; trials that never began are absent.
    pub fn of(plan: &Plan, states: &BTreeMap<u32, TrialOutcome>) -> Self {
        let mut states = states.clone();
        part_of_duets(plan, &mut states);
        let repetition = |trial: &TrialPlan| again(plan, trial);
        let fell = |trial: &TrialPlan| {
            let state = states.get(&trial.index);
            states.contains_key(&repetition(trial).index)
                || matches!(state, Some(TrialOutcome::Spoiled | TrialOutcome::NotExecuted))
        };
        let fallen = plan.trials.iter().filter(|trial| plan.trials.len() > 1 && fell(trial));
        let repeated: BTreeSet<u32> = fallen.map(|trial| trial.block).collect();
        let mut trials: Vec<TrialPlan> = Vec::new();
        for trial in &plan.trials {
            let again = repeated.contains(&trial.block);
            let trial = if again { repetition(trial) } else { trial.clone() };
            match states.get(&trial.index) {
                Some(TrialOutcome::Whole) => {}
                Some(TrialOutcome::Spoiled) if again => {}
                _ => trials.push(trial),
            }
        }
        Self { trials, repeated }
    }

    /// The trials that were never begun; none is executed again.
    pub fn once(plan: &Plan, states: &BTreeMap<u32, TrialOutcome>) -> Self {
        let is_new = |trial: &&TrialPlan| !states.contains_key(&trial.index);
        let trials = plan.trials.iter().filter(is_new).cloned().collect();
        Self { trials, repeated: BTreeSet::new() }
    }

    /// The trials to execute next, at the same time: one, or both of a duet.
    pub fn next(&self) -> &[TrialPlan] {
        let together = |one: &&TrialPlan| {
            self.trials.first().is_some_and(|first| {
                one.index == first.index || (first.duet && one.block == first.block)
            })
        };
        let count = self.trials.iter().take_while(together).count();
        &self.trials[..count]
    }

    /// Whether this is a planned trial whose block is executed again.
    pub fn is_superseded(&self, plan: &Plan, trial: &TrialPlan) -> bool {
        trial.index as usize <= plan.trials.len() && self.repeated.contains(&trial.block)
    }

    /// Trials with a known outcome that ended and are not superseded.
    pub fn standing(&self, plan: &Plan, states: &BTreeMap<u32, TrialOutcome>) -> BTreeSet<u32> {
        let ended = |trial: &TrialPlan| states.get(&trial.index).is_some_and(|one| one.is_ended());
        let standing = all(plan).filter(|one| ended(one) && !self.is_superseded(plan, one));
        standing.map(|trial| trial.index).collect()
    }
}

/// A duet's trial is useless without the other, so both get the worse outcome.
fn part_of_duets(plan: &Plan, states: &mut BTreeMap<u32, TrialOutcome>) {
    let trials: Vec<TrialPlan> = all(plan).filter(|trial| trial.duet).collect();
    for pair in trials.chunks_exact(2) {
        let known = pair.iter().filter_map(|trial| states.get(&trial.index).copied()).min();
        if let Some(worst) = known {
            let is_half = pair.iter().any(|trial| !states.contains_key(&trial.index));
            let state = if is_half { worst.min(TrialOutcome::Unfinished) } else { worst };
            states.extend(pair.iter().map(|trial| (trial.index, state)));
        }
    }
}

/// Every trial that may have been executed, in the order of numbers.
pub fn all(plan: &Plan) -> impl Iterator<Item = TrialPlan> + '_ {
    let repeatable = plan.trials.iter().filter(|_| plan.trials.len() > 1);
    plan.trials.iter().cloned().chain(repeatable.map(|trial| again(plan, trial)))
}

/// The repetition of a trial.
fn again(plan: &Plan, trial: &TrialPlan) -> TrialPlan {
    let planned = u32::try_from(plan.trials.len()).unwrap_or(u32::MAX);
    TrialPlan { index: trial.index + planned, ..trial.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TrialOutcome::{NotExecuted, Spoiled, Unfinished, Whole};

    /// Two blocks of two arms: 1, 2 and 3, 4.
    fn plan() -> Plan {
        let text = "[factors]\nrate = [\"10/s\", \"20/s\"]\n[design]\nblocks = 2\n[target]\n\
                    url = \"http://127.0.0.1:1\"\n[load]\nrate = \"{{factor.rate}}\"\n\
                    duration = \"1s\"\n[[operation]]\nhttp = { path = \"/\" }\n";
        crate::loading::load_text("two blocks", text).expect("it is whole").experiment.plan
    }

    /// The same with both arms of a block at once.
    fn duet() -> Plan {
        let mut duet = plan();
        duet.trials.iter_mut().for_each(|trial| trial.duet = true);
        duet
    }

    #[track_caller]
    fn check(states: &[(u32, TrialOutcome)], todo: &[u32], repeated: &[u32]) {
        check_of(&plan(), states, todo, repeated);
    }

    #[track_caller]
    fn check_of(plan: &Plan, states: &[(u32, TrialOutcome)], todo: &[u32], repeated: &[u32]) {
        let agenda = Agenda::of(plan, &states.iter().copied().collect());
        let numbers: Vec<u32> = agenda.trials.iter().map(|trial| trial.index).collect();
        assert_eq!(numbers, todo, "{states:?}");
        assert_eq!(agenda.repeated, repeated.iter().copied().collect(), "{states:?}");
    }

    #[test]
    fn trials_follow_each_other_as_planned() {
        check(&[], &[1, 2, 3, 4], &[]);
        check(&[(1, Whole), (2, Whole)], &[3, 4], &[]);
        check(&[(1, Whole), (2, Whole), (3, Whole), (4, Whole)], &[], &[]);
    }

    #[test]
    fn what_was_stopped_is_executed_again_under_its_number() {
        check(&[(1, Whole), (2, Unfinished)], &[2, 3, 4], &[]);
    }

    #[test]
    fn a_spoiled_trial_takes_its_block_with_it_once() {
        for spoiled in [Spoiled, NotExecuted] {
            check(&[(1, Whole), (2, spoiled)], &[5, 6, 3, 4], &[1]);
            check(&[(1, spoiled)], &[5, 6, 3, 4], &[1]);
        }
        check(&[(1, Spoiled), (5, Whole)], &[6, 3, 4], &[1]);
        check(&[(1, Spoiled), (5, Whole), (6, Spoiled)], &[3, 4], &[1]);
        check(&[(1, Whole), (2, Whole), (3, Whole), (4, Spoiled)], &[7, 8], &[2]);
    }

    #[test]
    fn a_repetition_that_was_stopped_or_could_not_begin_is_gone_on_with() {
        check(&[(1, Spoiled), (5, Unfinished)], &[5, 6, 3, 4], &[1]);
        check(&[(1, Spoiled), (5, Whole), (6, NotExecuted)], &[6, 3, 4], &[1]);
    }

    #[test]
    fn both_trials_of_a_duet_are_next_and_neither_counts_alone() {
        let check = |states: &[_], todo: &[_], again: &[_]| check_of(&duet(), states, todo, again);
        check(&[], &[1, 2, 3, 4], &[]);
        check(&[(1, Whole), (2, Whole)], &[3, 4], &[]);
        // Killed after storing the facts of one trial, but before those of the other.
        check(&[(1, Whole)], &[1, 2, 3, 4], &[]);
        check(&[(1, Whole), (2, Unfinished)], &[1, 2, 3, 4], &[]);
        check(&[(1, Spoiled), (2, Unfinished)], &[1, 2, 3, 4], &[]);
        for fallen in [Spoiled, NotExecuted] {
            check(&[(1, Whole), (2, fallen)], &[5, 6, 3, 4], &[1]);
            check(&[(1, fallen), (2, fallen)], &[5, 6, 3, 4], &[1]);
        }
        check(&[(1, Spoiled), (2, Spoiled), (5, Whole), (6, Unfinished)], &[5, 6, 3, 4], &[1]);
        check(&[(1, Spoiled), (2, Spoiled), (5, Spoiled), (6, Spoiled)], &[3, 4], &[1]);
        for (plan, together) in [(plan(), 1), (duet(), 2)] {
            let agenda = Agenda::of(&plan, &BTreeMap::new());
            assert_eq!(agenda.next(), &plan.trials[..together]);
        }
        let done = [1, 2, 3, 4].map(|trial| (trial, Whole)).into();
        assert_eq!(Agenda::of(&duet(), &done).next(), &[]);
    }

    #[test]
    fn what_was_executed_again_does_not_stand() {
        let standing = |states: &[(u32, TrialOutcome)]| {
            let states = states.iter().copied().collect();
            Vec::from_iter(Agenda::of(&plan(), &states).standing(&plan(), &states))
        };
        assert_eq!(standing(&[(1, Whole), (2, Whole), (3, Unfinished)]), [1, 2]);
        assert_eq!(standing(&[(1, Whole), (2, Whole), (3, Whole), (4, Spoiled)]), [1, 2]);
        assert_eq!(standing(&[(1, Whole), (2, Spoiled), (5, Whole), (6, Spoiled)]), [5, 6]);
        assert_eq!(standing(&[(1, NotExecuted), (5, Whole)]), [5]);
    }

    #[test]
    fn a_lone_trial_is_repeated_under_its_own_number() {
        let mut lone = plan();
        lone.trials.truncate(1);
        for state in [Unfinished, Spoiled, NotExecuted] {
            let agenda = Agenda::of(&lone, &BTreeMap::from([(1, state)]));
            assert_eq!((agenda.trials, agenda.repeated.len()), (lone.trials.clone(), 0));
        }
    }
}
