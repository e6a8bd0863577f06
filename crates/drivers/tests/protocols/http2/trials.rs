//! Whole trials in virtual time: streams by connections, connections that end, time-outs, peers that allow few streams.

use plan::document::Table;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use drivers::AnyDriver;
use engine::StopSignal;
use engine::clock::{Clock, Virtual};
use engine::transport::MemoryNetwork;
use engine::transport::memory::Accept;
use engine::trial::{Setup, Start, run_virtual};
use h2::Reason;
use h2::server::Builder;
use http::Response;
use plan::load::{ArrivalProcess, Load, Model, Reuse, SteadyState, Stop, WarmUp};
use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::target::Target;
use record::{FailureKind, TrialFacts};
use tokio::task::spawn_local;

use crate::http2::stand::{Asked, planned, serve};

const MS: u64 = 1_000_000;

/// A load of one second towards a server in memory.
struct TestTrial {
    clock: Virtual,
    network: MemoryNetwork,
    load: Load,
    workers: usize,
}

impl TestTrial {
    fn new(model: Model, connections: u32, streams: u32) -> Self {
        let load = Load {
            model,
            stop: Stop::Duration { after: Duration::from_secs(1) },
            warm_up: WarmUp::Fixed { length: Duration::ZERO },
            timeout: Duration::from_millis(100),
            connections,
            streams,
            reuse: Reuse::KeepAlive,
            steady_state: SteadyState::Reported,
            workers: None,
            busy_poll: false,
        };
        Self { clock: Virtual::new(), network: MemoryNetwork::new(), load, workers: 1 }
    }

    fn open(rate: f64, connections: u32, streams: u32) -> Self {
        let arrivals = ArrivalProcess::Constant { rate };
        Self::new(Model::Open { arrivals }, connections, streams)
    }

    /// Every request is answered after so long; streams that the client gives up are counted.
    fn answered_after(&self, builder: &Builder, pause: u64) -> Rc<Cell<u64>> {
        let (clock, builder) = (self.clock.clone(), builder.clone());
        let cancelled = Rc::new(Cell::new(0));
        let count = Rc::clone(&cancelled);
        self.network.serve("target", move |stream| {
            let (clock, count) = (clock.clone(), Rc::clone(&count));
            serve(builder.clone(), stream, move |(_, mut respond): Asked| {
                let (clock, count) = (clock.clone(), Rc::clone(&count));
                async move {
                    tokio::select! {
                        () = clock.sleep_until(clock.now() + pause) => {
                            let _ = respond.send_response(Response::new(()), true);
                        }
                        reset = std::future::poll_fn(|context| respond.poll_reset(context)) => {
                            let cancelled = matches!(reset, Ok(Reason::CANCEL));
                            count.set(count.get() + u64::from(cancelled));
                        }
                    }
                }
            })
        });
        cancelled
    }

    fn run(&self) -> TrialFacts {
        let arm = Arm {
            name: "all".to_owned(),
            factors: BTreeMap::new(),
            values: BTreeMap::new(),
            targets: vec![Target { url: "http://target".to_owned(), ..Target::default() }],
            load: self.load.clone(),
            operations: vec![planned("http2 = {}")],
            services: Vec::new(),
            system: None,
            observers: Vec::new(),
            faults: Vec::new(),
            journeys: Vec::new(),
            setup: None,
            teardown: None,
        };
        let setup = Setup {
            driver: Arc::new(
                AnyDriver::of([("http2", &Table::default())]).expect("it is in the list"),
            ),
            arm: &arm,
            trial: &TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed: 1, duet: false },
            wall_clock: "2026-01-01T00:00:00Z".to_owned(),
            calendar: String::new,
            trace_share: None,
            keep_samples: None,
            real_time: true,
            share: PlanShare::WHOLE,
            start: Start::Ready,
            stop: StopSignal::new(),
            end: engine::EndSignal::new(),
        };
        let network = self.network.clone();
        run_virtual(&setup, &self.clock, network, self.workers, &mut |_| {}).expect("it runs")
    }
}

#[test]
fn a_closed_load_is_connections_times_streams() {
    for workers in [1, 2] {
        let mut test_trial = TestTrial::new(Model::Closed, 4, 25);
        test_trial.workers = workers;
        test_trial.answered_after(&Builder::new(), 5 * MS);
        let trial = test_trial.run();
        let total = trial.totals.total();
        assert_eq!((total.succeeded, total.failed), (20_000, 0), "{workers} workers");
        assert_eq!((trial.in_flight.max, trial.pool.connections_opened), (100, 4));
        assert_eq!((trial.pool.connections_max, trial.pool.connections_lost), (4, 0));
        assert_eq!(total.service_time.sum(), 20_000 * 5 * u128::from(MS));
    }
}

#[test]
fn an_open_load_makes_a_connection_when_all_streams_are_busy() {
    // 1,000 a second for 4.5 ms each are five at a time.
    for (streams, opened) in [(1, 5), (2, 3), (5, 1), (100, 1)] {
        let test_trial = TestTrial::open(1_000.0, 100, streams);
        test_trial.answered_after(&Builder::new(), 4_500_000);
        let trial = test_trial.run();
        assert_eq!(trial.totals.total().succeeded, 1_000);
        assert_eq!(trial.pool.connections_opened, opened, "{streams} streams");
        assert_eq!((trial.in_flight.max, trial.pool.waited), (5, 0));
    }
}

#[test]
fn an_open_load_waits_when_all_streams_of_all_connections_are_busy() {
    let test_trial = TestTrial::open(1_000.0, 1, 4);
    test_trial.answered_after(&Builder::new(), 5 * MS);
    let trial = test_trial.run();
    assert_eq!((trial.in_flight.max > 4, trial.pool.connections_opened), (true, 1));
    assert!(trial.pool.waited > 500, "800 a second is all that four streams of 5 ms can do");
}

