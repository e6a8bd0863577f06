//! Where the time of operations went, from the times that parts of the target report.

use std::collections::BTreeMap;

use plan::printable::printable;
use record::summary::{Arm, Part, Summary};

use super::arms::Arms;
use super::{Column, Table};
use judge::part_times::PartTimes;
use plan::number;

/// Each arm and operation, with a column for every part that the experiment names and one for the rest, over all
/// trials that count.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    let parts = named(summary);
    if parts.is_empty() || summary.capacity.is_some() {
        return None;
    }
    let spent: Vec<_> = summary.arms.iter().map(|arm| (arm, spent(arm))).collect();
    let adds_up = spent.iter().flat_map(|(_, spent)| spent.values()).all(PartTimes::adds_up);
    let mut table = Table::new("parts-by-arm", "Where the time went", &["arm", "operation"])
        .note(note(&parts, adds_up));
    let names = Arms::head(summary, &mut table, 0);
    let heads = parts.iter().map(|part| part.name.as_str());
    for title in ["service time"].into_iter().chain(heads).chain(["outside"]) {
        table.columns.push(Column { title: printable(title).into_owned(), figures: true });
    }
    for (arm, spent) in spent {
        for (operation, spent) in spent {
            let row = [names.cell(&arm.name), operation.to_owned()].into_iter();
            let row = row.chain(cells(&spent, &parts));
            table.rows.push(row.map(|cell| printable(&cell).into_owned()).collect());
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

/// The times of the operations of an arm that name parts, by name.
fn spent(arm: &Arm) -> BTreeMap<&str, PartTimes<'_>> {
    let mut spent: BTreeMap<&str, PartTimes<'_>> = BTreeMap::new();
    let operations = arm.counted().flat_map(|trial| &trial.operations);
    for operation in operations.filter(|operation| !operation.parts.is_empty()) {
        spent.entry(&operation.name).or_default().add(operation);
    }
    spent.retain(|_, spent| spent.service.count > 0);
    spent
}

/// Service time, each part, and the rest.
fn cells(spent: &PartTimes<'_>, parts: &[&Part]) -> Vec<String> {
    let cell = |part: &&Part| match spent.own(&part.name) {
        Some(own) => number::duration(own),
        None => spent.count(&part.name).map_or_else(
            || "–".to_owned(),
            |told| {
                let [told, all] = [told, spent.service.count].map(number::count);
                format!("reported by {told} of {all}")
            },
        ),
    };
    let [service, outside] = [spent.service.mean(), spent.outside()].map(number::duration);
    [service].into_iter().chain(parts.iter().map(cell)).chain([outside]).collect()
}

/// The explanation of the columns.
fn note(parts: &[&Part], adds_up: bool) -> String {
    let inside: Vec<String> = parts
        .iter()
        .filter_map(|part| Some(format!("{} in {}", part.name, part.within.as_ref()?)))
        .collect();
    let without = match inside.is_empty() {
        true => String::new(),
        false => format!(", without the parts inside it ({})", inside.join(", ")),
    };
    let means = match adds_up {
        true => "Means that add up to the mean service time",
        false => {
            "Means that do not add up to the mean service time, since parts took longer than what contains them, as they \
             do where they overlap"
        }
    };
    format!(
        "{means}; the target itself reports the times of its parts (`Server-Timing`){without}. Outside is what no part \
         reports: the network path, anything in between, the client. A part that fewer than nine in ten of the answers \
         report, or many failed ones as well, is shown with how many do, and its time counts for what contains it."
    )
}

#[cfg(test)]
mod tests {
    use record::summary::Distribution;

    use super::*;
    use judge::example;

    /// One operation of 1,000 answers with this mean service time, and parts with their counts and times.
    fn target_with(service_us: u64, parts: &[(&str, Option<&str>, u64, u64)]) -> Summary {
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
        let summary = target_with(
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
        let summary = target_with(
            1_000,
            &[
                ("front", None, 0, 0),
                ("gateway", Some("front"), 1_000, 500),
                ("embed", IN, 400, 900),
            ],
        );
        assert_eq!(
            by_arm(&summary).unwrap().rows,
            [["1.00 ms", "reported by 0 of 1,000", "500 µs", "reported by 400 of 1,000", "500 µs"]]
        );
        let mut silent = target_with(1_000, &[("front", None, 0, 0)]);
        silent.arms[0].trials[0].operations[0].spans.clear();
        assert_eq!(
            by_arm(&silent).unwrap().rows,
            [["1.00 ms", "reported by 0 of 1,000", "1.00 ms"]]
        );
    }

    #[test]
    fn arms_have_a_line_each_over_all_their_trials() {
        let mut summary = target_with(1_000, &[("gateway", None, 1_000, 400)]);
        let slower = target_with(3_000, &[("gateway", None, 1_000, 400)]).arms.remove(0);
        summary.arms[0].trials.extend(slower.trials);
        let mut other = summary.arms[0].clone();
        other.trials.truncate(1);
        summary.arms.push(Arm { name: "path=front".into(), ..other });
        let rows = by_arm(&summary).unwrap().rows;
        assert_eq!(rows[0][1..], ["2.00 ms", "400 µs", "1.60 ms"]);
        assert_eq!(rows[1], ["path=front", "1.00 ms", "400 µs", "600 µs"]);
    }

    #[test]
    fn what_does_not_add_up_is_not_said_to() {
        let whole = |parts: &[_]| {
            let table = by_arm(&target_with(1_000, parts)).unwrap();
            let adds_up = table.note.unwrap().starts_with("Means that add up");
            (table.rows[0].last().unwrap().clone(), adds_up)
        };
        let outer = ("gateway", None, 1_000, 500);
        let [one, other] = [300, 200].map(|us| move |name| (name, IN, 1_000, us));
        assert_eq!(whole(&[outer, one("embed"), other("search")]), ("500 µs".into(), true));
        assert_eq!(whole(&[outer, one("embed"), one("search")]), ("500 µs".into(), false));
        assert_eq!(whole(&[("front", None, 1_000, 600), outer]), ("0 ns".into(), false));
        // 300 failed answers reported it, too: the service time does not include them.
        assert_eq!(whole(&[("gateway", None, 1_300, 500)]), ("1.00 ms".into(), true));
    }

    #[test]
    fn where_nobody_tells_there_is_no_table() {
        assert_eq!(by_arm(&target_with(1_000, &[])), None);
    }
}
