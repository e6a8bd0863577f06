//! What is known of a share whose agent was lost: the windows that it reported.

use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::planned_counts;
use record::summary::{AgentFacts, InFlight, Traces};
use record::{
    FailureKind, GeneratorFacts, Layout, OperationTotals, OperationWindow, PoolFacts, Totals,
    TrialFacts, Window,
};
use stats::Bucket;

/// The sum of the windows of a share.
///
/// A coordinator has one for each agent, so it keeps what a lost agent leaves and nothing else: for each operation its
/// counts, and at most 64 KiB of times, those of the buckets of a window that are not empty.
#[derive(Debug)]
pub struct PartialTotals {
    /// By operation, and after those by journey.
    parts: Vec<Part>,
    /// Windows so far, to the last.
    pub windows: u64,
}

/// Of one operation or journey.
#[derive(Debug, Clone, Default)]
struct Part {
    planned: u64,
    succeeded: u64,
    missed: u64,
    failed: Vec<(FailureKind, u64)>,
    /// Response times and how many there are of each, ascending.
    times: Vec<(u64, u64)>,
}

impl Part {
    fn add(&mut self, part: &OperationWindow) {
        self.planned += part.planned;
        self.succeeded += part.succeeded;
        self.missed += part.missed;
        for (kind, count) in &part.failed {
            match self.failed.iter_mut().find(|(known, _)| known == kind) {
                Some((_, failures)) => *failures += count,
                None => self.failed.push((*kind, *count)),
            }
        }
        if let Some(times) = &part.response_time {
            let middle = |bucket: Bucket| (u64::midpoint(bucket.low, bucket.high), bucket.count);
            self.times = added(&self.times, times.buckets().map(middle));
        }
    }

    fn add_to(&self, totals: &mut OperationTotals) {
        totals.planned += self.planned;
        totals.succeeded += self.succeeded;
        totals.succeeded_in_time += self.succeeded;
        totals.missed += self.missed;
        for (kind, count) in &self.failed {
            totals.failed += count;
            totals.failed_in_time += count;
            if let Some(place) = FailureKind::ALL.iter().position(|one| one == kind) {
                totals.failures[place] += count;
            }
        }
        for (time, count) in &self.times {
            totals.response_time.record_n(*time, *count);
        }
    }
}

/// The sum of two lists of counts in ascending order.
fn added(mine: &[(u64, u64)], theirs: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut sum = Vec::with_capacity(mine.len());
    let mut mine = mine.iter().copied().peekable();
    for (time, mut count) in theirs {
        while let Some(before) = mine.next_if(|(other, _)| *other < time) {
            sum.push(before);
        }
        if let Some((_, more)) = mine.next_if(|(other, _)| *other == time) {
            count += more;
        }
        sum.push((time, count));
    }
    sum.extend(mine);
    sum
}

impl PartialTotals {
    /// Of no window yet.
    pub fn new(layout: &Layout) -> Self {
        Self { parts: vec![Part::default(); layout.len()], windows: 0 }
    }

    /// Adds a window. Its times are known to the buckets of windows, which are coarser than those of totals.
    pub fn add(&mut self, window: &Window) {
        self.windows = self.windows.max(window.number.saturating_add(1));
        let all = window.operations.iter().chain(&window.journeys);
        self.parts.iter_mut().zip(all).for_each(|(sum, part)| sum.add(part));
    }

    fn totals(&self, layout: &Layout) -> Totals {
        let mut totals = Totals::new(layout);
        all_of(&mut totals).zip(&self.parts).for_each(|(totals, part)| part.add_to(totals));
        totals
    }

    /// The facts of the share, as far as they are known: operations that were planned for it and are in no window are
    /// missed. Where the plan does not say how many there are, `agent` gets a note of that. `other`: the facts of
    /// another share of the trial.
    ///
    /// Nothing is known of its generator. Its time in flight is that of its operations: there is no second account.
    pub fn into_facts(
        self,
        mut agent: AgentFacts,
        (arm, trial, layout): (&Arm, &TrialPlan, &Layout),
        other: &TrialFacts,
    ) -> TrialFacts {
        let share = PlanShare { number: agent.share, of: agent.of };
        let cut_short = other.interrupted || other.died.is_some() || other.early_end.is_some();
        let until_ns = cut_short.then_some(other.phases.measure_ns);
        let planned = planned_counts::of(arm, trial, share, until_ns);
        agent.rest_is_unknown = planned.is_none();
        let mut totals = self.totals(layout);
        for (totals, planned) in all_of(&mut totals).zip(planned.unwrap_or_default()) {
            let unknown = planned.saturating_sub(totals.planned);
            totals.planned += unknown;
            totals.missed += unknown;
        }
        // Windows have service times by the end of operations, which may be in one that was not reported.
        for totals in all_of(&mut totals) {
            totals.service_time = totals.response_time.clone();
        }
        let total = totals.total();
        let area_ns = i128::try_from(total.time_ns()).unwrap_or(i128::MAX);
        let part = |total: u32| u32::try_from(share.part(u64::from(total))).unwrap_or(total);
        let mut facts = other.clone();
        facts.load.connections = part(arm.load.connections);
        facts.load.workers = 0;
        facts.totals = totals;
        facts.area_ns = area_ns;
        let measured = facts.phases.measure_ns.max(1);
        facts.in_flight = InFlight { mean: area_ns as f64 / measured as f64, max: 0 };
        facts.pool = PoolFacts::default();
        facts.generator = GeneratorFacts::default();
        facts.kernel.clear();
        facts.first_failures.clear();
        // Which of its operations were slow is lost with it; its failures so far are listed among the events.
        let failures_total = facts.totals.total().failed;
        if let Some(traces) = &mut facts.traces {
            *traces = Traces { failures_total, ..Traces::default() };
        }
        facts.agent = Some(agent);
        facts
    }
}

/// By operation, and after those by journey.
fn all_of(totals: &mut Totals) -> impl Iterator<Item = &mut OperationTotals> {
    let journeys = totals.journeys.iter_mut().map(|journey| &mut journey.totals);
    totals.operations.iter_mut().chain(journeys)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            ..OperationWindow::default()
        };
        for number in [0, 3] {
            let operations = vec![operation.clone()];
            partial.add(&Window { number, operations, ..Window::default() });
        }
        let total = partial.totals(&layout).total();
        assert_eq!(partial.windows, 4);
        assert_eq!((total.planned, total.succeeded, total.failed, total.missed), (20, 14, 4, 2));
        assert_eq!(total.failures_of(FailureKind::Timeout), 4);
        assert_eq!(total.response_time.count(), 14);
        let p50 = total.response_time.quantile(0.5).expect("times") as f64;
        assert!((p50 / 1e6 - 1.0).abs() < 0.01, "{p50}");
    }

    #[test]
    fn counts_of_two_lists_add_by_time() {
        let mine = [(1, 10), (5, 1), (9, 2)];
        let sum = |theirs: &[(u64, u64)]| added(&mine, theirs.iter().copied());
        assert_eq!(sum(&[]), mine);
        assert_eq!(
            sum(&[(0, 1), (5, 6), (7, 1), (12, 3)]),
            [(0, 1), (1, 10), (5, 7), (7, 1), (9, 2), (12, 3)]
        );
        assert_eq!(added(&[], mine.into_iter()), mine);
    }
}
