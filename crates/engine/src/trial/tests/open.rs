//! Open load: intended starts, pool, cap, drain.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use plan::load::{ArrivalProcess, Model, Reuse, Spacing, Stage, Stop, WarmUp};
use record::FailureKind;
use record::event::{EventKind, Phase};

use super::echo::{answer_after, never_answer, take_leave};
use super::{MS, SECOND, TestTrial, enough};

/// The case of HdrHistogram's README: 1 ms for 100 s, then frozen for 100 s.
#[test]
fn a_freeze_of_100_s_shows_in_full() {
    let mut test_trial = TestTrial::constant(100.0, 200);
    test_trial.load.timeout = Duration::from_secs(200);
    test_trial.load.connections = 20_000;
    answer_after(&test_trial.network, &test_trial.clock, |now| {
        if now < 100 * SECOND { MS } else { 200 * SECOND - now }
    });
    let tried = test_trial.run();
    let total = tried.trial.totals.total();
    assert_eq!(tried.accounting().succeeded, 20_000);
    for (q, expect) in [(0.5, 1), (0.75, 50_000), (0.9, 80_000), (0.99, 98_000)] {
        let observed = total.response_time.quantile(q).unwrap() as f64;
        let expect = (expect * MS) as f64;
        assert!((observed / expect - 1.0).abs() <= 1.0 / 1024.0, "q{q}: {observed} ns");
    }
    // 10,000 times 1 ms; 10 ms, 20 ms … 100 s once each.
    assert_eq!(total.response_time.sum(), 20_000 * 25_003 * u128::from(MS));
}

#[test]
fn waiting_for_the_only_connection_is_queue_wait() {
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.stop = Stop::Duration { after: Duration::from_millis(200) };
    test_trial.load.connections = 1;
    answer_after(&test_trial.network, &test_trial.clock, |_| 15 * MS);
    let tried = test_trial.run();
    let total = tried.trial.totals.total();
    // The k-th waits 5 ms longer than the one before.
    assert_eq!(total.queue_wait.sum(), 5 * 190 * u128::from(MS));
    assert_eq!(total.response_time.sum(), (15 * 20 + 5 * 190) * u128::from(MS));
    assert_eq!((total.service_time.min(), total.service_time.max()), (15 * MS, 15 * MS));
    let pool = tried.trial.pool;
    assert_eq!((pool.waited, pool.connections_max, pool.connections_opened), (19, 1, 1));
    assert_eq!((pool.saturated_ns, pool.saturated_first_ns), (200 * MS, Some(0)));
    assert!(tried.saw(|kind| matches!(kind, EventKind::LimitReached { limit, value: 1 }
        if limit == "connections")));
    assert_eq!(tried.trial.phases.drain_ns, 100 * MS);
}

/// An operation is due every 10 ms, is answered after 2 ms, and its farewell takes 12 ms more; the next operation
/// comes during the farewell. The rest of the farewell is no wait for a connection, and precedes the start.
#[test]
fn what_comes_while_the_one_before_takes_leave_did_not_wait_before_it_came() {
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.stop = Stop::Duration { after: Duration::from_millis(100) };
    test_trial.load.connections = 1;
    take_leave(&test_trial.network, &test_trial.clock, (2 * MS, 12 * MS));
    let tried = test_trial.run();
    let total = tried.trial.totals.total();
    assert_eq!(tried.accounting().succeeded, 10);
    assert_eq!((total.service_time.min(), total.service_time.max()), (2 * MS, 2 * MS));
    // The k-th is due at 10 k ms and starts when the previous farewell ends, 14 ms after the previous start.
    assert_eq!(total.response_time.sum(), (0..10).map(|k| u128::from(2 * MS + k * 4 * MS)).sum());
}

/// Ten connections without any answer: each operation times out after a second, and the connection takes the next
/// waiting one. The limit is 1.2 · 100/s · 1 s in flight; the rest is missed.
#[test]
fn beyond_the_cap_operations_are_missed_and_none_is_lost() {
    let mut test_trial = TestTrial::constant(100.0, 10);
    test_trial.load.timeout = Duration::from_secs(1);
    test_trial.load.connections = 10;
    never_answer(&test_trial.network);
    let tried = test_trial.run();
    let accounting = tried.accounting();
    // Connections become free at 1.00 s, 1.01 s … 9.09 s while arrivals still come: 90 times.
    assert_eq!(accounting.planned, 1_000);
    assert_eq!(accounting.started, 120 + 90);
    assert_eq!(accounting.missed, 790);
    // Ten a second end as time-outs until 11 s, the drain deadline.
    assert_eq!((accounting.failed, accounting.abandoned), (100, 110));
    assert_eq!(tried.failures(FailureKind::Timeout), 100);
    assert_eq!(tried.trial.in_flight.max, 120);
    assert!(tried.saw(|kind| matches!(kind, EventKind::LimitReached { limit, value: 120 }
        if limit == "in_flight_cap")));
    assert_eq!(tried.trial.phases.drain_ns, SECOND);
    let windows: u64 = tried.windows.iter().map(|window| window.counts().planned).sum();
    assert_eq!(windows, 1_000, "every planned operation is in a window");
}

