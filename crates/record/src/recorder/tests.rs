use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{OperationTotals, Spans, Window, WindowAssembler};

const FROM: u64 = 1_000;
const TO: u64 = 2_000;
const PHASES: PhaseBounds = PhaseBounds { measure_from: FROM, measure_to: TO, window: 100 };

/// One operation as the test drew it.
#[derive(Debug, Clone)]
struct Drawn {
    operation: usize,
    intended_at: u64,
    /// Lag, wait, preparation, service.
    parts: [u64; 4],
    /// `None`: never begun.
    outcome: Option<Outcome>,
    item: f64,
}

fn layout() -> Layout {
    Layout {
        operations: vec!["browse".into(), "buy".into()],
        items: vec![vec!["hits".into()], vec![]],
        spans: vec!["connect".into(), "first_byte".into()],
        journeys: Vec::new(),
    }
}

fn outcomes() -> impl Strategy<Value = Option<Outcome>> {
    prop_oneof![
        6 => Just(Some(Outcome::Succeeded)),
        1 => Just(Some(Outcome::Failed(FailureKind::Timeout))),
        1 => Just(Some(Outcome::Failed(FailureKind::Reset))),
        1 => Just(Some(Outcome::Abandoned)),
        1 => Just(None),
    ]
}

/// Logs in the order of intended starts, some of them before and after the measure phase.
fn logs() -> impl Strategy<Value = Vec<Drawn>> {
    let parts = [0..30_u64, 0..90, 0..30, 0..900];
    let drawn = (0..2_usize, FROM - 200..TO + 200, parts, outcomes(), 0..1_000_u32);
    vec(drawn, 0..120).prop_map(|drawn| {
        let mut log: Vec<Drawn> = drawn
            .into_iter()
            .map(|(operation, intended_at, parts, outcome, item)| Drawn {
                operation,
                intended_at,
                parts,
                outcome,
                item: f64::from(item),
            })
            .collect();
        log.sort_by_key(|drawn| drawn.intended_at);
        log
    })
}

impl Drawn {
    fn finished_at(&self) -> u64 {
        self.intended_at + self.parts.iter().sum::<u64>()
    }

    fn end(&self, recorder: &mut Recorder) {
        let Some(outcome) = self.outcome else { return };
        let mut instants = [self.intended_at; 5];
        for (place, part) in self.parts.iter().enumerate() {
            instants[place + 1] = instants[place] + part;
        }
        let mut spans = Spans::none();
        spans.set(1, self.parts[3] / 2);
        let items = [self.item];
        let sample = Sample {
            operation: self.operation,
            index: 0,
            step: None,
            trace: None,
            intended_at: instants[0],
            dispatched_at: instants[1],
            acquired_at: instants[2],
            started_at: instants[3],
            finished_at: instants[4],
            outcome,
            status: 200.into(),
            spans: &spans,
            items: if self.operation == 0 { &items } else { &[] },
            bytes_sent: 10,
            bytes_received: 100,
        };
        assert_eq!(
            sample.response_time(),
            sample.dispatch_lag() + sample.queue_wait() + sample.prepare() + sample.service_time()
        );
        recorder.end(&sample, Some("seen"));
    }
}

/// What a step of the replay does with an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    End,
    Begin,
    Roll,
}

/// Replays a log on W recorders, each rolling at every edge of a window; windows as the collector sees them.
fn replay(log: &[Drawn], workers: usize) -> (Totals, Vec<Window>) {
    let layout = layout();
    let mut recorders: Vec<Recorder> =
        (0..workers).map(|worker| Recorder::new(worker, &layout, PHASES, true)).collect();
    let mut assembler = WindowAssembler::new(workers, &layout);
    let mut windows = Vec::new();
    for (instant, step, place) in steps(log) {
        let recorder = &mut recorders[place % workers];
        match step {
            Step::Begin if log[place].outcome.is_none() => {
                recorder.miss(log[place].operation, instant);
            }
            Step::Begin => recorder.begin(log[place].operation, instant),
            Step::End => log[place].end(recorder),
            Step::Roll => {
                for recorder in &mut recorders {
                    windows.extend(assembler.add(&mut recorder.roll(instant)));
                }
            }
        }
    }
    windows.extend(assembler.finish());
    let mut totals = Totals::new(&layout);
    recorders.into_iter().for_each(|recorder| totals.merge(&recorder.finish()));
    (totals, windows)
}

