//! What is known of a share whose agent was lost: the windows that it reported.

use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::planned_counts;
use record::summary::InFlight;
use record::{
    GeneratorFacts, Layout, OperationTotals, OperationWindow, PoolFacts, Totals, TrialFacts, Window,
};

/// The sum of the windows of a share.
#[derive(Debug)]
pub struct PartialTotals {
    totals: Totals,
    /// Windows so far, to the last.
    pub windows: u64,
}

impl PartialTotals {
    /// Of no window yet.
    pub fn new(layout: &Layout) -> Self {
        Self { totals: Totals::new(layout), windows: 0 }
    }

    /// Adds a window. Its times are known to the buckets of windows, which are coarser than those of totals.
    pub fn add(&mut self, window: &Window) {
        self.windows = self.windows.max(window.number.saturating_add(1));
        for (totals, part) in self.totals.operations.iter_mut().zip(&window.operations) {
            add(totals, part);
        }
        for (journey, part) in self.totals.journeys.iter_mut().zip(&window.journeys) {
            add(&mut journey.totals, part);
        }
    }

    /// The facts of the share, as far as they are known: operations that were planned for it and are in no window are
    /// missed. `other`: the facts of another share of the trial.
    ///
    /// Nothing is known of its generator. Its time in flight is that of its operations: there is no second account.
    pub fn into_facts(
        mut self,
        share: PlanShare,
        (arm, trial): (&Arm, &TrialPlan),
        other: &TrialFacts,
    ) -> TrialFacts {
        let planned = planned_counts::of(arm, trial, share).unwrap_or_default();
        let journeys = self.totals.journeys.iter_mut().map(|journey| &mut journey.totals);
        for (totals, planned) in self.totals.operations.iter_mut().chain(journeys).zip(planned) {
            let unknown = planned.saturating_sub(totals.planned);
            totals.planned += unknown;
            totals.missed += unknown;
        }
        // Windows have service times by the end of operations, which may be in one that was not reported.
        let journeys = self.totals.journeys.iter_mut().map(|journey| &mut journey.totals);
        for totals in self.totals.operations.iter_mut().chain(journeys) {
            totals.service_time = totals.response_time.clone();
        }
        let total = self.totals.total();
        let area_ns = i128::try_from(total.time_ns()).unwrap_or(i128::MAX);
        let part = |total: u32| u32::try_from(share.part(u64::from(total))).unwrap_or(total);
        let mut facts = other.clone();
        facts.load.connections = part(arm.load.connections);
        facts.load.workers = 0;
        facts.totals = self.totals;
        facts.area_ns = area_ns;
        let measured = facts.phases.measure_ns.max(1);
        facts.in_flight = InFlight { mean: area_ns as f64 / measured as f64, max: 0 };
        facts.pool = PoolFacts::default();
        facts.generator = GeneratorFacts::default();
        facts.kernel.clear();
        facts.first_failures.clear();
        facts
    }
}

fn add(totals: &mut OperationTotals, part: &OperationWindow) {
    totals.planned += part.planned;
    totals.succeeded += part.succeeded;
    totals.succeeded_in_time += part.succeeded;
    totals.missed += part.missed;
    for (kind, count) in &part.failed {
        totals.failed += count;
        totals.failed_in_time += count;
        if let Some(place) = record::FailureKind::ALL.iter().position(|one| one == kind) {
            totals.failures[place] += count;
        }
    }
    let spans = [
        (&mut totals.response_time, &part.response_time),
        (&mut totals.service_time, &part.service_time),
    ];
    for (fine, coarse) in spans {
        for bucket in coarse.iter().flat_map(|times| times.buckets()) {
            fine.record_n(u64::midpoint(bucket.low, bucket.high), bucket.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FailureKind;
    use stats::{COARSE, Histogram};

    #[test]
    fn windows_add_up_and_times_keep_their_buckets() {
        let layout = Layout { operations: vec!["ask".to_owned()], ..Layout::default() };
        let mut partial = PartialTotals::new(&layout);
        let mut times = Histogram::new(COARSE);
        times.record_n(1_000_000, 7);
        let operation = OperationWindow {
            planned: 10,
            succeeded: 7,
            failed: vec![(FailureKind::Timeout, 2)],
            missed: 1,
            response_time: Some(times),
            service_time: None,
        };
        for number in [0, 3] {
            let operations = vec![operation.clone()];
            partial.add(&Window { number, operations, ..Window::default() });
        }
        let total = partial.totals.total();
        assert_eq!(partial.windows, 4);
        assert_eq!((total.planned, total.succeeded, total.failed, total.missed), (20, 14, 4, 2));
        assert_eq!(total.failures_of(FailureKind::Timeout), 4);
        assert_eq!(total.response_time.count(), 14);
        let p50 = total.response_time.quantile(0.5).expect("times") as f64;
        assert!((p50 / 1e6 - 1.0).abs() < 0.01, "{p50}");
    }
}
