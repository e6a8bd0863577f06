//! Findings about closed loads of different sizes.

use record::summary::{Scaling, ScalingPoint, Severity};

use super::design::plain;
use super::kind::{Check, FindingKind, Noticed};
use plan::number::{duration, percent, rate, significant};

/// More operations in flight, with hardly more throughput.
pub const NO_SCALING: FindingKind = FindingKind {
    code: "no-scaling",
    severity: Severity::Info,
    clearest: None,
    title: "more connections hardly do more work",
    explain: "Of arms that differ in the number of connections or users alone, the largest does less than half of what \
              as many times the work of the smallest would be. Something is full from the size on that is named: \
              whatever is added beyond it waits, and shows as response time. Such a throughput is what is left when \
              everything waits, and no capacity: that is the greatest rate at which a criterion on time still holds \
              (`proofload capacity`). Nothing is said where the generator waited for its processor at one of the two \
              sizes (`closed-load-crowded`).",
    check: Check::Scaling(no_scaling),
};

/// More operations in flight, with less throughput.
pub const CLIFF: FindingKind = FindingKind {
    code: "scaling-cliff",
    severity: Severity::Warning,
    clearest: None,
    title: "more connections do less work",
    explain: "Of arms that differ in the number of connections or users alone, the largest does at least a tenth less \
              than a smaller one, in each of its trials. Something costs more the more of them there are: locks, \
              switching, caches that no longer hold, retries. Bound the number that is let in. Nothing is \
              said where the generator waited for its processor at one of the two sizes (`closed-load-crowded`).",
    check: Check::Scaling(cliff),
};

fn no_scaling(scaling: &Scaling) -> Option<Noticed> {
    /// From some size on, throughput is at least this share of the greatest.
    const FULL: f64 = 0.9;
    let (first, last) = (scaling.points.first()?, scaling.points.last()?);
    let size = f64::from(last.concurrency) / f64::from(first.concurrency.max(1));
    let gain = last.goodput / first.goodput;
    if size < 2.0 || gain >= size / 2.0 || is_of_the_generator(&[first, last]) {
        return None;
    }
    let most = scaling.points.iter().map(|point| point.goodput).fold(0.0, f64::max);
    let full = scaling.points.iter().find(|point| point.goodput >= FULL * most);
    let full = full.filter(|point| point.concurrency < last.concurrency);
    let beyond = full.map_or(String::new(), |point| {
        format!("; from {} on, more of them wait for each other", point.concurrency)
    });
    let claim = format!(
        "{} {} do {} times the work of {} ({} against {}), each operation taking {} instead of {}{}{beyond}",
        last.concurrency,
        scaling.actors,
        significant(gain),
        first.concurrency,
        rate(last.goodput),
        rate(first.goodput),
        duration(last.service_mean_ns),
        duration(first.service_mean_ns),
        stratum(scaling),
    );
    let advice = "name no capacity by this throughput: search it by `proofload capacity` with a criterion on time";
    let noticed = Noticed::new(claim, advice)
        .with("factor", scaling.factor.as_str())
        .with("smallest", first.concurrency)
        .with("largest", last.concurrency)
        .with("gain", gain);
    Some(match full {
        Some(point) => noticed.with("full_from", point.concurrency),
        None => noticed,
    })
}

fn cliff(scaling: &Scaling) -> Option<Noticed> {
    const LESS: f64 = 0.9;
    let last = scaling.points.last()?;
    let best = scaling.points.iter().max_by(|a, b| a.goodput.total_cmp(&b.goodput))?;
    let apart = |best: &ScalingPoint, last: &ScalingPoint| last.greatest < best.least;
    if last.goodput > LESS * best.goodput
        || !apart(best, last)
        || is_of_the_generator(&[best, last])
    {
        return None;
    }
    let claim = format!(
        "{} {} do {} less than {} ({} against {}){}",
        last.concurrency,
        scaling.actors,
        percent(1.0 - last.goodput / best.goodput),
        best.concurrency,
        rate(last.goodput),
        rate(best.goodput),
        stratum(scaling),
    );
    let noticed = Noticed::new(claim, "bound the number that is let in, and find what they share")
        .with("factor", scaling.factor.as_str())
        .with("best", best.concurrency)
        .with("largest", last.concurrency)
        .with("ratio", last.goodput / best.goodput);
    Some(noticed)
}

