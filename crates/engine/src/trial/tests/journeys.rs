//! Journeys: their times against closed forms, and what becomes of each.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plan::journey::{
    Action, AfterFailure, Condition, Connections, Journey, Preparation, Repeat, Step, Test,
};
use plan::load::{ArrivalProcess, Model, Stop, Think, WarmUp};
use plan::operation::{Operation, RowOrder, TargetOf};
use plan::plan::TrialPlan;
use plan::plan_share::PlanShare;
use plan::ramp::{Ramp, UserStage};
use plan::rows::Rows;
use plan::sessions::Sessions;
use record::{FailureKind, JourneyTotals, StepTotals};

use super::echo::{answer_after, answer_after_as, answer_in_turn, answer_in_turn_as};
use super::queueing::exponential;
use super::{MS, SECOND, TestResult, TestTrial};
use crate::transport::memory::Accept;
use crate::trial::preparation::{self, CompiledMix, FailedStep};
use crate::trial::virtual_run::endpoint;

const NAMES: [&str; 3] = ["first", "second", "third"];

fn journey(steps: Vec<Step>) -> Journey {
    Journey {
        name: "visit".to_owned(),
        weight: 1.0,
        rows: None,
        sessions: None,
        order: RowOrder::default(),
        steps,
        connections: Connections::Own,
        after_failure: AfterFailure::End,
    }
}

/// Three operations, each at a server of its own, and a journey of these steps.
pub(super) fn visits(model: Model, length: Duration, steps: Vec<Step>) -> TestTrial {
    let mut trial = TestTrial::new(model, length);
    trial.others = vec!["two", "three"];
    let operation = |(at, name): (usize, &&str)| Operation {
        target: TargetOf::Fixed(at),
        is_step: true,
        ..Operation::named(name)
    };
    trial.operations = NAMES.iter().enumerate().map(operation).collect();
    trial.journeys = vec![journey(steps)];
    trial
}

pub(super) fn at_rate(rate: f64, seconds: u64, steps: Vec<Step>) -> TestTrial {
    let arrivals = ArrivalProcess::Constant { rate };
    visits(Model::Open { arrivals }, Duration::from_secs(seconds), steps)
}

pub(super) fn think(ms: u64) -> Step {
    Step::Think(Think::Fixed { pause: Duration::from_millis(ms) })
}

fn action(operation: usize, repeat: Repeat, share: Option<f64>) -> Step {
    Step::Do(Action { operation, repeat, share, when: None })
}

/// Servers that answer after so many milliseconds, each as often as it is asked.
pub(super) fn answers(trial: &TestTrial, ms: [u64; 3]) {
    answer_after(&trial.network, &trial.clock, move |_| ms[0] * MS);
    answer_after_as("two", &trial.network, &trial.clock, move |_| ms[1] * MS);
    answer_after_as("three", &trial.network, &trial.clock, move |_| ms[2] * MS);
}

pub(super) fn visit(result: &TestResult) -> &JourneyTotals {
    &result.trial.totals.journeys[0]
}

fn step(result: &TestResult, at: usize) -> &StepTotals {
    &visit(result).steps[at]
}

/// Mean journey time through two queues in milliseconds, averaged over seeds 1 to 100.
fn through_two_queues(load: f64, seconds: u64) -> f64 {
    let mut means = 0.0;
    for seed in 1..=100 {
        let arrivals = ArrivalProcess::Poisson { rate: load * 1_000.0 };
        let steps = vec![Step::once(0), Step::once(1)];
        let mut trial = visits(Model::Open { arrivals }, Duration::from_secs(seconds), steps);
        trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(1) };
        trial.seed = seed;
        answer_in_turn(&trial.network, &trial.clock, exponential(seed));
        // Its service times must not be those of the first server.
        answer_in_turn_as("two", &trial.network, &trial.clock, exponential(1_000 + seed));
        let result = trial.run();
        let visits = &visit(&result).totals;
        assert_eq!(visits.planned, visits.succeeded);
        means += visits.response_time.mean() / 1e6;
    }
    means / 100.0
}

