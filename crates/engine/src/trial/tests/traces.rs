//! Operations that are listed one by one: the slowest hundred that carry a trace id, and those that failed.

use std::collections::BTreeSet;
use std::time::Duration;

use plan::journey::Step;
use plan::load::{Model, Stop};
use plan::plan_share::PlanShare;
use record::event::EventKind;
use record::summary::{ListedOperation, Traces};
use tokio::io::AsyncReadExt;

use super::echo::{answer_after, answer_after_as};
use super::journeys::at_rate;
use super::{MS, TestResult, TestTrial};

/// 2,000 operations, 10 ms apart; the k-th takes (7 k mod 2,000) µs + 1 ms.
fn spread(workers: usize) -> TestTrial {
    let mut trial = TestTrial::constant(100.0, 20);
    trial.workers = workers;
    trial.trace_share = Some(1.0);
    trial.operations[0].is_traced = true;
    answer_after(&trial.network, &trial.clock, |now| MS + now / (10 * MS) * 7 % 2_000 * 1_000);
    trial
}

fn traces(result: &TestResult) -> &Traces {
    result.trial.traces.as_ref().expect("it was traced")
}

/// Without what no two runs have in common.
fn anonymous(listed: &[ListedOperation]) -> Vec<ListedOperation> {
    listed.iter().map(|one| ListedOperation { trace_id: None, ..one.clone() }).collect()
}

/// A server that ends each connection after the first byte.
fn hang_up(trial: &TestTrial) {
    trial.network.serve("target", |mut stream| async move {
        let _ = stream.read_u8().await;
    });
}

/// So many operations, all of which fail.
fn failing(count: u64, share: f64) -> TestTrial {
    let mut trial = TestTrial::constant(1_000.0, 1);
    trial.load.stop = Stop::Operations { count };
    trial.trace_share = Some(share);
    trial.operations[0].is_traced = true;
    hang_up(&trial);
    trial
}

fn listed(result: &TestResult) -> Vec<&[ListedOperation]> {
    let events = result.events.iter().filter_map(|event| match &event.kind {
        EventKind::FailuresListed { failures } => Some(failures.as_slice()),
        _ => None,
    });
    events.collect()
}

#[test]
fn the_slowest_hundred_are_known_and_the_same_on_any_number_of_workers() {
    let mut times: Vec<(u64, u64)> = (0..2_000).map(|k| (k * 7 % 2_000, k)).collect();
    times.sort_by(|a, b| b.cmp(a));
    let expected: Vec<(u64, u64)> =
        times[..100].iter().map(|(step, k)| (*k, MS + step * 1_000)).collect();
    let mut one: Option<Vec<ListedOperation>> = None;
    for workers in [1, 2, 4] {
        let result = spread(workers).run();
        let slowest = &traces(&result).slowest;
        let seen: Vec<(u64, u64)> =
            slowest.iter().map(|one| (one.index, one.response_time_ns)).collect();
        assert_eq!(seen, expected, "{workers} workers");
        for operation in slowest {
            assert_eq!(operation.at_ns, (operation.index * 10 * MS).cast_signed());
            assert_eq!((operation.outcome.as_str(), &*operation.operation), ("succeeded", "echo"));
            assert_eq!(operation.service_time_ns, operation.response_time_ns);
        }
        let ids: BTreeSet<_> = slowest.iter().map(|one| one.trace_id.expect("an id")).collect();
        assert_eq!(ids.len(), 100);
        assert_eq!((traces(&result).failures_total, listed(&result).len()), (0, 0));
        let same = one.get_or_insert_with(|| anonymous(slowest));
        assert_eq!(&anonymous(slowest), same, "{workers} workers");
    }
}

/// One connection, and an operation each 10 ms that takes 15 ms: the last wait longest, though all take the same.
#[test]
fn an_open_load_ranks_by_response_time_and_a_closed_one_by_service_time() {
    let trial_of = |mut trial: TestTrial| {
        trial.load.connections = 1;
        trial.trace_share = Some(1.0);
        trial.operations[0].is_traced = true;
        answer_after(&trial.network, &trial.clock, |_| 15 * MS);
        trial.run()
    };
    let open = trial_of(TestTrial::constant(100.0, 2));
    let first = &traces(&open).slowest[0];
    assert_eq!((first.index, first.queue_wait_ns), (199, 199 * 5 * MS));
    assert_eq!(first.response_time_ns, first.queue_wait_ns + first.service_time_ns);
    let closed = trial_of(TestTrial::new(Model::Closed, Duration::from_secs(3)));
    let indices: Vec<u64> = traces(&closed).slowest.iter().map(|one| one.index).collect();
    assert_eq!(indices, (0..100).collect::<Vec<_>>(), "of equal times the first");
}

#[test]
fn two_runs_of_one_plan_have_no_trace_id_in_common() {
    let ids = |result: &TestResult| -> BTreeSet<_> {
        traces(result).slowest.iter().filter_map(|one| one.trace_id).collect()
    };
    let (first, second) = (spread(2).run(), spread(2).run());
    assert_eq!(anonymous(&traces(&first).slowest), anonymous(&traces(&second).slowest));
    assert!(ids(&first).is_disjoint(&ids(&second)));
}

