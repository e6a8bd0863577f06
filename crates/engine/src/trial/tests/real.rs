//! The same in real time, against a socket. The tests check accounting, never speed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use plan::journey::Preparation;
use plan::load::Reuse;
use plan::plan::TrialPlan;
use plan::plan_share::PlanShare;
use plan::rows::Rows;
use record::TrialFacts;
use record::event::{EventKind, Phase};

use super::echo::{Echo, PANIC};
use super::{TestTrial, enough};
use crate::process::Launcher;
use crate::trial::Start;
use crate::trial::{Setup, TrialOutput, run_trial};

/// Echoes on every connection; sends `answer` instead of the byte if it is given.
pub(super) fn echo_server(answer: Option<u8>) -> String {
    counting_server(answer).0
}

/// The same, with the number of its answers so far.
fn counting_server(answer: Option<u8>) -> (String, Arc<AtomicU64>) {
    let answers = Arc::new(AtomicU64::new(0));
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = sink.local_addr().unwrap();
    echo_on(sink, answer, &answers);
    (format!("http://{address}"), answers)
}

fn echo_on(sink: TcpListener, answer: Option<u8>, answers: &Arc<AtomicU64>) {
    let counted = Arc::clone(answers);
    thread::spawn(move || {
        for stream in sink.incoming() {
            let mut stream = stream.unwrap();
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let mut byte = [0];
                while stream.read_exact(&mut byte).is_ok() {
                    counted.fetch_add(1, Ordering::SeqCst);
                    byte[0] = answer.unwrap_or(byte[0]);
                    if stream.write_all(&byte).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn run(test_trial: &TestTrial, url: String) -> (TrialFacts, Vec<EventKind>) {
    let mut arm = test_trial.arm(url);
    arm.load.workers = arm.load.workers.or(Some(2));
    let setup = Setup {
        driver: Arc::new(Echo),
        arm: &arm,
        trial: &TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed: 1, duet: false },
        wall_clock: "2026-01-01T00:00:00Z".to_owned(),
        calendar: || "2026-01-01T00:00:07Z".to_owned(),
        trace_share: None,
        keep_samples: None,
        real_time: true,
        share: PlanShare::WHOLE,
        start: Start::Ready,
        stop: test_trial.stop.clone(),
        end: test_trial.end.clone(),
    };
    let launcher = Launcher::new(BTreeMap::new(), std::env::temp_dir(), Vec::new());
    let mut events = Vec::new();
    let trial = run_trial(&setup, &launcher, &mut |output| match output {
        TrialOutput::Event(event) => events.push(event.kind),
        TrialOutput::Window(window) if Some(window.number) == test_trial.enough_after => {
            test_trial.end.request(enough());
        }
        _ => {}
    });
    (trial.unwrap(), events)
}

#[test]
fn a_second_of_open_load_over_sockets_is_counted_in_full() {
    let (trial, events) = run(&TestTrial::constant(500.0, 1), echo_server(None));
    let accounting = super::super::facts::accounting(&trial.totals.total());
    assert_eq!((accounting.planned, accounting.succeeded), (500, 500));
    assert_eq!(trial.phases.measure_ns, super::SECOND);
    assert_eq!(trial.totals.dispatch_lag.count(), 500);
    assert_eq!(trial.died, None);
    for phase in [Phase::Launch, Phase::Measure, Phase::Drain] {
        assert!(events.contains(&EventKind::PhaseEntered { phase }), "{phase:?}");
    }
    let dated = EventKind::Dated { wall_clock: "2026-01-01T00:00:07Z".to_owned() };
    let place = |kind: &EventKind| events.iter().position(|one| one == kind);
    assert!(place(&EventKind::PhaseEntered { phase: Phase::Launch }) < place(&dated));
    assert!(place(&dated) < place(&EventKind::PhaseEntered { phase: Phase::Measure }));
    assert!(matches!(events.last(), Some(EventKind::TrialFinished { .. })));
    let in_windows: u64 = events
        .iter()
        .map(|kind| if let EventKind::WindowClosed(counts) = kind { counts.planned } else { 0 })
        .sum();
    assert_eq!(in_windows, 500);
}

#[test]
fn a_name_with_two_addresses_uses_both_and_says_so() {
    // One server on two addresses of loopback, with one port.
    let first = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = first.local_addr().unwrap().port();
    let second = TcpListener::bind(("127.0.0.2", port)).unwrap();
    let answers = Arc::default();
    for sink in [first, second] {
        echo_on(sink, None, &answers);
    }
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.reuse = Reuse::NewPerOperation;
    test_trial.connect_to = Some(format!("127.0.0.1:{port},127.0.0.2:{port}"));
    for workers in [1, 2] {
        test_trial.load.workers = Some(workers);
        let (trial, _) = run(&test_trial, "http://nowhere.invalid".to_owned());
        assert_eq!(trial.totals.total().succeeded, 100);
        let note = format!(
            "connections to nowhere.invalid: 50 to 127.0.0.1:{port}, 50 to 127.0.0.2:{port}"
        );
        assert!(trial.generator.notes.contains(&note), "{:?}", trial.generator.notes);
    }
}

#[test]
fn workers_that_poll_count_it_apart_or_say_why_they_do_not() {
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.load.busy_poll = true;
    for workers in [1, 64] {
        test_trial.load.workers = Some(workers);
        let (trial, _) = run(&test_trial, echo_server(None));
        assert_eq!(trial.totals.total().succeeded, 100);
        let seen = &trial.generator;
        let placement = &seen.placement;
        let apart = placement.workers.iter().all(|core| !placement.systems.contains(core));
        let says_why = seen.notes.iter().any(|note| note.contains("`busy_poll` was ignored"));
        assert_eq!(says_why, !apart, "{seen:?}");
        let polled: u64 = seen.worker_polled_ns.iter().sum();
        // A hundred echoes take some milliseconds of work, and a second has a thousand
        // milliseconds.
        let worked: u64 = seen.worker_cpu_ns.iter().sum();
        assert!(if apart { polled > worked } else { polled == 0 }, "{seen:?}");
    }
}

#[test]
fn a_closed_count_over_sockets_ends_by_itself() {
    let mut test_trial = TestTrial::new(plan::load::Model::Closed, std::time::Duration::ZERO);
    test_trial.load.connections = 8;
    test_trial.load.stop = plan::load::Stop::Operations { count: 2_001 };
    let (trial, _) = run(&test_trial, echo_server(None));
    assert_eq!(trial.totals.total().succeeded, 2_001);
    assert_eq!(trial.pool.connections_opened, 8);
}

#[test]
fn a_panic_on_a_worker_ends_the_trial() {
    let (trial, _) = run(&TestTrial::constant(100.0, 60), echo_server(Some(PANIC)));
    assert!(trial.died.unwrap().ends_with("panicked"));
}

#[test]
fn a_measure_phase_is_ended_early_over_sockets_too() {
    let mut test_trial = TestTrial::constant(500.0, 600);
    test_trial.enough_after = Some(1);
    let (trial, events) = run(&test_trial, echo_server(None));
    assert_eq!((trial.interrupted, trial.early_end), (false, Some(enough())));
    // Ten minutes were planned, and windows of 1 s close soon after their end.
    let seconds = trial.phases.measure_ns as f64 / 1e9;
    assert!((2.0..60.0).contains(&seconds), "{seconds} s");
    assert!(events.contains(&EventKind::EndedEarly(enough())));
}

#[test]
fn a_wish_to_stop_before_the_start_measures_nothing() {
    let test_trial = TestTrial::constant(100.0, 60);
    test_trial.stop.request();
    let (trial, events) = run(&test_trial, echo_server(None));
    assert!(trial.interrupted);
    assert_eq!(trial.totals.total().planned, 0);
    assert!(events.contains(&EventKind::Interrupted));
}

#[test]
fn what_comes_before_and_after_the_load_is_performed_and_not_measured() {
    let rows = Rows::parse("users.csv", b"name\na\nb\nc\n").expect("three rows");
    let mut test_trial = TestTrial::constant(100.0, 1);
    test_trial.around = Some(Preparation { steps: vec![0, 0], rows: Some(Arc::new(rows)) });
    let (url, answers) = counting_server(None);
    let (trial, _) = run(&test_trial, url);
    let accounting = super::super::facts::accounting(&trial.totals.total());
    assert_eq!((accounting.planned, accounting.succeeded), (100, 100));
    assert_eq!(answers.load(Ordering::SeqCst), 6 + 100 + 6);
}