/// Whether one of them was limited by the generator or by a crowd, and so shows nothing about the target.
fn is_of_the_generator(points: &[&ScalingPoint]) -> bool {
    points.iter().any(|point| point.crowded)
        || points.last().is_some_and(|last| last.generator_bound)
}

/// The levels of other factors as text, if there are any.
fn stratum(scaling: &Scaling) -> String {
    let others = scaling.stratum.iter().map(|(name, value)| format!("{name} = {}", plain(value)));
    let others: Vec<String> = others.collect();
    if others.is_empty() { String::new() } else { format!(" (at {})", others.join(", ")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::findings::{Subject, findings};

    fn scaling(points: &[(u32, [f64; 2])]) -> Scaling {
        let point = |&(concurrency, trials): &(u32, [f64; 2])| {
            let goodput = trials.iter().sum::<f64>() / 2.0;
            ScalingPoint {
                concurrency,
                trials: 2,
                goodput,
                least: trials[0].min(trials[1]),
                greatest: trials[0].max(trials[1]),
                service_mean_ns: (f64::from(concurrency) / goodput * 1e9) as u64,
                generator_bound: false,
                crowded: false,
            }
        };
        Scaling {
            factor: "connections".to_owned(),
            stratum: BTreeMap::from([("path".to_owned(), "front".into())]),
            actors: "connections".to_owned(),
            points: points.iter().map(point).collect(),
            law: None,
        }
    }

    fn told(points: &[(u32, [f64; 2])]) -> Vec<(String, String)> {
        let found = findings(Subject::Scaling(&scaling(points)));
        found.into_iter().map(|finding| (finding.code, finding.claim)).collect()
    }

    #[test]
    fn ten_connections_that_do_the_work_of_one_are_told() {
        // The second report's front: 408.5/s with one connection, 484.2/s with ten.
        let found = told(&[(1, [408.5, 408.5]), (10, [484.2, 484.2])]);
        let claim = "10 connections do 1.19 times the work of 1 (484/s against 409/s), each operation taking 20.7 ms \
                     instead of 2.45 ms (at path = front)";
        assert_eq!(found, [("no-scaling".to_owned(), claim.to_owned())]);
    }

    #[test]
    fn the_size_from_which_on_it_is_full_is_named() {
        let found = told(&[(1, [100.0; 2]), (4, [390.0; 2]), (8, [400.0; 2]), (64, [410.0; 2])]);
        assert_eq!(found.len(), 1);
        assert!(found[0].1.contains("; from 4 on, more of them wait"), "{found:?}");
        assert_eq!(told(&[(1, [100.0; 2]), (2, [180.0; 2]), (4, [330.0; 2])]), [], "it scales");
    }

    #[test]
    fn less_from_more_is_a_cliff_where_every_trial_shows_it() {
        let codes = |last: [f64; 2]| {
            let points = [(1, [100.0; 2]), (8, [700.0, 720.0]), (16, last)];
            told(&points).into_iter().map(|(code, _)| code).collect::<Vec<_>>()
        };
        assert_eq!(codes([500.0, 520.0]), ["scaling-cliff", "no-scaling"]);
        assert_eq!(codes([300.0, 705.0]), ["no-scaling"], "one trial says otherwise");
        assert_eq!(codes([1_000.0; 2]), Vec::<String>::new());
    }

    #[test]
    fn what_a_crowd_made_of_a_size_says_nothing_about_the_target() {
        // No scaling from the first to the last, and a cliff from the second to the last.
        let points = [(1, [400.0; 2]), (8, [420.0; 2]), (16, [300.0; 2])];
        let codes = |crowded: usize| {
            let mut scaling = scaling(&points);
            scaling.points[crowded].crowded = true;
            findings(Subject::Scaling(&scaling)).into_iter().map(|one| one.code).collect::<Vec<_>>()
        };
        assert_eq!(told(&points).len(), 2);
        assert_eq!(codes(0), ["scaling-cliff"]);
        assert_eq!(codes(1), ["no-scaling"]);
        assert_eq!(codes(2), Vec::<String>::new());
    }

    #[test]
    fn a_busy_generator_says_nothing_about_the_target() {
        let mut scaling = scaling(&[(1, [400.0; 2]), (10, [300.0; 2])]);
        scaling.points[1].generator_bound = true;
        assert_eq!(findings(Subject::Scaling(&scaling)), []);
    }
}
