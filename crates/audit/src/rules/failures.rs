//! Failures, and what they mean for times: R21 to R23, R25, R28, R29, R31.

use stats::proportion::{rule_of_three, wilson};

use crate::imports::Report;
use crate::imports::report::{Row, Run};
use plan::number::{count, percent, percentile, rate};

use super::rule::{Noticed, time};

/// R21: failed requests have no time, so the quantiles describe only survivors.
pub fn survivors(run: &Run, row: &Row) -> Option<Noticed> {
    let n = row.count()?;
    let failed = n.checked_sub(row.timed?).filter(|missing| *missing > 0)?;
    let known = 1.0 - failed as f64 / n as f64;
    let hidden: Vec<_> =
        row.quantiles.iter().filter(|(q, _)| *q > known).map(|(q, _)| percentile(*q)).collect();
    let limit =
        run.timeout.map_or(String::new(), |limit| format!(" ({} or more)", time(limit.value)));
    let names = if hidden.is_empty() { "none printed here".to_owned() } else { hidden.join(", ") };
    Some(
        Noticed::new(format!(
            "{} of {} have no time; counted as slowest{limit} they are every percentile above {}: {names}",
            count(failed),
            count(n),
            percentile((known * 1e6).floor() / 1e6)
        ))
        .with("missing", failed as f64)
        .with("known_below_percent", known * 100.0)
        .weak_if(hidden.is_empty()),
    )
}

/// R22: times of failures are mixed with times of answers.
pub fn mixed(_: &Run, row: &Row) -> Option<Noticed> {
    let (n, timed) = (row.count()?, row.timed?);
    let untimed = n.checked_sub(timed)?;
    let failed = row.unsuccessful()?.checked_sub(untimed).filter(|failed| *failed > 0)?;
    row.max.map(|_| {
        Noticed::new(format!(
            "{} of {} failed, and their times are among the others: failing fast makes them look better",
            count(failed),
            count(n)
        ))
        .with("failed_percent", failed as f64 / n.max(1) as f64 * 100.0)
    })
}

/// R23 within a run: requests per second are not successes per second.
pub fn goodput(run: &Run) -> Option<Noticed> {
    let row = run.whole()?;
    let (n, failed) = (row.count()? as f64, row.unsuccessful()? as f64);
    let printed = row.rate?;
    if row.goodput.is_some() || failed < 0.01 * n {
        return None;
    }
    let good = printed.value * (n - failed) / n;
    Some(
        Noticed::new(format!(
            "{} are requests; successes are {}, which is not printed",
            rate(printed.value),
            rate(good)
        ))
        .with("goodput_per_second", good),
    )
}

/// R23 between runs: the faster run answered fewer requests.
pub fn ranking(report: &Report) -> Option<Noticed> {
    let of = |run: &Run| {
        let row = run.whole()?;
        let counted = || Some(row.ok? as f64 / row.count().filter(|n| *n > 0)? as f64);
        let share = || row.ok_share.map(|share| share.value).or_else(counted);
        let made = || Some(run.rate()? * share()?);
        let good = row.goodput.map(|good| good.value).or_else(made)?;
        Some((run.name.clone(), row.quantile(0.5)?.value, good))
    };
    let all: Vec<_> = report.runs.iter().filter_map(of).collect();
    let pairs = all.iter().flat_map(|fast| all.iter().map(move |other| (fast, other)));
    let reversed = |(fast, other): &(&(String, f64, f64), &(String, f64, f64))| {
        fast.1 < other.1 && fast.2 < 0.5 * other.2
    };
    let (fast, other) = pairs.into_iter().find(reversed)?;
    Some(
        Noticed::new(format!(
            "by its median {} is ahead of {} ({} and {}), by successes a second it is behind ({} and {})",
            fast.0,
            other.0,
            time(fast.1),
            time(other.1),
            rate(fast.2),
            rate(other.2)
        ))
        .with("goodput_per_second", fast.2)
        .with("other_goodput_per_second", other.2),
    )
}

/// R25: a counter of failures that cannot count.
pub fn no_counter(run: &Run) -> Option<Noticed> {
    let none = run.failures_counted == Some(false)
        && run.all().all(|row| row.unsuccessful().unwrap_or(0) == 0);
    none.then(|| {
        Noticed::new("no failures were counted, in a mode that counts none: 0 is not a measurement")
    })
}