fn steps(log: &[Drawn]) -> Vec<(u64, Step, usize)> {
    let mut steps = Vec::new();
    for (place, drawn) in log.iter().enumerate() {
        steps.push((drawn.intended_at, Step::Begin, place));
        steps.push((drawn.finished_at(), Step::End, place));
    }
    // An operation that takes no time ends at the instant of its beginning, yet after it.
    steps.sort_by_key(|&(instant, step, place)| (instant, place, step != Step::Begin));
    let last = steps.last().map_or(0, |&(instant, ..)| instant);
    steps.extend((FROM..last + 200).step_by(100).map(|edge| (edge, Step::Roll, usize::MAX)));
    steps.sort_by_key(|&(instant, step, _)| (instant, step != Step::Roll));
    steps
}

fn account(operation: &OperationTotals) -> [u64; 5] {
    [
        operation.planned,
        operation.missed,
        operation.succeeded,
        operation.failed,
        operation.abandoned,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_planned_operation_ends_in_one_place(log in logs()) {
        let (totals, windows) = replay(&log, 1);
        let measured = |drawn: &&Drawn| (FROM..TO).contains(&drawn.intended_at);
        let total = totals.total();
        prop_assert_eq!(total.planned, log.iter().filter(measured).count() as u64);
        let outside = || log.iter().filter(|drawn| !measured(drawn));
        prop_assert_eq!(total.before.planned, outside().count() as u64);
        let succeeded = outside().filter(|drawn| drawn.outcome == Some(Outcome::Succeeded));
        prop_assert_eq!(total.before.succeeded, succeeded.clone().count() as u64);
        let items: f64 = succeeded.filter(|drawn| drawn.operation == 0).map(|drawn| drawn.item).sum();
        prop_assert_eq!(totals.operations[0].before.items[0], items);
        prop_assert_eq!(total.planned, total.started() + total.missed);
        prop_assert_eq!(total.started(), total.succeeded + total.failed + total.abandoned);
        prop_assert_eq!(total.failed, total.failures.iter().sum::<u64>());
        prop_assert_eq!(total.response_time.count(), total.succeeded);
        prop_assert_eq!(totals.dispatch_lag.count(), total.started());
        prop_assert_eq!(total.queue_wait.count(), total.succeeded + total.failed);
        prop_assert_eq!(totals.tail.count_from(0), total.succeeded);
        let mut seen = [0; 5];
        for counts in windows.iter().map(Window::counts) {
            let failed = counts.failed.values().sum::<u64>();
            prop_assert_eq!(counts.planned, counts.succeeded + failed + counts.missed);
            seen[0] += counts.planned;
            seen[1] += counts.missed;
            seen[2] += counts.succeeded;
            seen[3] += failed;
        }
        let [planned, missed, succeeded, failed, abandoned] = account(&total);
        prop_assert_eq!(seen, [planned, missed + abandoned, succeeded, failed, 0]);
    }

    #[test]
    fn the_number_of_workers_changes_nothing(log in logs(), workers in 2_usize..6) {
        let (one, one_windows) = replay(&log, 1);
        let (many, many_windows) = replay(&log, workers);
        prop_assert_eq!(one, many);
        prop_assert_eq!(one_windows, many_windows);
    }

    #[test]
    fn windows_hold_what_belongs_to_them_and_come_once(log in logs()) {
        let (totals, windows) = replay(&log, 2);
        for (place, window) in windows.iter().enumerate().take(10) {
            prop_assert_eq!(window.number, place as u64);
        }
        for window in &windows {
            for span in [WindowSpan::ResponseTime, WindowSpan::ServiceTime] {
                let expected = log.iter().filter(|drawn| {
                    let instant = if span == WindowSpan::ResponseTime { drawn.intended_at } else { drawn.finished_at() };
                    PHASES.measures(drawn.intended_at)
                        && PHASES.window_of(instant) == window.number
                        && drawn.outcome == Some(Outcome::Succeeded)
                });
                let seen = window.all(span).map_or(0, |histogram| histogram.count());
                prop_assert_eq!(seen, expected.count() as u64);
            }
        }
        let mut sum = Histogram::new(COARSE);
        windows.iter().filter_map(|window| window.all(WindowSpan::ResponseTime)).for_each(|part| sum.merge(&part));
        prop_assert_eq!(sum, totals.total().response_time.coarsened(COARSE));
    }
}

fn drawn(intended_at: u64, parts: [u64; 4]) -> Drawn {
    Drawn { operation: 0, intended_at, parts, outcome: Some(Outcome::Succeeded), item: f64::NAN }
}

#[test]
fn a_window_stays_open_while_an_operation_due_in_it_is_unfinished() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, false);
    let slow = drawn(1_150, [0, 0, 0, 400]);
    recorder.begin(0, slow.intended_at);
    recorder.begin(0, 1_320);
    assert_eq!(recorder.roll(1_400).closed_below, 1);
    slow.end(&mut recorder);
    let batch = recorder.roll(1_600);
    assert_eq!((batch.closed_below, batch.in_flight), (3, 1));
    assert_eq!(batch.late.len(), 1);
    drawn(1_320, [0; 4]).end(&mut recorder);
    assert_eq!(recorder.roll(5_000).closed_below, 10);
}

