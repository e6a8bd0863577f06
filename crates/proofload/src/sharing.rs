//! What one of several machines performs of a plan, and when: `--share` and `--start-at`.
//!
//! Shares do not talk to each other. Each walks the same plan and begins each trial at an instant that all of them
//! compute alike. Not here: how the shares become one run again (see `merging`).

use engine::clock::monotonic;
use engine::process::clock_bound_ns;
use engine::selfcheck::{self, Identity};
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

    /// Whether this is a share, to be merged with others.
    pub fn is_shared(self) -> bool {
        self.start_at.is_some()
    }

    /// Checks that the plan can be performed in shares.
    ///
    /// Errors: why it cannot
    pub fn check(self, plan: &Plan) -> Result<(), Problem> {
        if !self.is_shared() {
            return Ok(());
        }
        let refused = plan.arms.iter().find_map(|arm| processes(arm).or(refusal(self.share, arm)));
        match refused.or_else(|| rule(plan)).or_else(|| self.far()) {
            Some((what, hint)) => {
                Err(Problem::usage(what).during("dividing the plan into shares").hint(hint))
            }
            None => Ok(()),
        }
    }

    /// Why it cannot begin then, if it cannot, and what to do.
    fn far(self) -> Option<(String, &'static str)> {
        let ahead = self.start_at?.as_second() - Timestamp::now().as_second();
        let what = || {
            format!(
                "`--start-at` is {} hours ahead, and at most {FAR_HOURS} are possible",
                ahead / 3600
            )
        };
        (ahead > FAR_HOURS * 3600).then(|| (what(), "give an instant about half a minute ahead"))
    }

    /// When the load of this trial begins, on CLOCK_MONOTONIC; `None` for as soon as it can.
    pub fn starts(self, plan: &Plan, trial: &TrialPlan) -> Option<u64> {
        let mut at = self.start_at?;
        for before in plan.trials.iter().take_while(|one| one.index < trial.index) {
            // Both trials of a duet are one slot, the second's.
            if !before.duet || (before.order == 2 && before.block != trial.block) {
                at = at.saturating_add(slot(&plan.arms[before.arm])).ok()?;
            }
        }
        let ahead = at.as_nanosecond() - Timestamp::now().as_nanosecond();
        let at = i128::from(monotonic()) + ahead;
        Some(u64::try_from(at.max(0)).unwrap_or(u64::MAX))
    }
}

/// Which machine performs this share, and what its wall clock read at the start of the measure phase.
pub fn agent_facts(share: PlanShare, measure_from_ns: u64) -> AgentFacts {
    let Identity { host, boot_id, network } = selfcheck::identity();
    AgentFacts {
        share: share.number,
        of: share.of,
        host,
        machine: selfcheck::machine(Placement::default()),
        measure_from_ns,
        boot_id,
        network,
        clock_bound_ns: clock_bound_ns(),
        ..AgentFacts::default()
    }
}

/// Why shares without a coordinator cannot perform an arm, and what to do.
fn processes(arm: &Arm) -> Option<(String, &'static str)> {
    if arm.system.is_some() || !arm.services.is_empty() || !arm.observers.is_empty() {
        return Some((
            "a share starts no processes, and this experiment has a system, services or observers"
                .to_owned(),
            "start them once for all machines, and name the address in `[target] url`; or use `--agents`",
        ));
    }
    None
}

/// Why an arm cannot be performed in shares, and what to do.
pub fn refusal(share: PlanShare, arm: &Arm) -> Option<(String, &'static str)> {
    Some((share.refusal(arm)?, "use fewer shares, or a larger load"))
}

/// Why a plan cannot be performed by shares that do not talk to each other, and what to do.
fn rule(plan: &Plan) -> Option<(String, &'static str)> {
    let mut loads = plan.arms.iter().map(|arm| arm.load.stop);
    let is_counted = loads.any(|stop| matches!(stop, Stop::Operations { .. }));
    if is_counted && plan.trials.len() > 1 {
        return Some((
            "shares begin the next trial at a planned instant, and this load ends after a number of operations"
                .to_owned(),
            "use `duration` in `[load]`",
        ));
    }
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

/// The furthest start.
const FAR_HOURS: i64 = 24;
/// What `[setup]` and `[teardown]` together may take between two trials.
const PREPARING_SECONDS: i64 = 60;

/// From the start of a trial's load to that of the next trial.
fn slot(arm: &Arm) -> jiff::SignedDuration {
    let load = &arm.load;
    let measured = match load.stop {
        Stop::Duration { after } => after,
        Stop::Operations { .. } => std::time::Duration::ZERO,
    };
    let length = load.ramp_up() + load.warm_up.length() + measured + load.timeout;
    let length = jiff::SignedDuration::try_from(length).unwrap_or(jiff::SignedDuration::MAX);
    let prepares = arm.setup.is_some() || arm.teardown.is_some();
    let between = BETWEEN_SECONDS + if prepares { PREPARING_SECONDS } else { 0 };
    length.saturating_add(jiff::SignedDuration::from_secs(between))
}

/// The plan without what only the whole run can answer.
pub fn without_judgement(plan: &Plan) -> Plan {
    Plan { criteria: Vec::new(), comparisons: Vec::new(), ..plan.clone() }
}
