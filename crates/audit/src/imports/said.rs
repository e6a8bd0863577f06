//! What a report says beside its figures: limits that were declared before the run, claims, headroom.
//!
//! Typed in by hand, but for the thresholds of k6. Not here: whether it is true (see
//! [`crate::rules`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

use super::figure::{self, Figure};
use super::foreign::{Row, Run, quantile_name};
use super::{Foreign, MOST_CLAIMS, at_most};

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
    pub is: Option<Is>,
    /// Under which conditions: names and values of levels, workers, users, payloads …
    pub at: BTreeMap<String, String>,
    /// What it calls the cause.
    pub cause: Option<String>,
}

/// What a claim says of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Is {
    /// Less than the other's.
    Lower,
    /// More than the other's.
    Higher,
    /// Within the limits that were declared.
    Met,
    /// Within this limit.
    Within(Bound),
}

/// A limit of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
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
    pub demand_is: Option<Demand>,
}

/// Which demand a headroom is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
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

fn is_metric(name: &str) -> bool {
    METRICS.contains(&name) || quantile_name(name).is_some_and(|q| q > 0.0 && q < 1.0)
}

impl Row {
    /// The figure of this name: see [`METRICS`].
    pub fn metric(&self, name: &str) -> Option<Figure> {
        let share = |part: Option<u64>, whole: Option<u64>| {
            Some(Figure::exact(part? as f64 / whole.filter(|whole| *whole > 0)? as f64))
        };
        match name {
            "min" => self.min,
            "mean" => self.mean,
            "max" => self.max,
            "rate" => self.rate,
            "goodput" => self.goodput,
            "bytes" => self.bytes_mean,
            "failed" => share(self.unsuccessful(), self.count()).or(self.failed_share),
            "ok" => share(self.ok, self.count()).or(self.ok_share),
            "delivered" => {
                let items = self.items.as_ref()?;
                share(items.delivered, Some(items.targets)).or(items.delivered_share)
            }
            name => self.quantile(quantile_name(name)?),
        }
    }
}

impl Bound {
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

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::of(&text)
            .ok_or_else(|| D::Error::custom(format!("\"{text}\" is not a limit, such as < 100ms")))
    }
}

impl<'de> Deserialize<'de> for Is {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bound = || Bound::of(&text).map(Is::Within);
        let wrong =
            || format!("\"{text}\" is not `lower`, `higher`, `met` or a limit such as < 100ms");
        match text.as_str() {
            "lower" => Ok(Is::Lower),
            "higher" => Ok(Is::Higher),
            "met" => Ok(Is::Met),
            _ => bound().ok_or_else(|| D::Error::custom(wrong())),
        }
    }
}

/// Limits and claims speak of what is there.
///
/// Errors: what is not
pub(super) fn check(report: &Foreign) -> Result<(), String> {
    at_most(MOST_CLAIMS, report.targets.len(), "targets")?;
    at_most(MOST_CLAIMS, report.claims.len(), "claims")?;
    at_most(MOST_CLAIMS, report.announced.len().max(report.shown.len()), "announced or shown")?;
    let targets = report.targets.keys().map(|target| metric_of(target));
    let claims = report.claims.iter();
    let of_claims = claims.clone().filter_map(|claim| claim.metric.as_deref());
    let mut metrics = targets.clone().map(|(_, metric)| metric).chain(of_claims);
    if let Some(wrong) = metrics.find(|metric| !is_metric(metric)) {
        let known = METRICS.join(", ");
        return Err(format!("a metric, which \"{wrong}\" is not: p50, p99.9 and so on, {known}"));
    }
    let whose = claims.clone().flat_map(|claim| [claim.of.as_deref(), claim.than.as_deref()]);
    let named = |name: &&str| named(report, name).next().is_some();
    let mut whose = whose.flatten().chain(targets.filter_map(|(whose, _)| whose));
    if let Some(wrong) = whose.find(|name| !named(name)) {
        return Err(format!("a run or an operation with the name \"{wrong}\""));
    }
    claims.clone().try_for_each(|claim| {
        let lacking = match claim.is {
            Some(Is::Lower | Is::Higher) if claim.of.is_none() || claim.than.is_none() => {
                "`of` and `than`"
            }
            Some(Is::Within(_)) if claim.metric.is_none() => "`metric`",
            _ => return Ok(()),
        };
        Err(format!("{lacking} of the claim \"{}\"", claim.says))
    })
}

/// Lines of the whole of runs with this name, or of operations.
pub fn named<'r>(report: &'r Foreign, name: &'r str) -> impl Iterator<Item = (&'r Run, &'r Row)> {
    report.runs.iter().flat_map(move |run| {
        let whole = run.whole().filter(|_| run.name == name);
        let rows = run.all().filter(move |row| row.name == name && run.name != name);
        whole.into_iter().chain(rows).map(move |row| (run, row))
    })
}