/// R28: the number of failures stays the same when the number of requests changes.
pub fn constant_count(report: &Report) -> Option<Noticed> {
    let of = |run: &Run| {
        Some((run.whole()?.unsuccessful().filter(|failed| *failed >= 3)?, run.count()?))
    };
    let all: Vec<(u64, u64)> = report.runs.iter().filter_map(of).collect();
    let (failed, _) =
        *all.iter().find(|(failed, _)| all.iter().filter(|one| one.0 == *failed).count() >= 3)?;
    let same: Vec<u64> = all.iter().filter(|one| one.0 == failed).map(|one| one.1).collect();
    let (least, most) = (same.iter().min()?, same.iter().max()?);
    (*most >= 2 * *least).then(|| {
        Noticed::new(format!(
            "exactly {failed} failures in {} runs of {} to {} requests: they belong to something that happens once a run, \
             such as connecting, and not to requests; a limit of {failed} or {} may be behind it",
            same.len(),
            count(*least),
            count(*most),
            failed - 1
        ))
        .with("failed", failed as f64)
        .with("runs", same.len() as f64)
    })
}

/// R29: the confidence interval of a failure share, and whether operations differ in it.
pub fn bounds(run: &Run) -> Option<Noticed> {
    let rows: Vec<(&Row, f64, f64)> = run
        .all()
        .filter_map(|row| {
            let n = row.count().filter(|n| *n > 0)?;
            Some((row, row.unsuccessful().filter(|failed| *failed <= n)? as f64, n as f64))
        })
        .collect();
    let mut texts = Vec::new();
    let mut noticed = Noticed::new("");
    for (row, failed, n) in &rows {
        let (low, high) = if *failed == 0.0 {
            (0.0, rule_of_three(*n).min(1.0))
        } else {
            let interval = wilson(*failed, *n, 0.95);
            (interval.low, interval.high)
        };
        texts.push(format!(
            "{} {failed:.0} of {n:.0}: {} to {}",
            row.name,
            percent(low),
            percent(high)
        ));
        noticed = noticed
            .with(&format!("{}_low_percent", row.name), low * 100.0)
            .with(&format!("{}_high_percent", row.name), high * 100.0);
    }
    if let [a, b, ..] = &rows[..]
        && run.rows.len() == 2
        && let Some(z) = two_proportions((a.1, a.2), (b.1, b.2))
    {
        texts.push(format!("the two operations differ with z = {z:.2}"));
        noticed = noticed.with("z", z);
    }
    noticed.claim =
        format!("failures, with the 95 % interval of their share: {}", texts.join("; "));
    (!texts.is_empty()).then_some(noticed)
}

/// The test statistic of two proportions with pooled variance.
fn two_proportions(a: (f64, f64), b: (f64, f64)) -> Option<f64> {
    let pooled = (a.0 + b.0) / (a.1 + b.1);
    let deviation = (pooled * (1.0 - pooled) * (1.0 / a.1 + 1.0 / b.1)).sqrt();
    let z = ((a.0 / a.1) - (b.0 / b.1)).abs() / deviation;
    z.is_finite().then_some(z)
}

/// R31: failures of an idle system that look like a race between two requests.
pub fn race(run: &Run, row: &Row) -> Option<Noticed> {
    let (n, failed) = (row.count()? as f64, row.unsuccessful()? as f64);
    let speed = row.rate.map(|speed| speed.value).or_else(|| Some(n / run.window()?.value))?;
    let in_flight = speed * row.mean?.value;
    let share = failed / n;
    let differs = |other: &Row| {
        let (their, of) = (other.unsuccessful()? as f64, other.count()? as f64);
        Some(their / of < share && two_proportions((failed, n), (their, of))? > 3.0)
    };
    let is_operation = run.rows.iter().any(|other| other.name == row.name);
    let worse = is_operation && run.rows.iter().any(|other| differs(other) == Some(true));
    if in_flight >= 0.5 || failed < 10.0 || share > 0.5 || !worse {
        return None;
    }
    let window = -(1.0 - share).ln() / speed;
    let at = |times: f64| 1.0 - (-window * speed * times).exp();
    Some(
        Noticed::new(format!(
            "{} failed with {in_flight:.2} in flight: if two requests that meet within {} fail, the share becomes {} at twice \
             the rate and {} at ten times",
            percent(share),
            time(window),
            percent(at(2.0)),
            percent(at(10.0))
        ))
        .with("window_ms", window * 1e3)
        .with("share_at_double_percent", at(2.0) * 100.0)
        .with("share_at_tenfold_percent", at(10.0) * 100.0),
    )
}
