//! Where the time of operations went, by what parts of the target told of their own.

use std::collections::BTreeMap;

use plan::printable::printable;
use record::summary::{Arm, Operation, Part, Summary};

use super::arms::Arms;
use super::{Column, Table};
use crate::number;

/// Each arm and operation with a column for every part that the experiment names and one for the rest, over all trials
/// that count. They add up to the mean service time.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    let parts = named(summary);
    if parts.is_empty() || summary.capacity.is_some() {
        return None;
    }
    let inside: Vec<String> = parts
        .iter()
        .filter_map(|part| Some(format!("{} in {}", part.name, part.within.as_ref()?)))
        .collect();
    let mut note = "Means that add up to the mean service time; each part is the target's own word (`Server-Timing`)"
        .to_owned();
    match inside.is_empty() {
        true => note.push('.'),
        false => note.push_str(&format!(", without the parts inside it ({}).", inside.join(", "))),
    }
    note.push_str(
        " Outside is what no part told: the way there, what stands in between, the client. A part that fewer than nine \
         in ten answers told is in none of the times.",
    );
    let mut table =
        Table::new("parts-by-arm", "Where the time went", &["arm", "operation"]).note(note);
    let names = Arms::head(summary, &mut table, 0);
    let heads = parts.iter().map(|part| part.name.as_str());
    for title in ["service time"].into_iter().chain(heads).chain(["outside"]) {
        table.columns.push(Column { title: printable(title).into_owned(), figures: true });
    }
    for arm in &summary.arms {
        for (operation, spent) in spent(arm) {
            let cells = [names.cell(&arm.name), operation.to_owned()].into_iter();
            let cells = cells.chain(spent.cells(&parts));
            table.rows.push(cells.map(|cell| printable(&cell).into_owned()).collect());
        }
    }
    let single = table.rows.iter().all(|row| row[1] == table.rows[0][1]);
    let table = if single { table.without(1..2) } else { table };
    let table = if summary.arms.len() > 1 { table } else { table.without(0..1) };
    table.unless_empty()
}

/// Every part that an operation names, each once and in their order.
fn named(summary: &Summary) -> Vec<&Part> {
    let mut named: Vec<&Part> = Vec::new();
    let operations = summary.counted().flat_map(|trial| &trial.operations);
    for part in operations.flat_map(|operation| &operation.parts) {
        if !named.iter().any(|known| known.name == part.name) {
            named.push(part);
        }
    }
    named
}

/// What the operations of an arm that name parts spent, by their names.
fn spent(arm: &Arm) -> BTreeMap<&str, Spent<'_>> {
    let mut spent: BTreeMap<&str, Spent<'_>> = BTreeMap::new();
    let operations = arm.counted().flat_map(|trial| &trial.operations);
    for operation in operations.filter(|operation| !operation.parts.is_empty()) {
        spent.entry(&operation.name).or_default().add(operation);
    }
    spent.retain(|_, spent| spent.service.count > 0);
    spent
}

/// How many took how many nanoseconds together.
#[derive(Default, Clone, Copy)]
struct Sum {
    count: u64,
    total: u128,
}

impl Sum {
    fn add(&mut self, of: &record::summary::Distribution) {
        self.count += of.count;
        self.total += u128::from(of.mean_ns) * u128::from(of.count);
    }

    fn mean(self) -> u64 {
        u64::try_from(self.total / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }
}

#[derive(Default)]
struct Spent<'a> {
    service: Sum,
    parts: BTreeMap<&'a str, Sum>,
    within: BTreeMap<&'a str, &'a str>,
}

impl<'a> Spent<'a> {
    fn add(&mut self, operation: &'a Operation) {
        self.service.add(&operation.service_time);
        for part in &operation.parts {
            let sum = self.parts.entry(&part.name).or_default();
            operation.spans.get(&part.name).into_iter().for_each(|span| sum.add(span));
            self.within.extend(part.within.as_deref().map(|outer| (part.name.as_str(), outer)));
        }
    }

    /// Service time, each part, and the rest.
    fn cells(&self, parts: &[&Part]) -> Vec<String> {
        let cell = |part: &&Part| match self.own(&part.name) {
            Some(own) => number::duration(own),
            None => self.parts.get(part.name.as_str()).map_or_else(
                || "–".to_owned(),
                |sum| {
                    let [told, all] = [sum.count, self.service.count].map(number::count);
                    format!("told by {told} of {all}")
                },
            ),
        };
        let service = self.service.mean();
        let told: u64 = self.parts.keys().filter_map(|part| self.own(part)).sum();
        let outside = number::duration(service.saturating_sub(told));
        let parts = parts.iter().map(cell);
        [number::duration(service)].into_iter().chain(parts).chain([outside]).collect()
    }

