//! Counts, shares and sums: R12, R24, R26, A12, A13, A14.

use crate::imports::figure::Figure;
use crate::imports::report::{Row, Run};
use plan::number::{count, percent, percentile};

use super::rule::{Noticed, time};

/// R12 within a row: parts and shares agree with their totals.
pub fn row_sums(_: &Run, row: &Row) -> Option<Noticed> {
    let mut wrong: Vec<String> = Vec::new();
    if let (Some(n), Some(ok), Some(failed)) = (row.n, row.ok, row.failed)
        && ok.checked_add(failed) != Some(n)
    {
        wrong.push(format!("{} succeeded and {} failed of {}", count(ok), count(failed), count(n)));
    }
    let sum = |counts: &std::collections::BTreeMap<String, u64>| {
        counts.values().try_fold(0u64, |sum, n| sum.checked_add(*n)).unwrap_or(u64::MAX)
    };
    if let (Some(failed), kinds) = (row.failed, sum(&row.failures))
        && !row.failures.is_empty()
        && kinds != failed
    {
        wrong.push(format!("{} failures by kind, {} failed", count(kinds), count(failed)));
    }
    if let (Some(n), answers) = (row.count(), sum(&row.statuses))
        && answers > n
    {
        wrong.push(format!("{} answers with a status, {} requests", count(answers), count(n)));
    }
    wrong.extend(share("succeeded", row.ok, row.count(), row.ok_share));
    wrong.extend(share("failed", row.unsuccessful(), row.count(), row.failed_share));
    if let Some(items) = &row.items {
        if let (Some(delivered), Some(failed)) = (items.delivered, items.failed)
            && delivered.checked_add(failed) != Some(items.targets)
        {
            wrong.push(format!(
                "{} delivered and {} failed of {}",
                count(delivered),
                count(failed),
                count(items.targets)
            ));
        }
        wrong.extend(share(
            "delivered",
            items.delivered,
            Some(items.targets),
            items.delivered_share,
        ));
    }
    (!wrong.is_empty()).then(|| Noticed::new(wrong.join("; ")))
}

fn share(
    what: &str,
    part: Option<u64>,
    whole: Option<u64>,
    printed: Option<Figure>,
) -> Option<String> {
    let (part, whole, printed) = (part?, whole.filter(|whole| *whole > 0)?, printed?);
    let made = part as f64 / whole as f64;
    (!printed.allows(made)).then(|| {
        format!(
            "{} of {} {what} is {:.3} %, not {:.3} %",
            count(part),
            count(whole),
            made * 100.0,
            printed.value * 100.0
        )
    })
}

/// R12 within a run: rows and intervals add up to the total.
pub fn run_sums(run: &Run) -> Option<Noticed> {
    let total = run.total.as_ref();
    let mut noticed = Noticed::new("");
    let mut wrong: Vec<String> = Vec::new();
    for (place, what) in ["requests", "succeeded", "failed"].into_iter().enumerate() {
        let of = |row: &Row| [row.n, row.ok, row.failed][place];
        let sum = run.rows.iter().map(of).try_fold(0u64, |sum, n| sum.checked_add(n?));
        let (Some(sum), Some(whole)) = (sum, total.and_then(of)) else { continue };
        if !run.rows.is_empty() && sum != whole {
            wrong.push(format!(
                "{what} of the operations add up to {}, the total says {}",
                count(sum),
                count(whole)
            ));
        }
    }
    let n = run.count();
    let in_time: Option<u64> =
        run.intervals.iter().try_fold(0u64, |sum, one| sum.checked_add(one.count));
    if let (Some(n), Some(sum), Some(last)) = (n, in_time, run.intervals.last())
        && sum != n
    {
        let other = last.count as f64 + n as f64 - sum as f64;
        wrong.push(format!(
            "the intervals hold {}, the total says {}: the last one should be {other}, not {}",
            count(sum),
            count(n),
            last.count
        ));
        noticed = noticed
            .with("intervals", sum as f64)
            .with("total", n as f64)
            .with("last_interval", other);
    }
    noticed.claim = wrong.join("; ");
    (!wrong.is_empty()).then_some(noticed)
}

/// R24: requests succeeded, but the items that they carried failed.
pub fn item_success(_: &Run, row: &Row) -> Option<Noticed> {
    let items = row.items.as_ref().filter(|items| items.targets > 0)?;
    let n = row.count().filter(|n| *n > 0)? as f64;
    let ok = row.ok? as f64 / n;
    let delivered = items.delivered? as f64 / items.targets as f64;
    ((ok - delivered).abs() > 0.001).then(|| {
        Noticed::new(format!(
            "{} of the requests succeeded, and {} of what they were made for: one of the two is not the success rate",
            percent(ok),
            percent(delivered)
        ))
        .with("requests_percent", ok * 100.0)
        .with("items_percent", delivered * 100.0)
    })
}

