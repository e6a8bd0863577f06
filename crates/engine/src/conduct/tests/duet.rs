//! Two trials at the same time: what each gets, and what they share.

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
use crate::conduct::{run_together, run_virtual_together};
use crate::process::Launcher;

const RATE: f64 = 200.0;

fn trying() -> Trying {
    let arrivals = ArrivalProcess::Poisson { rate: RATE };
    let mut trying = Trying::new(Model::Open { arrivals }, Duration::from_secs(2));
    trying.load.warm_up = WarmUp::Fixed { length: Duration::from_millis(500) };
    trying
}

/// Both trials of a duet against these two targets, executed by `run`, and what each said.
fn both(
    trying: &Trying,
    urls: [&str; 2],
    run: impl FnOnce(&[Setup<'_, Echo>], &mut dyn FnMut(usize, Output)) -> Vec<Trial>,
) -> Vec<Tried> {
    let arms = urls.map(|url| trying.arm(url.to_owned()));
    let seed = trying.seed;
    let plan = |order| TrialPlan { index: order, block: 1, order, arm: 0, seed, duet: true };
    let plans = [plan(1), plan(2)];
    let setup = |(arm, trial)| Setup {
        driver: Arc::new(Echo),
        arm,
        trial,
        wall_clock: "2026-01-01T00:00:00Z".to_owned(),
        calendar: String::new,
        keep_samples: None,
        stop: trying.stop.clone(),
        end: trying.end.clone(),
    };
    let setups: Vec<_> = arms.iter().zip(&plans).map(setup).collect();
    let mut said: [(Vec<Event>, Vec<record::Window>); 2] = Default::default();
    let trials = run(&setups, &mut |place, output| match output {
        Output::Event(event) => said[place].0.push(event),
        Output::Window(window) => said[place].1.push(window),
        Output::Samples(_) | Output::AllFailed(_) => {}
    });
    let tried = trials.into_iter().zip(said);
    tried.map(|(trial, (events, windows))| Tried { trial, events, windows, samples: 0 }).collect()
}

fn virtually(trying: &Trying) -> Vec<Tried> {
    both(trying, ["memory://first", "memory://second"], |setups, on| {
        let means = (&trying.clock, trying.network.clone());
        run_virtual_together(setups, means, trying.workers, on).unwrap()
    })
}

/// A server that answers each byte after so long, with another byte than came if there is one.
fn serve(trying: &Trying, name: &str, after: u64, answer: Option<u8>) {
    let clock = trying.clock.clone();
    trying.network.serve(name, move |mut stream| {
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

/// Arrivals of twice the rate, of which each arm is to have its share.
fn planned(trying: &Trying) -> u64 {
    let twice = ArrivalProcess::Poisson { rate: 2.0 * RATE };
    Schedule::new(&twice, trying.load.stop, trying.seed).count() as u64
}

#[test]
fn each_arm_has_its_own_arrivals_times_and_windows() {
    let mut counts = Vec::new();
    for workers in [1, 3] {
        let trying = Trying { workers, ..trying() };
        serve(&trying, "first", MS, None);
        serve(&trying, "second", 7 * MS, None);
        let tried = virtually(&trying);
        let sums = [tried[0].accounting(), tried[1].accounting()];
        assert_eq!(sums[0].planned + sums[1].planned, planned(&trying));
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
    let trying = trying();
    serve(&trying, "first", MS, None);
    let tried = virtually(&trying);
    assert_eq!(tried[0].accounting().failed, 0);
    let sums = tried[1].accounting();
    assert_eq!((sums.failed, sums.succeeded), (sums.planned, 0));
    assert_eq!(tried[1].failures(FailureKind::Refused), sums.planned);
    assert!(tried[1].saw(|kind| matches!(kind, EventKind::FailureSeen { .. })));
    assert!(!tried[0].saw(|kind| matches!(kind, EventKind::FailureSeen { .. })));
}

#[test]
fn when_one_trial_falls_so_does_the_other() {
    let trying = trying();
    serve(&trying, "first", MS, None);
    serve(&trying, "second", MS, Some(PANIC));
    for one in virtually(&trying) {
        assert!(one.trial.died.is_some(), "{:?}", one.trial.index);
        assert!(!one.trial.interrupted);
        assert!(one.accounting().planned < planned(&trying) / 10, "both ended early");
    }
}

#[test]
fn both_end_where_enough_is_known_and_where_the_user_stops() {
    let trying = trying();
    serve(&trying, "first", MS, None);
    serve(&trying, "second", MS, None);
    trying.end.request(enough());
    for one in virtually(&trying) {
        assert_eq!(one.trial.early_end, Some(enough()));
        assert!(one.saw(|kind| matches!(kind, EventKind::EndedEarly(_))));
    }
    let trying = Trying { end: EndSignal::new(), ..trying };
    trying.stop.request();
    assert!(virtually(&trying).iter().all(|one| one.trial.interrupted));
}

#[test]
fn both_run_over_sockets_on_the_same_workers() {
    let mut trying = trying();
    trying.load.workers = Some(2);
    trying.load.warm_up = WarmUp::Fixed { length: Duration::from_millis(100) };
    trying.load.stop = Stop::Duration { after: Duration::from_secs(1) };
    let (first, second) = (echo_server(None), echo_server(None));
    let tried = both(&trying, [&first, &second], |setups, on| {
        let launcher = Launcher::new(BTreeMap::new(), std::env::temp_dir(), Vec::new());
        run_together(setups, &launcher, on).unwrap()
    });
    let sums = [tried[0].accounting(), tried[1].accounting()];
    assert_eq!(sums[0].planned + sums[1].planned, planned(&trying));
    for (one, sums) in tried.iter().zip(sums) {
        assert_eq!((sums.succeeded, sums.failed), (sums.planned, 0));
        assert_eq!(one.trial.phases.measure_ns, SECOND);
        assert_eq!(one.trial.load.workers, 2);
        assert_eq!(one.trial.generator.worker_cpu_ns.len(), 2, "those of both trials");
        assert_eq!(one.trial.generator, tried[0].trial.generator);
    }
}
