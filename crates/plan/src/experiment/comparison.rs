//! The `[[comparison]]` tables: the compared levels and metrics.

use std::collections::BTreeMap;

use stats::comparison::power::fewest_blocks;

use super::factor::{Combination, Factor, Level};
use crate::comparison::{Comparison, METRICS};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Node, Reader, Table, Value};
use crate::units;

/// Reads the tables.
pub(super) fn read(
    tables: &[&Table],
    factors: &[Factor],
    operations: &[&str],
    problems: &mut Vec<Diagnostic>,
) -> Vec<Comparison> {
    tables
        .iter()
        .filter_map(|table| {
            let mut reader = Reader::new(table);
            let comparison = one(&mut reader, table, factors, operations);
            problems.extend(reader.finish());
            comparison
        })
        .collect()
}

fn one(
    reader: &mut Reader<'_>,
    table: &Table,
    factors: &[Factor],
    operations: &[&str],
) -> Option<Comparison> {
    let factor = factor(reader, factors);
    let baseline = reader.node("baseline");
    let metrics = metrics(reader);
    let margins = margins(reader, &metrics);
    let operation = reader.string("operation");
    for key in ["factor", "baseline", "metrics"] {
        if table.get(key).is_none() {
            reader.missing(key, &format!("{key} = …"));
        }
    }
    if let Some((name, span)) = operation
        && !operations.contains(&name)
    {
        reader.problem(Diagnostic::unknown("operation", name, span, operations.iter().copied()));
    }
    let (factor, baseline) = (factor?, baseline?);
    let level = factor.levels.iter().find(|level| level.is(&baseline.value));
    if level.is_none() {
        let levels = factor.levels.iter().map(|level| level.name.as_str());
        let what = format!("level of `{}`", factor.name);
        reader.problem(Diagnostic::unknown(&what, &text(baseline), baseline.span, levels));
    }
    Some(Comparison {
        factor: factor.name.clone(),
        baseline: level.map_or_else(|| baseline.to_json(), Level::told),
        operation: operation.map(|(name, _)| name.to_owned()),
        metrics,
        margins,
    })
}

fn factor<'f>(reader: &mut Reader<'_>, factors: &'f [Factor]) -> Option<&'f Factor> {
    let (name, span) = reader.string("factor")?;
    let found = factors.iter().find(|factor| factor.name == name);
    if found.is_none() {
        let names = factors.iter().map(|factor| factor.name.as_str());
        reader.problem(Diagnostic::unknown("factor", name, span, names));
    }
    found
}

fn metrics(reader: &mut Reader<'_>) -> Vec<String> {
    let mut metrics = Vec::new();
    let listed = reader.strings("metrics");
    if let Some(node) = reader.node("metrics").filter(|node| node.value == Value::Array(Vec::new()))
    {
        let message = "a comparison without metrics compares nothing";
        reader.problem(Diagnostic::new(node.span, message, "expected at least one"));
    }
    for (metric, span) in listed {
        if metrics.iter().any(|before| before == metric) {
            let message = format!("metric `{metric}` appears twice");
            reader.problem(Diagnostic::new(span, message, "metrics must differ"));
        } else if METRICS.contains(&metric) {
            metrics.push(metric.to_owned());
        } else {
            reader.problem(Diagnostic::unknown("metric", metric, span, METRICS));
        }
    }
    metrics
}

fn margins(reader: &mut Reader<'_>, metrics: &[String]) -> BTreeMap<String, f64> {
    let Some(table) = reader.table("margin") else { return BTreeMap::new() };
    let mut inner = Reader::new(table);
    let mut margins = BTreeMap::new();
    for metric in metrics {
        let margin = inner.parsed(metric, units::PERCENTAGE, units::parse_percentage);
        match margin {
            Some((margin, _)) if margin > 0.0 && margin < 1.0 => {
                margins.insert(metric.clone(), margin);
            }
            Some((_, span)) => {
                let message = format!("the margin of `{metric}` is out of range");
                let label = "expected more than 0 % and less than 100 %";
                inner.problem(Diagnostic::new(span, message, label));
            }
            None => {}
        }
    }
    inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    margins
}

fn text(node: &Node) -> String {
    node.as_str().map_or_else(|| node.shown(), str::to_owned)
}

/// The problem that there are too few blocks to decide anything.
///
/// The module that decides comparisons computes the required number.
pub(super) fn undecidable(
    comparisons: &[Comparison],
    arms: &[Combination<'_>],
    whole: u32,
    spare: u32,
    span: Span,
) -> Option<Diagnostic> {
    let tests = |one: &Comparison| pairs(one, arms) * one.metrics.len();
    let tests: usize = comparisons.iter().map(tests).sum();
    let needed = fewest_blocks(tests);
    if tests == 0 || u64::from(whole) >= needed {
        return None;
    }
    let besides = if spare == 0 { String::new() } else { format!(" beside {spare} spare ones") };
    let message = format!("{whole} blocks{besides} cannot decide {tests} comparisons");
    let label = "the smallest p-value that they can give, corrected, is above 5 %";
    let hint = format!("write blocks = {} or more in [design]", needed + u64::from(spare));
    Some(Diagnostic::new(span, message, label).with_hint(hint))
}

/// Number of candidates with a baseline: an arm that differs only in this factor.
fn pairs(comparison: &Comparison, arms: &[Combination<'_>]) -> usize {
    let factor = comparison.factor.as_str();
    let is_baseline = |arm: &Combination<'_>| {
        arm.level(factor).is_some_and(|level| level.told() == comparison.baseline)
    };
    let beside = |one: &Combination<'_>, other: &Combination<'_>| {
        let level = |arm: &Combination<'_>, name| arm.level(name).map(|level| level.name.clone());
        one.names().all(|name| name == factor || level(one, name) == level(other, name))
    };
    let candidates = arms.iter().filter(|arm| !is_baseline(arm));
    candidates.filter(|arm| arms.iter().any(|one| is_baseline(one) && beside(arm, one))).count()
}

/// Comparisons that have no two arms after the exclusions.
pub(super) fn without_pair(
    comparisons: &[Comparison],
    tables: &[&Table],
    arms: &[Combination<'_>],
) -> Vec<Diagnostic> {
    let alone = comparisons.iter().filter(|one| !arms.is_empty() && pairs(one, arms) == 0);
    let told = |one: &Comparison| {
        let named = |table: &&&Table| {
            table
                .get("factor")
                .is_some_and(|entry| entry.node.as_str() == Some(one.factor.as_str()))
        };
        let span = tables.iter().find(named).map_or(Span::default(), |table| table.span);
        let message = format!("no two arms differ in `{}` alone", one.factor);
        Diagnostic::new(span, message, "nothing to compare with the baseline")
    };
    alone.map(told).collect()
}
