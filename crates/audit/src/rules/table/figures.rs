//! Rules on figures: one distribution, one row, one sum.

use record::summary::Severity::{Error, Info, Warning};

use super::super::rule::Check::{Row, Run};
use super::super::rule::Rule;
use super::super::{failures, over_time, rates, sums, timers, times};

/// Rules on figures.
pub(super) const ROWS: &[Rule] = &[
    Rule::new(
        "R01",
        Error,
        Row(times::mean_above),
        [
            "the mean is above what the percentiles allow",
            "Each share of requests is at most as slow as the percentile at its end, and the last at most as slow as the maximum; their weighted sum is the greatest mean there can be. A mean above it shows that percentiles (mostly) or mean are of something else, such as a histogram whose last bucket is cut off.",
            "do not use these percentiles",
        ],
    ),
    Rule::new(
        "R02",
        Error,
        Row(times::mean_below),
        [
            "the mean is below what the percentiles allow",
            "Each share of requests is at least as slow as the percentile at its beginning; their weighted sum is the least mean there can be. Percentiles interpolated in wide buckets break it.",
            "do not use these percentiles",
        ],
    ),
    Rule::new(
        "R03",
        Error,
        Row(times::order),
        [
            "times are not in order",
            "Minimum, percentiles and maximum ascend; the mean lies between minimum and maximum, and within one standard deviation of the median.",
            "find out which of them is of something else",
        ],
    ),
    Rule::new(
        "R04",
        Error,
        Row(times::share_above),
        [
            "more requests are above a percentile than it says",
            "With this mean and this maximum, at least (mean − v) / (max − v) of the requests took longer than v. If v is called p99 and that share is above 1 %, it is not p99.",
            "do not use this percentile",
        ],
    ),
    Rule::new(
        "R05",
        Error,
        Row(times::labels),
        [
            "percentiles are labels of buckets",
            "All percentiles are 1, 2 or 5 with zeros while minimum, mean and maximum are not: the tool prints the edge of a bucket, and the truth may lie as far below as the bucket is wide.",
            "read each as \"at most\", or measure with a finer histogram",
        ],
    ),
    Rule::new(
        "R06",
        Error,
        Row(times::open_bucket),
        [
            "a percentile is the label of an open bucket",
            "The two highest percentiles are the same label and the maximum is beyond it: everything slower was folded into the last bucket, so that these percentiles mean \"at least the bucket below\".",
            "do not use these percentiles",
        ],
    ),
    Rule::new(
        "R07",
        Warning,
        Row(times::support),
        [
            "too few requests in the tail",
            "A percentile with fewer than ten requests beyond it is a fact about this sample, not about the system.",
            "print an interval, or measure longer",
        ],
    ),
    Rule::new(
        "R08",
        Warning,
        Row(times::interpolated),
        [
            "a percentile is mixed with the maximum",
            "Where the last rank is interpolated, a percentile so high is part of the greatest time of all, which is one request.",
            "measure until ten requests are beyond it",
        ],
    ),
    Rule::new(
        "R10",
        Error,
        Run(rates::drain_counted),
        [
            "waiting for the end counts as sending",
            "The printed rate is requests over the whole length, of which a part was only waiting. Over the time in which requests were sent it is higher.",
            "divide by the time in which requests were sent",
        ],
    ),
    Rule::new(
        "R11",
        Error,
        Run(rates::rate_of_count),
        [
            "the rate is not the count over the length",
            "Rate times length gives another number of requests than the report, beyond the rounding of the printed digits.",
            "find out which of the three is of another window",
        ],
    ),
    Rule::new(
        "R12",
        Error,
        Row(sums::row_sums),
        [
            "parts are not their whole",
            "Succeeded and failed add up to the requests, failures by kind to the failed; printed shares are these counts divided, within the rounding of their digits.",
            "find out which count is wrong",
        ],
    ),
    Rule::new(
        "R12-total",
        Error,
        Run(sums::run_sums),
        [
            "rows or intervals do not add up to the total",
            "Operations add up to the total, and so do the intervals of the run.",
            "find out which row was not taken from the data",
        ],
    ),
    Rule::new(
        "R20",
        Warning,
        Row(timers::quantum),
        [
            "slow requests took as long as a known timer",
            "Times near 1, 3 or 7 s while the median is far below are lost and repeated handshakes; 5, 10 and 30 s are time-outs of tools and name servers. Two high percentiles near 200 ms are lost segments, near 40 ms acknowledgements that were held back.",
            "look at the kernel's counters of retransmissions and full queues",
        ],
    ),
    Rule::new(
        "R21",
        Error,
        Row(failures::survivors),
        [
            "failures have no times",
            "What failed was at least as slow as what succeeded, or never ended. Percentiles above the share that succeeded are those of survivors. An error where such a percentile is printed.",
            "count failures as slower than all others",
        ],
    ),
    Rule::new(
        "R22",
        Warning,
        Row(failures::mixed),
        [
            "times of failures are among those of answers",
            "Failing fast makes percentiles look better, waiting for a time-out worse; neither is the time of an answer.",
            "show times by outcome",
        ],
    ),
    Rule::new(
        "R24",
        Error,
        Row(sums::item_success),
        [
            "requests succeed, what they were made for does not",
            "Where each request stands for many deliveries, the share of requests and the share of deliveries that succeeded differ by more than 0.1 points: a criterion on one says nothing of the other.",
            "judge what users get",
        ],
    ),
    Rule::new(
        "R26",
        Error,
        Row(sums::no_work),
        [
            "there was no work",
            "Requests succeeded that had nothing to do, or there are times of no requests: what was measured is the cost of nothing.",
            "fill the system before measuring",
        ],
    ),
    Rule::new(
        "R26-cache",
        Warning,
        Row(sums::cached),
        [
            "few requests were different",
            "A thousand requests or more for each that was different, and no more than a hundred of those: after the first of each, caches answer, and what was built to work does not.",
            "send requests that differ as those of users do",
        ],
    ),
    Rule::new(
        "R32-end",
        Warning,
        Run(over_time::failed_at_the_end),
        [
            "failures are at the end",
            "Four fifths of the failures are in the last interval: the end of the run cut requests off, or the system broke down at its end.",
            "let requests end after the run, and count what is cut off apart",
        ],
    ),
    Rule::new(
        "R34",
        Warning,
        Row(over_time::not_stationary),
        [
            "times change through the run",
            "The median of the last third differs from that of the first by half or more (by a fifth with fifteen intervals), without an overlap of any of their intervals. Percentiles of the whole mix two different things; a warm-up is often one of them.",
            "leave the beginning out, or show times over time",
        ],
    ),
    Rule::new(
        "R34-grown",
        Warning,
        Row(over_time::grown),
        [
            "the work grew while it was measured",
            "Requests had fewer items on average than at the end of the run: percentiles mix small work with large.",
            "fill the system before measuring, or show times against size",
        ],
    ),
    Rule::new(
        "A6",
        Error,
        Row(times::moments),
        [
            "a percentile is more than mean and deviation allow",
            "Markov: no more than mean / v of the requests take longer than v. Cantelli: with the deviation the bound is closer.",
            "do not use this percentile",
        ],
    ),
    Rule::new(
        "A7",
        Warning,
        Row(times::clipped),
        [
            "the tail was cut off",
            "A high percentile with many requests beyond it equals the maximum: times above a limit were folded into it.",
            "raise the limit, or count what reached it as failed",
        ],
    ),
    Rule::new(
        "A9",
        Error,
        Run(rates::little),
        [
            "more in flight than workers",
            "Rate times mean time is the number in flight, which cannot exceed the workers of a closed loop that measures from the send.",
            "find out which of rate, mean and workers is of something else",
        ],
    ),
    Rule::new(
        "A12",
        Error,
        Row(sums::bytes),
        [
            "bytes do not add up",
            "Bytes over requests are the mean size; bytes over the length are the bytes a second, within the rounding of the printed digits.",
            "find out whether MB or MiB, body or wire is meant",
        ],
    ),
    Rule::new(
        "A13",
        Error,
        Row(sums::parts),
        [
            "parts of the mean are not the mean",
            "Means of consecutive parts add up to the mean of the whole; percentiles do not add, and are not compared.",
            "find out which part is missing",
        ],
    ),
    Rule::new(
        "A14",
        Error,
        Run(sums::merged),
        [
            "percentiles of the whole are not of its operations",
            "A percentile of the whole lies between the least and the greatest of its operations'. Equal to their average, it was averaged.",
            "merge histograms, never percentiles",
        ],
    ),
    Rule::new(
        "A15",
        Warning,
        Row(rates::timeout),
        [
            "slower than the time-out",
            "A request took longer than the time-out that the report says was in force.",
            "find out whether the time-out was applied",
        ],
    ),
    Rule::new(
        "A16",
        Error,
        Run(rates::clock),
        [
            "the clock does not fit",
            "End less begin is the length, intervals do not overlap, no time is negative.",
            "use a monotonic clock",
        ],
    ),
    Rule::new(
        "A17",
        Info,
        Row(times::resolution),
        [
            "times of a few steps",
            "Times are printed or kept in steps that are more than a tenth of the median: small differences mean nothing.",
            "use a finer clock before comparing",
        ],
    ),
    Rule::new(
        "A18",
        Error,
        Run(rates::units),
        [
            "units are mixed up",
            "Rate times mean time differs from the workers by almost exactly a thousand or a million: seconds, milliseconds or microseconds were exchanged.",
            "find out the unit of the times",
        ],
    ),
];
