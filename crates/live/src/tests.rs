//! Screens of runs whose windows are made here: what a user sees.

use std::sync::Arc;
use std::time::Duration;

use pages::tables::Table;
use plan::criterion::{Criterion, Names};
use plan::load::{ArrivalProcess, Load, Model, Reuse, SteadyState, Stop, WarmUp};
use plan::operation::Operation;
use plan::plan::{Arm, Plan};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use record::event::{Event, EventKind, Lateness, Phase, Progress};
use record::{FailureKind, OperationWindow, Window, summary};
use stats::{COARSE, Histogram};

use crate::audience::News;
use crate::terminal::screen::draw;
use crate::view::{RunView, TrialHead};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

pub fn plan(criteria: &[&str], operations: &[&str]) -> Arc<Plan> {
    let load = Load {
        model: Model::Open { arrivals: ArrivalProcess::Constant { rate: 100.0 } },
        stop: Stop::Duration { after: Duration::from_secs(60) },
        warm_up: WarmUp::Fixed { length: Duration::ZERO },
        timeout: Duration::from_secs(30),
        connections: 10,
        streams: 1,
        reuse: Reuse::KeepAlive,
        steady_state: SteadyState::Reported,
        workers: None,
        busy_poll: false,
    };
    let arm = Arm {
        name: "all".to_owned(),
        factors: Default::default(),
        values: Default::default(),
        targets: Vec::new(),
        load,
        operations: operations.iter().map(|name| Operation::named(name)).collect(),
        services: Vec::new(),
        system: None,
        observers: Vec::new(),
        faults: Vec::new(),
        journeys: Vec::new(),
        setup: None,
        teardown: None,
    };
    let mut plan = Plan::single("Shop at 100 requests/s", arm, 1);
    plan.criteria = criteria.iter().map(|text| parsed(text)).collect();
    Arc::new(plan)
}

fn parsed(text: &str) -> Criterion {
    Criterion::parse(text, (0..text.len()).into(), &Names::default()).expect("a criterion")
}

