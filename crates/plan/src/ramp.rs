//! A number of users that rises, holds and falls.
//!
//! Times count from the start of the load, which is the start of the warm-up where there is one.

use std::time::Duration;

use serde::Serialize;

/// Stages, one after the other, that begin without users. After the last one its number of users remains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Ramp {
    /// In order. The number of users never rises after it fell.
    pub stages: Vec<UserStage>,
}

/// A linear ramp to `users`; a plateau where that is their number before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UserStage {
    /// Their number at its end.
    pub users: u32,
    /// Its length.
    pub over: Duration,
}

impl Ramp {
    /// The greatest number of users at a time, which is also the number of all users.
    pub fn peak(&self) -> u32 {
        self.stages.iter().map(|stage| stage.users).max().unwrap_or(0)
    }

    /// All stages together.
    pub fn length(&self) -> Duration {
        self.stages.iter().map(|stage| stage.over).sum()
    }

    /// When this user (from 0) starts: as soon as the ramp is above its number. `Duration::MAX` for a user that never
    /// starts.
    pub fn starts_at(&self, user: u32) -> Duration {
        let crosses = |before: u32, after: u32| before <= user && user < after;
        self.crossing(user, crosses).unwrap_or(Duration::MAX)
    }

    /// When this user (from 0) begins no more: as soon as the ramp is back at its number. `None` for a user that stays.
    pub fn ends_at(&self, user: u32) -> Option<Duration> {
        self.crossing(user, |before, after| after <= user && user < before)
    }

    /// When the ramp is at this number of users in the first stage whose ends `crosses` finds on either side of it.
    fn crossing(&self, user: u32, crosses: impl Fn(u32, u32) -> bool) -> Option<Duration> {
        let (mut before, mut start) = (0, Duration::ZERO);
        for stage in &self.stages {
            if crosses(before, stage.users) {
                let whole = f64::from(before.abs_diff(stage.users));
                return Some(start + stage.over.mul_f64(f64::from(before.abs_diff(user)) / whole));
            }
            (before, start) = (stage.users, start + stage.over);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ramp(stages: &[(u32, u32)]) -> Ramp {
        let stage = |(users, over): &(u32, u32)| UserStage { users: *users, over: *over * SECOND };
        Ramp { stages: stages.iter().map(stage).collect() }
    }

    #[test]
    fn users_come_one_by_one_and_go_in_the_opposite_order() {
        let ramp = ramp(&[(50, 100), (50, 300), (0, 25)]);
        assert_eq!((ramp.peak(), ramp.length()), (50, 425 * SECOND));
        assert_eq!([0, 1, 49].map(|user| ramp.starts_at(user)), [0, 2, 98].map(|at| at * SECOND));
        let ends = [49, 25, 0].map(|user| ramp.ends_at(user).unwrap());
        assert_eq!(ends, [400.5, 412.5, 425.0].map(Duration::from_secs_f64));
    }

    #[test]
    fn users_that_no_stage_takes_away_stay() {
        let ramp = ramp(&[(10, 0), (20, 10), (10, 10)]);
        assert_eq!(ramp.starts_at(9), Duration::ZERO);
        assert_eq!((ramp.starts_at(10), ramp.starts_at(15)), (Duration::ZERO, 5 * SECOND));
        assert_eq!((ramp.ends_at(9), ramp.ends_at(10)), (None, Some(20 * SECOND)));
        assert_eq!(ramp.starts_at(20), Duration::MAX);
    }
}
