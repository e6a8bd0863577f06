//! Where journeys end, which step takes their time, values that are missing, and users who mostly think.

use record::FailureKind;
use record::summary::{Finding, FirstFailure};

use super::*;
use crate::simulated::{EndedAt, Visit, journeys_file, simulate_journeys};

const RATE: &str = "rate = \"100/s\"\narrivals = \"constant\"\nduration = \"40s\"";

fn visits(one: impl Fn(u64) -> Visit) -> Simulated {
    simulate_journeys(&journeys_file(RATE, &[]), 100, 4_000, one)
}

fn usual() -> Visit {
    Visit::of([2 * MS, 3 * MS, 3 * MS], 100 * MS)
}

fn found(made: &Simulated, code: &str) -> Option<Finding> {
    made.summary().findings.into_iter().find(|finding| finding.code == code)
}

fn ending(each: u64, ended: EndedAt) -> Simulated {
    visits(|index| Visit {
        ended: if index % each == 1 { ended } else { EndedAt::Last },
        ..usual()
    })
}

#[test]
fn a_step_at_which_journeys_end_is_named_with_its_most_frequent_failure() {
    let made = ending(50, EndedAt::Step(1, FailureKind::Timeout));
    let finding = found(&made, "journey-ends-early").unwrap();
    assert_eq!(
        finding.claim,
        "2.00 % of journeys visit end at step list (80 of 4,000), most often with timeout"
    );
    assert_eq!(finding.operation.as_deref(), Some("visit"));
    assert_eq!(finding.evidence["ended_ratio"], 0.02);
    let few = ending(110, EndedAt::Step(1, FailureKind::Timeout));
    assert_eq!(found(&few, "journey-ends-early"), None, "fewer than one in a hundred");
    assert_eq!(found(&visits(|_| usual()), "journey-ends-early"), None);
}

#[test]
fn a_missing_value_is_shown_by_its_first_answer() {
    let mut made = ending(25, EndedAt::Step(0, FailureKind::Capture));
    made.trial.first_failures = vec![FirstFailure {
        operation: "login".into(),
        kind: "capture".into(),
        seen: "`token` is not in the answer".into(),
    }];
    assert_eq!(
        found(&made, "capture-fails").unwrap().claim,
        "4.00 % of answers to login lack a value that a later step needs; the first: `token` is not in the answer"
    );
    assert_eq!(found(&ending(25, EndedAt::Step(0, FailureKind::Timeout)), "capture-fails"), None);
}

#[test]
fn a_step_with_most_of_the_time_is_named() {
    let slow = |ms: u64, opens: u64| {
        visits(|index| Visit {
            opens: index % opens == 0,
            ..Visit::of([2 * MS, 3 * MS, ms * MS], MS)
        })
    };
    let finding = found(&slow(15, 1), "step-dominates").unwrap();
    assert_eq!(
        finding.claim,
        "open takes 75.0 % of the time of journeys visit without thinking: 15.0 ms of 20.0 ms on average"
    );
    // Every second journey performs it: 7.5 ms of 12.5 ms, and 4 ms of 9 ms.
    assert_eq!(found(&slow(15, 2), "step-dominates").unwrap().evidence["step_ratio"], 0.6);
    assert_eq!(found(&slow(8, 2), "step-dominates"), None);
}

#[test]
fn users_who_mostly_think_within_journeys_make_the_throughput() {
    // 50 users with 8 ms of work make 50/(1.892 + 0.1 + 0.008) = 25 journeys a second.
    let load = "users = 50\nspawn_rate = \"10/s\"\nthink = \"100ms\"\nduration = \"40s\"";
    let made = |rate: u64, think: u64| {
        simulate_journeys(&journeys_file(load, &[]), rate, rate * 40, |_| {
            Visit::of([2 * MS, 3 * MS, 3 * MS], think * MS)
        })
    };
    let finding = found(&made(25, 1_892), "think-time-ceiling").unwrap();
    assert_eq!(
        finding.claim,
        "the throughput is the users' think time: 50 users / (1.99 s thinking + 8.00 ms waiting) = 25.0/s, and 25.0/s \
         were begun"
    );
    assert_eq!(found(&made(20, 1_892), "think-time-ceiling"), None, "far below N/(Z+R)");
    // 5 ms of thinking within the journey and 100 ms between, of 113 ms: above nine tenths.
    assert!(found(&made(442, 5), "think-time-ceiling").is_some());
}

#[test]
fn journeys_that_could_not_begin_are_an_overload() {
    let made = ending(10, EndedAt::Missed);
    let finding = found(&made, "overload").unwrap();
    assert_eq!(
        finding.claim,
        "the target could not hold the rate: 400 of 4,000 planned journeys were never begun, because too many were in \
         progress"
    );
    let trial = &made.summary().arms[0].trials[0];
    assert_eq!(trial.validity, Validity::Overload);
    assert_eq!(trial.accounting.missed, 0, "no operation was missed");
}

#[test]
fn journeys_without_connections_have_a_cause_of_their_own() {
    let mut made = ending(10, EndedAt::Missed);
    made.trial.pool.journeys_unconnected = 400;
    assert_eq!(found(&made, "overload"), None);
    let claim = found(&made, "journey-connections").unwrap().claim;
    assert!(claim.starts_with("400 of 4,000 planned journeys were never begun"), "{claim}");
    let trial = &made.summary().arms[0].trials[0];
    assert_eq!(trial.validity, Validity::Overload, "the load was not what was planned");
    made.trial.pool.journeys_unconnected = 300;
    assert!(found(&made, "overload").unwrap().claim.contains(": 100 of 4,000"));
    assert!(found(&made, "journey-connections").is_some());
}
