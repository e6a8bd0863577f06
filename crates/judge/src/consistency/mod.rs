//! Rules A1 to A19: arithmetic that every report must satisfy. Our own reports are checked before they are shown.
//!
//! Pure functions of a trial's summary. Not here: the consequences of a contradiction (see [`crate::findings`]).
//!
//! In reading order: `counts` (sums and shares), `shape` (order and bounds within a distribution), `flow` (rates,
//! concurrency, parts, units), `journeys` (whole journeys and their steps); [`times`] is the arithmetic of one distribution, which also checks reports of other
//! tools (rules R01 to R03 and A6 of `audit`; here A4, A5 and A6).

mod context;
mod counts;
mod flow;
mod journeys;
mod shape;
pub mod times;

use context::operations;
pub use context::{Context, TimeInFlight, WindowSums};
use record::summary::{Distribution, TrialSummary};

/// Two numbers of a report that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The rule, `A1` to `A19`.
    pub rule: &'static str,
    /// The numbers that contradict each other.
    pub claim: String,
}

/// One rule of the table.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name, `A1` to `A19`.
    pub id: &'static str,
    /// What must hold.
    pub means: &'static str,
    check: fn(&TrialSummary, &Context) -> Option<String>,
}

/// Every rule, in order.
pub const RULES: &[Rule] = &[
    Rule {
        id: "A1",
        means: "every planned operation is in exactly one bucket, and operations, failures by kind and windows add up to the total.",
        check: counts::identities,
    },
    Rule {
        id: "A2",
        means: "shares lie between 0 and 1 and have one denominator; there are no more statuses than operations begun.",
        check: counts::shares,
    },
    Rule {
        id: "A3",
        means: "rate times duration is the count, less what ended in the drain.",
        check: flow::rates,
    },
    Rule {
        id: "A4",
        means: "least value, quantiles and greatest value ascend; the mean lies between them, the median within one standard deviation of it.",
        check: |trial, _| each(trial, shape::order),
    },
    Rule {
        id: "A5",
        means: "the mean lies between the least and the greatest mean that the quantiles allow.",
        check: |trial, _| each(trial, shape::mean_band),
    },
    Rule {
        id: "A6",
        means: "no quantile is more than mean and deviation allow (Markov, Cantelli).",
        check: |trial, _| each(trial, shape::moment_bounds),
    },
    Rule {
        id: "A7",
        means: "no tail is cut off: what is beyond the range has no quantile, and the highest quantiles are not all the time-out.",
        check: shape::saturation,
    },
    Rule {
        id: "A8",
        means: "support, grade, interval and value of a quantile belong together.",
        check: |trial, _| each(trial, shape::support),
    },
    Rule {
        id: "A9",
        means: "rate times time is the number in flight, and no more than the connections (Little's law).",
        check: flow::little,
    },
    Rule {
        id: "A10",
        means: "an open load whose connections were all busy and that missed its rate says so.",
        check: flow::hidden_closed_loop,
    },
    Rule {
        id: "A11",
        means: "a plan that was not carried out is in the headline.",
        check: |trial, _| counts::shortfall(trial),
    },
    Rule {
        id: "A12",
        means: "bytes of the operations add up to those of the total.",
        check: |trial, _| counts::sizes(trial),
    },
    Rule {
        id: "A13",
        means: "the response time is at least the sum of its known parts (means only; quantiles do not add).",
        check: |trial, _| flow::parts(trial),
    },
    Rule {
        id: "A14",
        means: "a quantile of the total lies between those of the operations, and is not their average.",
        check: |trial, _| shape::merged(trial),
    },
    Rule {
        id: "A15",
        means: "nothing succeeded after its time-out, and outcome time keeps what never ended.",
        check: flow::timeouts,
    },
    Rule {
        id: "A16",
        means: "durations are positive, and no answer took no time.",
        check: |trial, _| flow::clock(trial),
    },
    Rule {
        id: "A17",
        means: "times of a nanosecond clock are not all whole milliseconds.",
        check: |trial, _| each(trial, shape::resolution),
    },
    Rule {
        id: "A18",
        means: "rate times time is not off by a power of a thousand: units are not mixed up.",
        check: |trial, _| flow::units(trial),
    },
    Rule {
        id: "A19",
        means: "every planned journey is in exactly one bucket, and each step is reached or skipped by the journeys that came out of the step before it.",
        check: |trial, _| journeys::identities(trial),
    },
];

/// Every contradiction of a trial's summary; empty for a sound one.
pub fn contradictions(trial: &TrialSummary, context: &Context) -> Vec<Contradiction> {
    let broken = |rule: &Rule| {
        (rule.check)(trial, context).map(|claim| Contradiction { rule: rule.id, claim })
    };
    RULES.iter().filter_map(broken).collect()
}

/// The first non-empty distribution of an operation or a journey that breaks a rule. `outcome_time` is left out, since its moments
/// cover succeeded operations only.
fn each(trial: &TrialSummary, check: fn(&Distribution) -> Option<String>) -> Option<String> {
    let journeys = trial.journeys.iter().map(|journey| &journey.whole);
    let named = operations(trial).chain(journeys).flat_map(|operation| {
        [
            ("response time", &operation.response_time),
            ("service time", &operation.service_time),
            ("queue wait", &operation.queue_wait),
        ]
        .map(|(what, distribution)| (format!("{} of {}", what, operation.name), distribution))
    });
    let lag = ("dispatch lag".to_owned(), &trial.generator.dispatch_lag);
    let mut all = named.chain([lag]).filter(|(_, distribution)| distribution.count > 0);
    all.find_map(|(name, distribution)| check(distribution).map(|claim| format!("{name}: {claim}")))
}

#[cfg(test)]
mod tests;