#[test]
fn what_takes_too_long_is_given_up_and_its_connection_is_not() {
    let mut test_trial = TestTrial::new(Model::Closed, 2, 3);
    test_trial.load.stop = Stop::Operations { count: 60 };
    let cancelled = test_trial.answered_after(&Builder::new(), 150 * MS);
    let trial = test_trial.run();
    let total = trial.totals.total();
    assert_eq!((total.planned, total.failures_of(FailureKind::Timeout)), (60, 60));
    assert_eq!((trial.pool.connections_opened, trial.pool.connections_lost), (2, 0));
    assert!(cancelled.get() >= 54, "the peer was told of {} of 60", cancelled.get());
}

#[test]
fn a_peer_that_allows_few_streams_makes_requests_wait_and_is_noted() {
    let mut builder = Builder::new();
    builder.max_concurrent_streams(5);
    let test_trial = TestTrial::new(Model::Closed, 1, 10);
    test_trial.answered_after(&builder, 5 * MS);
    let trial = test_trial.run();
    let total = trial.totals.total();
    // Those of the first turn may begin before the peer has said what it allows.
    let refused = total.failures_of(FailureKind::StreamRefused);
    assert!(refused <= 5 && total.failed == refused, "{refused} of {} were refused", total.failed);
    assert!((990..=1_010).contains(&total.succeeded), "{}", total.succeeded);
    assert_eq!(trial.pool.connections_opened, 1);
    let note = "the target allows 5 streams at a time on a connection, fewer than the load has";
    assert!(
        trial.generator.notes.iter().any(|one| one.contains(note)),
        "{:?}",
        trial.generator.notes
    );
}

#[test]
fn connections_that_end_are_made_anew_and_everything_is_accounted_for() {
    let test_trial = TestTrial::new(Model::Closed, 2, 8);
    let clock = test_trial.clock.clone();
    test_trial.network.serve("target", move |stream| {
        let clock = clock.clone();
        async move {
            let mut connection = h2::server::handshake(stream).await.expect("a client");
            let mut taken = 0;
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                taken += 1;
                if taken == 100 {
                    connection.graceful_shutdown();
                }
                let clock = clock.clone();
                spawn_local(async move {
                    clock.sleep_until(clock.now() + 5 * MS).await;
                    let _ = respond.send_response(Response::new(()), true);
                });
            }
        }
    });
    let trial = test_trial.run();
    let total = trial.totals.total();
    assert_eq!(total.planned, total.succeeded + total.failed + total.abandoned);
    assert_eq!(total.failed, total.failures_of(FailureKind::GoingAway));
    assert!(total.succeeded > 3_000, "{} succeeded, {} failed", total.succeeded, total.failed);
    assert!(trial.pool.connections_opened > 20, "{}", trial.pool.connections_opened);
    let most = trial.pool.connections_max;
    assert!((2..=4).contains(&most), "two, and two that are being left: {most}");
    assert!(trial.pool.connections_lost >= trial.pool.connections_opened - 2);
}

#[test]
fn a_connection_that_is_left_counts_until_its_last_answer() {
    let mut test_trial = TestTrial::new(Model::Closed, 1, 2);
    test_trial.load.stop = Stop::Operations { count: 100 };
    let clock = test_trial.clock.clone();
    let opened = Cell::new(0);
    test_trial.network.serve("target", move |stream| {
        let clock = clock.clone();
        opened.set(opened.get() + 1);
        let is_first = opened.get() == 1;
        async move {
            let mut connection = h2::server::handshake(stream).await.expect("a client");
            let mut taken = 0;
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                taken += 1;
                // The first of all, whose answer takes longest, is the first one's last.
                let is_long = is_first && taken == 1;
                if is_long {
                    connection.graceful_shutdown();
                }
                let clock = clock.clone();
                spawn_local(async move {
                    let pause = if is_long { 50 * MS } else { 5 * MS };
                    clock.sleep_until(clock.now() + pause).await;
                    let _ = respond.send_response(Response::new(()), true);
                });
            }
        }
    });
    let trial = test_trial.run();
    let pool = trial.pool;
    assert_eq!((pool.connections_opened, pool.connections_lost), (2, 1));
    assert_eq!(pool.connections_max, 2, "the one that is left, and the one in its place");
}

#[test]
fn a_connection_for_each_operation_ends_with_it() {
    let mut test_trial = TestTrial::new(Model::Closed, 3, 1);
    test_trial.load.reuse = Reuse::NewPerOperation;
    test_trial.load.stop = Stop::Operations { count: 30 };
    test_trial.answered_after(&Builder::new(), 5 * MS);
    let trial = test_trial.run();
    assert_eq!(trial.totals.total().succeeded, 30);
    assert_eq!((trial.pool.connections_opened, trial.pool.connections_lost), (30, 0));
}

#[test]
fn those_who_wait_for_a_connection_that_cannot_be_made_try_it_themselves() {
    let cases: [(fn() -> Accept, FailureKind); 2] = [
        (|| Accept::Refuse(FailureKind::Refused), FailureKind::Refused),
        (|| Accept::Ignore, FailureKind::ConnectTimeout),
    ];
    for (accept, kind) in cases {
        let mut test_trial = TestTrial::new(Model::Closed, 1, 4);
        test_trial.load.stop = Stop::Operations { count: 8 };
        test_trial.network.listen("target", accept);
        assert_eq!(test_trial.run().totals.total().failures_of(kind), 8);
    }
}