pub fn head(plan: &Plan, journeys: &[&str]) -> TrialHead {
    TrialHead {
        run: "20261124T1200Z-shop".to_owned(),
        trial: plan.trials[0].clone(),
        number: (1, 1),
        block: (1, 1),
        arm: "all".to_owned(),
        model: summary::Model::Open,
        window_ns: SECOND,
        measure_ns: Some(60 * SECOND),
        later_ns: None,
        operations: plan.arms[0].operations.iter().map(|one| one.name.clone()).collect(),
        journeys: journeys.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// A run that measures.
fn begun(plan: &Arc<Plan>, journeys: &[&str]) -> RunView {
    let mut view = RunView::new(plan);
    measuring(plan, journeys).iter().for_each(|news| view.take(news));
    view
}

/// The beginning of a trial, and of its measure phase.
pub fn measuring(plan: &Arc<Plan>, journeys: &[&str]) -> [News; 2] {
    let kind = EventKind::PhaseEntered { phase: Phase::Measure };
    [
        News::Begin(Box::new(head(plan, journeys)), Arc::clone(plan)),
        News::Event(Event { at_ns: 0, kind }),
    ]
}

/// The beginning of some trial.
pub fn begin() -> News {
    let [begin, _] = measuring(&plan(&[], &["home"]), &[]);
    begin
}

/// So many operations that were due in a second and have taken this long; the others wait.
pub fn part(planned: u64, ended: u64, time: u64) -> OperationWindow {
    let mut times = Histogram::new(COARSE);
    times.record_n(time, ended);
    let response_time = (ended > 0).then_some(times);
    OperationWindow { planned, succeeded: ended, response_time, ..OperationWindow::default() }
}

pub fn window(number: u64, operations: Vec<OperationWindow>) -> Window {
    Window { number, operations, ..Window::default() }
}

pub fn progress(second: u64, in_flight: u64) -> News {
    let progress = Progress {
        phase: Some(Phase::Measure),
        finished_rate: Some(100.0),
        in_flight,
        lateness: Lateness { time_ns: SECOND, lag_ns: 4 * MS, max_ns: 2 * MS },
        ..Progress::default()
    };
    let at_ns = i64::try_from(second * SECOND).expect("an instant");
    News::Event(Event { at_ns, kind: EventKind::Progress(progress) })
}

fn drawn(view: &mut RunView, columns: u16, lines: u16) -> String {
    view.refresh();
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("a terminal");
    terminal.draw(|frame| draw(frame, view)).expect("it is drawn");
    terminal.backend().to_string().replace('"', "")
}

#[test]
fn a_run_shows_times_operations_criteria_and_notes() {
    let plan = plan(&["p99 < 20ms", "failed == 0"], &["home", "search"]);
    let mut view = begun(&plan, &[]);
    for number in 0..12 {
        let slow = if number == 7 { 40 * MS } else { 8 * MS };
        let mut search = part(30, 29, slow);
        search.failed = vec![(FailureKind::Timeout, 1)];
        view.take(&News::Window(window(number, vec![part(70, 70, 2 * MS), search])));
    }
    view.take(&progress(12, 3));
    view.take(&News::Note("first timeout of `search`: no answer within 30 s".to_owned()));
    insta::assert_snapshot!(drawn(&mut view, 80, 24));
}

/// Two seconds in which nothing is answered are seen while they last.
#[test]
fn a_stall_is_seen_before_it_ends() {
    let plan = plan(&["p99 < 20ms"], &["home"]);
    let mut view = begun(&plan, &[]);
    for number in 0..10 {
        view.take(&News::Window(window(number, vec![part(100, 100, 2 * MS)])));
    }
    let open = vec![
        window(10, vec![part(100, 40, 2 * MS)]),
        window(11, vec![part(100, 0, 0)]),
        window(12, vec![part(100, 0, 0)]),
    ];
    view.take(&News::Open(open, (13 * SECOND).cast_signed()));
    view.take(&progress(13, 260));
    view.refresh();
    let waits = |second: u64| view.seconds[&second].quantiles[2].nanoseconds();
    assert_eq!(waits(10), Some(2 * SECOND), "60 of 100 have waited for at least two seconds");
    assert_eq!(waits(11), Some(SECOND));
    let screen = drawn(&mut view, 100, 30);
    assert!(screen.contains("260 in flight, 60 wait ≥ 2 s"), "{screen}");
    // It ends, and the times are those of the answers.
    for number in 10..13 {
        view.take(&News::Window(window(number, vec![part(100, 100, 2_500 * MS)])));
    }
    view.take(&News::Open(Vec::new(), (16 * SECOND).cast_signed()));
    view.refresh();
    let p99 = view.seconds[&11].quantiles[2].nanoseconds().expect("it is known");
    assert!(p99.abs_diff(2_500 * MS) < 25 * MS, "{p99}");
    assert_eq!(view.seconds[&11].unanswered, 0);
}

#[test]
fn journeys_and_what_earlier_trials_say_have_places_of_their_own() {
    let plan = plan(&[], &["open", "pay"]);
    let mut view = begun(&plan, &["visit"]);
    let mut both = window(0, vec![part(10, 10, 2 * MS), part(5, 5, 9 * MS)]);
    both.journeys = vec![part(9, 9, 300 * MS)];
    view.take(&News::Window(both));
    view.take(&progress(1, 0));
    let mut table =
        Table::new("comparison", "messages against 0", &["level", "#ratio", "95 % interval"]);
    table.row(["10".to_owned(), "1.10".to_owned(), "1.06 – 1.14".to_owned()]);
    view.take(&News::Tables(vec![table]));
    insta::assert_snapshot!(drawn(&mut view, 120, 32));
}

/// The fourth trial of ten of five arms, after the first of two blocks.
#[test]
fn a_comparison_of_five_arms_shows_where_it_is_and_each_ratio_so_far() {
    let plan = plan(&[], &["get"]);
    let mut view = begun(&plan, &[]);
    let place = TrialHead {
        number: (9, 10),
        block: (2, 2),
        arm: "service=14ms".to_owned(),
        later_ns: Some(60 * SECOND),
        ..head(&plan, &[])
    };
    view.take(&News::Begin(Box::new(place), Arc::clone(&plan)));
    let kind = EventKind::PhaseEntered { phase: Phase::Measure };
    view.take(&News::Event(Event { at_ns: 0, kind }));
    view.take(&News::Window(window(0, vec![part(50, 50, 14 * MS)])));
    view.take(&progress(1, 2));
    let mut table =
        Table::new("comparison", "service against 10ms", &["level", "#ratio", "95 % interval"]);
    for (level, ratio) in [("12ms", "1.20"), ("14ms", "1.40"), ("16ms", "1.60"), ("30ms", "3.00")] {
        table.row([level.to_owned(), ratio.to_owned(), "one block so far".to_owned()]);
    }
    view.take(&News::Tables(vec![table]));
    insta::assert_snapshot!(drawn(&mut view, 100, 32));
}

#[test]
fn a_search_shows_its_steps() {
    let plan = plan(&["p99 < 20ms"], &["get"]);
    let mut view = begun(&plan, &[]);
    view.take(&News::Window(window(0, vec![part(400, 400, 3 * MS)])));
    view.take(&progress(1, 12));
    let mut table = Table::new("capacity", "steps so far", &["#rate", "result", "#p99"]);
    for (rate, result, p99) in [("100/s", "pass", "2.00 ms"), ("800/s", "fail", "1.20 s")] {
        table.row([rate.to_owned(), result.to_owned(), p99.to_owned()]);
    }
    view.take(&News::Tables(vec![table]));
    view.take(&News::Note("  200/s: pass".to_owned()));
    insta::assert_snapshot!(drawn(&mut view, 80, 32));
}

#[test]
fn the_drain_is_no_drop_of_the_rate() {
    let plan = plan(&[], &["home"]);
    let mut view = begun(&plan, &[]);
    for number in 58..63 {
        let due = if number < 60 { 100 } else { 0 };
        view.take(&News::Window(window(number, vec![part(due, due, 2 * MS)])));
    }
    view.take(&News::Open(vec![window(61, vec![part(0, 0, 0)])], (62 * SECOND).cast_signed()));
    view.refresh();
    assert_eq!(view.seconds.keys().copied().collect::<Vec<_>>(), [58, 59]);
}

#[test]
fn a_criterion_that_is_lost_is_said_at_the_top() {
    let plan = plan(&["failed == 0"], &["home"]);
    let mut view = begun(&plan, &[]);
    let mut failing = part(100, 99, 2 * MS);
    failing.failed = vec![(FailureKind::Timeout, 1)];
    view.take(&News::Window(window(0, vec![failing])));
    let screen = drawn(&mut view, 80, 24);
    assert!(
        screen.lines().next().is_some_and(|line| line.contains("can no longer pass")),
        "{screen}"
    );
    assert!(screen.contains("cannot be met any more: it is already at least 1"), "{screen}");
}

/// A window may become as small as it likes, and texts of targets cannot steer it.
#[test]
fn every_size_is_drawn_and_no_text_steers_the_terminal() {
    let plan = plan(
        &["p99 < 20ms"; 9],
        &["a\u{1b}[2Jb", "\u{202e}<b>\"", "long name ".repeat(20).as_str()],
    );
    let mut view = begun(&plan, &[]);
    for number in 0..100 {
        let parts = vec![part(70, 70, number * MS + 1), part(30, 30, MS), part(1, 1, MS)];
        view.take(&News::Window(window(number, parts)));
    }
    view.take(&progress(100, 3));
    view.take(&News::Note("\u{1b}]0;title\u{7} \u{1b}[31mred".to_owned()));
    for (columns, lines) in [(20, 5), (1, 1), (80, 24), (200, 60), (3, 100), (300, 2)] {
        let screen = drawn(&mut view, columns, lines);
        assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'), "{screen}");
    }
    assert_eq!(view.seconds.len(), 60, "memory does not grow with the run");
}
