//! Criteria: requirements that a result must meet.
//!
//! ```text
//! criterion = metric operator bound [ "over" LENGTH "windows" ]
//! metric    = [operation] [time] ( pN | mean | max )                    bound: a duration
//!           | [operation] count                                         bound: a whole number
//!           | [operation] rate                                          bound: a rate such as 500/s
//!           | [operation] part "/" [operation] part                     bound: a percentage or a number
//! time      = service | queue_wait | connect | tls | a span of the operation's protocol | a part that it names
//! count     = planned | started | missed | succeeded | failed | abandoned | a kind of failure
//! rate      = offered | started | completed | goodput
//! part      = count | an item of the operation
//! operator  = "<" | "<=" | ">" | ">=" | "=="
//! ```
//!
//! - Without a time, the criterion is about the response time, from the intended start; an operation that failed, was
//!   abandoned or missed counts as slower than all others.
//! - `pN` is any percentile above 0 and below 100, such as `p97.5`.
//! - Without an operation, it is about all of them together; `all` says so explicitly. The right part of a ratio has
//!   the operation of the left part, unless it names its own. A word that is the name of an operation is always read
//!   as that; `all connect p99` is the span if an operation is called `connect`.
//! - `over 10s windows` requires it of each whole window of that length, on observed values: see [`Criterion::over`].

mod parse;

pub(crate) use parse::{meant, operator};

use std::time::Duration;

use serde::Serialize;

use crate::journey::Journey;
use crate::operation::Operation;

/// One criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// As written.
    pub text: String,
    /// Name of the operation; `None` for all together, and for a ratio of two operations.
    pub operation: Option<String>,
    /// The metric.
    pub metric: Metric,
    /// The time of a quantile, mean or maximum.
    #[serde(skip_serializing_if = "Time::is_response")]
    pub time: Time,
    /// The relation of the metric to the bound.
    pub comparison: Operator,
    /// The bound: nanoseconds, per second, a ratio or a count, depending on the metric.
    pub bound: f64,
    /// Length of the windows, each of which must meet the criterion; `None` for the whole phase. Judged on observed
    /// values: no window is long enough for an interval of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<Duration>,
}

/// The metric of a criterion.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A quantile of the time, as a fraction; nanoseconds.
    Quantile(f64),
    /// Mean time; nanoseconds.
    Mean,
    /// Greatest time; nanoseconds.
    Max,
    /// A number of operations.
    Count(Count),
    /// Operations per second of the measure phase.
    Rate(Rate),
    /// One number divided by another.
    Ratio(RatioSide, RatioSide),
}

/// A time of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// From the intended start to the complete answer.
    #[default]
    Response,
    /// From the first byte out to the last byte in.
    Service,
    /// Waiting for a connection.
    QueueWait,
    /// A span: connecting, or one of the protocol's own.
    Span(String),
}

/// A number of operations, by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Due in the measure phase.
    Planned,
    /// Begun.
    Started,
    /// Never begun.
    Missed,
    /// Ended successfully.
    Succeeded,
    /// Ended in a failure.
    Failed,
    /// Unfinished at the drain deadline.
    Abandoned,
    /// Ended in a failure of this kind.
    FailedAs(&'static str),
}

/// A rate of the measure phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Planned.
    Offered,
    /// Begun.
    Started,
    /// Ended, successfully or not.
    Completed,
    /// Ended successfully.
    Goodput,
}

/// A side of a ratio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RatioSide {
    /// Name of the operation; `None` for all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// What is counted.
    #[serde(flatten)]
    pub part: CountedPart,
}

/// What a side of a ratio counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedPart {
    /// A number of operations.
    Count(Count),
    /// The sum of an item over all succeeded operations.
    Item(String),
}

/// The relation of the metric to the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Operator {
    /// Below.
    #[serde(rename = "<")]
    Less,
    /// Not above.
    #[serde(rename = "<=")]
    AtMost,
    /// Above.
    #[serde(rename = ">")]
    More,
    /// Not below.
    #[serde(rename = ">=")]
    AtLeast,
    /// Equal.
    #[serde(rename = "==")]
    Equal,
}

impl Operator {
    /// Whether `value` has this relation to `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::More => value > bound,
            Self::AtLeast => value >= bound,
            Self::Equal => value == bound,
        }
    }

    /// Whether it is an upper bound.
    pub fn caps(self) -> bool {
        matches!(self, Self::Less | Self::AtMost)
    }

    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
        }
    }
}

/// The name for all operations together; no operation may have it.
pub const TOTAL: &str = "all";

/// Two-character operators come first, so that `<=` is not read as `<`.
const OPERATORS: [Operator; 5] =
    [Operator::AtMost, Operator::AtLeast, Operator::Equal, Operator::Less, Operator::More];

/// Counts by name.
const COUNTS: [(&str, Count); 6] = [
    ("planned", Count::Planned),
    ("started", Count::Started),
    ("missed", Count::Missed),
    ("succeeded", Count::Succeeded),
    ("failed", Count::Failed),
    ("abandoned", Count::Abandoned),
];

/// Rates by name.
const RATES: [(&str, Rate); 4] = [
    ("offered", Rate::Offered),
    ("started", Rate::Started),
    ("completed", Rate::Completed),
    ("goodput", Rate::Goodput),
];

/// Times of every protocol, by name. The engine stamps connecting for every protocol.
pub(crate) const TIMES: [(&str, Time); 2] =
    [("service", Time::Service), ("queue_wait", Time::QueueWait)];

