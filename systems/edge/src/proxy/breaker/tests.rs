use super::*;

const RULES: Rules =
    Rules { errors: 3, window: Duration::from_secs(60), pause: Duration::from_secs(5), probes: 2 };

/// What happens to a breaker, at a second.
enum Step {
    /// A request asks, and gets this permit.
    Ask(Verdict),
    /// A usual request came to this.
    Pass(Outcome),
    /// The one that tried came to this.
    Probe(Outcome),
    /// It stands so, with so many errors.
    Look(Position, u64),
}
use Outcome::{Answered, Failed, Unknown};
use Step::{Ask, Look, Pass, Probe};

fn walk(name: &str, steps: &[(u64, Step)]) {
    let begun = Instant::now();
    let mut breaker = Breaker::new(begun);
    for (place, (second, step)) in steps.iter().enumerate() {
        let now = begun + Duration::from_secs(*second);
        let at = format!("{name}, step {place}");
        match step {
            Ask(verdict) => assert_eq!(breaker.ask(&RULES, now), *verdict, "{at}"),
            Pass(outcome) => breaker.record(&RULES, now, false, *outcome),
            Probe(outcome) => breaker.record(&RULES, now, true, *outcome),
            Look(position, errors) => {
                assert_eq!(breaker.look(&RULES, now), (*position, *errors), "{at}");
            }
        }
    }
}

const fn refuse(seconds: u64) -> Step {
    Ask(Verdict::Refuse(Duration::from_secs(seconds)))
}

#[test]
fn it_opens_with_as_many_errors_as_the_rule_says_and_not_before() {
    walk(
        "errors in a row",
        &[
            (0, Ask(Verdict::Pass)),
            (0, Pass(Failed)),
            (1, Pass(Failed)),
            (2, Ask(Verdict::Pass)),
            (2, Look(Position::Closed, 2)),
            (2, Pass(Failed)),
            (2, Look(Position::Open, 3)),
            (2, refuse(5)),
            (6, refuse(1)),
        ],
    );
    walk(
        "answers between errors change nothing",
        &[
            (0, Pass(Failed)),
            (1, Pass(Answered)),
            (2, Pass(Unknown)),
            (3, Pass(Failed)),
            (3, Look(Position::Closed, 2)),
            (4, Pass(Failed)),
            (4, Look(Position::Open, 3)),
        ],
    );
}

#[test]
fn errors_are_forgotten_with_the_window() {
    walk(
        "one error every 30 s is never three within 60 s",
        &[
            (0, Pass(Failed)),
            (30, Pass(Failed)),
            (60, Pass(Failed)),
            (90, Pass(Failed)),
            (90, Look(Position::Closed, 2)),
            (10_000, Look(Position::Closed, 0)),
            (10_000, Pass(Failed)),
            (10_001, Pass(Failed)),
            (10_001, Look(Position::Closed, 2)),
            (10_002, Pass(Failed)),
            (10_002, Look(Position::Open, 3)),
        ],
    );
}

fn opened() -> Vec<(u64, Step)> {
    vec![(0, Pass(Failed)), (0, Pass(Failed)), (0, Pass(Failed))]
}

fn walk_opened(name: &str, steps: Vec<(u64, Step)>) {
    walk(name, &[opened(), steps].into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn one_at_a_time_tries_and_enough_of_them_close_it() {
    walk_opened(
        "two probes close it, with nothing counted",
        vec![
            (5, Ask(Verdict::Probe)),
            (5, refuse(5)),
            (5, Look(Position::HalfOpen, 3)),
            (6, Probe(Answered)),
            (6, Look(Position::HalfOpen, 3)),
            (6, Ask(Verdict::Probe)),
            (7, Probe(Answered)),
            (7, Look(Position::Closed, 0)),
            (7, Ask(Verdict::Pass)),
        ],
    );
    walk_opened(
        "a probe that fails opens it for another pause",
        vec![
            (5, Ask(Verdict::Probe)),
            (8, Probe(Failed)),
            (8, Look(Position::Open, 3)),
            (12, refuse(1)),
            (13, Ask(Verdict::Probe)),
        ],
    );
    walk_opened(
        "a probe of which nothing is known lets the next one try, and counts for nothing",
        vec![
            (5, Ask(Verdict::Probe)),
            (6, Probe(Unknown)),
            (6, Ask(Verdict::Probe)),
            (6, Probe(Answered)),
            (6, Look(Position::HalfOpen, 3)),
        ],
    );
}

#[test]
fn answers_from_before_it_opened_change_nothing() {
    walk_opened(
        "late ones",
        vec![
            (1, Pass(Failed)),
            (1, Pass(Answered)),
            (1, Look(Position::Open, 3)),
            (5, Ask(Verdict::Probe)),
            (5, Pass(Failed)),
            (5, Pass(Answered)),
            (5, Look(Position::HalfOpen, 3)),
        ],
    );
}