#[test]
fn an_operation_begun_after_its_window_was_closed_comes_in_a_second_part() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, false);
    let mut assembler = WindowAssembler::new(1, &layout());
    assert_eq!(assembler.add(&mut recorder.roll(1_400)).len(), 4);
    recorder.begin(0, 1_250);
    drawn(1_250, [190, 0, 0, 10]).end(&mut recorder);
    let windows = assembler.add(&mut recorder.roll(1_500));
    assert_eq!(windows.iter().map(|window| window.number).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(windows[0].counts().succeeded, 1);
}

#[test]
fn an_end_told_late_keeps_what_was_counted() {
    let mut recorder =
        Recorder::new(0, &layout(), PhaseBounds { measure_to: u64::MAX, ..PHASES }, false);
    recorder.begin(0, 1_500);
    recorder.set_end(1_400);
    recorder.begin(0, 1_600);
    drawn(1_500, [0, 0, 0, 5]).end(&mut recorder);
    drawn(1_600, [0, 0, 0, 5]).end(&mut recorder);
    assert_eq!(account(&recorder.finish().operations[0]), [1, 0, 1, 0, 0]);
}

#[test]
fn a_phase_that_ends_before_it_begins_has_no_windows() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, false);
    recorder.set_end(FROM - 500);
    recorder.begin(0, FROM);
    let batch = recorder.roll(TO);
    assert_eq!((batch.closed_below, batch.windows.len(), batch.in_flight), (0, 0, 0));
}

#[test]
fn the_first_failure_of_each_kind_is_told_once() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, false);
    for _ in 0..3 {
        recorder.begin(0, 1_500);
        let failed = Outcome::Failed(FailureKind::Reset);
        Drawn { outcome: Some(failed), ..drawn(1_500, [0; 4]) }.end(&mut recorder);
    }
    assert_eq!(recorder.roll(1_600).first_failures, [(0, FailureKind::Reset, "seen".to_owned())]);
    assert!(recorder.roll(1_700).first_failures.is_empty());
}

#[test]
fn the_tail_is_split_into_its_parts() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, false);
    for part in [[1, 1, 1, 1], [0, 100, 0, 300], [100, 0, 0, 300]] {
        recorder.begin(0, 1_500);
        drawn(1_500, part).end(&mut recorder);
    }
    let tail = recorder.finish().tail;
    let share = tail.share_from(400);
    assert_eq!((tail.count_from(400), share.dispatch_lag, share.queue_wait), (2, 0.125, 0.125));
    assert_eq!((share.prepare, share.service_time), (0.0, 0.75));
    assert_eq!(tail.share_from(1_000_000), crate::summary::TailShare::default());
}

#[test]
fn items_are_counted_by_power_of_two_where_they_are_numbers() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, true);
    for item in [3.0, 2.0, 8.0, f64::NAN] {
        recorder.begin(0, 1_500);
        Drawn { item, ..drawn(1_500, [0, 0, 0, 7]) }.end(&mut recorder);
    }
    let sample = recorder.roll(1_600).samples.remove(0);
    assert_eq!(
        (sample.instants, sample.first_byte_ns, sample.connect_ns),
        ([500, 500, 500, 500, 507], Some(3), None)
    );
    let item = &recorder.finish().operations[0].items[0];
    assert_eq!((item.count, item.sum), (3, 13.0));
    let powers: Vec<_> =
        item.response_time.iter().map(|(power, times)| (*power, times.count())).collect();
    assert_eq!(powers, [(2, 2), (4, 1)]);
}

#[test]
fn what_ends_after_the_measure_phase_is_not_in_time() {
    let mut recorder = Recorder::new(0, &layout(), PHASES, false);
    let (from, to) = (PHASES.measure_from, PHASES.measure_to);
    for (intended_at, length, outcome) in [
        (from, 5, Outcome::Succeeded),
        (to - 5, 5, Outcome::Succeeded),
        (from, 5, Outcome::Failed(FailureKind::Reset)),
        (to - 5, 6, Outcome::Failed(FailureKind::Timeout)),
        (to - 5, 6, Outcome::Abandoned),
    ] {
        recorder.begin(1, intended_at);
        let parts = [0, 0, 0, length];
        Drawn { operation: 1, intended_at, parts, outcome: Some(outcome), item: 0.0 }
            .end(&mut recorder);
    }
    let totals = recorder.finish().total();
    assert_eq!((totals.succeeded, totals.succeeded_in_time), (2, 1));
    assert_eq!((totals.failed, totals.failed_in_time), (2, 1));
}
