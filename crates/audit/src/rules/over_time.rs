//! Changes during a run: R32, R34.

use crate::imports::report::{Period, Row, Run};
use plan::number::{count, percent, significant};

use super::rule::{Noticed, time};

/// R34: the times of the last third differ from those of the first third.
pub fn not_stationary(run: &Run, row: &Row) -> Option<Noticed> {
    let is_whole = run.whole().is_some_and(|whole| std::ptr::eq(whole, row));
    let intervals =
        if row.intervals.is_empty() && is_whole { &run.intervals } else { &row.intervals };
    let medians: Vec<(f64, f64, u64)> = intervals
        .iter()
        .filter_map(|one| Some((one.p50?.low(), one.p50?.high(), one.count)))
        .collect();
    let third = medians.len() / 3;
    let (first, last) = (&medians[..third], &medians[medians.len() - third..]);
    let enough = |part: &[(f64, f64, u64)]| part.iter().map(|one| one.2).sum::<u64>() >= 100;
    if third == 0 || medians.len() < intervals.len() || !enough(first) || !enough(last) {
        return None;
    }
    let least =
        |part: &[(f64, f64, u64)]| part.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
    let most = |part: &[(f64, f64, u64)]| part.iter().map(|one| one.1).fold(0.0, f64::max);
    let middle = |part: &[(f64, f64, u64)]| {
        part.iter().map(|one| (one.0 + one.1) / 2.0).sum::<f64>() / part.len() as f64
    };
    let apart = least(last) > most(first) || least(first) > most(last);
    let (before, after) = (middle(first), middle(last));
    // By chance, all five medians of one third are above all five of another in one of 126 runs; with two and two it
    // is one in three.
    let factor = if third >= 5 { 1.2 } else { 1.5 };
    let far = after > factor * before || before > factor * after;
    (apart && far).then(|| {
        Noticed::new(format!(
            "the median is {} in the first third of the run and {} in the last: percentiles of the whole are of neither",
            time(before),
            time(after)
        ))
        .with("first_third_p50_ms", before * 1e3)
        .with("last_third_p50_ms", after * 1e3)
    })
}

/// R34: the data that a request works on grew during the run.
pub fn grown(_: &Run, row: &Row) -> Option<Noticed> {
    let items = row.items.as_ref()?;
    let end = items.population.filter(|end| *end > 0)? as f64;
    let mean = items.targets as f64 / row.count().filter(|n| *n >= 10)? as f64;
    (mean > 0.0 && mean < 0.8 * end).then(|| {
        Noticed::new(format!(
            "a request had {} items on average and {} at the end: the work grew while it was measured",
            significant(mean),
            count(end as u64)
        ))
        .with("mean_items", mean)
        .with("items_at_the_end", end)
    })
}

/// R32: failures at the end.
pub fn failed_at_the_end(run: &Run) -> Option<Noticed> {
    let [before @ .., last] = &run.intervals[..] else { return None };
    let failed = |one: &Period| one.failed;
    let earlier = before.iter().try_fold(0u64, |sum, one| sum.checked_add(failed(one)?))?;
    let (at_end, all) = (last.failed?, earlier.checked_add(last.failed?)?);
    let share = (last.to - last.from) / (last.to - before.first()?.from);
    (before.len() >= 3 && share < 0.3 && at_end >= 5 && at_end as f64 >= 0.8 * all as f64).then(|| {
        Noticed::new(format!(
            "{} of {} failures are in the last interval, {} of the run: the generator may have cut its own requests off",
            count(at_end),
            count(all),
            percent(share)
        ))
        .with("failed_in_the_last", at_end as f64)
        .with("failed", all as f64)
    })
}
