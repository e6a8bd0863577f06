//! Comparisons of a factor whose levels are amounts (numbers, with or without a unit), in the order of these amounts.
//!
//! Not here: how they are drawn (see `html::dose`), and whether the effect follows the dose (see
//! `judge::comparison::findings`).

use plan::printable::printable;
use record::summary::{Change, Comparison, Summary};
use serde_json::Value;

use super::comparison::{grouped, interval, metric, seen, sides};
use super::{Column, Table};
use judge::comparison::amounts;
use judge::findings::{place, plain};
use plan::number;

/// Fewer levels, including the baseline, show no trend.
const LEVELS: usize = 3;

/// A factor of amounts at one combination of the other factors, compared with one of its levels.
#[derive(Debug)]
pub struct Doses<'a> {
    /// The factor.
    pub factor: &'a str,
    /// The baseline and the stratum, as text.
    pub title: String,
    /// By amount, ascending, including the baseline.
    pub levels: Vec<DoseLevel<'a>>,
    /// The compared metrics, in the order of the summary.
    pub metrics: Vec<DoseMetric<'a>>,
}

/// One level of it.
#[derive(Debug, Clone, Copy)]
pub struct DoseLevel<'a> {
    /// As written in the experiment.
    pub label: &'a Value,
    /// In the unit that all levels share: bytes, nanoseconds, per second.
    pub amount: f64,
    /// Whether the others are compared with it.
    pub is_baseline: bool,
}

/// One metric of one operation.
#[derive(Debug)]
pub struct DoseMetric<'a> {
    /// Its name, with the operation unless that is all of them.
    pub name: String,
    /// One for each level except the baseline, where there is one.
    pub comparisons: Vec<&'a Comparison>,
}

impl<'a> DoseMetric<'a> {
    /// The comparison of this level.
    pub fn of(&self, level: &DoseLevel<'_>) -> Option<&'a Comparison> {
        self.comparisons.iter().find(|one| one.candidate == *level.label).copied()
    }
}

/// The doses of a run.
pub fn all(summary: &Summary) -> Vec<Doses<'_>> {
    grouped(&summary.comparisons).iter().filter_map(|group| Doses::of(summary, group)).collect()
}

/// One table for each, with one line per level.
pub fn tables(summary: &Summary) -> Vec<Table> {
    all(summary).iter().map(table).collect()
}

