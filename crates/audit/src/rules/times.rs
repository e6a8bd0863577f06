//! One distribution of times: R01 to R08, A6, A7, A17.

use crate::imports::figure::Figure;
use crate::imports::report::{Row, Run};
use judge::consistency::times::{self, Approximate, Conflict, TimeFigures};
use plan::number::{percent, percentile};

use super::rule::{Noticed, time};

/// How far the share below a printed quantile may be off: one rank, plus the tool's estimation
/// error.
fn rank_slack(row: &Row) -> f64 {
    row.count().map_or(0.0, |n| 1.0 / n.max(1) as f64) + row.rank_error
}

/// The times of a row, for the rules that our own summaries also satisfy.
fn known(row: &Row) -> TimeFigures {
    let of = |figure: Figure| Approximate { value: figure.value, step: figure.step };
    TimeFigures {
        min: row.min.map(of),
        mean: row.mean.map(of),
        stdev: row.stdev.map(of),
        max: row.max.map(of),
        quantiles: row.quantiles.iter().map(|(q, value)| (*q, of(*value))).collect(),
        share_slack: rank_slack(row),
    }
}

fn broken(rule: fn(&TimeFigures) -> Option<Conflict>, row: &Row) -> Option<Noticed> {
    let broken = rule(&known(row))?;
    let noticed = Noticed::new(broken.claim);
    Some(broken.evidence.into_iter().fold(noticed, |noticed, (name, ms)| noticed.with(name, ms)))
}

/// R01: the mean is above the highest mean that the quantiles allow.
pub fn mean_above(_: &Run, row: &Row) -> Option<Noticed> {
    broken(times::mean_above, row)
}

/// R02: the mean is below the lowest mean that the quantiles allow.
pub fn mean_below(_: &Run, row: &Row) -> Option<Noticed> {
    broken(times::mean_below, row)
}

/// R03: minimum, quantiles and maximum ascend; mean and median have possible values.
pub fn order(_: &Run, row: &Row) -> Option<Noticed> {
    broken(times::order, row)
}

/// A6: Markov's and Cantelli's bounds.
pub fn moments(_: &Run, row: &Row) -> Option<Noticed> {
    broken(times::moments, row)
}

/// R04: more requests must be above a quantile than the quantile allows.
pub fn share_above(_: &Run, row: &Row) -> Option<Noticed> {
    let (mean, max) = (row.mean?, row.max?);
    let least = |value: Figure| (mean.low() - value.high()) / (max.high() - value.high());
    let broken = row.quantiles.iter().filter(|(q, value)| {
        let room = max.value > value.high() && mean.low() > value.high();
        room && least(*value) > 1.0 - q + rank_slack(row)
    });
    let (q, value) =
        broken.max_by(|a, b| (least(a.1) / (1.0 - a.0)).total_cmp(&(least(b.1) / (1.0 - b.0))))?;
    let share = (mean.value - value.value) / (max.value - value.value);
    let many = row
        .count()
        .map_or(String::new(), |n| format!(" ({} of {n})", (least(*value) * n as f64).ceil()));
    Some(
        Noticed::new(format!(
            "at least {}{many} took longer than {}, which the report calls {}",
            percent(share),
            time(value.value),
            percentile(*q)
        ))
        .with("share_above_percent", share * 100.0)
        .with("claimed_share_percent", (1.0 - q) * 100.0),
    )
}

/// Whether a time looks like a bucket boundary: 1, 2 or 5 followed by zeros.
fn is_label(value: Figure) -> bool {
    let mantissa = value.value / 10f64.powf(value.value.log10().floor());
    value.value > 0.0 && [1.0, 2.0, 5.0, 10.0].iter().any(|label| (mantissa - label).abs() < 1e-6)
}

fn coarse_by_record(row: &Row, value: Figure) -> bool {
    row.resolution.is_some_and(|step| value.value <= 20.0 * step)
}

