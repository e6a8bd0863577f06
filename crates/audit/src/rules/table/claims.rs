//! Rules on the environment of the load, and on the report's claims about its figures.

use record::summary::Severity::{Error, Warning};

use super::super::rule::Check::{Report, Run};
use super::super::rule::Rule;
use super::super::{claims, surroundings};

/// Rules on claims and environment.
pub(super) const ROWS: &[Rule] = &[
    Rule::new(
        "R19-cpu",
        Error,
        Run(surroundings::generator_cpu),
        [
            "the generator was busy",
            "The generator used more than four fifths of its processors: rates are its own, and times hold its waiting. An error where the report calls the rate a capacity, a warning otherwise.",
            "use more machines for the load, or a lower rate",
        ],
    ),
    Rule::new(
        "R30",
        Warning,
        Report(claims::no_limit),
        [
            "failures were judged without a limit",
            "Requests failed, and the report judges them in words, or judges other figures by limits that were declared and these by none. A limit that is chosen after the result fits every result.",
            "declare before the run how many may fail",
        ],
    ),
    Rule::new(
        "R41-warm-up",
        Warning,
        Run(surroundings::warm_up),
        [
            "the warm-up is in the figures",
            "First requests fill caches, open connections and translate code. They are the slowest, and a short run has many of them.",
            "leave the warm-up out",
        ],
    ),
    Rule::new(
        "R43-dates",
        Error,
        Run(surroundings::dates),
        [
            "dates are out of order",
            "What was run is built before the run, and the report is written after it; a day of difference is allowed.",
            "find out which run the report is of",
        ],
    ),
    Rule::new(
        "R45-memory",
        Warning,
        Run(surroundings::memory),
        [
            "more was stored than memory holds",
            "What the system should have kept is four fifths of its memory or more. It was swapped, dropped, or never arrived, which only a count at the receiver shows.",
            "count what arrived, and show memory over time",
        ],
    ),
    Rule::new(
        "R45-burstable",
        Warning,
        Run(surroundings::burstable),
        [
            "the machine runs on credit",
            "Small machines of clouds may use more than their share of processor and network until a credit is used up. A short run is within it.",
            "use machines of constant speed, or run until the credit is used up",
        ],
    ),
    Rule::new(
        "R46",
        Warning,
        Report(claims::untested),
        [
            "a claim on what was not run",
            "The claim names a level, a size, a number of workers or a feature with which no run was made. Of a range, both ends must have been run.",
            "run it, or call it a guess",
        ],
    ),
    Rule::new(
        "R47",
        Warning,
        Report(claims::graded),
        [
            "a grade without a limit",
            "A grading word states an impression of a number. It means something only against a limit that was declared before the run, and only for the figure that the limit names.",
            "declare a limit before the run, and say whether it was kept",
        ],
    ),
    Rule::new(
        "R48",
        Error,
        Report(claims::contradicted),
        [
            "the text contradicts the figures",
            "The claim has a direction, a limit, or says that declared limits were kept, and the figures say the opposite. A warning where rounding may explain it.",
            "correct the sentence",
        ],
    ),
    Rule::new(
        "R49",
        Warning,
        Report(claims::no_ablation),
        [
            "a cause without an experiment",
            "The claim names a cause. Two runs that differ in it alone could show that; there are none.",
            "run the same with and without it",
        ],
    ),
    Rule::new(
        "R51",
        Warning,
        Report(claims::no_conclusion),
        [
            "no conclusion",
            "The report sets out to show something and never says whether it did, or refers to figures and data that are not there.",
            "state the decision, also when it is undecided",
        ],
    ),
    Rule::new(
        "R52",
        Warning,
        Run(surroundings::co_located),
        [
            "load and system shared a machine",
            "Each takes processor time from the other, and how much is not printed: times hold waiting for the generator, and the rate is of both together.",
            "use two machines, or pin both and print what each used",
        ],
    ),
    Rule::new(
        "R54",
        Error,
        Report(claims::headroom),
        [
            "headroom over the wrong thing",
            "Headroom is the capacity at which limits of response time are kept, over the greatest demand. A saturated throughput over a mean demand is neither. An error where the stated quotient is not that of its figures, a warning otherwise.",
            "divide the capacity within limits by the demand at its peak",
        ],
    ),
];
