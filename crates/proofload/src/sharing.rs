//! What one of several machines performs of a plan, and when: `--share` and `--start-at`.
//!
//! Shares do not talk to each other. Each walks the same plan and begins each trial at an instant that all of them
//! compute alike. Not here: how the shares become one run again (see `merging`).

use engine::clock::monotonic;
use engine::process::clock_bound_ns;
use engine::selfcheck;
use jiff::Timestamp;
use plan::load::Stop;
use plan::plan::{Arm, Plan, TrialPlan};
use plan::plan_share::PlanShare;
use record::summary::{AgentFacts, Placement};

use crate::problem::Problem;

/// Time between the last possible end of a trial and the start of the next.
const BETWEEN_SECONDS: i64 = 5;

/// What this machine performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareRun {
    /// Of the plan.
    pub share: PlanShare,
    /// When the load of the first trial begins; `None` for as soon as it can.
    pub start_at: Option<Timestamp>,
}

impl ShareRun {
    /// The whole plan, as soon as it can begin.
    pub const WHOLE: Self = Self { share: PlanShare::WHOLE, start_at: None };

    /// Whether other machines perform the rest.
    pub fn is_shared(self) -> bool {
        !self.share.is_whole()
    }

    /// Checks that the plan can be performed in shares.
    ///
    /// Errors: why it cannot
    pub fn check(self, plan: &Plan) -> Result<(), Problem> {
        if !self.is_shared() {
            return Ok(());
        }
        let refused = plan.arms.iter().find_map(|arm| refusal(self.share, plan, arm));
        match refused.or_else(|| rule(plan)) {
            Some((what, hint)) => {
                Err(Problem::usage(what).during("dividing the plan into shares").hint(hint))
            }
            None => Ok(()),
        }
    }

    /// When the load of this trial begins, on CLOCK_MONOTONIC; `None` for as soon as it can.
    pub fn starts(self, plan: &Plan, trial: &TrialPlan) -> Option<u64> {
        let mut at = self.start_at?;
        for before in plan.trials.iter().take_while(|one| one.index < trial.index) {
            if before.block != trial.block || !trial.duet {
                at = at.saturating_add(slot(&plan.arms[before.arm])).ok()?;
            }
        }
        let ahead = at.as_nanosecond() - Timestamp::now().as_nanosecond();
        let at = i128::from(monotonic()) + ahead;
        Some(u64::try_from(at.max(0)).unwrap_or(u64::MAX))
    }

    /// Which machine this is, and what its wall clock read at the start of the measure phase.
    pub fn agent(self, measure_from_ns: u64) -> Option<AgentFacts> {
        let (host, boot_id) = selfcheck::identity();
        self.is_shared().then(|| AgentFacts {
            share: self.share.number,
            of: self.share.of,
            host,
            machine: selfcheck::machine(Placement::default()),
            measure_from_ns,
            boot_id,
            clock_bound_ns: clock_bound_ns(),
        })
    }
}

/// Why an arm cannot be performed in shares, and what to do.
fn refusal(share: PlanShare, plan: &Plan, arm: &Arm) -> Option<(String, &'static str)> {
    if arm.system.is_some() || !arm.services.is_empty() || !arm.observers.is_empty() {
        return Some((
            "a share starts no processes, and this experiment has a system, services or observers"
                .to_owned(),
            "start them once for all machines, and name the address in `[target] url`",
        ));
    }
    let is_counted = matches!(arm.load.stop, Stop::Operations { .. });
    if is_counted && plan.trials.len() > 1 {
        return Some((
            "shares begin the next trial at a planned instant, and this load ends after a number of operations"
                .to_owned(),
            "use `duration` in `[load]`",
        ));
    }
    Some((share.refusal(arm)?, "use fewer shares, or a larger load"))
}

/// Why no plan with these flags can be performed in shares, and what to do.
fn rule(plan: &Plan) -> Option<(String, &'static str)> {
    let flag = match plan {
        Plan { fail_fast: true, .. } => "--fail-fast",
        Plan { adaptive: Some(_), .. } => "--adaptive",
        _ => return None,
    };
    Some((
        format!("`{flag}` decides from the results of the whole run, and a share has only its own"),
        "leave it out",
    ))
}

/// From the start of a trial's load to that of the next trial.
fn slot(arm: &Arm) -> jiff::SignedDuration {
    let load = &arm.load;
    let measured = match load.stop {
        Stop::Duration { after } => after,
        Stop::Operations { .. } => std::time::Duration::ZERO,
    };
    let length = load.ramp_up() + load.warm_up.length() + measured + load.timeout;
    let length = jiff::SignedDuration::try_from(length).unwrap_or(jiff::SignedDuration::MAX);
    length.saturating_add(jiff::SignedDuration::from_secs(BETWEEN_SECONDS))
}

/// The plan without what only the whole run can answer.
pub fn without_judgement(plan: &Plan) -> Plan {
    Plan { criteria: Vec::new(), comparisons: Vec::new(), ..plan.clone() }
}
