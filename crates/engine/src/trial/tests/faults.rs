//! Faulty peers, and their effects.

use std::cell::Cell;
use std::time::Duration;

use plan::load::Model;
use record::event::EventKind;
use record::{FailureKind, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::echo::{PANIC, answer_after};
use super::{MS, SECOND, TestTrial};
use crate::clock::Clock;
use crate::transport::memory::Accept;

#[test]
fn a_refused_connection_fails_its_operation_and_no_other() {
    let test_trial = TestTrial::constant(100.0, 1);
    test_trial.network.listen("target", || Accept::Refuse(FailureKind::Refused));
    let tried = test_trial.run();
    assert_eq!(tried.failures(FailureKind::Refused), 100);
    assert_eq!(tried.accounting().started, 100);
    let seen = tried.events.iter().filter(|event| {
        matches!(&event.kind, EventKind::FailureSeen { kind, detail, .. }
            if kind == "refused" && detail == "target refuses")
    });
    assert_eq!(seen.count(), 1, "the first of its kind is told, and no other");
    let [first] = &tried.trial.first_failures[..] else {
        panic!("{:?}", tried.trial.first_failures)
    };
    let first = (first.operation.as_str(), first.kind.as_str(), first.seen.as_str());
    assert_eq!(first, ("echo", "refused", "target refuses"), "and stays in the record");
}

#[test]
fn nobody_serves_the_name() {
    let tried = TestTrial::constant(100.0, 1).run();
    assert_eq!(tried.failures(FailureKind::Refused), 100);
}

#[test]
fn a_connection_that_is_never_made_is_given_up_after_the_time_out() {
    let mut test_trial = TestTrial::constant(10.0, 1);
    test_trial.load.timeout = Duration::from_millis(250);
    test_trial.network.listen("target", || Accept::Ignore);
    let tried = test_trial.run();
    assert_eq!(tried.failures(FailureKind::ConnectTimeout), 10);
    assert_eq!(tried.trial.phases.drain_ns, 150 * MS);
    assert_eq!(tried.trial.pool.connections_opened, 0);
}

#[test]
fn a_closed_loop_does_not_spin_on_a_refusal() {
    let mut test_trial = TestTrial::new(Model::Closed, Duration::from_secs(1));
    test_trial.load.connections = 1;
    test_trial.network.listen("target", || Accept::Refuse(FailureKind::Refused));
    // Pauses of 1, 2, 4 … 64 ms, and then of 100 ms.
    assert_eq!(test_trial.run().accounting().failed, 8 + 8);
}

#[test]
fn an_idle_connection_that_the_peer_closed_fails_nothing() {
    let test_trial = TestTrial::constant(10.0, 1);
    let clock = test_trial.clock.clone();
    test_trial.network.serve("target", move |mut stream| {
        let clock = clock.clone();
        async move {
            let mut byte = [0];
            if stream.read_exact(&mut byte).await.is_ok() {
                let _ = stream.write_all(&byte).await;
            }
            clock.sleep_until(clock.now() + 50 * MS).await;
        }
    });
    let tried = test_trial.run();
    assert_eq!(tried.accounting().succeeded, 10);
    assert_eq!(tried.trial.pool.connections_opened, 10);
    let lost: u64 = tried
        .events
        .iter()
        .map(|event| if let EventKind::ConnectionLost { count } = event.kind { count } else { 0 })
        .sum();
    assert_eq!(lost, 10);
}

#[test]
fn a_connection_closed_before_the_answer_is_a_failure_of_its_kind() {
    let test_trial = TestTrial::constant(100.0, 1);
    test_trial.network.serve("target", |mut stream| async move {
        let _ = stream.read_exact(&mut [0]).await;
    });
    let tried = test_trial.run();
    assert_eq!(tried.failures(FailureKind::Closed), 100);
    assert_eq!(tried.trial.pool.connections_lost, 100);
}

#[test]
fn a_panic_ends_the_trial_and_says_so() {
    let mut test_trial = TestTrial::constant(100.0, 10);
    test_trial.workers = 2;
    let served = Cell::new(0);
    let (clock, end) = (test_trial.clock.clone(), test_trial.end.clone());
    answer_after(&test_trial.network, &clock, |_| MS);
    test_trial.network.listen("target", move || {
        served.set(served.get() + 1);
        let answer = if served.get() == 2 { PANIC } else { 0 };
        if answer == PANIC {
            end.request(super::enough());
        }
        Accept::Serve(Box::new(move |mut stream| {
            Box::pin(async move {
                while stream.read_exact(&mut [0]).await.is_ok() {
                    let _ = stream.write_all(&[answer]).await;
                }
            })
        }))
    });
    let tried = test_trial.run();
    assert_eq!(tried.trial.died.as_deref(), Some("a task of worker 1 panicked"));
    assert_eq!((tried.trial.died_as, tried.trial.interrupted), (Some(Role::Worker), false));
    assert_eq!(tried.trial.early_end, None, "of a trial that fell, nothing was enough");
    // The other worker stopped at once and finished its operations in flight.
    let accounting = tried.accounting();
    assert_eq!(accounting.planned, accounting.succeeded);
    assert!(tried.trial.phases.measure_ns < SECOND);
}

#[test]
fn samples_that_nobody_takes_in_time_are_dropped_and_counted() {
    // Ten windows a second; the collector listens once a second.
    let run = |samples| {
        let mut test_trial = TestTrial::constant(100.0, 3);
        test_trial.samples = Some(samples);
        answer_after(&test_trial.network, &test_trial.clock, |_| MS);
        test_trial.run()
    };
    let patient = run(1_000);
    assert_eq!((patient.samples, patient.trial.samples_dropped), (300, 0));
    let tight = run(50);
    assert_eq!(tight.samples + tight.trial.samples_dropped, 300);
    assert!(tight.samples >= 100 && tight.trial.samples_dropped >= 100, "{}", tight.samples);
    assert_eq!(tight.trial.totals, patient.trial.totals, "nothing else is missing");
}

#[test]
fn whatever_falls_after_the_users_wish_leaves_the_trial_interrupted() {
    let test_trial = TestTrial::constant(100.0, 10);
    let stop = test_trial.stop.clone();
    test_trial.network.serve("target", move |mut stream| {
        let stop = stop.clone();
        async move {
            while stream.read_exact(&mut [0]).await.is_ok() {
                stop.request();
                let _ = stream.write_all(&[PANIC]).await;
            }
        }
    });
    let tried = test_trial.run();
    assert_eq!(tried.trial.died_as, Some(Role::Worker));
    assert!(tried.trial.interrupted);
}
