//! Tables of comparisons: one for each factor and stratum, with one line per level and metric.

use record::folder::names;
use record::summary::{BlockPoint, Change, Comparison, Model, Summary};
use stats::comparison::decision::ALPHA;

use super::Table;
use judge::findings::{place, plain};
use plan::number;

const COLUMNS: [&str; 9] =
    ["level", "metric", "#from", "#to", "#ratio", "#95 % interval", "result", "#blocks", "#p"];

/// Every comparison of the run.
pub fn comparisons(summary: &Summary) -> Vec<Table> {
    let mut tables: Vec<Table> = grouped(&summary.comparisons).into_iter().map(table).collect();
    if let Some(first) = tables.first_mut() {
        let own = first.note.take().map_or(String::new(), |own| format!(" {own}"));
        first.note = Some(note(summary) + &own);
    }
    tables
}

/// Comparisons of stored runs, one line per arm and metric.
pub fn stored(comparisons: &[Comparison]) -> Table {
    let columns = ["arm", "metric", "#ratio", "#95 % interval", "result", "#trials", "#p"];
    let mut table = Table::new("comparison", "Candidate over baseline", &columns)
        .note("By one value for each trial. p is corrected for all lines.");
    for one in comparisons {
        let levels: Vec<String> = one
            .stratum
            .iter()
            .map(|(factor, level)| format!("{factor}={}", plain(level)))
            .collect();
        let trials = one.trials.map(|sides| format!("{} : {}", sides.candidate, sides.baseline));
        table.row([
            if levels.is_empty() { names::ALL.to_owned() } else { levels.join(",") },
            metric(one),
            seen(one),
            interval(one),
            result(one),
            trials.unwrap_or_default(),
            p_value(one),
        ]);
    }
    table
}

/// The result as text, with its details.
pub fn result(one: &Comparison) -> String {
    match one.result {
        Change::Changed if one.size_certain => "changed".to_owned(),
        Change::Changed => "changed, size uncertain".to_owned(),
        Change::Equivalent => {
            let real = if differs(one) { ", real but negligible" } else { "" };
            format!("equivalent within {}{real}", margin(one))
        }
        Change::Undecided => match one.needs_blocks {
            Some(many) => {
                let unit = if one.trials.is_some() { "trials a side" } else { "blocks" };
                format!("undecided, needs {} {unit}", number::count(many))
            }
            None => "undecided".to_owned(),
        },
    }
}

/// The margin in the unit of the metric.
pub fn margin(one: &Comparison) -> String {
    let percent = one.margin * 100.0;
    let unit = if one.of == "accounting" { "pp" } else { "%" };
    format!("{percent:.3}").trim_end_matches('0').trim_end_matches('.').to_owned() + " " + unit
}

/// The metric, with its operation unless that is all of them.
pub fn metric(one: &Comparison) -> String {
    if one.operation == names::ALL {
        one.metric.clone()
    } else {
        format!("{} {}", one.operation, one.metric)
    }
}

/// The observed value: a ratio, or a difference of shares.
pub fn seen(one: &Comparison) -> String {
    match (&one.difference, one.ratio) {
        (Some(shares), _) => number::points(shares.observed),
        (None, Some(ratio)) => plain_ratio(ratio),
        (None, None) => "–".to_owned(),
    }
}

/// The interval of the observed value.
pub fn interval(one: &Comparison) -> String {
    let ends = match &one.difference {
        Some(shares) => shares
            .low
            .zip(shares.high)
            .map(|(low, high)| (number::points(low), number::points(high))),
        None => one.low.zip(one.high).map(|(low, high)| (plain_ratio(low), plain_ratio(high))),
    };
    ends.map_or_else(|| "–".to_owned(), |(low, high)| format!("{low} – {high}"))
}

/// A corrected p-value.
pub fn p_value(one: &Comparison) -> String {
    match one.p_value {
        Some(p) if p < 0.000_1 => "< 0.0001".to_owned(),
        Some(p) if p < 0.1 => format!("{p:.4}"),
        Some(p) => format!("{p:.2}"),
        None => "–".to_owned(),
    }
}

fn plain_ratio(ratio: f64) -> String {
    if ratio < 9.995 { format!("{ratio:.3}") } else { number::significant(ratio) }
}

/// Whether there is any difference at all, with the same certainty as for a change.
fn differs(one: &Comparison) -> bool {
    if one.p_value.is_none_or(|p| p > ALPHA) {
        return false;
    }
    match &one.difference {
        Some(shares) => {
            shares.low.is_some_and(|low| low > 0.0) || shares.high.is_some_and(|high| high < 0.0)
        }
        None => one.low.is_some_and(|low| low > 1.0) || one.high.is_some_and(|high| high < 1.0),
    }
}

