//! Failures from the first operation of a trial on, as long as all are alike: how a trial in which nothing works is
//! noticed early. The warm-up counts.
//!
//! Not here: how many failures are enough (see `report`).

use serde::{Deserialize, Serialize};

use crate::{FailureKind, Outcome, Sample, Status};

/// Operations due so soon after the first one are the opening of a trial.
const OPENING_NS: u64 = 500_000_000;

/// How the operations of a trial have ended so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Streak {
    /// Intended start of the first operation.
    first: Option<u64>,
    /// Operations of the opening that have not ended.
    pending: u64,
    ended: Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Ended {
    #[default]
    None,
    Alike(Failures),
    /// One succeeded or was only too slow, or two failed in different ways.
    Mixed,
}

/// Failures of one kind and one status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// How many.
    pub count: u64,
    /// Their kind.
    pub kind: FailureKind,
    /// Their status.
    pub status: Status,
    /// What was seen of the first one.
    pub detail: String,
}

/// All operations of a trial that have ended, as long as each failed like the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllFailed {
    /// What they have in common.
    pub failures: Failures,
    /// Nanoseconds since the first of all operations was due.
    pub elapsed_ns: u64,
    /// Operations due in the first half second that have not ended.
    pub pending: u64,
}

impl Streak {
    /// An operation was taken up that was due at this instant.
    pub(super) fn begin(&mut self, intended_at: u64) {
        if self.ended == Ended::Mixed {
            return;
        }
        self.first.get_or_insert(intended_at);
        self.pending += u64::from(self.is_opening(intended_at));
    }

    /// An operation that was begun ended.
    pub(super) fn end(&mut self, sample: &Sample<'_>, detail: Option<&str>) {
        if self.ended == Ended::Mixed {
            return;
        }
        self.pending -= u64::from(self.is_opening(sample.intended_at));
        match (sample.outcome, &mut self.ended) {
            // The answer was complete: address and request are right, and slowness is what a load measures.
            (Outcome::Failed(FailureKind::TooSlow), _) => self.ended = Ended::Mixed,
            (Outcome::Failed(kind), Ended::None) => {
                let detail = detail.unwrap_or_default().to_owned();
                let (count, status) = (1, sample.status);
                self.ended = Ended::Alike(Failures { count, kind, status, detail });
            }
            (Outcome::Failed(kind), Ended::Alike(failures))
                if (kind, sample.status) == (failures.kind, failures.status) =>
            {
                failures.count += 1;
            }
            (Outcome::Abandoned, _) => {}
            _ => self.ended = Ended::Mixed,
        }
    }

    /// What several workers saw together, at an instant up to which all of them have said what they saw.
    pub fn together<'s>(
        streaks: impl IntoIterator<Item = &'s Self>,
        until: u64,
    ) -> Option<AllFailed> {
        let (mut first, mut pending) = (u64::MAX, 0);
        let mut all: Option<Failures> = None;
        for streak in streaks {
            first = first.min(streak.first.unwrap_or(u64::MAX));
            pending += streak.pending;
            match (&streak.ended, &mut all) {
                (Ended::None, _) => {}
                (Ended::Mixed, _) => return None,
                (Ended::Alike(failures), None) => all = Some(failures.clone()),
                (Ended::Alike(one), Some(all)) => {
                    if (one.kind, one.status) != (all.kind, all.status) {
                        return None;
                    }
                    all.count += one.count;
                }
            }
        }
        Some(AllFailed { failures: all?, elapsed_ns: until.saturating_sub(first), pending })
    }

    fn is_opening(&self, intended_at: u64) -> bool {
        self.first.is_some_and(|first| intended_at < first.saturating_add(OPENING_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spans;

    const MS: u64 = 1_000_000;

    fn sample(intended_at: u64, outcome: Outcome, status: u16) -> Sample<'static> {
        Sample {
            operation: 0,
            index: 0,
            step: None,
            trace: None,
            intended_at,
            dispatched_at: intended_at,
            acquired_at: intended_at,
            started_at: intended_at,
            finished_at: intended_at,
            outcome,
            status: status.into(),
            spans: Spans::NONE,
            items: &[],
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    fn refused(status: u16) -> (Outcome, u16) {
        (Outcome::Failed(FailureKind::Status), status)
    }

    /// A streak of operations that were due at these milliseconds and ended like this.
    fn streak(ended: &[(u64, (Outcome, u16))]) -> Streak {
        let mut streak = Streak::default();
        for &(at, (outcome, status)) in ended {
            streak.begin(at * MS);
            streak.end(&sample(at * MS, outcome, status), Some("seen"));
        }
        streak
    }

    #[test]
    fn failures_of_one_kind_and_status_are_counted_over_all_workers() {
        let one = streak(&[(10, refused(401)), (20, refused(401))]);
        let other = streak(&[(5, refused(401))]);
        let found = Streak::together([&one, &other, &Streak::default()], 1_005 * MS);
        let failures = Failures {
            count: 3,
            kind: FailureKind::Status,
            status: 401.into(),
            detail: "seen".into(),
        };
        assert_eq!(found, Some(AllFailed { failures, elapsed_ns: 1_000 * MS, pending: 0 }));
    }

    #[test]
    fn a_success_or_another_failure_ends_it_for_good() {
        let success = (Outcome::Succeeded, 200);
        let refusal = (Outcome::Failed(FailureKind::Refused), 0);
        let slow = (Outcome::Failed(FailureKind::TooSlow), 401);
        for other in [success, refused(403), refusal, slow] {
            let mixed = streak(&[(0, refused(401)), (1, other), (2, refused(401))]);
            assert_eq!(Streak::together([&mixed], MS), None, "{other:?}");
            let (one, two) = (streak(&[(0, refused(401))]), streak(&[(0, other)]));
            assert_eq!(Streak::together([&one, &two], MS), None, "{other:?}");
        }
    }

    #[test]
    fn what_has_not_ended_of_the_first_half_second_is_known() {
        let mut streak = streak(&[(0, refused(401))]);
        let pending = |streak: &Streak| Streak::together([streak], MS).expect("all alike").pending;
        streak.begin(499 * MS);
        streak.begin(500 * MS);
        assert_eq!(pending(&streak), 1);
        streak.end(&sample(499 * MS, Outcome::Abandoned, 0), None);
        assert_eq!(pending(&streak), 0);
        assert_eq!(Streak::together([&Streak::default()], MS), None, "nothing has ended");
    }
}
