//! Finds problems before anything is sent: limits of this machine, and targets that do not answer.

use std::time::Duration;

use engine::placement;
use engine::preflight::{self, Demand};
use engine::transport::{Endpoint, check_reachable};
use engine::trial::layout;
use plan::plan::Arm;
use plan::plan_share::PlanShare;
use record::summary::Severity;

use crate::execution::driver;
use crate::live::LiveView;
use crate::problem::Problem;

/// Time limit for a target that the run does not start to accept one connection.
const CONTACT_WITHIN: Duration = Duration::from_secs(2);

/// Reports foreseeable problems of arms, which run one after the other or at the same time, before anything is sent.
///
/// Errors: the problems that are certain
pub fn foresee(
    arms: &[Arm],
    are_together: bool,
    share: PlanShare,
    live: &mut LiveView,
) -> Result<(), Problem> {
    let mut demands = Vec::new();
    for arm in arms {
        demands.push(demand(arm)?);
    }
    if are_together {
        demands = demands.into_iter().reduce(Demand::beside).into_iter().collect();
    }
    for demand in demands {
        let demand = demand.divided(u64::from(share.of));
        for problem in preflight::prepare(&demand) {
            if problem.severity == Severity::Error {
                let found = Problem::environment(problem.claim).during("looking at this machine");
                return Err(match problem.hint {
                    Some(hint) => found.hint(hint),
                    None => found,
                });
            }
            live.say(&format!("note: {}", problem.claim));
        }
    }
    Ok(())
}

/// The resources that one arm needs; checks that its targets answer.
fn demand(arm: &Arm) -> Result<Demand, Problem> {
    let endpoints = reachable(arm)?;
    let cores = placement::allowed_cores().unwrap_or_default();
    let wanted = arm.load.workers.map(|workers| workers as usize);
    let workers = placement::place(&cores, wanted).workers.len();
    let layout = layout(arm, &driver(arm)?);
    let demand = Demand::of(arm, &endpoints, workers);
    Ok(demand.recording(layout.operations.len(), layout.spans.len()))
}

/// Checks that the targets which this run does not start accept a connection, and returns them.
///
/// Errors: a target does not accept one, or its address cannot be resolved
pub fn reachable(arm: &Arm) -> Result<Vec<Endpoint>, Problem> {
    let mut endpoints = Vec::new();
    for target in &arm.targets {
        if target.url.contains('{') {
            // Only the launcher knows the address.
            continue;
        }
        let endpoint = Endpoint::resolve(target).map_err(|error| Problem::target(&error))?;
        check_reachable(&endpoint, CONTACT_WITHIN).map_err(|(kind, detail)| {
            Problem::environment(format!("{detail} ({})", kind.name()))
                .during("checking that the target listens, before the run")
                .hint("start the target, or name its address in `[target] url` or on the command line")
        })?;
        endpoints.push(endpoint);
    }
    Ok(endpoints)
}
