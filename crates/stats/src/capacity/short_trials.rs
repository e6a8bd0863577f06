//! A load judged by many short trials instead of a long one: rare noise of the host cannot spoil it.
//!
//! Source: MLRsearch (draft-ietf-bmwg-mlrsearch), section on load classification

/// What a load must stand up to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// A trial of this length or longer counts in full. Seconds.
    pub final_seconds: f64,
    /// So many seconds of full trials decide.
    pub seconds_in_all: f64,
    /// A trial with a greater share of loss is bad.
    pub loss_ratio: f64,
    /// Share of the time that may be bad, in [0, 1).
    pub exceed_ratio: f64,
}

/// One trial at the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortTrial {
    /// Its length.
    pub seconds: f64,
    /// Share of operations that were lost, in [0, 1].
    pub loss_ratio: f64,
}

/// What the trials say of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadVerdict {
    /// It meets the goal.
    Lower,
    /// It does not, and no further trial can change that.
    Upper,
    /// More trials are needed.
    Undecided,
}

/// Seconds of trials, by length and result.
#[derive(Default)]
struct Sums {
    good_long: f64,
    bad_long: f64,
    good_short: f64,
    bad_short: f64,
}

/// What these trials, all at one load, say of it.
///
/// Short trials can only make a load look worse: of their bad seconds those count that the good ones do not
/// make up for.
pub fn classify(goal: &Goal, trials: &[ShortTrial]) -> LoadVerdict {
    let sums = Sums::of(goal, trials);
    let allowed = goal.exceed_ratio;
    let made_up = sums.good_short * allowed / (1.0 - allowed);
    let excess = sums.bad_long + (sums.bad_short - made_up).max(0.0);
    let whole = (sums.good_long + excess).max(goal.seconds_in_all);
    if whole - sums.good_long <= allowed * whole {
        LoadVerdict::Lower
    } else if excess > allowed * whole {
        LoadVerdict::Upper
    } else {
        LoadVerdict::Undecided
    }
}

impl Sums {
    fn of(goal: &Goal, trials: &[ShortTrial]) -> Self {
        let mut sums = Self::default();
        for trial in trials {
            let is_long = trial.seconds >= goal.final_seconds;
            let is_good = trial.loss_ratio <= goal.loss_ratio;
            let sum = match (is_long, is_good) {
                (true, true) => &mut sums.good_long,
                (true, false) => &mut sums.bad_long,
                (false, true) => &mut sums.good_short,
                (false, false) => &mut sums.bad_short,
            };
            *sum += trial.seconds;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(good: usize, bad: usize) -> Vec<ShortTrial> {
        let trial = |loss_ratio| ShortTrial { seconds: 1.0, loss_ratio };
        [vec![trial(0.0); good], vec![trial(0.1); bad]].concat()
    }

    #[test]
    fn the_cases_of_the_draft() {
        let tolerant = Goal {
            final_seconds: 1.0,
            seconds_in_all: 120.0,
            loss_ratio: 0.005,
            exceed_ratio: 0.5,
        };
        assert_eq!(classify(&tolerant, &seconds(59, 0)), LoadVerdict::Undecided);
        assert_eq!(classify(&tolerant, &seconds(59, 60)), LoadVerdict::Undecided);
        assert_eq!(classify(&tolerant, &seconds(60, 60)), LoadVerdict::Lower);
        assert_eq!(classify(&tolerant, &seconds(59, 61)), LoadVerdict::Upper);

        let strict =
            Goal { final_seconds: 60.0, seconds_in_all: 60.0, loss_ratio: 0.0, exceed_ratio: 0.0 };
        assert_eq!(classify(&strict, &seconds(0, 0)), LoadVerdict::Undecided);
        assert_eq!(
            classify(&strict, &seconds(0, 1)),
            LoadVerdict::Upper,
            "one bad second is enough"
        );
        let whole = ShortTrial { seconds: 60.0, loss_ratio: 0.0 };
        assert_eq!(classify(&strict, &[whole]), LoadVerdict::Lower);
    }

    #[test]
    fn short_good_trials_never_make_a_lower_bound() {
        let goal =
            Goal { final_seconds: 10.0, seconds_in_all: 30.0, loss_ratio: 0.0, exceed_ratio: 0.5 };
        assert_eq!(classify(&goal, &seconds(1_000, 0)), LoadVerdict::Undecided);
        assert_eq!(classify(&goal, &seconds(0, 31)), LoadVerdict::Upper);
        assert_eq!(classify(&goal, &seconds(31, 31)), LoadVerdict::Undecided, "made up for");
    }
}
