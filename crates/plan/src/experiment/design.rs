//! `[design]`: how often arms are executed, in which order, and which arms are excluded.

use super::factor::{Combination, Factor};
use crate::comparison::Comparison;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Node, Reader, Table, Value};
use crate::order::{Blocks, Order};
use crate::plan::Arm;
use crate::template::{Piece, pieces};

/// Default number of blocks in an experiment with comparisons.
const BLOCKS: u64 = 10;
/// The fewest pairs that show a spread.
const FEWEST_PAIRS: u64 = 2;

/// The table as written.
#[derive(Debug, Default)]
pub(super) struct Design<'a> {
    blocks: Option<u64>,
    blocks_span: Span,
    spare: Option<(u64, Span)>,
    order: Option<(Order, Span)>,
    exclude: Vec<&'a Table>,
    exclude_span: Span,
    aa: Option<(u64, Span)>,
    duet: Option<Span>,
}

impl<'a> Design<'a> {
    pub(super) fn read(table: Option<&'a Table>, problems: &mut Vec<Diagnostic>) -> Self {
        let Some(table) = table else { return Self::default() };
        let mut reader = Reader::new(table);
        let span =
            |reader: &mut Reader<'_>, key| reader.node(key).map_or(table.span, |one| one.span);
        let order = |text: &str| match text {
            "random" => Some(Order::Random),
            "abba" => Some(Order::Abba),
            _ => None,
        };
        let design = Self {
            blocks_span: span(&mut reader, "blocks"),
            blocks: reader.count("blocks", 1, 10_000),
            spare: {
                let span = span(&mut reader, "spare");
                reader.count("spare", 0, 10_000).map(|spare| (spare, span))
            },
            order: reader.parsed("order", "\"random\" or \"abba\"", order),
            exclude_span: span(&mut reader, "exclude"),
            exclude: reader.tables("exclude"),
            aa: {
                let span = span(&mut reader, "aa");
                reader.count("aa", FEWEST_PAIRS, 1_000).map(|aa| (aa, span))
            },
            duet: {
                let span = span(&mut reader, "duet");
                reader.boolean("duet").and_then(|duet| duet.then_some(span))
            },
        };
        problems.extend(reader.finish());
        design
    }