#[track_caller]
fn near(mean: f64, expected: f64) {
    assert!((mean / expected - 1.0).abs() < 0.02, "mean {mean} ms, not {expected}");
}

#[test]
fn two_queues_in_a_row_at_half_load() {
    // 1/(μ₁ − λ) + 1/(μ₂ − λ): a Jackson network.
    near(through_two_queues(0.5, 10), 4.0);
}

#[test]
fn two_queues_in_a_row_at_high_load() {
    near(through_two_queues(0.8, 30), 10.0);
}

#[test]
fn users_obey_the_interactive_response_time_law() {
    for workers in [1, 3] {
        let think_time = Think::Fixed { pause: Duration::from_millis(70) };
        let model =
            Model::Users { users: 10, spawn_rate: f64::INFINITY, think: think_time, ramp: None };
        let steps = vec![Step::once(0), think(20), Step::once(1)];
        let mut trial = visits(model, Duration::from_secs(10), steps);
        trial.workers = workers;
        answers(&trial, [4, 6, 0]);
        let result = trial.run();
        let visits = &visit(&result).totals;
        // N = X·(R + Z): ten users, 30 ms and 70 ms of pause, hence 100 a second.
        assert_eq!((visits.planned, visits.succeeded), (1_000, 1_000), "{workers} workers");
        assert_eq!(visits.response_time.sum(), 1_000 * u128::from(30 * MS));
        assert_eq!(visits.service_time.sum(), 1_000 * u128::from(10 * MS), "without thinking");
    }
}

#[test]
fn a_count_of_journeys_ends_with_the_last() {
    let mut trial = visits(Model::Closed, Duration::ZERO, vec![Step::once(0), Step::once(1)]);
    trial.load.connections = 4;
    trial.load.stop = Stop::Operations { count: 20 };
    answers(&trial, [5, 5, 0]);
    let result = trial.run();
    assert_eq!(visit(&result).totals.succeeded, 20);
    assert_eq!(result.accounting().succeeded, 40);
}

#[test]
fn a_later_step_counts_from_the_end_of_the_one_before() {
    let steps = vec![Step::once(0), think(100), Step::once(1), Step::once(2)];
    let trial = at_rate(50.0, 4, steps);
    answer_after(&trial.network, &trial.clock, |_| MS);
    // The second server stands still from 1 s to 2 s.
    answer_after_as("two", &trial.network, &trial.clock, |now| {
        let until = if (SECOND..2 * SECOND).contains(&now) { 2 * SECOND - now } else { 0 };
        until + MS
    });
    answer_after_as("three", &trial.network, &trial.clock, |_| MS);
    let result = trial.run();
    let [first, second, third] = &result.trial.totals.operations[..] else { panic!("three") };
    assert_eq!(first.response_time.max(), MS);
    assert!(second.response_time.max() > 990 * MS, "the stall is in the second step");
    assert_eq!(third.response_time.max(), MS, "and not in the third");
    // A journey met the stall if its second step was due in it: 50 a second.
    let slow = visit(&result).totals.response_time.count_above(104 * MS);
    assert!((48..=50).contains(&slow), "{slow} journeys met the stall");
    assert_eq!(visit(&result).totals.planned, 200);
}

#[test]
fn steps_at_the_same_time_end_with_the_last() {
    let trial = at_rate(100.0, 1, vec![Step::Together(vec![0, 1, 2]), Step::once(0)]);
    answers(&trial, [2, 9, 4]);
    let result = trial.run();
    assert_eq!(visit(&result).totals.response_time.min(), 11 * MS);
    assert_eq!(visit(&result).totals.response_time.max(), 11 * MS);
    assert_eq!(step(&result, 0).name, "first + second + third");
    // Three at the same time, on as many connections of the journey's own.
    assert_eq!(result.trial.pool.connections_opened, 300);
}

