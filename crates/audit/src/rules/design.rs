//! How runs were planned, and their environment: R19, R27, R35 to R40, R42 to R45, R53.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Report;
use crate::imports::report::{Row, Run};
use plan::number::{count, significant};

use super::rule::{Noticed, time};

/// R19: more servers, but no more requests per second.
pub fn generator_bound(report: &Report) -> Option<Noticed> {
    let of = |run: &Run| Some((run.name.clone(), run.servers?, run.rate()?));
    let all: Vec<_> = report.runs.iter().filter_map(of).collect();
    let pairs = all.iter().flat_map(|few| all.iter().map(move |many| (few, many)));
    let same = |(few, many): &(&(String, f64, f64), &(String, f64, f64))| {
        many.1 >= 2.0 * few.1 && many.2 < 1.05 * few.2 && few.1 > 0.0
    };
    let (few, many) = pairs.into_iter().find(same)?;
    Some(
        Noticed::new(format!(
            "{} with {:.0} servers did {}/s, {} with {:.0} did {}/s: the generator or the network set the rate",
            many.0,
            many.1,
            significant(many.2),
            few.0,
            few.1,
            significant(few.2)
        ))
        .weak_if(report.runs.iter().all(|run| run.capacity.is_none())),
    )
}

/// R27: only the status of answers was checked.
pub fn unchecked(run: &Run) -> Option<Noticed> {
    (run.content_checked == Some(false))
        .then(|| Noticed::new("only the status of answers was looked at: they may have been wrong, empty or another's"))
}

/// Runs with a dose, by dose, each with the mean of its mean times.
fn by_dose(report: &Report) -> Vec<(f64, f64)> {
    let mut doses: Vec<(f64, Vec<f64>)> = Vec::new();
    for (dose, mean) in report.runs.iter().filter_map(|run| Some((run.dose?, run.mean()?))) {
        match doses.iter_mut().find(|(other, _)| *other == dose) {
            Some((_, means)) => means.push(mean),
            None => doses.push((dose, vec![mean])),
        }
    }
    doses.sort_by(|a, b| a.0.total_cmp(&b.0));
    doses
        .into_iter()
        .map(|(dose, means)| (dose, means.iter().sum::<f64>() / means.len() as f64))
        .collect()
}

/// R35: a treatment that improves the times, or no order in the doses.
pub fn dose_order(report: &Report) -> Option<Noticed> {
    let doses = by_dose(report);
    let [(baseline, at_baseline), rest @ ..] = &doses[..] else { return None };
    let (dose, mean) = rest.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let order: Vec<_> =
        doses.iter().map(|(dose, mean)| format!("{dose}: {}", time(*mean))).collect();
    (mean < *at_baseline && doses.len() >= 3).then(|| {
        Noticed::new(format!(
            "dose {baseline} ({}) is slower than dose {dose} ({}), so that runs differ by {} for no reason that was \
             varied; means by dose: {}",
            time(*at_baseline),
            time(mean),
            time(at_baseline - mean),
            order.join(", ")
        ))
        .with("baseline_ms", at_baseline * 1e3)
        .with("least_ms", mean * 1e3)
        .with("noise_at_least_ms", (at_baseline - mean) * 1e3)
    })
}

/// The arm that a run belongs to: its levels and its dose, or its name.
fn arm(run: &Run) -> String {
    let dose = run.dose.map(|dose| format!("dose {dose}"));
    let levels = run.levels.iter().map(|(factor, level)| format!("{factor} {level}"));
    let parts: Vec<String> = levels.chain(dose).collect();
    if parts.is_empty() { run.name.clone() } else { parts.join(", ") }
}

fn arms(report: &Report) -> BTreeMap<String, usize> {
    report.runs.iter().fold(BTreeMap::new(), |mut arms, run| {
        *arms.entry(arm(run)).or_default() += 1;
        arms
    })
}

