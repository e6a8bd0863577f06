//! Rules on conclusions: load, failures, the design of the runs.

use record::summary::Severity::{Error, Info, Warning};

use super::super::rule::Check::{Report, Row, Run};
use super::super::rule::Rule;
use super::super::{design, failures, rates};

/// Rules on conclusions.
pub(super) const ROWS: &[Rule] = &[
    Rule::new(
        "R09",
        Error,
        Run(rates::target_missed),
        [
            "the rate asked for was not reached",
            "Requests over the time in which they were sent are under 99 % of the rate asked for: times and successes are those of another, lower load.",
            "say the rate that was reached, or find out what held the generator up",
        ],
    ),
    Rule::new(
        "R11-burst",
        Warning,
        Run(rates::burst),
        [
            "a burst at the start hides in the rate",
            "The first interval is faster than all others, which are even: a token bucket began full. The rate over the whole run is then neither that of the burst nor the steady one.",
            "leave the first interval out, or start with an empty bucket",
        ],
    ),
    Rule::new(
        "R13",
        Error,
        Run(rates::think_time),
        [
            "think time sets the rate",
            "N users who think Z between requests cannot ask more than N / (Z + R) a second. Where thinking is 90 % of a cycle and the rate is this ceiling, any faster system gives the same number. An error where the report calls it a capacity, a warning otherwise.",
            "raise the users or use an open load until a criterion fails",
        ],
    ),
    Rule::new(
        "R14",
        Error,
        Run(rates::stragglers),
        [
            "stragglers set the rate",
            "W workers at the median time would do W / (R50 + pause) a second. Far less, with one request that took a tenth of the run, means that the length of the run is that of a few slow requests. An error where the report calls it a capacity, a warning otherwise.",
            "measure longer, and look into the slow requests",
        ],
    ),
    Rule::new(
        "R15",
        Warning,
        Run(rates::idle),
        [
            "the system was idle",
            "Rate times mean time is the number of requests in flight (Little's law). Under a half, requests hardly ever meet: times are those of an idle system whatever the number of users.",
            "raise the load before speaking of load",
        ],
    ),
    Rule::new(
        "R16",
        Warning,
        Run(rates::missing_mean),
        [
            "the mean is missing, and far from the median",
            "In a closed loop workers over rate is the mean. More than three times the median means that answers are of at least two kinds, of which the median shows one.",
            "print the mean and the whole distribution",
        ],
    ),
    Rule::new(
        "R17",
        Warning,
        Run(rates::omission),
        [
            "waiting was not measured",
            "In a closed loop a stall stops the requests that it would have delayed; where times start at the actual send, a late generator hides its waiting. Percentiles are then lower bounds.",
            "measure from the intended start of an open load",
        ],
    ),
    Rule::new(
        "R18",
        Info,
        Run(rates::pacing_slip),
        [
            "sending was late",
            "N requests at rate r span (N − 1) / r. What is beyond that is lateness of the generator, which no time of this report contains.",
            "measure from the intended start",
        ],
    ),
    Rule::new(
        "R19",
        Error,
        Report(design::generator_bound),
        [
            "more servers did not help",
            "The same rate with twice the servers or more: the generator, or the network, is what was measured. An error where the report calls it a capacity, a warning otherwise.",
            "measure the generator alone against a target that does nothing",
        ],
    ),
    Rule::new(
        "R23",
        Warning,
        Run(failures::goodput),
        [
            "successes a second are not printed",
            "Requests a second count what failed. What users get is successes a second.",
            "print and rank by successes a second",
        ],
    ),
    Rule::new(
        "R23-ranking",
        Warning,
        Report(failures::ranking),
        [
            "ranking by successes reverses the order",
            "The run with the better median answered fewer than half as many requests well.",
            "rank by successes a second",
        ],
    ),
    Rule::new(
        "R25",
        Warning,
        Run(failures::no_counter),
        [
            "failures could not be counted",
            "In this mode the tool's counter of failures cannot move. A zero there is not a measurement.",
            "inject one failure and see whether it is counted",
        ],
    ),
    Rule::new(
        "R27",
        Warning,
        Run(design::unchecked),
        [
            "answers were not checked",
            "Only the status was looked at. Empty, wrong or stale answers count as successes.",
            "put something unique into each request and look for it in the answer",
        ],
    ),
    Rule::new(
        "R28",
        Warning,
        Report(failures::constant_count),
        [
            "the same number of failures in every run",
            "Failures that do not grow with the requests belong to something that happens once a run, such as a burst of connections meeting a full queue.",
            "look at limits of that size, and one less",
        ],
    ),
    Rule::new(
        "R29",
        Info,
        Run(failures::bounds),
        [
            "what the share of failures may be",
            "The 95 % interval of a share (Wilson); after no failure in n it reaches to 3 / n. Two operations differ when z is above 2.",
            "state the interval beside the share",
        ],
    ),
    Rule::new(
        "R31",
        Info,
        Row(failures::race),
        [
            "failures look like a race",
            "On an idle system that fails one operation more than another, a share of 1 − exp(−λw) is what two requests that meet within w would give; it grows with the rate.",
            "measure at twice the rate: the share should double",
        ],
    ),
    Rule::new(
        "R32",
        Warning,
        Row(rates::cancelled),
        [
            "the generator cut its own requests off",
            "What failed is about what was in flight on average when the run ended.",
            "let requests end after the run, and count what is cut off apart",
        ],
    ),
    Rule::new(
        "R33",
        Warning,
        Row(rates::longest),
        [
            "one request fills the run",
            "The slowest request took more than half of the run, so it began near its start; explanations that need it to be late are wrong.",
            "look when the slow request began",
        ],
    ),
    Rule::new(
        "R35",
        Warning,
        Report(design::dose_order),
        [
            "no order in the doses",
            "A treatment is faster than none, so that runs differ by at least as much without a treatment.",
            "repeat each dose in random order",
        ],
    ),
    Rule::new(
        "R36",
        Warning,
        Report(design::time_order),
        [
            "treatment and time cannot be separated",
            "Each arm was run once, one after the other, or with long gaps between. A drift looks like an effect.",
            "run blocks of all arms in random order",
        ],
    ),
    Rule::new(
        "R37",
        Warning,
        Report(design::repeats),
        [
            "too few runs",
            "With fewer than three runs of each arm the noise between runs is unknown, and no difference can be claimed; under five no interval is worth printing.",
            "repeat each arm five times or more",
        ],
    ),
    Rule::new(
        "R38",
        Error,
        Report(design::unlike),
        [
            "unlike things are compared",
            "The runs differ in something that was not varied on purpose: servers, network, build, payload. An error where the report names its factors.",
            "change one thing at a time",
        ],
    ),
    Rule::new(
        "R39",
        Warning,
        Report(design::missing_cell),
        [
            "a control is missing",
            "Not every combination of the factors was run, so that their effects cannot be separated.",
            "run the missing combination",
        ],
    ),
    Rule::new(
        "R40",
        Warning,
        Run(design::rounding),
        [
            "a difference of one printed unit",
            "Two figures that differ by one unit of their last digit may be the same.",
            "print more digits, or claim no difference",
        ],
    ),
    Rule::new(
        "R41",
        Warning,
        Run(rates::short),
        [
            "too short",
            "Under 30 s, or under a hundred times its slowest request: it may miss rare events, and warming up is.",
            "measure longer, and leave the warm-up out",
        ],
    ),
    Rule::new(
        "R42",
        Error,
        Run(design::not_in_force),
        [
            "limits are not in force as stated",
            "What the system says of its limits differs from what the report states.",
            "read limits back from the system",
        ],
    ),
    Rule::new(
        "R43",
        Error,
        Run(design::provenance),
        [
            "figures and raw data are of different runs",
            "The identity of the figures and that of the linked raw data differ.",
            "link the data that the figures were made from",
        ],
    ),
    Rule::new(
        "R44",
        Warning,
        Row(design::byte_accounting),
        [
            "bytes are not what was on the wire",
            "A size that differs from the one stated, or a whole number of KiB although answers are compressed: sizes before and after encoding are mixed.",
            "say which size it is, and count bytes on the wire",
        ],
    ),
    Rule::new(
        "R45",
        Error,
        Run(design::link),
        [
            "the link is full",
            "Answers take 90 % of the link or more: the link is what was measured. An error where they take more than it carries.",
            "use a faster link or smaller answers",
        ],
    ),
    Rule::new(
        "R50",
        Warning,
        Run(rates::label),
        [
            "the label is not what was measured",
            "The length or the rate that the run is called by differs from the one measured by more than 5 %.",
            "label runs by what was measured",
        ],
    ),
    Rule::new(
        "R53",
        Warning,
        Report(design::capacity),
        [
            "a capacity from one level of load",
            "Capacity is the highest load that meets a criterion. It takes levels below and above.",
            "sweep the load until a criterion fails",
        ],
    ),
    Rule::new(
        "A10",
        Warning,
        Run(rates::hidden_closed_loop),
        [
            "a closed loop at its limit",
            "A rate was asked for, all connections were busy, and the rate was not reached: what was measured is a closed loop.",
            "allow more connections, or say that the loop was closed",
        ],
    ),
];