#[test]
fn an_action_is_performed_several_times() {
    let steps = vec![action(0, Repeat::Times(3), None), action(1, Repeat::Times(2), None)];
    let trial = at_rate(10.0, 1, steps);
    answers(&trial, [1, 2, 0]);
    let result = trial.run();
    assert_eq!(result.trial.totals.operations[0].succeeded, 30);
    assert_eq!(result.trial.totals.operations[1].succeeded, 20);
    assert_eq!(visit(&result).totals.response_time.max(), 7 * MS);
    assert_eq!((step(&result, 0).reached, step(&result, 1).succeeded), (10, 10));
}

/// Two recorded sessions in turn, of three requests and of one.
fn recorded(after_failure: AfterFailure, operation: usize) -> TestTrial {
    let sessions = Sessions::parse("s.csv", "1,0s\n1,100ms\n1,50ms\n2,0s\n").unwrap();
    let mut trial = at_rate(10.0, 1, vec![action(operation, Repeat::Session, None)]);
    trial.journeys[0].sessions = Some(Arc::new(sessions));
    trial.load.stop = Stop::Operations { count: 10 };
    trial.journeys[0].after_failure = after_failure;
    trial
}

#[test]
fn requests_of_a_session_begin_at_their_distances_or_when_the_one_before_has_ended() {
    // Of the last session that begins within the phase, the last request may be due after it.
    for (takes, longest, measured) in [(1, 151, 20), (60, 220, 20), (120, 360, 19)] {
        let trial = recorded(AfterFailure::End, 0);
        answers(&trial, [takes, 0, 0]);
        let result = trial.run();
        assert_eq!(result.trial.totals.operations[0].succeeded, measured);
        let whole = visit(&result).totals.response_time.clone();
        assert_eq!((whole.min(), whole.max()), (takes * MS, longest * MS), "{takes}");
        assert_eq!((step(&result, 0).reached, step(&result, 0).succeeded), (10, 10));
    }
}

#[test]
fn a_session_continues_after_a_failure_where_its_journey_does() {
    for (after_failure, performed) in [(AfterFailure::End, 10), (AfterFailure::Continue, 20)] {
        // Nobody is called `two`: connecting fails.
        let result = recorded(after_failure, 1).run();
        assert_eq!(result.trial.totals.operations[1].failed, performed);
        assert_eq!(visit(&result).totals.failed, 10);
        assert_eq!((step(&result, 0).reached, step(&result, 0).failed), (10, 10));
    }
}

#[test]
fn shares_are_drawn_alike_on_any_number_of_workers() {
    let taken = |workers| {
        let share = |operation, share| action(operation, Repeat::Once, Some(share));
        let mut trial = at_rate(500.0, 4, vec![share(0, 0.3), share(1, 0.5)]);
        trial.workers = workers;
        answers(&trial, [1, 1, 1]);
        let result = trial.run();
        assert_eq!(visit(&result).totals.succeeded, 2_000);
        [0, 1].map(|at| (step(&result, at).reached, step(&result, at).skipped))
    };
    let alone = taken(1);
    for (share, (reached, skipped)) in [0.3, 0.5].into_iter().zip(alone) {
        assert_eq!(reached + skipped, 2_000);
        // 4 sigma of a binomial share.
        let sigma = (2_000.0_f64 * share * (1.0 - share)).sqrt();
        assert!((reached as f64 - 2_000.0 * share).abs() < 4.0 * sigma, "{reached}");
    }
    assert_eq!(taken(3), alone);
}

