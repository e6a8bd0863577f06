//! What a report says besides its figures: limits declared before the run, claims, headroom.
//! People type these in by hand; only k6 reports contain thresholds. Not here: whether a claim is true (see
//! [`crate::rules`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

use super::figure::{self, Figure};

/// One claim of the text.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// The text of the claim.
    pub says: String,
    /// The metric that it is about: see [`METRICS`].
    pub metric: Option<String>,
    /// The run or operation that it is about.
    pub of: Option<String>,
    /// The run or operation that it compares with.
    pub than: Option<String>,
    /// The claimed relation.
    pub is: Option<Relation>,
    /// The conditions: names and values of levels, workers, users, payloads …
    pub at: BTreeMap<String, String>,
    /// The claimed cause.
    pub cause: Option<String>,
}

/// What a claim states about a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Relation {
    /// Lower than the other figure.
    Lower,
    /// Higher than the other figure.
    Higher,
    /// Within the declared limits.
    Met,
    /// Within this limit.
    Within(Limit),
}

/// A limit of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Whether the limit is a lower bound.
    pub above: bool,
    /// Whether a figure equal to the limit breaks it.
    pub strict: bool,
    /// In seconds, ratios, per second or bytes.
    pub value: f64,
}

/// Headroom: capacity divided by demand.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// The ratio that the report states.
    pub factor: Figure,
    /// The capacity that the report uses, per second.
    #[serde(default)]
    pub capacity: Option<Figure>,
    /// The demand that the report uses, per second.
    #[serde(default)]
    pub demand: Option<Figure>,
    /// The kind of that demand.
    #[serde(default)]
    pub demand_is: Option<DemandKind>,
}

/// The demand that a headroom refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DemandKind {
    /// The average demand.
    Mean,
    /// The peak demand.
    Peak,
}

/// Metrics that a limit or a claim may name, besides percentiles.
pub const METRICS: &[&str] =
    &["min", "mean", "max", "rate", "goodput", "ok", "failed", "delivered", "bytes"];

/// Splits `p99` or `Multicast p99` into the operation, if there is one, and the metric.
pub fn metric_of(target: &str) -> (Option<&str>, &str) {
    target.rsplit_once(' ').map_or((None, target), |(whose, metric)| (Some(whose), metric))
}

impl Limit {
    /// `< 100ms`, `<= 1%`, `>= 95/s`.
    pub fn of(text: &str) -> Option<Self> {
        let signs =
            [("<=", false, false), (">=", true, false), ("<", false, true), (">", true, true)];
        let (sign, above, strict) =
            signs.into_iter().find(|(sign, ..)| text.trim().starts_with(sign))?;
        let rest = text.trim().strip_prefix(sign)?.trim();
        let plain = || figure::number(rest.strip_suffix("/s").unwrap_or(rest));
        let value = figure::time(rest).or_else(|| figure::percent(rest)).or_else(plain)?.value;
        Some(Self { above, strict, value })
    }

    /// Whether a figure is within the limit: `true` if the printed value is, `false` if no value that rounds to it is,
    /// `None` if rounding decides.
    pub fn kept_by(self, figure: Figure) -> Option<bool> {
        let keeps = |value: f64| match (self.above, self.strict) {
            (true, true) => value > self.value,
            (true, false) => value >= self.value,
            (false, true) => value < self.value,
            (false, false) => value <= self.value,
        };
        let best = if self.above { figure.high() } else { figure.low() };
        if keeps(figure.value) { Some(true) } else { Some(false).filter(|_| !keeps(best)) }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::of(&text)
            .ok_or_else(|| D::Error::custom(format!("\"{text}\" is not a limit, such as < 100ms")))
    }
}

impl<'de> Deserialize<'de> for Relation {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bound = || Limit::of(&text).map(Relation::Within);
        let wrong =
            || format!("\"{text}\" is not `lower`, `higher`, `met` or a limit such as < 100ms");
        match text.as_str() {
            "lower" => Ok(Relation::Lower),
            "higher" => Ok(Relation::Higher),
            "met" => Ok(Relation::Met),
            _ => bound().ok_or_else(|| D::Error::custom(wrong())),
        }
    }
}