impl<'a> Doses<'a> {
    /// `None` if a level is not an amount, or there are too few.
    fn of(summary: &Summary, group: &[&'a Comparison]) -> Option<Self> {
        let first = *group.first()?;
        let mut labels: Vec<&Value> = vec![&first.baseline];
        let mut metrics: Vec<DoseMetric<'a>> = Vec::new();
        for &one in group {
            if !labels.contains(&&one.candidate) {
                labels.push(&one.candidate);
            }
            let name = metric(one);
            match metrics.iter_mut().find(|metric| metric.name == name) {
                Some(metric) => metric.comparisons.push(one),
                None => metrics.push(DoseMetric { name, comparisons: vec![one] }),
            }
        }
        let values = labels.iter().map(|level| value(summary, &first.factor, level));
        let amounts = amounts(values)?;
        let mut levels: Vec<DoseLevel<'a>> = labels
            .iter()
            .zip(&amounts)
            .map(|(&label, &amount)| DoseLevel {
                label,
                amount,
                is_baseline: *label == first.baseline,
            })
            .collect();
        levels.sort_by(|one, other| one.amount.total_cmp(&other.amount));
        let ascend = levels.windows(2).all(|pair| pair[0].amount < pair[1].amount);
        let title =
            format!("{} against {}{}", first.factor, plain(&first.baseline), place(&first.stratum));
        let is_course = levels.len() >= LEVELS && ascend;
        is_course.then_some(Self { factor: &first.factor, title, levels, metrics })
    }
}

/// The value of a level that is a name; otherwise the level itself.
fn value<'a>(summary: &'a Summary, factor: &str, level: &'a Value) -> &'a Value {
    let mut arms = summary.arms.iter().filter(|arm| arm.factors.get(factor) == Some(level));
    arms.find_map(|arm| arm.values.get(factor)).unwrap_or(level)
}

fn table(doses: &Doses<'_>) -> Table {
    let mut table = Table::new("dose", format!("By dose: {}", doses.title), &[]).note(
        "Each level in the order of its amount: its value, the difference to the baseline with its 95 % interval, and the answer.",
    );
    let metrics = doses.metrics.iter().map(|metric| (metric.name.as_str(), true));
    let columns = [(doses.factor, false)].into_iter().chain(metrics);
    table.columns = columns
        .map(|(title, figures)| Column { title: printable(title).into_owned(), figures })
        .collect();
    for level in &doses.levels {
        let cells = doses.metrics.iter().map(|metric| cell(metric, level));
        let row = [plain(level.label)].into_iter().chain(cells);
        table.rows.push(row.map(|cell| printable(&cell).into_owned()).collect());
    }
    table
}

fn cell(metric: &DoseMetric<'_>, level: &DoseLevel<'_>) -> String {
    if level.is_baseline {
        let most = metric.comparisons.iter().max_by_key(|one| one.blocks);
        return most.map_or_else(|| "–".to_owned(), |one| format!("{} (baseline)", sides(one)[0]));
    }
    let Some(one) = metric.of(level) else { return "–".to_owned() };
    let [_, value] = sides(one);
    format!("{value}, {}, {}", difference(one), word(one))
}

/// The difference from the baseline with its interval: `+4.00 % (+1.44 % – +6.50 %)`, or in percentage points.
pub fn difference(one: &Comparison) -> String {
    if one.difference.is_some() {
        return format!("{} ({})", seen(one), interval(one));
    }
    let Some(ratio) = one.ratio else { return "no difference known".to_owned() };
    match one.low.zip(one.high) {
        Some((low, high)) => format!(
            "{} ({} – {})",
            number::change(ratio),
            number::change(low),
            number::change(high)
        ),
        None => number::change(ratio),
    }
}

/// The result in one word.
pub fn word(one: &Comparison) -> &'static str {
    match one.result {
        Change::Changed => "changed",
        Change::Equivalent => "equivalent",
        Change::Undecided => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use record::summary::{Arm, Shares};
    use serde_json::json;

    use super::*;
    use judge::example;

    /// The comparisons of the designed run with other levels instead of 0, 5, 10, 20 and 40.
    fn with_levels(levels: [Value; 5]) -> Summary {
        let mut summary = example::designed().summary;
        let known: Vec<Value> = [0, 5, 10, 20, 40].map(Value::from).into();
        let other = |level: &Value| {
            levels[known.iter().position(|one| one == level).expect("a level")].clone()
        };
        for one in &mut summary.comparisons {
            (one.baseline, one.candidate) = (other(&one.baseline), other(&one.candidate));
        }
        for arm in &mut summary.arms {
            let level = other(&arm.factors["messages"]);
            arm.factors.insert("messages".to_owned(), level);
        }
        summary
    }

    fn order(summary: &Summary) -> Vec<String> {
        let levels = all(summary).into_iter().flat_map(|doses| doses.levels);
        levels.map(|level| plain(level.label)).collect()
    }

    #[test]
    fn levels_stand_in_the_order_of_what_they_amount_to() {
        for levels in [
            json!([0, 5, 10, 20, 40]),
            json!(["0", "5", "10", "20", "40"]),
            json!(["1kB", "1KiB", "20kB", "1MB", "1MiB"]),
            json!([0, "500us", "20ms", "1s", "1m"]),
            json!(["30/m", "1/s", "20/s", "1/ms", "2000/s"]),
            json!(["0%", "0.5%", "1%", "10%", "100%"]),
        ] {
            let wanted: Vec<Value> = levels.as_array().unwrap().clone();
            let mut mixed: [Value; 5] = wanted.clone().try_into().unwrap();
            mixed.swap(0, 3);
            mixed.swap(1, 4);
            let told: Vec<String> = wanted.iter().map(plain).collect();
            assert_eq!(order(&with_levels(mixed)), told);
        }
    }

    #[test]
    fn what_is_no_amount_has_no_order() {
        for levels in [
            json!(["none", 5, 10, 20, 40]),
            json!(["1kB", "5ms", "10ms", "20ms", "40ms"]),
            json!([1, "5kB", "10kB", "20kB", "40kB"]),
            json!([true, false, 10, 20, 40]),
            json!(["1kB", "1000B", "10kB", "20kB", "40kB"]),
            json!(["NaN", "inf", "1", "2", "3"]),
        ] {
            let levels: [Value; 5] = levels.as_array().unwrap().clone().try_into().unwrap();
            assert_eq!(order(&with_levels(levels)), [""; 0]);
        }
    }

    #[test]
    fn two_levels_are_no_course() {
        let mut summary = example::designed().summary;
        summary.comparisons.retain(|one| one.candidate == 40 || one.candidate == 20);
        assert_eq!(order(&summary), ["0", "20", "40"]);
        summary.comparisons.retain(|one| one.candidate == 40);
        assert_eq!(order(&summary), [""; 0]);
    }

    #[test]
    fn a_level_with_a_name_amounts_to_its_value() {
        let mut summary = with_levels(["a", "b", "c", "d", "e"].map(Value::from));
        assert_eq!(order(&summary), [""; 0]);
        let values = ["1MB", "1kB", "20kB", "30kB", "40kB"];
        for (arm, value) in summary.arms.iter_mut().zip(values) {
            let Arm { values, .. } = arm;
            values.insert("messages".to_owned(), value.into());
        }
        assert_eq!(order(&summary), ["b", "c", "d", "e", "a"]);
    }

    #[test]
    fn a_line_a_level_has_each_metric_with_its_difference_and_answer() {
        let mut summary = example::designed().summary;
        let one = summary.comparisons.iter_mut().find(|one| one.candidate == 20).unwrap();
        (one.metric, one.of, one.ratio) = ("failed".into(), "accounting".into(), None);
        one.difference = Some(Shares { observed: 0.01, low: Some(0.002), high: Some(0.03) });
        let tables = tables(&summary);
        assert_eq!(tables.len(), 1);
        let table = &tables[0];
        assert_eq!(table.title, "By dose: messages against 0");
        let heads: Vec<&str> = table.columns.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(heads, ["messages", "goodput", "p50", "p99", "failed"]);
        let p50: Vec<&str> = table.rows.iter().map(|row| row[2].as_str()).collect();
        assert_eq!(
            p50,
            [
                "100 ns (baseline)",
                "102 ns, +2.00 % (−0.55 % – +4.45 %), equivalent",
                "104 ns, +4.00 % (+1.40 % – +6.50 %), undecided",
                "108 ns, +8.00 % (+5.30 % – +10.6 %), changed",
                "116 ns, +16.0 % (+13.1 % – +18.8 %), changed",
            ]
        );
        assert_eq!(
            (table.rows[3][1].as_str(), table.rows[1][4].as_str()),
            ("–", "–"),
            "not compared in it"
        );
        assert!(table.rows[3][4].ends_with("+1.000 pp (+0.200 pp – +3.000 pp), equivalent"));
    }
}