    /// Mean time of a part without those that are told inside of it; `None` where too few answers told it.
    fn own(&self, part: &str) -> Option<u64> {
        let whole = self.mean(part)?;
        let inside = self.parts.keys().filter(|inner| self.outer(inner) == Some(part));
        let inside: u64 = inside.filter_map(|inner| self.mean(inner)).sum();
        Some(whole.saturating_sub(inside))
    }

    fn mean(&self, part: &str) -> Option<u64> {
        let (told, all) = (self.parts.get(part)?, self.service.count);
        (told.count * 10 >= all * 9).then(|| told.mean())
    }

    /// The nearest part around this one that is told.
    fn outer(&self, part: &str) -> Option<&'a str> {
        let mut outer = self.within.get(part).copied();
        // Never longer than there are parts, whatever a record says.
        for _ in 0..self.parts.len() {
            match outer {
                Some(name) if self.mean(name).is_none() => outer = self.within.get(name).copied(),
                _ => return outer,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use record::summary::Distribution;

    use super::*;
    use crate::example;

    /// One operation of 1,000 answers and this mean service time, whose parts were told so often and took so long.
    fn told(service_us: u64, parts: &[(&str, Option<&str>, u64, u64)]) -> Summary {
        let mut summary = example::summary();
        let trial = &mut summary.arms[0].trials[0];
        trial.operations.truncate(1);
        let operation = &mut trial.operations[0];
        let of = |count, us| Distribution { count, mean_ns: us * 1_000, ..Distribution::default() };
        operation.service_time = of(1_000, service_us);
        operation.spans.clear();
        operation.parts.clear();
        for &(name, within, count, us) in parts {
            operation.spans.insert(name.to_owned(), of(count, us));
            operation.parts.push(Part { name: name.to_owned(), within: within.map(str::to_owned) });
        }
        summary
    }

    const IN: Option<&str> = Some("gateway");

    #[test]
    fn parts_and_the_rest_add_up_to_the_service_time() {
        let summary = told(
            1_000,
            &[
                ("front", None, 1_000, 800),
                ("gateway", Some("front"), 1_000, 500),
                ("embed", IN, 1_000, 100),
                ("search", IN, 950, 200),
            ],
        );
        let table = by_arm(&summary).unwrap();
        let heads: Vec<&str> = table.columns.iter().map(|column| &column.title[..]).collect();
        assert_eq!(heads, ["service time", "front", "gateway", "embed", "search", "outside"]);
        assert_eq!(table.rows, [["1.00 ms", "300 µs", "200 µs", "100 µs", "200 µs", "200 µs"]]);
        assert!(
            table.note.unwrap().contains("(gateway in front, embed in gateway, search in gateway)")
        );
    }

    #[test]
    fn a_part_that_no_answer_told_does_not_vanish() {
        let summary = told(
            1_000,
            &[
                ("front", None, 0, 0),
                ("gateway", Some("front"), 1_000, 500),
                ("embed", IN, 400, 900),
            ],
        );
        assert_eq!(
            by_arm(&summary).unwrap().rows,
            [["1.00 ms", "told by 0 of 1,000", "500 µs", "told by 400 of 1,000", "500 µs"]]
        );
        let mut silent = told(1_000, &[("front", None, 0, 0)]);
        silent.arms[0].trials[0].operations[0].spans.clear();
        assert_eq!(by_arm(&silent).unwrap().rows, [["1.00 ms", "told by 0 of 1,000", "1.00 ms"]]);
    }

    #[test]
    fn arms_have_a_line_each_over_all_their_trials() {
        let mut summary = told(1_000, &[("gateway", None, 1_000, 400)]);
        let slower = told(3_000, &[("gateway", None, 1_000, 400)]).arms.remove(0);
        summary.arms[0].trials.extend(slower.trials);
        let mut other = summary.arms[0].clone();
        other.trials.truncate(1);
        summary.arms.push(Arm { name: "path=front".into(), ..other });
        let rows = by_arm(&summary).unwrap().rows;
        assert_eq!(rows[0][1..], ["2.00 ms", "400 µs", "1.60 ms"]);
        assert_eq!(rows[1], ["path=front", "1.00 ms", "400 µs", "600 µs"]);
    }

    #[test]
    fn where_nobody_tells_there_is_no_table() {
        assert_eq!(by_arm(&told(1_000, &[])), None);
    }
}
