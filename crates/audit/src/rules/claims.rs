//! Checks of what a report claims about its figures: R30, R46 to R49, R51, R54.
//!
//! The audit does not parse sentences: people type in what they claim, and these rules compare that with the runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::imports::Report;
use crate::imports::claims::{Claim, DemandKind, Limit, Relation, metric_of};
use crate::imports::figure::{self, Figure};
use crate::imports::report::{Row, Run, quantile_name};
use plan::number::{percent, percentile, rate, significant};

use super::rule::{Noticed, time};

/// Metrics of failures, and thresholds on checks of answers.
const OF_FAILURES: [&str; 5] = ["failed", "ok", "goodput", "delivered", "checks"];

fn limits(report: &Report) -> impl Iterator<Item = &str> {
    report.targets.keys().map(|target| metric_of(target).1)
}

/// R30: the report judges a share of failures without a limit for it.
pub fn no_limit(report: &Report) -> Option<Noticed> {
    if limits(report).any(|metric| OF_FAILURES.contains(&metric)) {
        return None;
    }
    let of_failures = |claim: &&Claim| {
        claim.metric.as_deref().is_some_and(|metric| OF_FAILURES.contains(&metric))
    };
    let judged = match report.claims.iter().find(of_failures) {
        Some(claim) => format!("judged in words (\"{}\")", claim.says),
        None if !report.targets.is_empty() => {
            "passed over by every limit that was declared".to_owned()
        }
        None => return None,
    };
    let rows = report.runs.iter().flat_map(|run| run.all());
    let failing = rows.filter(|row| row.unsuccessful().unwrap_or(0) > 0);
    let (name, share) = failing
        .filter_map(|row| Some((row.name.as_str(), row.metric("failed")?.value)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    let claim =
        format!("{} of {name} failed, which is {judged}: no limit was set before", percent(share));
    Some(Noticed::new(claim).with("failed_percent", share * 100.0))
}

/// Ends of a range `20..30`, or one value twice.
fn ends(text: &str) -> [&str; 2] {
    text.split_once("..").map_or([text.trim(); 2], |(low, high)| [low.trim(), high.trim()])
}

fn same(stated: &str, run: &str) -> bool {
    let number = |text: &str| figure::number(text).map(|figure| figure.value);
    stated.eq_ignore_ascii_case(run.trim())
        || number(stated).is_some_and(|stated| number(run) == Some(stated))
}

/// Whether a run met this condition; `None` if the report does not say.
fn has_condition(run: &Run, name: &str, value: &str) -> Option<bool> {
    let number = match name {
        "workers" => run.workers,
        "users" => run.users,
        "servers" => run.servers,
        "rate" => run.target_rate.map(|rate| rate.value),
        "dose" => run.dose,
        _ => None,
    };
    let text = run.levels.get(name).or_else(|| run.context.get(name));
    let number = number.map(|number| same(value, &format!("{number}")));
    let text = text.map(|text| same(value, text));
    match (number, text) {
        (None, None) => None,
        (number, text) => Some(number.unwrap_or(false) || text.unwrap_or(false)),
    }
}

/// R46: a claim about conditions that no run had.
pub fn untested(report: &Report) -> Option<Noticed> {
    let lacking = |claim: &Claim| {
        let conditions =
            || claim.at.iter().flat_map(|(name, text)| ends(text).map(|end| (name, end)));
        let met =
            |run: &Run, (name, end): (&String, &str)| has_condition(run, name, end) == Some(true);
        let absent: BTreeSet<String> = conditions()
            .filter(|one| !report.runs.iter().any(|run| met(run, *one)))
            .map(|(name, end)| format!("{name} {end}"))
            .collect();
        if !absent.is_empty() {
            return Some(format!(
                "no run has {}",
                absent.into_iter().collect::<Vec<_>>().join(", ")
            ));
        }
        // For a range, one run needs either end; for several conditions, one run needs all of them.
        let at_once = |run: &Run| {
            claim
                .at
                .iter()
                .all(|(name, text)| ends(text).into_iter().any(|end| met(run, (name, end))))
        };
        (claim.at.len() > 1 && !report.runs.iter().any(at_once))
            .then(|| "no run has these at once".to_owned())
    };
    all_of(report, lacking)
}

/// Joins the claims with a problem into one sentence.
fn all_of(report: &Report, wrong: impl Fn(&Claim) -> Option<String>) -> Option<Noticed> {
    let found = report.claims.iter().filter_map(|claim| Some((claim, wrong(claim)?)));
    let texts: Vec<String> =
        found.map(|(claim, why)| format!("\"{}\": {why}", claim.says)).collect();
    (!texts.is_empty()).then(|| Noticed::new(texts.join("; ")).with("claims", texts.len() as f64))
}

/// Beginnings of words that grade instead of giving a number; hyphens are read as spaces.
const GRADES: [&str; 14] = [
    "excellen",
    "outstanding",
    "superio",
    "perfect",
    "acceptab",
    "flawless",
    "impressiv",
    "blazin",
    "robust",
    "optimal",
    "production read",
    "production grad",
    "enterprise grad",
    "world clas",
];

/// The grading word of a claim.
fn grade(claim: &Claim) -> Option<&'static str> {
    let plain = claim.says.to_lowercase().replace(['-', '\u{2011}', '_'], " ");
    let words = format!(" {}", plain.replace(|c: char| !c.is_alphanumeric(), " "));
    GRADES.into_iter().find(|grade| words.contains(&format!(" {grade}")))
}

/// R47: a grade without a limit declared before the run.
pub fn graded(report: &Report) -> Option<Noticed> {
    all_of(report, |claim| {
        grade(claim)?;
        if report.targets.is_empty() {
            return Some("no limit was declared before the run".to_owned());
        }
        let metric = claim.metric.as_deref()?;
        let covered = limits(report).any(|limit| limit == metric);
        (!covered).then(|| format!("no limit that was declared speaks of {metric}"))
    })
}

fn is_time(metric: &str) -> bool {
    ["min", "mean", "max"].contains(&metric) || quantile_name(metric).is_some()
}

fn shown(metric: &str, value: f64) -> String {
    match metric {
        metric if is_time(metric) => time(value),
        "failed" | "ok" | "delivered" => percent(value),
        "bytes" => format!("{} bytes", significant(value)),
        _ => rate(value),
    }
}

/// R48: the figures contradict the text.
pub fn contradicted(report: &Report) -> Option<Noticed> {
    let certain = |claim: &Claim| wrong_figure(report, claim).is_some_and(|(_, certain)| certain);
    let weak = !report.claims.iter().any(certain);
    let noticed = all_of(report, |claim| wrong_figure(report, claim).map(|(text, _)| text))?;
    Some(noticed.weak_if(weak))
}

/// How the figures differ from a claim, and whether more than rounding explains it.
fn wrong_figure(report: &Report, claim: &Claim) -> Option<(String, bool)> {
    match claim.is {
        Some(Relation::Lower) => wrong_direction(report, claim, false),
        Some(Relation::Higher) => wrong_direction(report, claim, true),
        Some(Relation::Within(bound)) => {
            let metric = claim.metric.as_deref()?;
            let whose = claim.of.as_deref();
            lines(report, whose).find_map(|row| beyond(row, metric, bound))
        }
        Some(Relation::Met) => missed_target(report, claim),
        None => grade(claim).and(claim.metric.as_ref()).and_then(|_| missed_target(report, claim)),
    }
}

/// The rows that a limit applies to: those with this name, or the total of each run, or all of its rows.
fn lines<'r>(report: &'r Report, whose: Option<&'r str>) -> Box<dyn Iterator<Item = &'r Row> + 'r> {
    match whose {
        Some(name) => Box::new(report.named(name).map(|(_, row)| row)),
        None => Box::new(report.runs.iter().flat_map(|run| {
            let whole = run.whole().filter(|row| row.count().is_some());
            let rows = run.rows.iter().filter(move |_| whole.is_none());
            whole.into_iter().chain(rows)
        })),
    }
}