/// R36: arms were run one after the other, or with long gaps.
pub fn time_order(report: &Report) -> Option<Noticed> {
    let mut runs: Vec<(f64, &Run)> =
        report.runs.iter().filter_map(|run| Some((run.started_at?, run))).collect();
    if runs.len() < 2 || runs.len() < report.runs.len() || arms(report).len() < 2 {
        return None;
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let names: Vec<String> = runs.iter().map(|(_, run)| arm(run)).collect();
    let changes = names.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let interleaved = changes >= arms(report).len();
    let length =
        runs.iter().filter_map(|(_, run)| run.duration).map(|one| one.value).fold(0.0, f64::max);
    let gap = runs.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
    let far = length > 0.0 && gap > 10.0 * length;
    (!interleaved || far).then(|| {
        let apart =
            if far { format!(", with a gap of {:.0} min", gap / 60.0) } else { String::new() };
        Noticed::new(format!(
            "run in the order {}{apart}: a change over time looks like the treatment",
            names.join(" → ")
        ))
        .with("greatest_gap_s", gap)
        .with_text("order", names.join(", "))
    })
}

/// R37: too few runs for a difference.
pub fn repeats(report: &Report) -> Option<Noticed> {
    let arms = arms(report);
    let least = *arms.values().min()?;
    let what = if arms.len() > 1 {
        "no difference between them"
    } else {
        "no comparison with another run"
    };
    (least < 3).then(|| {
        Noticed::new(format!(
            "{least} run of each: {what} can be distinguished from the noise between runs"
        ))
        .with("runs_of_each", least as f64)
    })
}

/// R38: the compared runs differ in something that was not varied on purpose.
pub fn unlike(report: &Report) -> Option<Noticed> {
    if arms(report).len() < 2 {
        return None;
    }
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in &report.runs {
        for (name, value) in run.context.iter().chain(&run.levels) {
            values.entry(name).or_default().insert(value);
        }
    }
    let wild = values.iter().filter(|(name, values)| {
        values.len() > 1 && !report.factors.iter().any(|factor| factor == *name)
    });
    let texts: Vec<String> = wild
        .map(|(name, values)| {
            format!("{name} ({})", values.iter().copied().collect::<Vec<_>>().join(", "))
        })
        .collect();
    (!texts.is_empty()).then(|| {
        Noticed::new(format!("the runs that are compared also differ in {}", texts.join("; ")))
            .with_text("differ_in", texts.join("; "))
            .weak_if(report.factors.is_empty())
    })
}

/// R39: a combination of levels was not run.
pub fn missing_cell(report: &Report) -> Option<Noticed> {
    let factors: Vec<&String> = report.factors.iter().collect();
    let level = |run: &Run, factor: &str| run.levels.get(factor).cloned();
    let cell =
        |run: &Run| factors.iter().map(|factor| level(run, factor)).collect::<Option<Vec<_>>>();
    let run_cells: BTreeSet<Vec<String>> = report.runs.iter().filter_map(cell).collect();
    if factors.len() < 2 || run_cells.len() < 2 {
        return None;
    }
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for (place, _) in factors.iter().enumerate() {
        let levels: BTreeSet<&String> = run_cells.iter().map(|cell| &cell[place]).collect();
        if all.len() * levels.len() > 1_000 {
            return None;
        }
        all = all
            .iter()
            .flat_map(|cell| {
                levels.iter().map(move |level| [cell.clone(), vec![(*level).clone()]].concat())
            })
            .collect();
    }
    let holes: Vec<String> =
        all.iter().filter(|cell| !run_cells.contains(*cell)).map(|cell| cell.join(" × ")).collect();
    (!holes.is_empty()).then(|| {
        Noticed::new(format!(
            "not run: {}; without it the effects of {} cannot be separated",
            holes.join("; "),
            report.factors.join(" and ")
        ))
        .with_text("missing", holes.join("; "))
    })
}

/// R40: operations that differ only by one unit of the printed precision.
pub fn rounding(run: &Run) -> Option<Noticed> {
    let [a, b] = &run.rows[..] else { return None };
    let pairs = [("mean", a.mean, b.mean), ("p50", a.quantile(0.5), b.quantile(0.5))];
    let near: Vec<String> = pairs
        .into_iter()
        .filter_map(|(name, a, b)| {
            let (a, b) = (a?, b?);
            let apart = (a.value - b.value).abs();
            let step = a.step.max(b.step);
            let coarse = step > 0.02 * a.value;
            (coarse && apart > 0.0 && apart <= step * 1.001)
                .then(|| format!("{name} {} and {}", time(a.value), time(b.value)))
        })
        .collect();
    (!near.is_empty()).then(|| {
        Noticed::new(format!(
            "{} and {} differ by one unit of what is printed: {}",
            a.name,
            b.name,
            near.join(", ")
        ))
    })
}

/// R42: limits that are not in force as stated.
pub fn not_in_force(run: &Run) -> Option<Noticed> {
    let differs = |(name, stated): (&String, &String)| {
        let real = run.effective.get(name).filter(|real| *real != stated)?;
        Some(format!("{name} is {real}, stated is {stated}"))
    };
    let texts: Vec<String> = run.declared.iter().filter_map(differs).collect();
    (!texts.is_empty()).then(|| Noticed::new(texts.join("; ")))
}

/// R43: figures and raw data come from different runs.
pub fn provenance(run: &Run) -> Option<Noticed> {
    let (id, linked) = (run.id.as_ref()?, run.linked_id.as_ref()?);
    (id != linked).then(|| {
        Noticed::new(format!("the figures are of {id}, the link leads to {linked}: another run"))
            .with_text("id", id)
            .with_text("linked_id", linked)
    })
}

/// R44: the received bytes differ from the stated size, or were counted after decoding.
pub fn byte_accounting(_: &Run, row: &Row) -> Option<Noticed> {
    let mean = row
        .bytes_mean
        .or_else(|| Some(row.bytes_total?.times(1.0 / row.count().filter(|n| *n > 0)? as f64)))?;
    if let Some(nominal) = row.bytes_nominal {
        let off = mean.value / nominal.value - 1.0;
        let differs = (mean.value - nominal.value).abs() > mean.step + nominal.step;
        return (differs && off.abs() > 0.002).then(|| {
            Noticed::new(format!(
                "stated are {} bytes, received were {} ({:+.1} %)",
                count(nominal.value as u64),
                count(mean.value.round() as u64),
                off * 100.0
            ))
            .with("stated_bytes", nominal.value)
            .with("received_bytes", mean.value)
        });
    }
    let whole = mean.value >= 1_024.0
        && mean.allows((mean.value / 1_024.0).round() * 1_024.0)
        && mean.step < 1.0;
    (whole && row.encoding.as_deref() == Some("gzip")).then(|| {
        Noticed::new(format!(
            "{:.2} bytes each is exactly {} KiB although answers are gzip: this is the size after decoding, not on the wire",
            mean.value,
            (mean.value / 1_024.0).round()
        ))
        .with("mean_bytes", mean.value)
    })
}

/// R45: more bytes than the link carries.
pub fn link(run: &Run) -> Option<Noticed> {
    let bits = run.link_bits?;
    let row = run.whole()?;
    let total = row.bytes_total.map(|total| total.value);
    let total = total.or_else(|| Some(row.bytes_mean?.value * row.count()? as f64))?;
    let used = total * 8.0 / run.duration?.value;
    (used > 0.9 * bits).then(|| {
        Noticed::new(format!(
            "{} Mbit/s of answers on a link of {}: the link is what was measured",
            significant(used / 1e6),
            significant(bits / 1e6)
        ))
        .with("used_bits_per_second", used)
        .weak_if(used <= bits)
    })
}

/// R53: a capacity from one level of load.
pub fn capacity(report: &Report) -> Option<Noticed> {
    let claimed = report.runs.iter().find_map(|run| run.capacity)?;
    let level = |run: &Run| {
        run.users.or(run.workers).or(run.target_rate.map(|rate| rate.value)).map(f64::to_bits)
    };
    let levels: BTreeSet<_> = report.runs.iter().filter_map(level).collect();
    (levels.len() < 3).then(|| {
        Noticed::new(format!(
            "{}/s are called the capacity after {} of load: a capacity needs a sweep and a criterion that fails at its end",
            significant(claimed.value),
            if levels.len() == 1 { "one level".to_owned() } else { format!("{} levels", levels.len()) }
        ))
    })
}
