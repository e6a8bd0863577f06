//! Criteria that name a journey.

use super::*;
use crate::simulated::{EndedAt, Visit, journeys_file, simulate_journeys};

#[test]
fn criteria_may_be_about_whole_journeys() {
    let criteria =
        ["visit p95 < 8s", "visit p95 < 1s", "list p95 < 1s", "visit succeeded / planned > 99%"];
    let load = "rate = \"50/s\"\narrivals = \"constant\"\nduration = \"60s\"";
    let judged = |fails_each: u64| {
        let made = simulate_journeys(&journeys_file(load, &criteria), 50, 3_000, |index| Visit {
            ended: match index % fails_each {
                1 => EndedAt::Step(1, FailureKind::Timeout),
                _ => EndedAt::Last,
            },
            ..Visit::of([MS, 2 * MS, 3 * MS], 2_000 * MS)
        });
        let criteria = made.summary().criteria;
        assert_eq!(criteria[0].operation, "visit");
        criteria.iter().map(|one| one.result).collect::<Vec<_>>()
    };
    // Thinking belongs to the time of a journey, and to that of no operation.
    assert_eq!(judged(1_000), [Pass, Fail, Pass, Pass]);
    assert_eq!(judged(50)[3], Fail);
}
