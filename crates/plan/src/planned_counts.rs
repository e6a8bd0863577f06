//! How many operations and journeys a share of a plan begins in a trial, counted from the plan alone.

use crate::load::Model;
use crate::mix::Mix;
use crate::plan::{Arm, TrialPlan};
use crate::plan_share::PlanShare;
use crate::schedule::Schedule;

/// One count for each of [`Arm::names`]: operations, which are 0 where they are steps of journeys, and after those
/// journeys. `None` where answers decide how many there are.
///
/// Cost: one walk through the schedule
pub fn of(arm: &Arm, trial: &TrialPlan, share: PlanShare) -> Option<Vec<u64>> {
    let Model::Open { arrivals } = &arm.load.model else { return None };
    let schedule = Schedule::of_trial(arrivals, arm.load.stop, trial);
    let mix = Mix::new(&arm.operations, &arm.journeys, trial.seed);
    let mut counts = vec![0; arm.names().len()];
    for (arrival, assignment) in schedule.zip(mix) {
        if share.place(arrivals, arrival.index, trial.seed).is_some() {
            counts[assignment.operation] += 1;
        }
    }
    Some(counts)
}
