//! Journeys beyond a limit, and a worker that opens connections more slowly than they are due.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use plan::journey::{Connections, Step};
use plan::load::{Model, Think};
use plan::target::Target;
use record::event::EventKind;

use super::journeys::{answers, at_rate, think, visit, visits};
use super::{MS, SECOND, TestResult, TestTrial};
use crate::preflight::Demand;
use crate::transport::Endpoint;
use crate::transport::memory::Accept;

#[test]
fn beyond_the_connections_of_their_own_journeys_are_missed() {
    // Two connections each for 1.002 s, of which 50 are allowed.
    let mut trial =
        at_rate(100.0, 2, vec![Step::Together(vec![0, 1]), think(1_000), Step::once(0)]);
    trial.load.connections = 50;
    answers(&trial, [1, 1, 0]);
    let result = trial.run();
    let visits = &visit(&result).totals;
    // 25 in the first second, and one in the place of each in the next.
    assert_eq!((visits.planned, visits.succeeded, visits.missed), (200, 50, 150));
    assert_eq!(result.accounting().failed, 0);
    let pool = result.trial.pool;
    assert_eq!((pool.connections_max, pool.connections_opened), (50, 100));
    assert_eq!(pool.journeys_unconnected, 150);
    assert!(result.saw(|kind| matches!(kind, EventKind::LimitReached { limit, value: 50 }
        if limit == "journey_connections")));
}

#[test]
fn journeys_on_the_connections_of_the_load_wait_instead() {
    let mut trial = at_rate(100.0, 2, vec![Step::once(0), think(1_000), Step::once(0)]);
    trial.journeys[0].connections = Connections::Pool;
    trial.load.connections = 1;
    answers(&trial, [1, 0, 0]);
    let result = trial.run();
    assert_eq!(visit(&result).totals.succeeded, 200);
    assert_eq!(result.trial.pool.journeys_unconnected, 0);
}

#[test]
fn a_worker_with_less_than_a_journey_needs_performs_one_at_a_time() {
    let mut trial = at_rate(10.0, 1, vec![Step::Together(vec![0, 1, 2])]);
    trial.load.connections = 1;
    answers(&trial, [1, 1, 1]);
    let result = trial.run();
    assert_eq!(visit(&result).totals.succeeded, 10);
}

#[test]
fn what_journeys_need_of_the_machine_is_known_before() {
    let target = Target { url: "http://127.0.0.1:1".to_owned(), ..Target::default() };
    let targets = [0, 1].map(|_| Endpoint::resolve(&target).expect("an address"));
    let needs = |trial: &TestTrial| {
        let Demand { connections, descriptors, certain, new_connections, .. } =
            Demand::of(&trial.arm("memory://target".to_owned()), &targets, 1);
        (connections, descriptors, certain, new_connections)
    };
    let steps = vec![Step::Together(vec![0, 1]), think(1_000), Step::once(0)];
    let mut open = at_rate(100.0, 1, steps.clone());
    open.load.connections = 60;
    assert_eq!(needs(&open), (60, 60, 0, 100.0), "one of each to either target");
    open.journeys[0].connections = Connections::Pool;
    assert_eq!(needs(&open), (120, 120, 0, 0.0));
    let think = Think::Fixed { pause: Duration::from_secs(1) };
    let model = Model::Users { users: 50, spawn_rate: f64::INFINITY, think, ramp: None };
    let mut users = visits(model, Duration::from_secs(1), steps);
    users.load.connections = 50;
    assert_eq!(needs(&users), (100, 100, 50, 25.0), "two each, one for certain");
}

/// Time that each connection takes the worker.
const CONNECTING: u64 = 3 * MS;
const TIMEOUT: u64 = 10 * SECOND;

/// Ten thousand journeys are due in a second, and the worker works for 3 ms on each connection, which the server never
/// accepts. At the hundredth, a stop is requested so many times. Also returns how many connections were begun.
fn overwhelmed(stops: u32) -> (TestResult, u64) {
    let mut trial = at_rate(10_000.0, 1, vec![Step::once(0), Step::once(0)]);
    trial.load.connections = 1_000_000;
    trial.load.timeout = Duration::from_nanos(TIMEOUT);
    let begun = Rc::new(Cell::new(0));
    let (clock, stop, counted) = (trial.clock.clone(), trial.stop.clone(), Rc::clone(&begun));
    trial.network.listen("target", move || {
        clock.pass(CONNECTING);
        counted.set(counted.get() + 1);
        if counted.get() == 100 {
            (0..stops).for_each(|_| stop.request());
        }
        Accept::Ignore
    });
    let result = trial.run();
    let visits = &visit(&result).totals;
    assert_eq!(visits.planned, visits.failed + visits.abandoned, "none is missed or lost");
    assert_eq!(result.trial.interrupted, stops > 0);
    (result, begun.get())
}

#[test]
fn a_worker_that_cannot_open_its_connections_ends_within_the_drain() {
    for stops in [0, 1] {
        let (result, begun) = overwhelmed(stops);
        // It notices after 2.8 s that all of them are due, and that a stop was requested.
        assert_eq!(visit(&result).totals.planned, 10_000);
        let drain = result.trial.phases.drain_ns;
        assert!(drain <= TIMEOUT + SECOND + CONNECTING, "{drain} ns, {stops} stops");
        // All of them would take 30 s.
        assert!(begun <= (SECOND + TIMEOUT) / CONNECTING + 1, "{begun}");
    }
}

#[test]
fn a_second_stop_ends_a_worker_that_opens_connections() {
    let (result, begun) = overwhelmed(2);
    // Those that were due when the first of them were open: 1, 30 after 3 ms, and 900 after 90 ms more.
    assert!((100..1_000).contains(&begun), "{begun}");
    assert!(result.trial.phases.drain_ns <= 2 * SECOND, "{:?}", result.trial.phases);
}