/// R05: every quantile is a bucket boundary while other times are not.
pub fn labels(_: &Run, row: &Row) -> Option<Noticed> {
    let quantiles = &row.quantiles;
    let all = quantiles.len() >= 3
        && quantiles.iter().all(|(_, value)| is_label(*value) && !coarse_by_record(row, *value));
    let exact =
        [row.min, row.mean, row.max].into_iter().flatten().filter(|value| !is_label(*value));
    (all && exact.count() >= 2).then(|| {
        let names: Vec<_> = quantiles
            .iter()
            .map(|(q, value)| format!("{} {}", percentile(*q), time(value.value)))
            .collect();
        Noticed::new(format!(
            "every percentile is a bucket's label, not a measured time: {}",
            names.join(", ")
        ))
        .with_text("labels", names.join(", "))
    })
}

/// R06: the quantiles end at the last bucket's boundary, but the times do not.
pub fn open_bucket(_: &Run, row: &Row) -> Option<Noticed> {
    let max = row.max?;
    let [.., (_, lower), (q, label)] = row.quantiles[..] else { return None };
    let ends = is_label(label) && !coarse_by_record(row, label) && lower.value == label.value;
    (ends && max.low() > label.value * 1.05).then(|| {
        Noticed::new(format!(
            "{} {} is the label of the last bucket, which holds times up to {}",
            percentile(q),
            time(label.value),
            time(max.value)
        ))
        .with("label_ms", label.value * 1e3)
        .with("max_ms", max.value * 1e3)
    })
}

/// R07: quantiles based on fewer than ten requests.
pub fn support(_: &Run, row: &Row) -> Option<Noticed> {
    let n = row.count()? as f64;
    let weak = row.quantiles.iter().filter(|(q, _)| n * (1.0 - q) * (1.0 + 1e-9) < 10.0);
    let names: Vec<_> =
        weak.map(|(q, _)| format!("{} on {:.1}", percentile(*q), n * (1.0 - q))).collect();
    let needed = 10.0 / (1.0 - row.quantiles.last()?.0) * (1.0 - 1e-9);
    (!names.is_empty()).then(|| {
        Noticed::new(format!("of {n} requests too few are in the tail: {}", names.join(", ")))
            .with("needed_requests", needed.ceil())
    })
}

/// R08: a quantile that is interpolated with the maximum.
pub fn interpolated(_: &Run, row: &Row) -> Option<Noticed> {
    let n = row.count()? as f64;
    let max = row.max?;
    let mixes = |q: f64| row.interpolated && (n - 1.0) * q > n - 2.0;
    let (q, value) =
        row.quantiles.iter().find(|(q, value)| mixes(*q) && value.value < max.value)?;
    let part = (n - 1.0) * q - (n - 2.0);
    Some(
        Noticed::new(format!(
            "{} {} is interpolated with the greatest time of all, of which it holds {}",
            percentile(*q),
            time(value.value),
            percent(part)
        ))
        .with("borrowed_ms", part * max.value * 1e3),
    )
}

/// A7: the tail is clipped at one value.
pub fn clipped(run: &Run, row: &Row) -> Option<Noticed> {
    let max = row.max?;
    let n = row.count()? as f64;
    let fine = max.value > 50.0 * row.resolution.unwrap_or(0.0) && max.value > 50.0 * max.step;
    let supported = |q: f64| n * (1.0 - q) >= 10.0;
    let (q, _) = row.quantiles.iter().find(|(q, value)| {
        supported(*q) && *q >= 0.9 && (value.value - max.value).abs() <= max.value * 1e-6
    })?;
    let limit = run.timeout.filter(|limit| (limit.value - max.value).abs() < 0.05 * limit.value);
    let why = limit.map_or(String::new(), |limit| format!(", the time-out {}", time(limit.value)));
    fine.then(|| {
        Noticed::new(format!(
            "{} and the maximum are the same {}{why}: the tail was cut off",
            percentile(*q),
            time(max.value)
        ))
    })
}

/// A17: times of only a few resolution steps of the tool.
pub fn resolution(_: &Run, row: &Row) -> Option<Noticed> {
    let median = row.quantile(0.5).or(row.mean)?;
    let step = row.resolution.unwrap_or(0.0).max(median.step);
    (step > 0.0 && median.value < 10.0 * step).then(|| {
        Noticed::new(format!(
            "times in steps of {}, while the middle one is {}",
            time(step),
            time(median.value)
        ))
        .with("step_ms", step * 1e3)
    })
}
