//! Who performs the trials of a run: threads of this process, or agents on other machines.
//!
//! The execution of a run does not know which.

use drivers::AnyDriver;
use engine::process::Launcher;
use engine::trial::{Setup, TrialError, TrialOutput, progress_span, run_together};
use fleet::connection::FleetError;
use fleet::coordinator::{Fleet, RemoteTrial, ShareResult};
use pages::wall_clock::measure_start_of;
use plan::load::Stop;
use plan::plan::Plan;
use plan::plan_share::PlanShare;
use plan::schedule::nanos;
use record::TrialFacts;
use record::event::{Event, EventKind};
use record::folder::JoinedFacts;

use crate::disk::Disk;
use crate::merging;
use crate::sharing::{ShareRun, agent_facts};

/// Receives the output of trials, with the place of each among those that run at the same time.
pub type OnOutput<'a> = dyn FnMut(usize, TrialOutput) + 'a;

/// Performs trials.
pub trait Crew {
    /// Performs trials at the same time.
    ///
    /// Errors: why they could not be performed; failures during trials are data
    fn perform(
        &self,
        setups: &[Setup<'_, AnyDriver>],
        on: &mut OnOutput<'_>,
    ) -> Result<Vec<TrialFacts>, NotPerformed>;
}

/// Why trials could not be performed.
#[derive(Debug)]
pub enum NotPerformed {
    /// Here.
    Trial(TrialError),
    /// By agents.
    Fleet(FleetError),
}

/// Threads of this process, which perform the whole plan or a share of it.
#[derive(Debug)]
pub struct LocalCrew {
    /// How processes are started.
    pub launcher: Launcher,
    /// What is performed.
    pub share_run: ShareRun,
}

impl Crew for LocalCrew {
    fn perform(
        &self,
        setups: &[Setup<'_, AnyDriver>],
        on: &mut OnOutput<'_>,
    ) -> Result<Vec<TrialFacts>, NotPerformed> {
        let mut measured_from = vec![0; setups.len()];
        let executed = run_together(setups, &self.launcher, &mut |place, output| {
            if let TrialOutput::Event(event) = &output
                && let Some(at) = measure_start_of(event)
            {
                measured_from[place] = u64::try_from(at).unwrap_or(0);
            }
            on(place, output);
        });
        let mut executed = executed.map_err(NotPerformed::Trial)?;
        if self.share_run.is_shared() {
            for (facts, from) in executed.iter_mut().zip(measured_from) {
                facts.agent = Some(agent_facts(self.share_run.share, from));
            }
        }
        Ok(executed)
    }
}

/// Agents on other machines, which perform a share each.
pub struct RemoteCrew<'a> {
    /// The agents.
    pub fleet: &'a Fleet,
    /// Where the facts of each share are kept.
    pub disk: &'a Disk,
    /// What they perform.
    pub plan: &'a Plan,
}

impl Crew for RemoteCrew<'_> {
    fn perform(
        &self,
        setups: &[Setup<'_, AnyDriver>],
        on: &mut OnOutput<'_>,
    ) -> Result<Vec<TrialFacts>, NotPerformed> {
        let [setup] = setups else {
            let what = "agents perform one trial at a time, and this design has duets";
            return Err(NotPerformed::Fleet(FleetError::new(what)));
        };
        let layout = setup.layout();
        let remote = RemoteTrial {
            trial: setup.trial.index,
            layout: &layout,
            window_ns: setup.window_ns(),
            span: progress_span(&setup.arm.load.model),
            length_ns: length_ns(setup),
            stop: setup.stop.clone(),
            end: setup.end.clone(),
        };
        let performed = self.fleet.perform(&remote, &mut |output| on(0, output));
        let joined = performed.and_then(|results| self.join(setup, results));
        let facts = joined.map_err(NotPerformed::Fleet)?;
        let end = facts.phases.measure_ns.saturating_add(facts.phases.drain_ns);
        let kind = EventKind::TrialFinished { accounting: facts.totals.total().accounting() };
        on(0, TrialOutput::Event(Event { at_ns: i64::try_from(end).unwrap_or(i64::MAX), kind }));
        Ok(vec![facts])
    }
}

impl RemoteCrew<'_> {
    fn join(
        &self,
        setup: &Setup<'_, AnyDriver>,
        results: Vec<ShareResult>,
    ) -> Result<TrialFacts, FleetError> {
        let survivor = results.iter().find_map(|result| result.ended.as_ref().ok());
        let survivor = survivor.cloned().ok_or_else(|| {
            FleetError::new("every agent was lost during the trial")
                .hint("look at the agents' last words on their machines")
        })?;
        let kept = |error| FleetError::new(format!("cannot write the record: {error}"));
        let mut joined = JoinedFacts::new(self.disk, setup.trial.index);
        for ShareResult { agent, ended } in results {
            let share = PlanShare { number: agent.share, of: agent.of };
            let facts = match ended {
                Ok(facts) => *facts,
                Err(partial) => partial.into_facts(share, (setup.arm, setup.trial), &survivor),
            };
            joined.add(TrialFacts { agent: Some(agent), ..facts }).map_err(kept)?;
        }
        let facts = joined.finish().ok_or_else(|| FleetError::new("there are no agents"))?;
        match merging::complete(self.plan, setup.trial, &facts) {
            Ok(()) => Ok(facts),
            Err(problem) => Err(FleetError::new(problem.what)),
        }
    }
}

/// From the start of the load to the last possible end of the trial.
fn length_ns(setup: &Setup<'_, AnyDriver>) -> Option<u64> {
    let load = &setup.arm.load;
    let Stop::Duration { after } = load.stop else { return None };
    Some(setup.lead_ns().saturating_add(nanos(after)).saturating_add(nanos(load.timeout)))
}
