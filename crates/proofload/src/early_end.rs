//! Ends a measure phase early: because a criterion can no longer be met (`--fail-fast`), because the intervals are
//! narrow enough (`--adaptive`), or because every operation fails in the same way.
//!
//! `judge` makes the decision from closed windows and operation outcomes; this module passes it to the engine as a
//! signal.

use engine::EndSignal;
use engine::trial::TrialOutput;
use judge::criteria::fail_fast::FailFast;
use judge::criteria::precision::Precision;
use judge::findings::all_failed;
use plan::adaptive::{Adaptive, CONFIDENCE};
use plan::criterion::Criterion;
use plan::plan::{Plan, TrialPlan};
use record::event::{Event, EventKind};
use record::{AllFailed, EndReason, MixNames, Window};

/// Visits the windows of a stored trial with these names.
pub type Stored<'a> = dyn Fn(&MixNames, &mut dyn FnMut(&Window)) + 'a;

/// The rules that may end measure phases of a run early.
pub struct EarlyEndRules<'p> {
    plan: &'p Plan,
    /// Kept across trials: a criterion is judged on all trials of an arm.
    fail_fast: Option<FailFast>,
}

/// The rules for one trial, or for both trials of a duet, which end together.
pub struct TrialWatch<'w> {
    fail_fast: Option<&'w mut FailFast>,
    plan: &'w Plan,
    /// Arm of each trial, by place.
    arms: Vec<usize>,
    /// Whether the run stops if every operation of a trial fails in the same way.
    stops_at_failures: bool,
    /// By place; empty without `--adaptive`.
    looks: Vec<AdaptiveLooks>,
    end: EndSignal,
    /// Place of the trial that made the run give up.
    lost_with: Option<usize>,
}

/// The looks at an adaptive measure phase.
struct AdaptiveLooks {
    precision: Precision,
    /// Numbers of the windows after which a look is due; the last look is the planned end.
    after: Vec<u64>,
    /// The last look with narrow enough intervals, and the reason.
    found: Option<(u64, String)>,
}

impl<'p> EarlyEndRules<'p> {
    /// The rules of the plan, before the first trial.
    pub fn new(plan: &'p Plan) -> Self {
        let fail_fast = plan.fail_fast.then(|| FailFast::new(plan));
        Self { plan, fail_fast }
    }

    /// Adds a trial that an earlier invocation executed; `windows` visits its stored windows, given the names of its
    /// operations.
    pub fn recall(&mut self, trial: &TrialPlan, windows: &Stored<'_>) {
        let Some(fail_fast) = &mut self.fail_fast else { return };
        fail_fast.begin(std::slice::from_ref(trial), 0);
        let arm = &self.plan.arms[trial.arm];
        let names = MixNames {
            operations: arm.operations.iter().map(|one| one.name.clone()).collect(),
            journeys: arm.journeys.iter().map(|one| one.name.clone()).collect(),
        };
        windows(&names, &mut |window| fail_fast.recall(window));
    }

    /// Watches trials that begin at the same time and have windows of this length; `end` ends their measure phase.
    pub fn watch(
        &mut self,
        trials: &[TrialPlan],
        window_ns: u64,
        end: &EndSignal,
    ) -> TrialWatch<'_> {
        if let Some(fail_fast) = &mut self.fail_fast {
            fail_fast.begin(trials, window_ns);
        }
        let arms: Vec<usize> = trials.iter().map(|trial| trial.arm).collect();
        let looks = |arm: &usize| {
            Some(AdaptiveLooks {
                precision: Precision::new(self.plan, &self.plan.arms[*arm]),
                after: last_windows(self.plan.adaptive.as_ref()?, *arm, window_ns),
                found: None,
            })
        };
        let looks = arms.iter().filter_map(looks).collect();
        let expected = self.plan.criteria.iter().any(Criterion::asks_for_failures);
        TrialWatch {
            fail_fast: self.fail_fast.as_mut(),
            plan: self.plan,
            arms,
            stops_at_failures: !self.plan.keep_going && !expected,
            looks,
            end: end.clone(),
            lost_with: None,
        }
    }

    /// Confidence of each interval of a trial, if it is not the default.
    pub fn confidence(&self) -> Option<f64> {
        self.plan.adaptive.as_ref().map(|_| CONFIDENCE)
    }
}

/// The window that completes each look, except for the last look.
fn last_windows(adaptive: &Adaptive, arm: usize, window_ns: u64) -> Vec<u64> {
    let looks = &adaptive.looks[arm];
    let early = looks.iter().take(looks.len().saturating_sub(1));
    let ends = early.map(|look| look.as_nanos() / u128::from(window_ns.max(1)));
    ends.filter_map(|end| u64::try_from(end).ok()?.checked_sub(1)).collect()
}