#[test]
fn a_failed_step_ends_its_journey_unless_it_continues() {
    let of = |after_failure| {
        let mut trial = at_rate(10.0, 1, vec![Step::once(0), Step::once(1), Step::once(2)]);
        trial.journeys[0].after_failure = after_failure;
        answer_after(&trial.network, &trial.clock, |_| MS);
        // Nobody is called `two`: connecting fails.
        answer_after_as("three", &trial.network, &trial.clock, |_| MS);
        trial.run()
    };
    let ended = of(AfterFailure::End);
    assert_eq!(visit(&ended).totals.failed, 10);
    let expected = StepTotals {
        name: "second".to_owned(),
        reached: 10,
        failed: 10,
        ended: 10,
        ..StepTotals::default()
    };
    assert_eq!(*step(&ended, 1), expected);
    assert_eq!((step(&ended, 2).reached, ended.trial.totals.operations[2].planned), (0, 0));
    let seen = ended.trial.first_failures.iter().find(|one| one.operation == "visit");
    assert_eq!(seen.map(|one| one.seen.as_str()), Some("step second"));
    let continued = of(AfterFailure::Continue);
    assert_eq!(visit(&continued).totals.failed, 10, "it has failed in any case");
    assert_eq!((step(&continued, 1).ended, step(&continued, 2).succeeded), (0, 10));
}

#[test]
fn what_still_thinks_at_the_drain_deadline_is_abandoned() {
    let mut trial = at_rate(10.0, 2, vec![Step::once(0), think(5_000), Step::once(1)]);
    trial.load.timeout = Duration::from_millis(4_000);
    answers(&trial, [1, 1, 1]);
    let result = trial.run();
    let visits = &visit(&result).totals;
    // Those that began in the first second end before 6 s.
    assert_eq!((visits.planned, visits.succeeded, visits.abandoned), (20, 10, 10));
    assert_eq!(step(&result, 0).succeeded, 20);
    assert_eq!(step(&result, 1).reached, 10, "the others never came as far");
}

#[test]
fn operations_that_no_journey_names_begin_on_their_own() {
    for model in [
        Model::Open { arrivals: ArrivalProcess::Constant { rate: 100.0 } },
        Model::Users {
            users: 1,
            spawn_rate: f64::INFINITY,
            think: Think::Fixed { pause: Duration::from_millis(8) },
            ramp: None,
        },
    ] {
        let mut trial = visits(model, Duration::from_secs(10), vec![Step::once(0)]);
        trial.operations[1].is_step = false;
        trial.operations[2].weight = 0.0;
        answers(&trial, [2, 2, 2]);
        let result = trial.run();
        let alone = result.trial.totals.operations[1].succeeded;
        assert_eq!(alone + visit(&result).totals.succeeded, 1_000);
        assert!((400..600).contains(&alone), "{alone}: both have the weight 1");
    }
}

#[test]
fn pooled_journeys_share_the_connections_of_the_load() {
    let mut trial = at_rate(100.0, 2, vec![Step::once(0), think(50), Step::once(1)]);
    trial.journeys[0].connections = Connections::Pool;
    trial.load.connections = 2;
    answers(&trial, [1, 1, 1]);
    let result = trial.run();
    assert_eq!(visit(&result).totals.succeeded, 200);
    assert!(result.trial.pool.connections_opened <= 4);
}

#[test]
fn users_come_and_go_as_the_stages_say() {
    let stage = |users, seconds| UserStage { users, over: Duration::from_secs(seconds) };
    let ramp = Ramp { stages: vec![stage(10, 10), stage(10, 10), stage(0, 10)] };
    let pause = Think::Fixed { pause: Duration::from_millis(490) };
    let model =
        Model::Users { users: 10, spawn_rate: f64::INFINITY, think: pause, ramp: Some(ramp) };
    for (is_step, workers) in [(true, 1), (true, 3), (false, 1)] {
        let mut trial = visits(model.clone(), Duration::from_secs(30), vec![Step::once(0)]);
        if !is_step {
            // The same users without a journey.
            trial.journeys.clear();
            trial.operations.truncate(1);
            trial.operations[0].is_step = false;
        }
        trial.workers = workers;
        answers(&trial, [10, 10, 10]);
        let result = trial.run();
        let totals = &result.trial.totals;
        let begun = if is_step { &visit(&result).totals } else { &totals.operations[0] };
        // Two a second of each user, who is there for 30 - 2k seconds: 20 users for ten seconds.
        let expected: u64 = (0..10).map(|user| 2 * (29 - 2 * user) + 1).sum();
        assert!(begun.planned.abs_diff(expected) <= 10, "{} not {expected}", begun.planned);
        assert_eq!(begun.planned, begun.succeeded);
        assert_eq!(result.trial.in_flight.max.min(10), result.trial.in_flight.max);
    }
}