fn beyond(row: &Row, metric: &str, bound: Limit) -> Option<(String, bool)> {
    let figure = row.metric(metric)?;
    let kept = bound.kept_by(figure);
    let side = match (bound.above, bound.strict) {
        (true, true) => "above",
        (true, false) => "at least",
        (false, true) => "below",
        (false, false) => "at most",
    };
    let text = format!(
        "{metric} of {} is {}, which is not {side} {}",
        row.name,
        shown(metric, figure.value),
        shown(metric, bound.value)
    );
    (kept != Some(true)).then_some((text, kept == Some(false)))
}

fn missed_target(report: &Report, claim: &Claim) -> Option<(String, bool)> {
    let about = |target: &&String| {
        let (_, metric) = metric_of(target);
        claim.metric.as_deref().is_none_or(|of| of == metric)
    };
    report.targets.keys().filter(about).find_map(|target| {
        let (whose, metric) = metric_of(target);
        let bound = report.targets[target];
        lines(report, whose.or(claim.of.as_deref())).find_map(|row| beyond(row, metric, bound))
    })
}

/// No pair of figures supports the direction, and one refutes it by more than rounding.
fn wrong_direction(report: &Report, claim: &Claim, higher: bool) -> Option<(String, bool)> {
    let (of, than) = (claim.of.as_deref()?, claim.than.as_deref()?);
    let others: Vec<_> = report.named(than).take(LINES).collect();
    let mut refuted = None;
    for (run, row) in report.named(of).take(LINES) {
        let is_here = |other: &Run| std::ptr::eq(run, other);
        let has_own = others.iter().any(|(other, _)| is_here(other));
        let against = others.iter().filter(|(other, _)| !has_own || is_here(other));
        for (metric, a, b) in against.flat_map(|(_, other)| pairs(claim, row, other)) {
            let (more, less) = if higher { (a, b) } else { (b, a) };
            if more.low() > less.high() {
                return None;
            }
            if less.low() > more.high() && refuted.is_none() {
                let (a, b) = (shown(&metric, a.value), shown(&metric, b.value));
                refuted = Some((format!("{metric} of {of} is {a}, of {than} {b}"), true));
            }
        }
    }
    refuted
}