impl TrialWatch<'_> {
    /// Handles output of the trial at this place.
    pub fn see(&mut self, place: usize, output: &TrialOutput) {
        if self.end.is_requested() {
            return;
        }
        match output {
            TrialOutput::Window(window) => {
                self.give_up(place, window);
                self.look(place, window);
            }
            TrialOutput::AllFailed(seen) => self.stop_at(place, seen),
            // After a fault, failures may be expected.
            TrialOutput::Event(Event { kind: EventKind::Fault { .. }, .. }) => {
                self.stops_at_failures = false;
            }
            TrialOutput::Event(_) | TrialOutput::Open { .. } | TrialOutput::Samples(_) => {}
        }
    }

    /// Place of the trial that made the run give up, and why, if it did.
    pub fn lost(&self) -> Option<(usize, record::EarlyEnd)> {
        Some((self.lost_with?, self.end.reason()?))
    }

    fn stop_at(&mut self, place: usize, seen: &AllFailed) {
        if !self.stops_at_failures {
            return;
        }
        let Some(mut early) = all_failed::end(seen) else { return };
        if self.arms.len() > 1 {
            early.why = format!("{} of arm {}", early.why, self.plan.arms[self.arms[place]].name);
        }
        self.lost_with = Some(place);
        self.end.request(early);
    }

    fn give_up(&mut self, place: usize, window: &Window) {
        let Some(fail_fast) = &mut self.fail_fast else { return };
        let lost = fail_fast.add(self.arms[place], window);
        let Some(first) = lost.first() else { return };
        let why = first.why.clone();
        let criteria = lost.into_iter().map(|one| one.criterion).collect();
        self.lost_with = Some(place);
        let (reason, advice) = (EndReason::FailFast, None);
        self.end.request(record::EarlyEnd { reason, why, advice, criteria });
    }

    fn look(&mut self, place: usize, window: &Window) {
        let Some(looks) = self.looks.get_mut(place) else { return };
        looks.precision.add(window);
        if !looks.after.contains(&window.number) {
            return;
        }
        looks.found = looks.precision.found().map(|why| (window.number, why));
        let found =
            |looks: &AdaptiveLooks| looks.found.clone().filter(|(at, _)| *at == window.number);
        let found: Option<Vec<_>> = self.looks.iter().map(found).collect();
        if let Some(whys) = found {
            let whys: Vec<String> = whys.into_iter().map(|(_, why)| why).collect();
            let (why, criteria) = (whys.join("; "), Vec::new());
            let (reason, advice) = (EndReason::Precise, None);
            self.end.request(record::EarlyEnd { reason, why, advice, criteria });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plan::load::{ArrivalProcess, Load, Model, Reuse, SteadyState, Stop, WarmUp};
    use plan::operation::Operation;
    use plan::plan::Arm;
    use record::{FailureKind, Failures, OperationWindow, Status};
    use stats::{COARSE, Histogram};

    use super::*;

    /// Looks after one, two, three and twenty seconds; windows of 100 ms.
    fn plan() -> Plan {
        let seconds = [1, 2, 3, 20].map(Duration::from_secs);
        let load = Load {
            model: Model::Open { arrivals: ArrivalProcess::Constant { rate: 1_000.0 } },
            stop: Stop::Duration { after: seconds[3] },
            warm_up: WarmUp::Fixed { length: Duration::ZERO },
            timeout: Duration::from_secs(30),
            connections: 10,
            streams: 1,
            reuse: Reuse::KeepAlive,
            steady_state: SteadyState::Reported,
            workers: None,
            busy_poll: false,
        };
        let arm = Arm {
            name: "all".to_owned(),
            factors: Default::default(),
            values: Default::default(),
            targets: Vec::new(),
            load,
            operations: vec![Operation::named("home")],
            services: Vec::new(),
            system: None,
            observers: Vec::new(),
            faults: Vec::new(),
            journeys: Vec::new(),
            setup: None,
            teardown: None,
        };
        let mut plan = Plan::single("looks", arm, 1);
        plan.adaptive = Some(Adaptive { looks: vec![seconds.to_vec()] });
        plan
    }

    /// A hundred operations of 1 to 2 ms.
    fn window(number: u64) -> TrialOutput {
        let mut times = Histogram::new(COARSE);
        (0..100).for_each(|step| times.record(1_000_000 + step * 10_000));
        let part = OperationWindow {
            planned: 100,
            succeeded: 100,
            response_time: Some(times),
            ..OperationWindow::default()
        };
        TrialOutput::Window(Window { number, operations: vec![part], ..Window::default() })
    }

    #[test]
    fn a_measure_phase_ends_at_a_look_and_not_between_two() {
        let plan = plan();
        let mut early_end = EarlyEndRules::new(&plan);
        assert_eq!(early_end.confidence(), Some(CONFIDENCE));
        let end = EndSignal::new();
        let mut watch = early_end.watch(&plan.trials[..1], 100_000_000, &end);
        // Ten windows are too few for a claim, twenty are enough; sixteen would be, but no look is due then.
        for number in 0..19 {
            watch.see(0, &window(number));
            assert!(!end.is_requested(), "after window {number}");
        }
        watch.see(0, &window(19));
        let early = end.reason().expect("the second look finds it known");
        assert_eq!((early.reason, early.criteria.len()), (EndReason::Precise, 0));
        assert!(early.why.starts_with("p50 is known to ±"), "{}", early.why);
    }

    #[test]
    fn a_duet_ends_when_both_of_its_arms_are_known() {
        let mut plan = plan();
        plan.arms.push(plan.arms[0].clone());
        plan.adaptive.as_mut().expect("it is").looks.extend_from_within(..);
        plan.trials.push(TrialPlan { index: 2, order: 2, arm: 1, ..plan.trials[0].clone() });
        let empty = |number| {
            TrialOutput::Window(Window {
                number,
                operations: vec![Default::default()],
                ..Window::default()
            })
        };
        for known in [true, false] {
            let mut early_end = EarlyEndRules::new(&plan);
            let end = EndSignal::new();
            let mut watch = early_end.watch(&plan.trials, 100_000_000, &end);
            (0..20).for_each(|number| watch.see(0, &window(number)));
            assert!(!end.is_requested(), "the other has not come to that look");
            for number in 0..20 {
                watch.see(1, &if known { window(number) } else { empty(number) });
            }
            assert_eq!(end.is_requested(), known);
        }
    }

    #[test]
    fn a_plan_of_fixed_length_is_not_looked_at() {
        let plan = Plan { adaptive: None, ..plan() };
        let mut early_end = EarlyEndRules::new(&plan);
        assert_eq!(early_end.confidence(), None);
        let end = EndSignal::new();
        let mut watch = early_end.watch(&plan.trials[..1], 100_000_000, &end);
        (0..100).for_each(|number| watch.see(0, &window(number)));
        assert!(!end.is_requested());
    }

    /// Twenty operations that were refused within one second.
    fn all_refused() -> TrialOutput {
        let detail = "connecting: connection refused".to_owned();
        let failures =
            Failures { count: 20, kind: FailureKind::Refused, status: Status::None, detail };
        TrialOutput::AllFailed(AllFailed { failures, elapsed_ns: 1_000_000_000, pending: 0 })
    }

    fn ends_with(plan: &Plan, outputs: &[TrialOutput]) -> Option<EndReason> {
        let mut early_end = EarlyEndRules::new(plan);
        let end = EndSignal::new();
        let mut watch = early_end.watch(&plan.trials[..1], 100_000_000, &end);
        outputs.iter().for_each(|output| watch.see(0, output));
        assert_eq!(watch.lost().is_some(), end.is_requested());
        end.reason().map(|early| early.reason)
    }

    #[test]
    fn a_run_in_which_nothing_works_ends_unless_it_is_to_keep_going() {
        let plan = Plan { adaptive: None, ..plan() };
        assert_eq!(ends_with(&plan, &[all_refused()]), Some(EndReason::AllFailed));
        let stubborn = Plan { keep_going: true, ..plan };
        assert_eq!(ends_with(&stubborn, &[all_refused()]), None);
    }

    #[test]
    fn failures_that_the_plan_brings_about_or_asks_for_end_nothing() {
        let plan = Plan { adaptive: None, ..plan() };
        let (name, action) = ("store".to_owned(), "kill".to_owned());
        let kind = EventKind::Fault { name, action, failed: None };
        let fault = TrialOutput::Event(Event { at_ns: 0, kind });
        assert_eq!(ends_with(&plan, &[fault, all_refused()]), None);
        let text = "title = \"shed\"\ncriteria = [\"failed > 0\"]\n[target]\n\
                    url = \"http://127.0.0.1:1\"\n[load]\nrate = \"10/s\"\nduration = \"1s\"\n\
                    [[operation]]\nhttp = { path = \"/\" }\n";
        let asked = crate::loading::load_text("shed", text).expect("it is whole").experiment.plan;
        assert_eq!(ends_with(&asked, &[all_refused()]), None);
    }
}