#[test]
fn what_waits_at_the_drain_deadline_is_abandoned() {
    let mut test_trial = TestTrial::constant(10.0, 1);
    test_trial.load.stop = Stop::Duration { after: Duration::from_millis(1_500) };
    test_trial.load.timeout = Duration::from_secs(1);
    test_trial.load.connections = 1;
    never_answer(&test_trial.network);
    let accounting = test_trial.run().accounting();
    // One times out at 1 s, one at 2 s; at 2.5 s the third is in flight, and ten wait. Twelve may be in flight, so two
    // were missed.
    assert_eq!((accounting.failed, accounting.abandoned, accounting.missed), (2, 11, 2));
}

#[test]
fn a_time_out_counts_from_the_start_of_the_operation() {
    let mut test_trial = TestTrial::constant(10.0, 1);
    test_trial.load.timeout = Duration::from_millis(70);
    // The third answer is too late by a nanosecond, the fourth just in time.
    answer_after(&test_trial.network, &test_trial.clock, |now| match now / (100 * MS) {
        2 => 70 * MS + 1,
        3 => 70 * MS - 1,
        _ => MS,
    });
    let tried = test_trial.run();
    assert_eq!((tried.accounting().succeeded, tried.failures(FailureKind::Timeout)), (9, 1));
    assert_eq!(tried.trial.pool.connections_opened, 2, "the stream is not used again");
    assert_eq!(tried.trial.totals.total().response_time.max(), 70 * MS - 1);
}

#[test]
fn a_connection_for_each_operation() {
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.reuse = Reuse::NewPerOperation;
    answer_after(&test_trial.network, &test_trial.clock, |_| MS);
    let tried = test_trial.run();
    assert_eq!(tried.accounting().succeeded, 100);
    assert_eq!((tried.trial.pool.connections_opened, tried.trial.pool.connections_lost), (100, 0));
}

#[test]
fn the_connection_used_last_is_used_next() {
    let test_trial = TestTrial::constant(100.0, 1);
    answer_after(&test_trial.network, &test_trial.clock, |now| if now == 0 { 15 * MS } else { MS });
    assert_eq!(test_trial.run().trial.pool.connections_opened, 2);
}

#[test]
fn a_count_ends_where_the_next_one_would_begin() {
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.stop = Stop::Operations { count: 250 };
    answer_after(&test_trial.network, &test_trial.clock, |_| MS);
    let tried = test_trial.run();
    assert_eq!(tried.accounting().succeeded, 250);
    assert_eq!(tried.trial.phases.measure_ns, 2_500 * MS);
    assert_eq!(tried.windows.len(), 25);
}

#[test]
fn a_ramp_holds_its_area() {
    let stages = vec![Stage { to: 100.0, over: Duration::from_secs(10) }];
    let arrivals = ArrivalProcess::Stages { from: 0.0, stages, spacing: Spacing::Constant };
    let test_trial = TestTrial::new(Model::Open { arrivals }, Duration::from_secs(10));
    answer_after(&test_trial.network, &test_trial.clock, |_| MS);
    assert_eq!(test_trial.run().accounting().planned, 500);
}

#[test]
fn the_warm_up_runs_and_is_not_counted() {
    let mut test_trial = TestTrial::constant(100.0, 2);
    test_trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(1) };
    let served = Rc::new(Cell::new(0));
    let seen = Rc::clone(&served);
    answer_after(&test_trial.network, &test_trial.clock, move |_| {
        seen.set(seen.get() + 1);
        MS
    });
    let tried = test_trial.run();
    assert_eq!((served.get(), tried.accounting().planned), (300, 200));
    let phases: Vec<_> = tried
        .events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::PhaseEntered { phase } => Some((phase, event.at_ns)),
            _ => None,
        })
        .collect();
    let second = SECOND.cast_signed();
    assert_eq!(phases, [(Phase::WarmUp, -second), (Phase::Measure, 0), (Phase::Drain, 2 * second)]);
}