/// R26: requests that did no work.
pub fn no_work(_: &Run, row: &Row) -> Option<Noticed> {
    let none = row.items.as_ref().is_some_and(|items| items.targets == 0) && row.ok > Some(0);
    if none {
        return Some(Noticed::new("requests succeeded on no items at all"));
    }
    let times = row.mean.is_some() || !row.quantiles.is_empty();
    (row.n == Some(0) && times && row.max.is_some_and(|max| max.value > 0.0))
        .then(|| Noticed::new("times of no requests"))
}

/// R26: so few different requests that a cache may have answered.
pub fn cached(_: &Run, row: &Row) -> Option<Noticed> {
    let (n, distinct) = (row.count()?, row.distinct?);
    (distinct <= 100 && n >= distinct.saturating_mul(1_000)).then(|| {
        Noticed::new(format!(
            "of {} requests only {} were different: a cache may have answered all others",
            count(n),
            count(distinct)
        ))
        .with("distinct", distinct as f64)
    })
}

/// A12: bytes, requests and length agree.
pub fn bytes(run: &Run, row: &Row) -> Option<Noticed> {
    let total = row.bytes_total?;
    if let (Some(mean), Some(n)) = (row.bytes_mean, row.n.filter(|n| *n > 0)) {
        let fits = |n: u64| {
            let n = n as f64;
            mean.may_be(total.low() / n, total.high() / n)
        };
        // The figure may count answers only, or all requests.
        if !fits(n) && ![row.ok, row.timed].into_iter().flatten().any(|n| n > 0 && fits(n)) {
            let made = total.value / n as f64;
            return Some(
                Noticed::new(format!(
                    "{} bytes over {} requests are {made:.1} each, not {:.1}",
                    count(total.value as u64),
                    count(n),
                    mean.value
                ))
                .with("bytes_each", made),
            );
        }
    }
    let (rate, length) = (row.bytes_rate?, run.duration.filter(|length| length.low() > 0.0)?);
    (!rate.may_be(total.low() / length.high(), total.high() / length.low())).then(|| {
        let made = total.value / length.value;
        Noticed::new(format!(
            "{} bytes in {} are {} a second, not {}",
            count(total.value as u64),
            time(length.value),
            count(made as u64),
            count(rate.value as u64)
        ))
        .with("bytes_per_second", made)
    })
}

/// A13: the means of the parts add up to the mean.
pub fn parts(_: &Run, row: &Row) -> Option<Noticed> {
    let mean = row.mean.filter(|_| !row.parts.is_empty())?;
    let sum: f64 = row.parts.iter().map(|(_, part)| part.value).sum();
    let step: f64 = row.parts.iter().map(|(_, part)| part.step).sum();
    let sum_figure = Figure { value: sum, step: step + mean.value * 1e-6 };
    (!mean.may_be(sum_figure.low(), sum_figure.high())).then(|| {
        Noticed::new(format!(
            "the parts of the mean add up to {}, not to {}",
            time(sum),
            time(mean.value)
        ))
        .with("parts_ms", sum * 1e3)
        .with("mean_ms", mean.value * 1e3)
    })
}

/// A14: a quantile of the whole lies between those of its operations, and is not their average.
pub fn merged(run: &Run) -> Option<Noticed> {
    let total = run.total.as_ref()?;
    let rows: Vec<&Row> = run.rows.iter().filter(|row| row.n != Some(0)).collect();
    if rows.len() < 2 {
        return None;
    }
    let mut averaged = 0;
    for (q, whole) in &total.quantiles {
        let supported = |row: &&Row| row.count().is_some_and(|n| n as f64 * (1.0 - q) >= 10.0);
        let of: Option<Vec<Figure>> = rows.iter().map(|row| row.quantile(*q)).collect();
        let Some(of) = of.filter(|_| rows.iter().all(supported)) else { continue };
        let least = of.iter().map(|one| one.low()).fold(f64::INFINITY, f64::min);
        let most = of.iter().map(|one| one.high()).fold(0.0, f64::max);
        if !whole.may_be(least, most) {
            return Some(Noticed::new(format!(
                "{} of the whole is {}, outside of its operations' {} to {}",
                percentile(*q),
                time(whole.value),
                time(least),
                time(most)
            )));
        }
        let mean = of.iter().map(|one| one.value).sum::<f64>() / of.len() as f64;
        let apart = most > least + 4.0 * whole.step && whole.step < 0.01 * whole.value;
        averaged += usize::from(apart && (mean - whole.value).abs() <= whole.step);
    }
    (averaged >= 3).then(|| {
        Noticed::new(
            "percentiles of the whole are averages of the operations'; percentiles do not average",
        )
    })
}