/// Groups by factor, baseline and stratum, in the order of the summary.
pub(super) fn grouped(comparisons: &[Comparison]) -> Vec<Vec<&Comparison>> {
    let mut groups: Vec<Vec<&Comparison>> = Vec::new();
    for one in comparisons {
        let same = |group: &&mut Vec<&Comparison>| {
            let first = group[0];
            (&first.factor, &first.stratum, &first.baseline)
                == (&one.factor, &one.stratum, &one.baseline)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn table(group: Vec<&Comparison>) -> Table {
    let first = group[0];
    let title =
        format!("{} against {}{}", first.factor, plain(&first.baseline), place(&first.stratum));
    let mut table = Table::new("comparison", title, &COLUMNS);
    for one in &group {
        let [baseline, candidate] = sides(one);
        table.row([
            plain(&one.candidate),
            metric(one),
            baseline,
            candidate,
            seen(one),
            interval(one),
            result(one),
            number::count(u64::from(one.blocks)),
            p_value(one),
        ]);
    }
    table.note = in_the_way(&group);
    table
}

/// The notes of the comparisons, each once for all lines with the same note.
fn in_the_way(group: &[&Comparison]) -> Option<String> {
    let mut notes: Vec<(&str, Vec<String>)> = Vec::new();
    for one in group {
        let Some(note) = &one.note else { continue };
        let line = format!("{} {}", plain(&one.candidate), metric(one));
        match notes.iter_mut().find(|(known, _)| known == note) {
            Some((_, lines)) => lines.push(line),
            None => notes.push((note, vec![line])),
        }
    }
    let told = notes.iter().map(|(note, lines)| format!("{}: {note}.", lines.join(", ")));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// Baseline and candidate over all blocks: geometric means, whose ratio is that of the line, or means of shares.
pub fn sides(one: &Comparison) -> [String; 2] {
    let side = |of: fn(&BlockPoint) -> f64| {
        if one.points.is_empty() {
            return "–".to_owned();
        }
        let count = one.points.len() as f64;
        if one.of == "accounting" {
            return number::percent(one.points.iter().map(of).sum::<f64>() / count);
        }
        let mean = (one.points.iter().map(|point| of(point).ln()).sum::<f64>() / count).exp();
        match one.of.as_str() {
            "rates" => number::rate(mean),
            _ => number::duration(mean.round() as u64),
        }
    };
    [side(|point| point.baseline), side(|point| point.candidate)]
}

fn note(summary: &Summary) -> String {
    let trials = || summary.arms.iter().flat_map(|arm| &arm.trials);
    let open = trials().any(|trial| trial.load.model == Model::Open);
    let times = if open {
        "Times are response times, in whose quantiles failures count as slowest."
    } else {
        "Times are service times of a closed load."
    };
    let corrected = match summary.comparisons.len() {
        1 => String::new(),
        several => format!(" p is corrected for all {several} comparisons."),
    };
    let mut note = format!(
        "Each level is compared with the baseline; from and to are means over the blocks. A change needs p ≤ 0.05.{corrected} {times}"
    );
    if trials().any(|trial| trial.duet) {
        note.push_str(" Both arms of a block shared the machine (duet).");
    }
    let mut left_out: Vec<u32> =
        summary.comparisons.iter().flat_map(|one| one.left_out.iter().copied()).collect();
    left_out.sort_unstable();
    left_out.dedup();
    if !left_out.is_empty() {
        let blocks: Vec<String> = left_out.iter().map(u32::to_string).collect();
        note.push_str(&format!(
            " Left out, because a trial could not be used: block {}.",
            blocks.join(", ")
        ));
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comparison that is equivalent within 5 %, with this interval and p-value.
    fn equivalent(interval: (f64, f64), p: f64) -> Comparison {
        Comparison {
            factor: "level".into(),
            stratum: Default::default(),
            baseline: "old".into(),
            candidate: "new".into(),
            operation: "all".into(),
            metric: "p50".into(),
            of: "outcome_time".into(),
            ratio: Some(1.005),
            low: Some(interval.0),
            high: Some(interval.1),
            robust_ratio: None,
            difference: None,
            p_value: Some(p),
            p_raw: Some(p),
            margin: 0.05,
            result: Change::Equivalent,
            size_certain: true,
            blocks: 10,
            needs_blocks: None,
            detectable: None,
            left_out: Vec::new(),
            trials: None,
            note: None,
            points: Vec::new(),
            shift: Vec::new(),
        }
    }

    #[test]
    fn a_negligible_difference_is_real_only_where_its_p_value_says_so() {
        let word = |interval, p| result(&equivalent(interval, p));
        assert_eq!(word((1.002, 1.009), 0.01), "equivalent within 5 %, real but negligible");
        assert_eq!(word((1.002, 1.009), 0.09), "equivalent within 5 %");
        assert_eq!(word((0.998, 1.009), 0.01), "equivalent within 5 %");
    }

    #[test]
    fn both_sides_stand_beside_their_ratio() {
        let mut one = equivalent((1.002, 1.009), 0.01);
        assert_eq!(sides(&one), ["–", "–"]);
        let point = |baseline, candidate| BlockPoint { block: 1, ratio: None, baseline, candidate };
        one.points = vec![point(1e6, 2e6), point(4e6, 8e6)];
        assert_eq!(sides(&one), ["2.00 ms", "4.00 ms"]);
        one.of = "rates".into();
        one.points = vec![point(50.0, 10.0), point(200.0, 40.0)];
        assert_eq!(sides(&one), ["100/s", "20.0/s"]);
        one.of = "accounting".into();
        one.points = vec![point(0.0, 0.5), point(0.0, 0.1)];
        assert_eq!(sides(&one), ["0 %", "30.0 %"]);
    }

    #[test]
    fn other_words_say_what_belongs_to_them() {
        let mut one = equivalent((1.01, 1.2), 0.01);
        one.result = Change::Changed;
        assert_eq!(result(&one), "changed");
        one.size_certain = false;
        assert_eq!(result(&one), "changed, size uncertain");
        one.result = Change::Undecided;
        one.needs_blocks = Some(1_200);
        assert_eq!(result(&one), "undecided, needs 1,200 blocks");
        (one.operation, one.metric, one.margin) = ("search".into(), "p99".into(), 0.001);
        assert_eq!((metric(&one), margin(&one)), ("search p99".into(), "0.1 %".into()));
    }
}
