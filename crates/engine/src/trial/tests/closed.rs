//! Closed and users' load.

use std::time::Duration;

use plan::load::{Model, Stop, Think, WarmUp};

use super::echo::{answer_after, answer_in_turn};
use super::{MS, SECOND, TestTrial};

fn closed(connections: u32, length: Duration) -> TestTrial {
    let mut test_trial = TestTrial::new(Model::Closed, length);
    test_trial.load.connections = connections;
    test_trial
}

#[test]
fn throughput_is_connections_by_service_time() {
    let test_trial = closed(10, Duration::from_secs(1));
    answer_after(&test_trial.network, &test_trial.clock, |_| 5 * MS);
    let tried = test_trial.run();
    let accounting = tried.accounting();
    assert_eq!((accounting.planned, accounting.succeeded), (2_000, 2_000));
    assert_eq!(tried.trial.in_flight.max, 10);
    assert!((tried.trial.in_flight.mean - 10.0).abs() < 1e-9);
    assert_eq!(tried.trial.pool.connections_opened, 10);
    assert_eq!(tried.trial.totals.dispatch_lag.max(), 0);
}

#[test]
fn one_server_in_turn_serves_one_at_a_time() {
    let test_trial = closed(4, Duration::from_secs(1));
    answer_in_turn(&test_trial.network, &test_trial.clock, || 10 * MS);
    let total = test_trial.run().trial.totals.total();
    // The first four wait 10, 20, 30 and 40 ms; all others 40 ms.
    assert_eq!(total.service_time.count(), 103);
    assert_eq!(total.service_time.sum(), (10 + 20 + 30 + 40 * 100) * u128::from(MS));
}

#[test]
fn a_count_ends_with_the_last_answer() {
    for workers in [1, 3] {
        let mut test_trial = closed(10, Duration::ZERO);
        test_trial.load.stop = Stop::Operations { count: 1_000 };
        test_trial.workers = workers;
        answer_after(&test_trial.network, &test_trial.clock, |_| 5 * MS);
        let tried = test_trial.run();
        assert_eq!(tried.accounting().succeeded, 1_000, "{workers} workers");
        let measured = tried.trial.phases.measure_ns;
        assert!((500 * MS..=560 * MS + 1).contains(&measured), "{measured} ns");
        assert_eq!(tried.trial.phases.drain_ns, 0);
    }
}

#[test]
fn a_count_of_which_all_has_begun_is_not_ended_early() {
    let mut test_trial = closed(10, Duration::ZERO);
    test_trial.load.stop = Stop::Operations { count: 25 };
    // The window closes at 4 s, when the last five operations have begun and five connections are
    // idle.
    test_trial.enough_after = Some(20);
    answer_after(&test_trial.network, &test_trial.clock, |_| 2 * SECOND);
    let tried = test_trial.run();
    assert!(test_trial.end.is_requested(), "it was wished, too late");
    assert_eq!((tried.trial.early_end.as_ref(), tried.accounting().succeeded), (None, 25));
    assert_eq!(tried.trial.phases.measure_ns, 6 * SECOND + 1);
}

#[test]
fn the_warm_up_of_a_closed_loop_is_not_counted() {
    let mut test_trial = closed(10, Duration::from_secs(1));
    test_trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(2) };
    answer_after(&test_trial.network, &test_trial.clock, |_| 5 * MS);
    let tried = test_trial.run();
    assert_eq!(tried.accounting().succeeded, 2_000);
    assert!((tried.trial.in_flight.mean - 10.0).abs() < 1e-9);
}

#[test]
fn a_closed_loop_on_a_frozen_target_ends_at_the_drain_deadline() {
    let mut test_trial = closed(10, Duration::from_secs(1));
    test_trial.load.timeout = Duration::from_secs(3);
    answer_after(&test_trial.network, &test_trial.clock, |now| {
        if now < SECOND / 2 { 5 * MS } else { 60 * SECOND }
    });
    let tried = test_trial.run();
    let accounting = tried.accounting();
    assert_eq!((accounting.succeeded, accounting.failed, accounting.abandoned), (1_000, 10, 0));
    assert_eq!(tried.trial.phases.drain_ns, 2_500 * MS);
}

#[test]
fn the_throughput_of_users_is_their_think_time() {
    let think = Think::Uniform { low: Duration::from_secs(1), high: Duration::from_secs(3) };
    let model = Model::Users { users: 50, spawn_rate: 10.0, think, ramp: None };
    let mut counts = Vec::new();
    for workers in [1, 4] {
        let mut test_trial = TestTrial::new(model.clone(), Duration::from_secs(200));
        test_trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(10) };
        test_trial.workers = workers;
        answer_after(&test_trial.network, &test_trial.clock, |_| 10 * MS);
        let tried = test_trial.run();
        assert_eq!(tried.trial.phases.ramp_up_ns, 5 * SECOND);
        let started = tried.accounting().started;
        // N/(Z + R), with R = 10 ms.
        let expect = 50.0 / 2.01 * 200.0;
        assert!((started as f64 / expect - 1.0).abs() < 0.015, "{started} of {expect}");
        counts.push(started);
    }
    assert_eq!(counts[0], counts[1], "users do not depend on the number of workers");
}

#[test]
fn users_come_one_after_the_other() {
    let think = Think::Fixed { pause: Duration::from_secs(100) };
    let model = Model::Users { users: 4, spawn_rate: 2.0, think, ramp: None };
    let test_trial = TestTrial::new(model, Duration::from_secs(10));
    let clock = test_trial.clock.clone();
    answer_after(&test_trial.network, &test_trial.clock, |_| 600 * MS);
    let tried = test_trial.run();
    // Operations start at 0, 0.5, 1 and 1.5 s, and the measure phase begins at 2 s: only the last
    // was in flight.
    assert_eq!(tried.accounting().planned, 0);
    assert!((tried.trial.in_flight.mean - 0.01).abs() < 1e-9, "{:?}", tried.trial.in_flight);
    assert_eq!(crate::clock::Clock::now(&clock), 12 * SECOND);
}
