//! Two trials at the same time: their separate results, and what they share.

use std::collections::BTreeMap;
use std::time::Duration;

use plan::load::{ArrivalProcess, Model, WarmUp};
use plan::schedule::Schedule;
use record::FailureKind;
use record::event::Phase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::echo::PANIC;
use super::real::echo_server;
use super::*;
use crate::clock::Clock;
use crate::process::Launcher;
use crate::trial::Start;
use crate::trial::{run_together, run_virtual_together};

const RATE: f64 = 200.0;

fn test_trial() -> TestTrial {
    let arrivals = ArrivalProcess::Poisson { rate: RATE };
    let mut test_trial = TestTrial::new(Model::Open { arrivals }, Duration::from_secs(2));
    test_trial.load.warm_up = WarmUp::Fixed { length: Duration::from_millis(500) };
    test_trial
}

/// Both trials of a duet against these two targets, executed by `run`, and the output of each.
fn both(
    test_trial: &TestTrial,
    urls: [&str; 2],
    run: impl FnOnce(&[Setup<'_, Echo>], &mut dyn FnMut(usize, TrialOutput)) -> Vec<TrialFacts>,
) -> Vec<TestResult> {
    let arms = urls.map(|url| test_trial.arm(url.to_owned()));
    let seed = test_trial.seed;
    let plan = |order| TrialPlan { index: order, block: 1, order, arm: 0, seed, duet: true };
    let plans = [plan(1), plan(2)];
    let setup = |(arm, trial)| Setup {
        driver: Arc::new(Echo),
        arm,
        trial,
        wall_clock: "2026-01-01T00:00:00Z".to_owned(),
        calendar: String::new,
        trace_share: None,
        keep_samples: None,
        real_time: true,
        share: PlanShare::WHOLE,
        start: Start::Ready,
        stop: test_trial.stop.clone(),
        end: test_trial.end.clone(),
    };
    let setups: Vec<_> = arms.iter().zip(&plans).map(setup).collect();
    let mut outputs: [(Vec<Event>, Vec<record::Window>); 2] = Default::default();
    let trials = run(&setups, &mut |place, output| match output {
        TrialOutput::Event(event) => outputs[place].0.push(event),
        TrialOutput::Window(window) => outputs[place].1.push(window),
        TrialOutput::Samples(_) | TrialOutput::Open { .. } | TrialOutput::AllFailed(_) => {}
    });
    let tried = trials.into_iter().zip(outputs);
    tried
        .map(|(trial, (events, windows))| TestResult { trial, events, windows, samples: 0 })
        .collect()
}

fn virtually(test_trial: &TestTrial) -> Vec<TestResult> {
    both(test_trial, ["memory://first", "memory://second"], |setups, on| {
        let network = test_trial.network.clone();
        run_virtual_together(setups, &test_trial.clock, network, test_trial.workers, on).unwrap()
    })
}

/// A server that answers each byte after this time, with `answer` instead of the byte if it is
/// given.
fn serve(test_trial: &TestTrial, name: &str, after: u64, answer: Option<u8>) {
    let clock = test_trial.clock.clone();
    test_trial.network.serve(name, move |mut stream| {
        let clock = clock.clone();
        async move {
            let mut byte = [0];
            while stream.read_exact(&mut byte).await.is_ok() {
                clock.sleep_until(clock.now() + after).await;
                if stream.write_all(&[answer.unwrap_or(byte[0])]).await.is_err() {
                    return;
                }
            }
        }
    });
}

/// Arrivals at twice the rate; each arm should get its share.
fn planned(test_trial: &TestTrial) -> u64 {
    let twice = ArrivalProcess::Poisson { rate: 2.0 * RATE };
    Schedule::new(&twice, test_trial.load.stop, test_trial.seed).count() as u64
}

#[test]
fn each_arm_has_its_own_arrivals_times_and_windows() {
    let mut counts = Vec::new();
    for workers in [1, 3] {
        let test_trial = TestTrial { workers, ..test_trial() };
        serve(&test_trial, "first", MS, None);
        serve(&test_trial, "second", 7 * MS, None);
        let tried = virtually(&test_trial);
        let sums = [tried[0].accounting(), tried[1].accounting()];
        assert_eq!(sums[0].planned + sums[1].planned, planned(&test_trial));
        counts.push(sums.map(|sums| sums.planned));
        for ((one, after), index) in tried.iter().zip([MS, 7 * MS]).zip(1..) {
            let total = one.trial.totals.total();
            assert_eq!((total.response_time.min(), total.response_time.max()), (after, after));
            assert_eq!((one.trial.index, one.trial.order, one.trial.duet), (index, index, true));
            assert_eq!(one.accounting().succeeded, one.accounting().planned, "{index}");
            assert_eq!(u128::try_from(one.trial.area_ns), Ok(total.time_ns()), "Little's law");
            assert_eq!(one.trial.load.offered_rate, Some(RATE));
            let in_windows: u64 = one.windows.iter().map(|window| window.counts().planned).sum();
            assert_eq!(in_windows, one.accounting().planned);
            assert!(one.saw(|kind| *kind == EventKind::PhaseEntered { phase: Phase::WarmUp }));
            assert!(matches!(
                one.events.last().map(|event| &event.kind),
                Some(EventKind::TrialFinished { .. })
            ));
        }
    }
    assert_eq!(counts[0], counts[1], "the plan does not depend on the workers");
}

#[test]
fn failures_of_one_arm_are_not_those_of_the_other() {
    let test_trial = test_trial();
    serve(&test_trial, "first", MS, None);
    let tried = virtually(&test_trial);
    assert_eq!(tried[0].accounting().failed, 0);
    let sums = tried[1].accounting();
    assert_eq!((sums.failed, sums.succeeded), (sums.planned, 0));
    assert_eq!(tried[1].failures(FailureKind::Refused), sums.planned);
    assert!(tried[1].saw(|kind| matches!(kind, EventKind::FailureSeen { .. })));
    assert!(!tried[0].saw(|kind| matches!(kind, EventKind::FailureSeen { .. })));
}

#[test]
fn when_one_trial_falls_so_does_the_other() {
    let test_trial = test_trial();
    serve(&test_trial, "first", MS, None);
    serve(&test_trial, "second", MS, Some(PANIC));
    for one in virtually(&test_trial) {
        assert!(one.trial.died.is_some(), "{:?}", one.trial.index);
        assert!(!one.trial.interrupted);
        assert!(one.accounting().planned < planned(&test_trial) / 10, "both ended early");
    }
}

#[test]
fn both_end_where_enough_is_known_and_where_the_user_stops() {
    let test_trial = test_trial();
    serve(&test_trial, "first", MS, None);
    serve(&test_trial, "second", MS, None);
    test_trial.end.request(enough());
    for one in virtually(&test_trial) {
        assert_eq!(one.trial.early_end, Some(enough()));
        assert!(one.saw(|kind| matches!(kind, EventKind::EndedEarly(_))));
    }
    let test_trial = TestTrial { end: EndSignal::new(), ..test_trial };
    test_trial.stop.request();
    assert!(virtually(&test_trial).iter().all(|one| one.trial.interrupted));
}

#[test]
fn both_run_over_sockets_on_the_same_workers() {
    let mut test_trial = test_trial();
    test_trial.load.workers = Some(2);
    test_trial.load.warm_up = WarmUp::Fixed { length: Duration::from_millis(100) };
    test_trial.load.stop = Stop::Duration { after: Duration::from_secs(1) };
    let (first, second) = (echo_server(None), echo_server(None));
    let tried = both(&test_trial, [&first, &second], |setups, on| {
        let launcher = Launcher::new(BTreeMap::new(), std::env::temp_dir(), Vec::new());
        run_together(setups, &launcher, on).unwrap()
    });
    let sums = [tried[0].accounting(), tried[1].accounting()];
    assert_eq!(sums[0].planned + sums[1].planned, planned(&test_trial));
    for (one, sums) in tried.iter().zip(sums) {
        assert_eq!((sums.succeeded, sums.failed), (sums.planned, 0));
        assert_eq!(one.trial.phases.measure_ns, SECOND);
        assert_eq!(one.trial.load.workers, 2);
        assert_eq!(one.trial.generator.worker_cpu_ns.len(), 2, "those of both trials");
        assert_eq!(one.trial.generator, tried[0].trial.generator);
    }
}