/// Performs `[setup]` with three rows at two servers; requests at the first one, and how it ended.
fn set_up(share: PlanShare, second_answers: bool) -> (u32, Result<(), FailedStep>) {
    let mut trial = at_rate(1.0, 1, vec![Step::once(0)]);
    trial.share = share;
    let asked = Rc::new(Cell::new(0));
    let counted = Rc::clone(&asked);
    answer_after(&trial.network, &trial.clock, move |_| {
        counted.set(counted.get() + 1);
        MS
    });
    if second_answers {
        answer_after_as("two", &trial.network, &trial.clock, |_| MS);
    }
    let rows = Rows::parse("users.csv", b"name\na\nb\nc\n").expect("three rows");
    let preparation = Preparation { steps: vec![0, 1], rows: Some(Arc::new(rows)) };
    let arm = trial.arm("memory://target".to_owned());
    let planned = TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed: 1, duet: false };
    let setup = trial.setup(&arm, &planned);
    let operations = setup.compile(&arm.targets).expect("an echo needs nothing");
    let endpoints: Vec<_> = arm.targets.iter().map(|target| endpoint(&target.url)).collect();
    let mix = CompiledMix { operations: &operations, endpoints: &endpoints };
    let runtime = trial.clock.runtime().expect("a runtime");
    let performing =
        preparation::all(&setup, ("setup", &preparation), mix, &trial.clock, &trial.network);
    let ended = runtime.block_on(performing);
    (asked.get(), ended)
}

#[test]
fn a_setup_performs_its_steps_once_for_each_row() {
    assert_eq!(set_up(PlanShare::WHOLE, true), (3, Ok(())));
}

#[test]
fn shares_deal_the_rows_of_a_setup() {
    let asked = [1, 2].map(|number| set_up(PlanShare { number, of: 2 }, true));
    assert_eq!(asked, [(2, Ok(())), (1, Ok(()))]);
}

#[test]
fn a_setup_ends_with_the_first_step_that_fails() {
    let (asked, ended) = set_up(PlanShare::WHOLE, false);
    assert_eq!(asked, 1, "nothing is performed after it");
    let failed = ended.expect_err("nobody is called `two`");
    assert_eq!((failed.operation.as_str(), failed.row), ("second", Some(1)));
    let text = failed.to_string();
    assert!(text.starts_with("[setup] failed at `second`, row 1: refused"), "{text}");
}

#[test]
fn a_user_does_not_spin_on_a_refusal() {
    let mut trial =
        visits(Model::Closed, Duration::from_secs(1), vec![Step::once(0), Step::once(1)]);
    trial.load.connections = 1;
    trial.network.listen("target", || Accept::Refuse(FailureKind::Refused));
    // As without journeys: pauses of 1, 2, 4 … 64 ms, and then of 100 ms.
    assert_eq!(visit(&trial.run()).totals.failed, 8 + 8);
}

#[test]
fn a_journey_that_is_abandoned_between_two_attempts_has_reached_the_step() {
    // A condition over a value that nobody captures never holds.
    let condition = Condition { capture: 0, test: Test::Present };
    let (every, within) = (Duration::from_secs(3), Duration::from_secs(60));
    let poll = action(0, Repeat::Until { condition, every, within }, None);
    let mut trial = at_rate(10.0, 1, vec![poll]);
    trial.load.timeout = Duration::from_secs(2);
    answers(&trial, [1, 1, 1]);
    let result = trial.run();
    assert_eq!(visit(&result).totals.abandoned, 10);
    assert_eq!((step(&result, 0).reached, step(&result, 0).abandoned), (10, 10));
}
