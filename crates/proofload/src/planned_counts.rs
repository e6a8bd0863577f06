//! How many operations and journeys a plan begins in a trial, counted from the plan alone.

use plan::load::Model;
use plan::mix::Mix;
use plan::plan::{Arm, TrialPlan};
use plan::schedule::Schedule;

/// By name, without the steps of journeys; `None` where answers decide how many there are.
///
/// Cost: one walk through the schedule
pub fn of(arm: &Arm, trial: &TrialPlan) -> Option<Vec<(String, u64)>> {
    let Model::Open { arrivals } = &arm.load.model else { return None };
    let schedule = Schedule::of_trial(arrivals, arm.load.stop, trial);
    let mix = Mix::new(&arm.operations, &arm.journeys, trial.seed);
    let names = arm.names();
    let mut counts = vec![0; names.len()];
    for (_, assignment) in schedule.zip(mix) {
        counts[assignment.operation] += 1;
    }
    let is_step = |place: usize| arm.operations.get(place).is_some_and(|one| one.is_step);
    let counted = names.into_iter().zip(counts).enumerate();
    Some(
        counted
            .filter(|(place, _)| !is_step(*place))
            .map(|(_, (name, count))| (name.to_owned(), count))
            .collect(),
    )
}