#[test]
fn without_tracing_nothing_is_listed() {
    let mut trial = spread(1);
    trial.trace_share = None;
    assert_eq!(trial.run().trial.traces, None);
    let mut trial = failing(100, 1.0);
    trial.operations[0].is_traced = false;
    let result = trial.run();
    assert_eq!((result.trial.traces.as_ref(), listed(&result).len()), (None, 0));
}

#[test]
fn at_most_ten_thousand_failures_are_listed_and_the_rest_is_counted() {
    for workers in [1, 3] {
        let mut trial = failing(12_345, 1.0);
        trial.workers = workers;
        let result = trial.run();
        let traces = traces(&result);
        assert_eq!((traces.failures_total, traces.failures_unlisted), (12_345, 2_345));
        let listed = listed(&result);
        assert!(listed.iter().all(|some| (1..=200).contains(&some.len())));
        let all: BTreeSet<_> =
            listed.iter().flat_map(|some| some.iter()).map(|one| one.index).collect();
        assert_eq!(all.len(), 10_000);
        let shown: Vec<u64> = traces.failures.iter().map(|one| one.index).collect();
        assert_eq!(shown, (0..100).collect::<Vec<_>>());
        assert!(
            traces.failures.iter().all(|one| one.outcome == "closed" && one.trace_id.is_some())
        );
    }
}

/// A binomial count is within five of its standard deviations but once in a million runs. Failures without an id are
/// listed, too; operations without one are not among the slowest.
#[test]
fn a_share_of_the_operations_carries_an_id() {
    let result = failing(8_000, 0.25).run();
    let failures: Vec<&ListedOperation> = listed(&result).into_iter().flatten().collect();
    assert_eq!(failures.len(), 8_000);
    let traced = failures.iter().filter(|one| one.trace_id.is_some()).count() as f64;
    assert!((traced - 2_000.0).abs() < 5.0 * (8_000_f64 * 0.25 * 0.75).sqrt(), "{traced}");
    assert!(traces(&result).slowest.iter().all(|one| one.trace_id.is_some()));
}

#[test]
fn shares_of_a_plan_have_together_the_slowest_of_the_whole() {
    let whole = spread(1).run();
    let of = 3;
    let mut shares = (1..=of).map(|number| {
        let mut trial = spread(1);
        trial.share = PlanShare { number, of };
        trial.run().trial
    });
    let mut joined = shares.next().expect("a share").begin_join("1");
    for (place, share) in shares.enumerate() {
        joined.join(share, &(place + 2).to_string());
    }
    let joined = joined.traces.expect("it was traced");
    assert_eq!(anonymous(&joined.slowest), anonymous(&traces(&whole).slowest));
}

#[test]
fn a_share_lists_its_part_of_the_failures() {
    let mut trial = failing(12_000, 1.0);
    trial.share = PlanShare { number: 2, of: 4 };
    let result = trial.run();
    let traces = traces(&result);
    assert!(traces.failures_total > 2_500);
    assert_eq!(traces.failures_unlisted, traces.failures_total - 2_500);
}

#[test]
fn steps_are_listed_with_their_journeys_and_each_has_an_id_of_its_own() {
    let mut trial = at_rate(10.0, 2, vec![Step::once(0), Step::once(1)]);
    trial.trace_share = Some(1.0);
    trial.operations.iter_mut().for_each(|one| one.is_traced = true);
    answer_after(&trial.network, &trial.clock, |_| MS);
    answer_after_as("two", &trial.network, &trial.clock, |_| 2 * MS);
    let result = trial.run();
    let slowest = &traces(&result).slowest;
    assert_eq!(slowest.len(), 40);
    let names: Vec<_> = slowest.iter().map(|one| (&*one.operation, one.step.as_deref())).collect();
    assert_eq!(names[0], ("second", Some("visit: second")));
    assert_eq!(names[39], ("first", Some("visit: first")));
    let ids: BTreeSet<_> = slowest.iter().map(|one| one.trace_id).collect();
    assert_eq!(ids.len(), 40);
}

/// What waits for a connection at the end was never sent, so it has no id and is not listed; what is under way has one.
#[test]
fn an_abandoned_operation_is_listed_where_it_has_an_id() {
    let mut trial = TestTrial::constant(10.0, 1);
    trial.load.connections = 2;
    trial.load.timeout = Duration::from_secs(2);
    trial.trace_share = Some(1.0);
    trial.operations[0].is_traced = true;
    answer_after(&trial.network, &trial.clock, |_| 1_400 * MS);
    let result = trial.run();
    let accounting = result.accounting();
    assert_eq!((accounting.succeeded, accounting.failed, accounting.abandoned), (4, 0, 6));
    let failures = &traces(&result).failures;
    assert!(failures.iter().all(|one| one.outcome == "abandoned" && one.trace_id.is_some()));
    assert_eq!((failures.len(), traces(&result).failures_total), (2, 2));
}