/// Most rows of one name that are compared with those of another.
const LINES: usize = 100;

/// Pairs of figures that two rows share: of the claim's metric, or of all times.
fn pairs(claim: &Claim, row: &Row, other: &Row) -> Vec<(String, Figure, Figure)> {
    let quantiles = row.quantiles.iter().map(|(q, _)| percentile(*q));
    let times = || ["mean".to_owned()].into_iter().chain(quantiles).collect();
    let metrics: Vec<String> = claim.metric.clone().map_or_else(times, |metric| vec![metric]);
    let shared = |metric: String| {
        let (a, b) = (row.metric(&metric)?, other.metric(&metric)?);
        Some((metric, a, b))
    };
    metrics.into_iter().filter_map(shared).collect()
}

/// R49: no run isolates the claimed cause.
pub fn no_ablation(report: &Report) -> Option<Noticed> {
    let settings = |run: &Run| {
        let texts = run.levels.iter().chain(&run.context);
        let texts = texts.map(|(name, value)| (name.clone(), value.clone()));
        let dose = run.dose.map(|dose| ("dose".to_owned(), format!("{dose}")));
        texts.chain(dose).collect::<BTreeMap<String, String>>()
    };
    let all: Vec<_> = report.runs.iter().map(settings).collect();
    all_of(report, |claim| {
        let cause = claim.cause.as_ref()?;
        let levels: BTreeSet<_> = all.iter().filter_map(|run| run.get(cause)).collect();
        if levels.len() < 2 {
            return Some(format!("no two runs differ in {cause}"));
        }
        let isolates = |a: &BTreeMap<String, String>, b: &_| {
            let names: BTreeSet<_> = a.keys().chain(BTreeMap::keys(b)).collect();
            a.get(cause).zip(b.get(cause)).is_some_and(|(a, b)| a != b)
                && names.iter().all(|name| *name == cause || a.get(*name) == b.get(*name))
        };
        let isolated = all.iter().any(|a| all.iter().any(|b| isolates(a, b)));
        (!isolated).then(|| format!("no two runs differ in {cause} alone"))
    })
}

/// R51: the report states no conclusion, or refers to something that it does not contain.
pub fn no_conclusion(report: &Report) -> Option<Noticed> {
    let undecided = report.hypothesis.is_some() && report.conclusion.is_none();
    let absent = report.announced.iter().filter(|one| !report.shown.contains(one));
    let absent: Vec<&str> = absent.map(String::as_str).collect();
    let mut texts = Vec::new();
    if undecided {
        texts.push("it sets out to show something and does not say whether it did".to_owned());
    }
    if !absent.is_empty() {
        texts.push(format!("it refers to what is not there: {}", absent.join(", ")));
    }
    (!texts.is_empty()).then(|| Noticed::new(texts.join("; ")).with("absent", absent.len() as f64))
}

/// R54: headroom is not the capacity within limits divided by the peak demand.
pub fn headroom(report: &Report) -> Option<Noticed> {
    let stated = report.headroom.as_ref()?;
    let claimed = report.runs.iter().filter_map(|run| run.capacity).map(|one| one.value);
    let capacity = stated.capacity.map(|one| one.value).or(claimed.reduce(f64::max));
    let made = capacity.zip(stated.demand).map(|(capacity, demand)| capacity / demand.value);
    let wrong = made.filter(|made| (made / stated.factor.value - 1.0).abs() > 0.05);
    let mut texts = Vec::new();
    if let Some(made) = wrong {
        texts.push(format!("these figures make {}", significant(made)));
    }
    if stated.demand_is == Some(DemandKind::Mean) {
        texts.push("the demand is a mean, and peaks are above it".to_owned());
    }
    if !limits(report).any(is_time) {
        texts.push("the capacity has no limit of response time".to_owned());
    } else if let Some((missed, _)) = missed_target(report, &Claim::default()) {
        texts.push(format!("the limits are not kept: {missed}"));
    }
    (!texts.is_empty()).then(|| {
        let factor = significant(stated.factor.value);
        Noticed::new(format!("{factor} times the demand: {}", texts.join("; ")))
            .with("stated", stated.factor.value)
            .weak_if(wrong.is_none())
    })
}
