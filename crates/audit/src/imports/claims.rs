//! What a report says beside its figures: limits that were declared before the run, claims, headroom.
//!
//! Typed in by hand, but for the thresholds of k6. Not here: whether it is true (see
//! [`crate::rules`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

use super::figure::{self, Figure};

/// One claim of the text.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// Its words.
    pub says: String,
    /// What it speaks of: see [`METRICS`].
    pub metric: Option<String>,
    /// Whose: a run or an operation.
    pub of: Option<String>,
    /// Held against which.
    pub than: Option<String>,
    /// What it says of the figure.
    pub is: Option<Relation>,
    /// Under which conditions: names and values of levels, workers, users, payloads …
    pub at: BTreeMap<String, String>,
    /// What it calls the cause.
    pub cause: Option<String>,
}

/// What a claim says of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Relation {
    /// Less than the other's.
    Lower,
    /// More than the other's.
    Higher,
    /// Within the limits that were declared.
    Met,
    /// Within this limit.
    Within(Limit),
}

/// A limit of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Whether the figure must be above it.
    pub above: bool,
    /// Whether the limit itself is beyond it.
    pub strict: bool,
    /// In seconds, ratios, a second or bytes.
    pub value: f64,
}

/// What the system could do over what is asked of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headroom {
    /// The quotient that the report states.
    pub factor: Figure,
    /// What it takes for the capacity, a second.
    #[serde(default)]
    pub capacity: Option<Figure>,
    /// What it takes for the demand, a second.
    #[serde(default)]
    pub demand: Option<Figure>,
    /// Which demand that is.
    #[serde(default)]
    pub demand_is: Option<DemandKind>,
}

/// Which demand a headroom is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DemandKind {
    /// On average.
    Mean,
    /// When it is greatest.
    Peak,
}

/// What a limit or a claim may speak of, beside percentiles.
pub const METRICS: &[&str] =
    &["min", "mean", "max", "rate", "goodput", "ok", "failed", "delivered", "bytes"];

/// `p99`, or `Multicast p99`: whose, and which metric.
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

    /// Whether a figure keeps it as it is printed, and otherwise no number does that may stand behind it.
    /// `None` where rounding decides.
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
