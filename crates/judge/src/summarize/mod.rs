//! From the facts of trials to a summary.
//!
//! One [`Summariser`] per run: trials are added one by one, so that only the histograms of one trial are in memory.
//! Windows are read after the trial's totals are known, because dispersion counts the operations of each window
//! beyond a quantile of the whole; and once more if a criterion needs them.
//!
//! In reading order: `input` is an executed trial; `trial` makes its summary, `agent` that of one of several machines.

mod agent;
mod input;
mod trial;

use std::collections::BTreeSet;

use plan::plan::{Plan, TrialPlan};
use record::summary::{
    Agent, Arm, CountsFor, FORMAT, Finding, Judgement, Part, Run, Severity, Summary, Validity,
    Verdict,
};
use record::{EarlyEnd, EndReason, RecordError};

pub use agent::agent;
pub use input::{TrialInput, Windows};

use crate::case::{Case, Facts, OverTime, RunView, Shape, SteadyStateTest};
use crate::comparison::{self, Deciles};
use crate::consistency::Context;
use crate::criteria::Evaluation;
use crate::findings::{Subject, execution};
use crate::{consistency, criteria, findings, scaling, validity, verdict};

/// Makes the summary of a run, trial by trial.
pub struct Summariser<'p> {
    plan: &'p Plan,
    arms: Vec<Arm>,
    findings: Vec<Finding>,
    evaluations: Vec<Evaluation>,
    deciles: Deciles,
    /// Blocks that are judged without one of their trials.
    spared: BTreeSet<u32>,
    /// Whether the run gave up between two trials.
    gave_up: bool,
}

impl<'p> Summariser<'p> {
    /// Before the first trial.
    pub fn new(plan: &'p Plan) -> Self {
        let arm = |arm: &plan::plan::Arm| Arm {
            name: arm.name.clone(),
            factors: arm.factors.clone(),
            values: arm.values.clone(),
            trials: Vec::new(),
        };
        Self {
            plan,
            arms: plan.arms.iter().map(arm).collect(),
            findings: Vec::new(),
            evaluations: criteria::evaluations(plan),
            deciles: Deciles::new(plan),
            spared: BTreeSet::new(),
            gave_up: false,
        }
    }

    /// Adds an executed trial.
    ///
    /// A trial of an arm that the plan does not have is left out.
    ///
    /// Errors: of the windows' reader
    pub fn add(&mut self, input: TrialInput<'_>) -> Result<(), RecordError> {
        self.take(input, Vec::new(), false)
    }

    /// Adds a trial that these agents performed together.
    ///
    /// Errors: of the windows' reader
    pub fn add_merged(
        &mut self,
        input: TrialInput<'_>,
        agents: Vec<Agent>,
    ) -> Result<(), RecordError> {
        self.take(input, agents, false)
    }

    /// Adds a trial whose block was executed again: it is shown, but does not count.
    ///
    /// Errors: of the windows' reader
    pub fn add_superseded(&mut self, input: TrialInput<'_>) -> Result<(), RecordError> {
        self.take(input, Vec::new(), true)
    }

    /// A trial could not begin, and the run ended there.
    pub fn not_executed(&mut self, trial: &TrialPlan, why: &str) {
        self.findings.push(execution::not_executed(self.plan, trial, why));
    }

    /// This trial made its block be executed again.
    pub fn repeated(&mut self, trial: &TrialPlan, why: &str) {
        self.findings.push(execution::repeated(self.plan, trial, why));
    }

    /// The run was resumed; `kept` trials were executed before that.
    pub fn resumed(&mut self, kept: usize) {
        self.findings.push(execution::resumed(kept, self.executed()));
    }

    /// The run gave up after this trial, which was carried out in full.
    pub fn gave_up(&mut self, trial: &TrialPlan, early: &EarlyEnd) {
        self.findings.push(match early.reason {
            EndReason::AllFailed => findings::all_failed::after(self.plan, trial, early),
            _ => findings::criterion::gave_up_after(self.plan, trial, &early.why),
        });
        self.evaluations.iter_mut().for_each(Evaluation::cut_short);
        self.gave_up = true;
    }

    /// Trials of the plan, including those of A/A pairs.
    fn executed(&self) -> usize {
        let trials = self.arms.iter().flat_map(|arm| &arm.trials);
        trials.filter(|trial| trial.counts_for != CountsFor::Nothing).count()
    }

    fn counts_for(&self, block: u32, superseded: bool) -> CountsFor {
        match (superseded, self.plan.is_aa(block)) {
            (true, _) => CountsFor::Nothing,
            (false, true) => CountsFor::Noise,
            (false, false) => CountsFor::Judgement,
        }
    }

    /// Whether the block may do without a trial: the plan spares the first blocks that lack one, up to a number.
    fn spares(&mut self, block: u32) -> bool {
        if self.spared.len() < self.plan.spare as usize {
            self.spared.insert(block);
        }
        self.spared.contains(&block)
    }

