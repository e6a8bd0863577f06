//! What one of several machines did in a trial.

use plan::plan::Arm;
use record::summary::Agent;
use record::{RecordError, TrialFacts};

use super::TrialInput;
use super::trial;
use crate::case::{Facts, OverTime, Shape};
use crate::validity;

/// The agent whose facts these are; `None` for those of a whole trial.
///
/// Its intervals take its operations as independent: its windows are not kept apart.
pub fn agent(facts: &TrialFacts, arm: &Arm) -> Result<Option<Agent>, RecordError> {
    let Some(agent) = &facts.agent else { return Ok(None) };
    let input = TrialInput { trial: facts, spans: &[], windows: &|_| Ok(()) };
    let shape = Shape::of(facts, &[]);
    let mut over_time = OverTime::new(&facts.totals.total(), &shape);
    let (trial, ..) = trial::summarise(&input, &mut [], &mut over_time)?;
    let spoiled = validity::lateness(&trial, &Facts::of(facts, arm));
    Ok(Some(Agent {
        facts: agent.clone(),
        accounting: trial.accounting,
        response_time: trial.total.response_time,
        generator: trial.generator,
        spoiled: spoiled.into_iter().collect(),
    }))
}
