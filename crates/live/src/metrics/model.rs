//! What the news of a run add up to. Only windows that are complete count, so that no counter ever goes back: it lags by
//! as long as an operation of its window may still be answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plan::load::Model;
use plan::plan::Plan;
use record::event::{Event, EventKind, Phase};
use record::{FailureKind, OperationWindow, Window, WindowSpan};

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
        Self { since, run: String::new(), arms: BTreeMap::new(), missed, trial: None }
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
        match news {
            News::Window(window) => self.window(arm, window),
            News::Event(event) => {
                if let Some(arm) = self.arm(arm) {
                    arm.event(event);
                }
            }
            _ => {}
        }
    }

    /// The metrics of an arm of the plan, with a zero for all of its operations.
    fn arm(&mut self, index: usize) -> Option<&mut ArmMetrics> {
        let (plan, _) = self.trial.as_ref()?;
        let arm = plan.arms.get(index)?;
        let metrics = self.arms.entry(plan.secrets.redact(&arm.name)).or_default();
        let span = match arm.load.model {
            Model::Open { .. } => WindowSpan::ResponseTime,
            Model::Closed | Model::Users { .. } => WindowSpan::ServiceTime,
        };
        for (place, name) in arm.names().into_iter().enumerate() {
            let parts = match place < arm.operations.len() {
                true => &mut metrics.operations,
                false => &mut metrics.journeys,
            };
            parts.entry(plan.secrets.redact(name)).or_insert_with(|| PartMetrics::new(span));
        }
        Some(metrics)
    }

    fn window(&mut self, arm: usize, window: &Window) {
        let Some((plan, _)) = self.trial.clone() else { return };
        let Some(metrics) = self.arm(arm) else { return };
        let names = plan.arms[arm].names();
        let (operations, journeys) = names.split_at(plan.arms[arm].operations.len());
        let own = operations.iter().zip(&window.operations);
        add_all(&mut metrics.operations, &plan, own);
        add_all(&mut metrics.journeys, &plan, journeys.iter().zip(&window.journeys));
    }
}

fn add_all<'a>(
    parts: &mut BTreeMap<String, PartMetrics>,
    plan: &Plan,
    windows: impl Iterator<Item = (&'a &'a str, &'a OperationWindow)>,
) {
    for (name, window) in windows {
        if let Some(part) = parts.get_mut(&plan.secrets.redact(name)) {
            part.add(window);
        }
    }
}

impl ArmMetrics {
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
