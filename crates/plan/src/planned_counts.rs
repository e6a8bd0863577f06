//! How many operations and journeys a share of a plan begins in a trial, counted from the plan alone.

use crate::load::{Model, Stop};
use crate::mix::Mix;
use crate::plan::{Arm, TrialPlan};
use crate::plan_share::PlanShare;
use crate::schedule::Schedule;

/// One count for each of [`Arm::names`]: operations, which are 0 where they are steps of journeys, and after those
/// journeys. `until_ns`: where the measure phase ended before its time, its length. `None` where answers decide how
/// many there are: in a closed load or one of users, unless it stops after a number of operations, and did.
///
/// Cost: one walk through the schedule
pub fn of(
    arm: &Arm,
    trial: &TrialPlan,
    share: PlanShare,
    until_ns: Option<u64>,
) -> Option<Vec<u64>> {
    let mix = Mix::new(&arm.operations, &arm.journeys, trial.seed).of_load(&arm.load);
    let mut counts = vec![0; arm.names().len()];
    match (&arm.load.model, arm.load.stop) {
        (Model::Open { arrivals }, stop) => {
            let schedule = Schedule::of_trial(arrivals, stop, trial);
            let due = schedule.take_while(|one| until_ns.is_none_or(|end| one.offset_ns < end));
            for (arrival, assignment) in due.zip(mix) {
                if share.place(arrivals, arrival.index, trial.seed).is_some() {
                    counts[assignment.operation] += 1;
                }
            }
        }
        // Users who leave may leave operations to nobody.
        (Model::Users { ramp: Some(_), .. }, _) | (_, Stop::Duration { .. }) => return None,
        (Model::Closed | Model::Users { .. }, Stop::Operations { count }) => {
            if until_ns.is_some() {
                return None;
            }
            let all = mix.take_while(|assignment| assignment.index < count);
            for assignment in all.filter(|one| share.dealt(one.index).is_some()) {
                counts[assignment.operation] += 1;
            }
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::tests::plan;

    /// Operations of each share.
    fn by_share(load: &str, of: u32, until_ns: Option<u64>) -> Option<Vec<u64>> {
        let plan = plan(&format!(
            "title = \"Counts\"\nseed = 7\n[target]\nurl = \"http://target:80\"\n[load]\n{load}\n\
             [[operation]]\nname = \"often\"\nweight = 3\nhttp = {{}}\n\
             [[operation]]\nname = \"seldom\"\nhttp = {{}}\n"
        ));
        let of_share = |number| {
            let share = PlanShare { number, of };
            super::of(&plan.arms[0], &plan.trials[0], share, until_ns)
        };
        let counts: Vec<Vec<u64>> = (1..=of).map(of_share).collect::<Option<_>>()?;
        let sum = |place: usize| counts.iter().map(|counts| counts[place]).sum::<u64>();
        assert!(sum(0) > 2 * sum(1), "by weight: {counts:?}");
        Some(counts.iter().map(|counts| counts.iter().sum()).collect())
    }

    #[test]
    fn a_number_of_operations_is_dealt_to_shares_whatever_the_answers() {
        for load in ["connections = 9", "users = 9"] {
            let load = format!("{load}\noperations = 1_000");
            assert_eq!(by_share(&load, 3, None), Some(vec![334, 333, 333]));
            // It ended before its time: answers decide how many were begun by then.
            assert_eq!(by_share(&load, 3, Some(1)), None);
        }
    }

    #[test]
    fn answers_decide_how_many_operations_fit_into_a_duration() {
        assert_eq!(by_share("connections = 9\nduration = \"1s\"", 3, None), None);
        assert_eq!(by_share("users = 9\nduration = \"1s\"", 3, None), None);
    }

    #[test]
    fn an_open_load_that_ended_early_has_planned_what_was_due() {
        let load = "arrivals = \"constant\"\nrate = \"100/s\"\nduration = \"10s\"";
        assert_eq!(by_share(load, 4, None), Some(vec![250; 4]));
        assert_eq!(by_share(load, 4, Some(1_000_000_000)), Some(vec![25; 4]));
    }
}
