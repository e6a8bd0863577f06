//! Criteria on kinds of failure.

use super::*;

/// Every failure was a time-out.
#[test]
fn kinds_of_failure_are_judged_apart() {
    let asked = ["timeout == 0", "wrong_content == 0", "home timeout == 1200", "status == 0"];
    let made = failing(&asked).summary().criteria;
    let told: Vec<_> = made.iter().map(|one| (one.result, one.observed)).collect();
    let (all, none) = (Some(1_200.0), Some(0.0));
    assert_eq!(told, [(Fail, all), (Pass, none), (Pass, all), (Pass, none)]);
    assert_eq!(made[1].high, Some(3.0), "what such a run may show by chance");
    let asked = [
        "timeout / failed == 100%",
        "wrong_content / planned < 1%",
        "timeout <= 100 over 5s windows",
        "timeout < 100 over 5s windows",
        "closed == 0 over 1s windows",
        "timeout / planned <= 10.1% over 1s windows",
    ];
    let made = failing(&asked).summary().criteria;
    let told: Vec<_> = made.iter().map(|one| one.result).collect();
    assert_eq!(told, [Pass, Pass, Pass, Fail, Pass, Pass]);
}
