//! What the news of a run add up to. Only windows that are complete count, so that no counter ever goes back: it lags by
//! as long as an operation of its window may still be answered.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plan::load::Model;
use plan::plan::{Arm, Plan};
use record::event::{Event, EventKind, Phase};
use record::{FailureKind, OperationWindow, WindowSpan};

use super::times::Times;
use crate::audience::{Missed, News};

/// The metrics of a run. Trials of one arm add up.
#[derive(Debug)]
pub struct Metrics {
    /// Since when it counts, from the epoch.
    pub since: Duration,
    /// The run that is measured; empty before the first trial.
    pub run: String,
    /// By name.
    pub arms: BTreeMap<String, ArmMetrics>,
    missed: Missed,
    /// The plan of the trial that runs, and its arm.
    trial: Option<(Arc<Plan>, usize)>,
    /// What the arms of that plan are called here, as far as they have run.
    names: BTreeMap<usize, ArmNames>,
}

/// What an arm and its parts are called, without secrets.
#[derive(Debug)]
struct ArmNames {
    arm: String,
    operations: Vec<String>,
    journeys: Vec<String>,
}

/// The metrics of an arm.
#[derive(Debug, Default)]
pub struct ArmMetrics {
    /// By name.
    pub operations: BTreeMap<String, PartMetrics>,
    /// By name.
    pub journeys: BTreeMap<String, PartMetrics>,
    /// Begun and not finished now.
    pub in_flight: u64,
    /// Its phase while it runs.
    pub phase: Option<Phase>,
    /// Sum of dispatch lags of operations that ended, in nanoseconds.
    pub lag_ns: u128,
    /// Sum of their response times.
    pub response_ns: u128,
}

/// The metrics of one operation or journey.
#[derive(Debug)]
pub struct PartMetrics {
    /// Due.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, ended badly, for each of [`FailureKind::ALL`].
    pub failed: Vec<u64>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    /// Which time `times` is.
    pub span: WindowSpan,
    /// Of those that ended well.
    pub times: Times,
}

impl Metrics {
    /// Before the first trial, at this time since the epoch.
    pub fn new(since: Duration, missed: Missed) -> Self {
        let (run, arms, names) = Default::default();
        Self { since, run, arms, missed, trial: None, names }
    }

    /// News that were lost on the way here.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Adds what happened.
    pub fn take(&mut self, news: &News) {
        match news {
            News::Begin(head, plan) => {
                self.run.clone_from(&head.run);
                if !self.trial.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, plan)) {
                    self.names.clear();
                }
                self.trial = Some((Arc::clone(plan), head.trial.arm));
                for arm in self.arms.values_mut() {
                    (arm.in_flight, arm.phase) = (0, None);
                }
                self.arm(head.trial.arm);
            }
            News::Beside(arm, news) => self.add(*arm, news),
            news => {
                if let Some((_, arm)) = self.trial {
                    self.add(arm, news);
                }
            }
        }
    }

    fn add(&mut self, arm: usize, news: &News) {
        let Some((metrics, names)) = self.arm(arm) else { return };
        match news {
            News::Window(window) => {
                add_all(&mut metrics.operations, &names.operations, &window.operations);
                add_all(&mut metrics.journeys, &names.journeys, &window.journeys);
            }
            News::Event(event) => metrics.event(event),
            _ => {}
        }
    }

    /// The metrics of an arm of the plan, with a zero for all of its operations, and its names.
    fn arm(&mut self, index: usize) -> Option<(&mut ArmMetrics, &ArmNames)> {
        let (plan, _) = self.trial.as_ref()?;
        let arm = plan.arms.get(index)?;
        let names = match self.names.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let names = place.insert(ArmNames::of(plan, arm));
                self.arms.entry(names.arm.clone()).or_default().begin(names, arm);
                names
            }
        };
        Some((self.arms.get_mut(&names.arm)?, names))
    }
}

impl ArmNames {
    fn of(plan: &Plan, arm: &Arm) -> Self {
        let redacted = |name: &&str| plan.secrets.redact(name);
        let names = arm.names();
        let (operations, journeys) = names.split_at(arm.operations.len());
        Self {
            arm: plan.secrets.redact(&arm.name),
            operations: operations.iter().map(redacted).collect(),
            journeys: journeys.iter().map(redacted).collect(),
        }
    }
}

fn add_all(
    parts: &mut BTreeMap<String, PartMetrics>,
    names: &[String],
    windows: &[OperationWindow],
) {
    for (name, window) in names.iter().zip(windows) {
        if let Some(part) = parts.get_mut(name) {
            part.add(window);
        }
    }
}

impl ArmMetrics {
    /// A zero for each part that is new.
    fn begin(&mut self, names: &ArmNames, arm: &Arm) {
        let span = match arm.load.model {
            Model::Open { .. } => WindowSpan::ResponseTime,
            Model::Closed | Model::Users { .. } => WindowSpan::ServiceTime,
        };
        for (parts, names) in
            [(&mut self.operations, &names.operations), (&mut self.journeys, &names.journeys)]
        {
            for name in names {
                parts.entry(name.clone()).or_insert_with(|| PartMetrics::new(span));
            }
        }
    }

    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::PhaseEntered { phase } => self.phase = Some(*phase),
            EventKind::Progress(progress) => {
                self.in_flight = progress.in_flight;
                self.lag_ns += u128::from(progress.lateness.lag_ns);
                self.response_ns += u128::from(progress.lateness.time_ns);
            }
            EventKind::TrialFinished { .. } | EventKind::NotExecuted { .. } => {
                (self.in_flight, self.phase) = (0, None);
            }
            _ => {}
        }
    }
}

impl PartMetrics {
    fn new(span: WindowSpan) -> Self {
        let failed = vec![0; FailureKind::ALL.len()];
        Self { planned: 0, succeeded: 0, failed, missed: 0, span, times: Times::default() }
    }

    fn add(&mut self, window: &OperationWindow) {
        self.planned += window.planned;
        self.succeeded += window.succeeded;
        for (kind, count) in &window.failed {
            self.failed[kind.index()] += count;
        }
        self.missed += window.missed;
        if let Some(times) = window.histogram(self.span) {
            self.times.add(times);
        }
    }
}