    /// The combinations that are not excluded.
    pub(super) fn remaining<'c>(
        &self,
        combinations: Vec<Combination<'c>>,
        factors: &'c [Factor],
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<Combination<'c>> {
        if self.exclude.is_empty() || combinations.is_empty() {
            return combinations;
        }
        let before = problems.len();
        for table in &self.exclude {
            exclusion(table, factors, problems);
        }
        if problems.len() > before {
            // A wrong exclusion leaves the set of arms unclear.
            return combinations;
        }
        let (excluded, remaining): (Vec<_>, Vec<_>) = combinations
            .into_iter()
            .partition(|one| self.exclude.iter().any(|table| holds(table, one)));
        for table in
            self.exclude.iter().filter(|table| !excluded.iter().any(|one| holds(table, one)))
        {
            let message = "no combination has all of these levels";
            problems.push(Diagnostic::new(table.span, message, "excludes nothing"));
        }
        problems.extend(self.lost(factors, &remaining));
        remaining
    }

    /// Reports levels that remain in no arm.
    fn lost(&self, factors: &[Factor], remaining: &[Combination<'_>]) -> Vec<Diagnostic> {
        let levels = factors.iter().flat_map(|factor| {
            factor.levels.iter().map(move |level| (factor.name.as_str(), level.name.as_str()))
        });
        let is_lost = |(factor, level): &(&str, &str)| {
            !remaining.iter().any(|one| one.level(factor).is_some_and(|own| own.name == *level))
        };
        let told = |(factor, level): (&str, &str)| {
            let message = format!("level `{level}` of `{factor}` remains in no arm");
            let problem =
                Diagnostic::new(self.exclude_span, message, "every arm with it is excluded");
            problem.with_hint(format!("remove the level from {factor}, or exclude less"))
        };
        levels.filter(is_lost).map(told).collect()
    }

    /// Number and order of blocks; reports everything that makes the comparisons undecidable.
    pub(super) fn blocks(
        &self,
        comparisons: &[Comparison],
        arms: &[Combination<'_>],
        problems: &mut Vec<Diagnostic>,
    ) -> Blocks {
        let default = if comparisons.is_empty() { 1 } else { BLOCKS };
        let count = self.blocks.unwrap_or(default) as u32;
        let spare = self.spare(count, problems);
        let whole = count - spare;
        problems.extend(super::comparison::undecidable(
            comparisons,
            arms,
            whole,
            spare,
            self.blocks_span,
        ));
        if let Some((Order::Abba, span)) = self.order
            && !count.is_multiple_of(2)
        {
            let message = format!("\"abba\" needs an even number of blocks (got {count})");
            let problem = Diagnostic::new(span, message, "needs an even number of blocks");
            problems.push(problem.with_hint(format!("write blocks = {} in [design]", count + 1)));
        }
        let aa = self.aa.and_then(|(pairs, span)| match baseline(comparisons, arms) {
            Some(arm) => Some((pairs as u32, arm)),
            None => {
                let message =
                    "`aa` repeats the baseline of a comparison, but no comparison is declared";
                let problem = Diagnostic::new(span, message, "needs a baseline");
                problems.push(
                    problem.with_hint("add [[comparison]] with factor, baseline and metrics"),
                );
                None
            }
        });
        let order = self.order.unwrap_or_default().0;
        Blocks { count, order, aa, duet: self.duet.is_some(), spare }
    }

    /// How many of the blocks may lack a trial.
    fn spare(&self, blocks: u32, problems: &mut Vec<Diagnostic>) -> u32 {
        let Some((spare, span)) = self.spare else { return 0 };
        if spare < u64::from(blocks) {
            return spare as u32;
        }
        let message = format!("spare = {spare} leaves no block of {blocks} to judge");
        let problem = Diagnostic::new(span, message, "needs to be fewer than the blocks");
        problems
            .push(problem.with_hint("spare what may be lost to a busy machine, such as a third"));
        0
    }

    /// Reports why both arms of a block cannot run at the same time, if that is requested.
    pub(super) fn duet(&self, arms: &[Arm]) -> Vec<Diagnostic> {
        let Some(span) = self.duet else { return Vec::new() };
        let mut problems = super::duet::refusals(arms, span);
        if let Some((Order::Abba, span)) = self.order {
            let message = "`order` has no effect in a duet: both arms run at the same time";
            let problem = Diagnostic::new(span, message, "remove this");
            problems.push(problem.with_hint("leave `order` out"));
        }
        problems
    }
}

/// Removes everything about repeated executions of arms; the set of arms stays the same.
pub(super) fn without_repetitions(root: &mut Table) {
    root.entries.retain(|entry| entry.key != "comparison");
    for entry in root.entries.iter_mut().filter(|entry| entry.key == "design") {
        if let Value::Table(design) = &mut entry.node.value {
            design.entries.retain(|entry| entry.key == "exclude");
        }
    }
}

/// What is wrong with one exclusion.
fn exclusion(table: &Table, factors: &[Factor], problems: &mut Vec<Diagnostic>) {
    if table.entries.is_empty() {
        let message = "an exclusion without a factor would exclude everything";
        problems.push(Diagnostic::new(table.span, message, "expected factor = level"));
    }
    for entry in &table.entries {
        let Some(factor) = factors.iter().find(|factor| factor.name == entry.key) else {
            let names = factors.iter().map(|factor| factor.name.as_str());
            problems.push(Diagnostic::unknown("factor", &entry.key, entry.key_span, names));
            continue;
        };
        if !factor.levels.iter().any(|level| level.is(&entry.node.value)) {
            let levels = factor.levels.iter().map(|level| level.name.as_str());
            let text = entry.node.as_str().map_or_else(|| entry.node.shown(), str::to_owned);
            let what = format!("level of `{}`", factor.name);
            problems.push(Diagnostic::unknown(&what, &text, entry.node.span, levels));
        }
    }
}

fn holds(table: &Table, combination: &Combination<'_>) -> bool {
    table
        .entries
        .iter()
        .all(|entry| combination.level(&entry.key).is_some_and(|level| level.is(&entry.node.value)))
}

/// The first arm at the baseline of every comparison, or at least of the first.
fn baseline(comparisons: &[Comparison], arms: &[Combination<'_>]) -> Option<usize> {
    let at = |arm: &Combination<'_>, comparison: &Comparison| {
        arm.level(&comparison.factor).is_some_and(|level| level.told() == comparison.baseline)
    };
    let first = comparisons.first()?;
    let all = arms.iter().position(|arm| comparisons.iter().all(|comparison| at(arm, comparison)));
    all.or_else(|| arms.iter().position(|arm| at(arm, first)))
}

/// Factors without any effect: their arms would differ only in their names.
pub(super) fn unused(table: Option<&Table>, factors: &[Factor], root: &Table) -> Vec<Diagnostic> {
    let elsewhere = |key: &str| !matches!(key, "factors" | "design" | "comparison" | "trace");
    let used = |factor: &Factor| {
        factor.levels.iter().any(|level| level.settings.is_some())
            || root
                .entries
                .iter()
                .any(|entry| elsewhere(&entry.key) && mentions(&entry.node, &factor.name))
    };
    let entries = table.map(|table| table.entries.as_slice()).unwrap_or_default();
    let unused = factors.iter().filter(|factor| !factor.levels.is_empty() && !used(factor));
    let told = |factor: &Factor| {
        let entry = entries.iter().find(|entry| entry.key == factor.name)?;
        let message = format!("factor `{}` is never used", factor.name);
        let problem = Diagnostic::new(entry.key_span, message, "its arms would all be the same");
        Some(problem.with_hint(format!(
            "write {{{{factor.{}}}}} in a value, or `when` in an operation",
            factor.name
        )))
    };
    unused.filter_map(told).collect()
}

/// Whether this node contains the factor's placeholder, or a `when` names it.
fn mentions(node: &Node, factor: &str) -> bool {
    match &node.value {
        Value::String(text) => pieces(text).iter().any(|piece| match piece {
            Piece::Placeholder { inner, .. } => {
                inner.trim().strip_prefix("factor.").is_some_and(|name| name.trim() == factor)
            }
            _ => false,
        }),
        Value::Array(nodes) => nodes.iter().any(|node| mentions(node, factor)),
        Value::Table(table) => table.entries.iter().any(|entry| {
            let when = match &entry.node.value {
                Value::Table(when) if entry.key == "when" => when.get(factor).is_some(),
                _ => false,
            };
            when || mentions(&entry.node, factor)
        }),
        _ => false,
    }
}