#[test]
fn in_flight_is_integrated_over_the_measure_phase() {
    let test_trial = TestTrial::constant(100.0, 1);
    answer_after(&test_trial.network, &test_trial.clock, |_| 25 * MS);
    let in_flight = test_trial.run().trial.in_flight;
    // Little's law, minus the remaining wait of the last two at the end of the phase.
    assert_eq!(in_flight.max, 3);
    assert!((in_flight.mean - (2.5 - 0.02)).abs() < 1e-9, "{}", in_flight.mean);
}

#[test]
fn a_wish_to_stop_ends_planning_and_what_is_in_flight_finishes() {
    let mut test_trial = TestTrial::constant(100.0, 10);
    test_trial.load.timeout = Duration::from_secs(5);
    let (stop, served) = (test_trial.stop.clone(), Cell::new(0));
    answer_after(&test_trial.network, &test_trial.clock, move |_| {
        served.set(served.get() + 1);
        if served.get() == 50 {
            stop.request();
        }
        15 * MS
    });
    let tried = test_trial.run();
    let accounting = tried.accounting();
    assert!(tried.trial.interrupted);
    assert_eq!((accounting.planned, accounting.succeeded, accounting.missed), (50, 50, 0));
    assert_eq!(tried.trial.phases.measure_ns, 490 * MS + 1);
    assert!(tried.saw(|kind| *kind == EventKind::Interrupted));
}

#[test]
fn a_measure_phase_that_is_ended_early_is_whole_and_not_interrupted() {
    for workers in [1, 3] {
        let mut test_trial = TestTrial::constant(100.0, 60);
        test_trial.enough_after = Some(3);
        test_trial.workers = workers;
        answer_after(&test_trial.network, &test_trial.clock, |_| 15 * MS);
        let tried = test_trial.run();
        let (accounting, phases) = (tried.accounting(), tried.trial.phases);
        // The window closes at 4 s, and the supervisor checks once a second.
        let seconds = phases.measure_ns as f64 / 1e9;
        assert!((4.0..=6.1).contains(&seconds), "{seconds} s");
        assert_eq!(accounting.planned, accounting.succeeded, "what was in flight finished");
        assert!((accounting.planned as f64 - 100.0 * seconds).abs() <= 1.0, "{accounting:?}");
        assert!(!tried.trial.interrupted);
        assert_eq!(tried.trial.early_end, Some(enough()));
        let told = |kind: &EventKind| *kind == EventKind::EndedEarly(enough());
        assert_eq!(tried.events.iter().filter(|event| told(&event.kind)).count(), 1);
        assert!(!tried.saw(|kind| *kind == EventKind::Interrupted));
    }
}

#[test]
fn what_becomes_known_in_the_drain_ends_nothing_early() {
    let mut test_trial = TestTrial::constant(100.0, 5);
    // The last window closes with its slowest operation, two seconds into the drain.
    test_trial.enough_after = Some(49);
    answer_after(&test_trial.network, &test_trial.clock, |_| 2 * SECOND);
    let tried = test_trial.run();
    assert!(test_trial.end.is_requested(), "it was wished, too late");
    assert_eq!(tried.trial.phases.measure_ns, 5 * SECOND);
    assert_eq!(tried.trial.early_end, None);
    assert!(!tried.saw(|kind| matches!(kind, EventKind::EndedEarly(_))));
}

#[test]
fn a_wish_to_stop_wins_over_an_early_end() {
    let mut test_trial = TestTrial::constant(100.0, 60);
    test_trial.enough_after = Some(3);
    test_trial.stop.request();
    answer_after(&test_trial.network, &test_trial.clock, |_| 15 * MS);
    assert!(test_trial.run().trial.interrupted);
}

#[test]
fn a_second_wish_gives_up_what_is_in_flight() {
    let test_trial = TestTrial::constant(100.0, 10);
    let (stop, served) = (test_trial.stop.clone(), Cell::new(0));
    answer_after(&test_trial.network, &test_trial.clock, move |_| {
        served.set(served.get() + 1);
        if served.get() == 50 {
            stop.request();
            stop.request();
        }
        15 * SECOND
    });
    let tried = test_trial.run();
    let accounting = tried.accounting();
    assert_eq!((accounting.planned, accounting.abandoned), (50, 50));
    assert_eq!(tried.trial.phases.drain_ns, 0);
}