    fn take(
        &mut self,
        input: TrialInput<'_>,
        agents: Vec<Agent>,
        superseded: bool,
    ) -> Result<(), RecordError> {
        let Some(place) = self.plan.arms.iter().position(|arm| arm.name == input.trial.arm) else {
            return Ok(());
        };
        let arm = &self.plan.arms[place];
        let mut facts = Facts::of(input.trial, arm);
        let counts_for = self.counts_for(input.trial.block, superseded);
        let is_judged = counts_for == CountsFor::Judgement;
        let evaluations = if is_judged { &mut self.evaluations[..] } else { &mut [][..] };
        facts.shape = Shape::of(input.trial, input.spans);
        facts.over_time = OverTime::new(&input.trial.totals.total(), &facts.shape);
        let (mut trial, windows, steady) =
            trial::summarise(&input, evaluations, &mut facts.over_time)?;
        trial.agents = agents;
        // With a late generator, windows show its own behaviour.
        let is_late = validity::lateness(&trial, &facts).is_some();
        facts.steady =
            if is_late { SteadyStateTest::untested("the generator was late") } else { steady };
        name_items(&mut trial, input.trial, arm);
        name_parts(&mut trial, arm);
        self.deciles.add(input.trial);
        (trial.validity, trial.reasons) = validity::judge(&trial, &facts, arm.load.steady_state);
        let context = Context {
            timeout_ns: Some(facts.timeout_ns),
            targets: u32::try_from(arm.targets.len()).unwrap_or(u32::MAX),
            abreast: arm.abreast(),
            windows: Some(windows),
            little: Some(consistency::TimeInFlight {
                area_ns: input.trial.area_ns,
                times_ns: input.trial.totals.total().time_ns(),
            }),
        };
        let broken = consistency::contradictions(&trial, &context);
        facts.contradictions =
            broken.iter().map(|one| format!("{}: {}", one.rule, one.claim)).collect();
        let case = Case { arm: &arm.name, trial: &trial, facts: &facts };
        self.findings.extend(findings::findings(Subject::Trial(&case)));
        let is_spared =
            is_judged && validity::is_late_alone(&trial, &facts) && self.spares(input.trial.block);
        trial.counts_for = if is_spared { CountsFor::Spared } else { counts_for };
        if superseded {
            trial.validity = Validity::Invalid;
            trial.reasons.insert(0, "its block was executed again".to_owned());
        }
        if is_judged {
            let state = criteria::TrialState::of(&trial, &facts);
            let same_arm =
                self.evaluations.iter_mut().filter(|evaluation| evaluation.is_about(&arm.name));
            same_arm.for_each(|evaluation| match is_spared {
                true => evaluation.drop_trial(),
                false => evaluation.close_trial(state.clone()),
            });
        }
        self.arms[place].trials.push(trial);
        Ok(())
    }

    /// The summary, judged.
    pub fn finish(self, run: Run) -> Summary {
        let rehearsal = self.plan.rehearsal;
        let executed = self.executed();
        let judged: Vec<_> = self.evaluations.iter().map(|one| one.judge(rehearsal)).collect();
        let mut findings = self.findings;
        // A run that gave up fails by that criterion, if the trial counts.
        let told = self.gave_up
            || findings.iter().any(|one| {
                matches!(one.code.as_str(), findings::NOT_EXECUTED | findings::ALL_FAILED)
            })
            || self.evaluations.iter().any(Evaluation::is_given_up);
        if !told {
            let shared = run.share.is_some() || run.shares > 0;
            let planned = self.plan.trials.len();
            findings.extend(execution::not_carried_out(executed, planned, shared));
        }
        findings.extend(findings::findings(Subject::Run(&RunView {
            arms: &self.arms,
            machine: &run.machine,
            comparisons: &self.plan.comparisons,
            questions: comparison::planned_comparisons(self.plan).len(),
        })));
        let crowded = findings::crowded(&findings);
        let scalings = scaling::of(&self.arms, self.plan.seed, &crowded);
        findings.extend(scalings.iter().flat_map(|one| findings::findings(Subject::Scaling(one))));
        findings.extend(judged.iter().flat_map(|one| one.findings.clone()));
        let comparisons = comparison::judge(self.plan, &self.arms, &self.deciles, &crowded);
        findings.extend(comparison::findings::of(self.plan, &self.arms, &comparisons, &crowded));
        findings.sort_by_key(|finding| severity_rank(finding.severity));
        let mut summary = Summary {
            format: FORMAT.to_owned(),
            rehearsal,
            verdict: Verdict { result: Judgement::Inconclusive, reasons: Vec::new() },
            run,
            arms: self.arms,
            criteria: judged.into_iter().map(|one| one.criterion).collect(),
            comparisons,
            scalings,
            capacity: None,
            findings,
        };
        summary.verdict = verdict::of(&summary);
        summary
    }
}

/// Only the plan has the names of items.
fn name_items(
    trial: &mut record::summary::TrialSummary,
    facts: &record::TrialFacts,
    arm: &plan::plan::Arm,
) {
    for (operation, totals) in trial.operations.iter_mut().zip(&facts.totals.operations) {
        let planned = arm.operations.iter().find(|planned| planned.name == totals.name);
        let names = planned.iter().flat_map(|planned| &planned.items);
        let names: Vec<String> = names.map(|item| item.name.clone()).collect();
        trial::name_items(operation, totals, &names);
    }
}

/// Only the plan says which spans the target itself reports.
fn name_parts(trial: &mut record::summary::TrialSummary, arm: &plan::plan::Arm) {
    for operation in &mut trial.operations {
        let planned = arm.operations.iter().find(|planned| planned.name == operation.name);
        let parts = planned.iter().flat_map(|planned| &planned.parts);
        let part = |part: &plan::operation::Part| Part {
            name: part.name.clone(),
            within: part.within.clone(),
        };
        operation.parts = parts.map(part).collect();
    }
}

fn severity_rank(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Info => 2,
    }
}

#[cfg(test)]
mod tests;
