//! Who performs the trials of a run: threads of this process, or agents on other machines.
//!
//! The execution of a run does not know which.

use std::io::{self, Write};

use drivers::AnyDriver;
use engine::process::{Addresses, Launcher};
use engine::selfcheck;
use engine::transport::Endpoint;
use engine::trial::{Host, Setup, TrialEnd, TrialError, TrialOutput, judged_by};
use fleet::connection::FleetError;
use fleet::coordinator::{Fleet, FleetState, RemoteTrial, RemoteTrials, ShareResult};
use fleet::protocol::{Assignment, StepLoad};
use pages::wall_clock::measure_start_of;
use plan::load::{Model, Stop};
use plan::plan::{Arm, Plan, TrialPlan};
use plan::schedule::nanos;
use plan::target::Target;
use record::event::{Event, EventKind};
use record::folder::{Folder, JoinedFacts, names};
use record::{Layout, TrialFacts};

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
        let executed = drivers::run_together(setups, &self.launcher, &mut |place, output| {
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

/// Agents on other machines, which perform a share each. Processes of the experiment run here.
pub struct RemoteCrew<'a> {
    /// The agents.
    pub fleet: &'a Fleet,
    /// How processes are started.
    pub launcher: Launcher,
    /// Where the facts of each share are kept.
    pub disk: &'a Disk,
    /// What they perform.
    pub plan: &'a Plan,
    /// In a search: the arm of the agents' plan that gets the load of each step.
    pub searched: Option<usize>,
}

impl Crew for RemoteCrew<'_> {
    fn perform(
        &self,
        setups: &[Setup<'_, AnyDriver>],
        on: &mut OnOutput<'_>,
    ) -> Result<Vec<TrialFacts>, NotPerformed> {
        let first = &setups[0];
        // Processes may take long to start, and this coordinator may die meanwhile.
        self.keep(&self.fleet.state()).map_err(|error| {
            NotPerformed::Fleet(FleetError::new(format!("cannot write the record: {error}")))
        })?;
        for (place, setup) in setups.iter().enumerate() {
            setup.launched().into_iter().for_each(|event| on(place, TrialOutput::Event(event)));
        }
        let stopped = || first.stop.requests() > 0;
        let arms = setups.iter().map(|setup| setup.arm);
        let started = Host::start(&self.launcher, arms, &stopped);
        let mut host = started.map_err(|error| NotPerformed::Trial(error.into()))?;
        for (setup, addresses) in setups.iter().zip(host.addresses()) {
            self.check_reach(setup.arm, addresses).map_err(NotPerformed::Fleet)?;
        }
        let layouts: Vec<Layout> = setups.iter().map(Setup::layout).collect();
        let trials = setups.iter().zip(&layouts).zip(host.addresses());
        let trials = trials.map(|((setup, layout), addresses)| RemoteTrial {
            assignment: self.assignment(setup, addresses),
            layout,
            window_ns: setup.window_ns(),
            span: judged_by(&setup.arm.load.model),
        });
        let mut together = RemoteTrials {
            trials: trials.collect(),
            host: &mut host,
            lead_ns: first.lead_ns(),
            measure_ns: first.measure_ns(),
            timeout_ns: nanos(first.arm.load.timeout),
            stop: first.stop.clone(),
            end: first.end.clone(),
            calendar: first.calendar,
            keep: &|state| self.keep(state),
        };
        let performed = self.fleet.perform(&mut together, on).map_err(NotPerformed::Fleet)?;
        let measure_from = performed.measure_from;
        let mut joined = Vec::new();
        for (place, (setup, results)) in setups.iter().zip(performed.results).enumerate() {
            let mut facts = self.join(setup, results).map_err(NotPerformed::Fleet)?;
            let (stopped, items) = (first.stop.requests() > 0, &layouts[place].items[..]);
            host.complete(place, &mut facts, TrialEnd { measure_from, stopped, items });
            self.check(setup, &facts).map_err(NotPerformed::Fleet)?;
            on(place, TrialOutput::Event(finished(&facts)));
            joined.push(facts);
        }
        Ok(joined)
    }
}

/// The URL of the first of these targets that other machines cannot reach.
fn only_here(targets: impl Iterator<Item = Target>) -> Option<String> {
    let is_local = |target: &Target| Endpoint::resolve(target).is_ok_and(|one| one.is_local());
    targets.filter(is_local).map(|target| target.url).next()
}

/// The last event of a trial.
fn finished(facts: &TrialFacts) -> Event {
    let end = facts.phases.measure_ns.saturating_add(facts.phases.drain_ns);
    let kind = EventKind::TrialFinished { accounting: facts.totals.total().accounting() };
    Event { at_ns: i64::try_from(end).unwrap_or(i64::MAX), kind }
}

impl RemoteCrew<'_> {
    fn keep(&self, state: &FleetState) -> io::Result<()> {
        let mut file = self.disk.create(names::FLEET)?;
        serde_json::to_writer(&mut file, state)?;
        file.flush()
    }

    fn join(
        &self,
        setup: &Setup<'_, AnyDriver>,
        results: Vec<ShareResult>,
    ) -> Result<TrialFacts, FleetError> {
        let survivor = results.iter().find_map(|result| result.ended.as_ref().ok());
        let survivor = survivor.ok_or_else(|| {
            FleetError::new("every agent was lost during the trial")
                .hint("look at the agents' last words on their machines")
        })?;
        let (survivor, layout) = (survivor.facts()?, setup.layout());
        let kept = |error| FleetError::new(format!("cannot write the record: {error}"));
        let mut joined = JoinedFacts::new(self.disk, setup.trial.index);
        for ShareResult { agent, ended } in results {
            let facts = match ended {
                Ok(stored) => TrialFacts { agent: Some(agent), ..stored.facts()? },
                Err(partial) => {
                    let planned = (setup.arm, setup.trial, &layout);
                    partial.into_facts(agent, planned, &survivor)
                }
            };
            joined.add(facts).map_err(kept)?;
        }
        joined.finish().ok_or_else(|| FleetError::new("there are no agents"))
    }

    /// Checks that agents on other machines do not get an address that only this machine has.
    fn check_reach(&self, arm: &Arm, addresses: &Addresses) -> Result<(), FleetError> {
        let Some(agent) = self.fleet.elsewhere(&selfcheck::identity().boot_id) else {
            return Ok(());
        };
        let started = arm.targets.iter().filter(|target| target.url.contains('{'));
        let filled = started.filter_map(|target| addresses.fill_target(target).ok());
        match only_here(filled) {
            None => Ok(()),
            Some(url) => Err(FleetError::new(format!(
                "{agent} is on another machine and cannot reach {url}, where this run has started a process"
            ))
            .hint("let its command listen on an address of this machine with a port of your choice, and write that into `[target] url`")),
        }
    }

    fn check(&self, setup: &Setup<'_, AnyDriver>, facts: &TrialFacts) -> Result<(), FleetError> {
        let complete = merging::complete(self.plan, setup.trial, facts);
        complete.map_err(|problem| FleetError::new(problem.what))
    }

    fn assignment(&self, setup: &Setup<'_, AnyDriver>, addresses: &Addresses) -> Assignment {
        let load = &setup.arm.load;
        let step = match (self.searched, &load.model, load.stop) {
            (Some(_), Model::Open { arrivals }, Stop::Duration { after }) => Some(StepLoad {
                name: setup.arm.name.clone(),
                arrivals: arrivals.clone(),
                length: after,
            }),
            _ => None,
        };
        let arm = self.searched.unwrap_or(setup.trial.arm);
        let trial = TrialPlan { arm, ..setup.trial.clone() };
        Assignment { trial, step, addresses: addresses.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_alone_is_found() {
        let targets = |urls: &[&str]| {
            let target = |url: &&str| Target { url: (*url).to_owned(), ..Target::default() };
            only_here(urls.iter().map(target).collect::<Vec<_>>().into_iter())
        };
        assert_eq!(
            targets(&["http://192.0.2.1:80", "http://127.0.0.1:81"]).as_deref(),
            Some("http://127.0.0.1:81")
        );
        assert_eq!(targets(&["http://[::1]:80"]).as_deref(), Some("http://[::1]:80"));
        assert_eq!(targets(&["http://192.0.2.1:80", "http://no.such.host.invalid:80"]), None);
    }
}
