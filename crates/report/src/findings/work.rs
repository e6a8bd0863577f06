//! Findings about what answers carried.

use record::summary::Severity;
use stats::trend::{self, Line, Point};

use super::shape::{ItemShape, OperationShape};
use super::{Noticed, Row};
use crate::number::{count, duration, significant};

/// Fewer answers say nothing.
const FEWEST: u64 = 10;

/// Nothing was worked on.
pub const ZERO_WORK: Row = Row {
    code: "zero-work",
    severity: Severity::Warning,
    title: "operations did no work",
    explain: "Every item that the experiment declares of an operation was 0 in all its answers, or in none of them \
              (rule R26): messages to no receivers, searches without hits, answers from an empty store. Their \
              times are those of doing nothing. Fill the target before the load, or correct the item's path.",
    check: |case| {
        let found = case.facts.shape.operations.iter().zip(&case.trial.operations);
        let (shape, operation) = found
            .filter(|(shape, operation)| operation.succeeded >= FEWEST && !shape.items.is_empty())
            .find(|(shape, _)| shape.items.iter().all(|item| item.sum == 0.0))?;
        let carried = shape.items.iter().map(|item| item.carried).max().unwrap_or(0);
        let names: Vec<&str> = shape.items.iter().map(|item| item.name.as_str()).collect();
        let (names, answers) = (names.join(", "), count(operation.succeeded));
        let claim = match carried {
            0 => format!("none of {answers} answers to {} carried {names}", shape.name),
            _ => format!(
                "{names} was 0 in all {answers} answers to {}: no work was done",
                shape.name
            ),
        };
        let advice = "fill the target before the load, or correct the path of the item";
        let noticed = Noticed::new(claim, advice)
            .about(&shape.name)
            .with("succeeded", operation.succeeded)
            .with("carried", carried);
        Some(noticed)
    },
};

/// Response time against an item.
pub const GROWS: Row = Row {
    code: "grows-with-item",
    severity: Severity::Info,
    title: "response time grows with what an answer carries",
    explain: "The median response time of operations grows with an item that they carry: by half or more over the \
              powers of two that were met, with a slope whose 95 % interval lies above zero. The line is that of \
              a fixed part and a cost for each, or a power of the item, whichever fits better. Times of such an \
              operation mean something only together with how much it carried; see the table of response time \
              against the item.",
    check: |case| {
        let operations = case.facts.shape.operations.iter();
        let items = operations.flat_map(|one| one.items.iter().map(move |item| (one, item)));
        let mut growing = items.filter_map(|(operation, item)| growth(operation, item));
        growing.next()
    },
};

fn growth(operation: &OperationShape, item: &ItemShape) -> Option<Noticed> {
    /// Enough for a median.
    const SUPPORTED: u64 = 20;
    const POWERS: usize = 4;
    let medians = item.medians.iter().filter(|(_, answers, _)| *answers >= SUPPORTED);
    let points: Vec<(u32, f64)> =
        medians.map(|&(power, _, median)| (power, median.max(1) as f64)).collect();
    let (&(least, quickest), &(most, slowest)) = (points.first()?, points.last()?);
    if points.len() < POWERS || slowest < 1.5 * quickest {
        return None;
    }
    let (linear, power) = (linear(&points)?, power_law(&points)?);
    let by_each = misfit(&points, |x| linear.intercept + linear.slope * x)
        <= misfit(&points, |x| (power.intercept + power.slope * x.ln()).exp());
    let (line, how) = if by_each {
        (linear, format!("each costs {}", interval(&linear, |ns| duration(ns.max(0.0) as u64))))
    } else {
        (power, format!("it goes with the power {}", interval(&power, significant)))
    };
    let claim = format!(
        "the median response time of {} grows with {}, from {} below {} to {} above {}: {how}",
        operation.name,
        item.name,
        duration(quickest as u64),
        significant(2_f64.powi(least as i32)),
        duration(slowest as u64),
        significant(2_f64.powi(most as i32 - 1)),
    );
    let advice = "state how much an operation carried wherever its time is stated";
    let noticed = Noticed::new(claim, advice)
        .about(&operation.name)
        .with("form", if by_each { "linear" } else { "power" })
        .with("slope", line.slope)
        .with("low", line.low)
        .with("high", line.high)
        .with("intercept", line.intercept);
    (line.low > 0.0).then_some(noticed)
}

/// R = a + b·x, where relative errors count alike.
fn linear(points: &[(u32, f64)]) -> Option<Line> {
    let point = |&(power, median): &(u32, f64)| Point {
        x: middle(power),
        y: median,
        weight: 1.0 / (median * median),
    };
    trend::line(&points.iter().map(point).collect::<Vec<_>>())
}

/// ln R = a + b·ln x
fn power_law(points: &[(u32, f64)]) -> Option<Line> {
    let point = |&(power, median): &(u32, f64)| Point {
        x: middle(power).ln(),
        y: median.ln(),
        weight: 1.0,
    };
    trend::line(&points.iter().map(point).collect::<Vec<_>>())
}

fn misfit(points: &[(u32, f64)], of: impl Fn(f64) -> f64) -> f64 {
    points.iter().map(|&(power, median)| (of(middle(power)) / median).max(1e-9).ln().powi(2)).sum()
}

/// The middle of the items in [2^(k−1), 2^k).
fn middle(power: u32) -> f64 {
    0.75 * 2_f64.powi(power as i32)
}

fn interval(line: &Line, show: impl Fn(f64) -> String) -> String {
    format!("{} (95 %: {} – {})", show(line.slope), show(line.low), show(line.high))
}