impl Time {
    fn is_response(&self) -> bool {
        *self == Self::Response
    }
}

impl Criterion {
    /// Unit of bound and observation: `ns`, `/s`, `ratio` or `count`.
    pub fn unit(&self) -> &'static str {
        match self.metric {
            Metric::Quantile(_) | Metric::Mean | Metric::Max => "ns",
            Metric::Count(_) => "count",
            Metric::Rate(_) => "/s",
            Metric::Ratio(..) => "ratio",
        }
    }

    /// Whether it needs a steady state: times and rates do, counts do not.
    pub fn asks_for_a_steady_state(&self) -> bool {
        !matches!(self.metric, Metric::Count(_) | Metric::Ratio(..))
    }

    /// Whether it is met only if operations fail, so that the experiment expects failures.
    pub fn asks_for_failures(&self) -> bool {
        let wants = |count: Count| match count {
            Count::Failed | Count::FailedAs(_) => match self.comparison {
                Operator::More => true,
                Operator::AtLeast | Operator::Equal => self.bound > 0.0,
                Operator::Less | Operator::AtMost => false,
            },
            Count::Succeeded => match self.comparison {
                Operator::Equal => self.bound == 0.0,
                other => other.caps(),
            },
            _ => false,
        };
        match &self.metric {
            Metric::Count(count) => wants(*count),
            Metric::Ratio(RatioSide { part: CountedPart::Count(count), .. }, _) => wants(*count),
            _ => false,
        }
    }

    /// Names of the operations that it refers to.
    pub fn operations(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.operation.as_deref().into_iter().collect();
        if let Metric::Ratio(over, under) = &self.metric {
            names.extend([over, under].iter().filter_map(|term| term.operation.as_deref()));
        }
        names
    }

    /// The part of it that windows do not record, if any.
    fn not_kept_by_window(&self) -> Option<&'static str> {
        let missing = |part: &CountedPart| match part {
            CountedPart::Count(count) => count_not_kept(*count),
            CountedPart::Item(_) => Some("items"),
        };
        match &self.metric {
            Metric::Quantile(_) | Metric::Max => match self.time {
                Time::Response | Time::Service => None,
                Time::QueueWait => Some("queue wait"),
                Time::Span(_) => Some("spans"),
            },
            Metric::Mean => Some("exact sums of times"),
            Metric::Count(count) => count_not_kept(*count),
            Metric::Rate(Rate::Offered | Rate::Goodput) => None,
            Metric::Rate(Rate::Started | Rate::Completed) => {
                Some("operations begun or completed in time")
            }
            Metric::Ratio(over, under) => missing(&over.part).or_else(|| missing(&under.part)),
        }
    }
}

/// Windows do not distinguish missed operations from abandoned ones.
fn count_not_kept(count: Count) -> Option<&'static str> {
    let kept =
        matches!(count, Count::Planned | Count::Succeeded | Count::Failed | Count::FailedAs(_));
    (!kept).then_some("started, missed and abandoned operations")
}

/// Names that criteria may refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Each operation and each journey of any arm.
    pub operations: Vec<OperationNames>,
    /// Kinds of failure.
    pub failures: &'static [&'static str],
    /// How each arm records, which decides the allowed window lengths.
    pub recordings: Vec<Recording>,
}

/// Names in one operation that criteria may refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationNames {
    /// Its name.
    pub name: String,
    /// Its items.
    pub items: Vec<String>,
    /// Its spans.
    pub spans: Vec<String>,
}

/// The windows of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recording {
    /// Length of a window as recorded.
    pub window: Duration,
    /// Length of the measure phase, if it is known in advance.
    pub measure: Option<Duration>,
}

impl Names {
    /// The names of these operations; `spans` returns those that its protocol stamps.
    pub fn of<'o>(
        operations: impl IntoIterator<Item = &'o Operation>,
        spans: impl Fn(&Operation) -> &'static [&'static str],
    ) -> Self {
        let mut names = Self::default();
        for operation in operations {
            if !names.operations.iter().any(|known| known.name == operation.name) {
                let spans = crate::operation::CONNECTING.iter().chain(spans(operation));
                let parts = operation.parts.iter().map(|part| part.name.clone());
                names.operations.push(OperationNames {
                    name: operation.name.clone(),
                    items: operation.items.iter().map(|item| item.name.clone()).collect(),
                    spans: spans.map(|span| (*span).to_owned()).chain(parts).collect(),
                });
            }
        }
        names
    }

    /// Adds a journey, which has neither items nor spans.
    pub fn add_journey(&mut self, journey: &Journey) {
        if !self.operations.iter().any(|known| known.name == journey.name) {
            let name = journey.name.clone();
            self.operations.push(OperationNames { name, ..OperationNames::default() });
        }
    }

    /// The count with this name in every operation, whatever its items.
    fn failure(&self, name: &str) -> Option<Count> {
        let kind = self.failures.iter().find(|kind| **kind == name)?;
        Some(Count::FailedAs(kind))
    }

    fn has_operation(&self, name: &str) -> bool {
        name == TOTAL || self.operations.iter().any(|known| known.name == name)
    }

    /// The entries of `list` for this operation, or for any.
    fn listed<'n>(
        &'n self,
        operation: Option<&str>,
        list: impl Fn(&'n OperationNames) -> &'n [String],
    ) -> Vec<&'n str> {
        let meant = |known: &&OperationNames| operation.is_none_or(|wanted| wanted == known.name);
        let concerned = self.operations.iter().filter(meant);
        let mut names: Vec<&str> = concerned.flat_map(list).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests;
