//! Findings about the content of answers.

use record::summary::{Expectation, Item, ItemRange, Severity};
use stats::trend::{self, FittedLine, WeightedPoint};

use super::kind::{Check, FindingKind, Noticed};
use plan::number::{count, duration, percent, significant};

/// With fewer answers there is no finding.
const FEWEST: u64 = 10;

/// Operations did no work.
pub const ZERO_WORK: FindingKind = FindingKind {
    code: "zero-work",
    severity: Severity::Warning,
    clearest: None,
    title: "operations did no work",
    explain: "Every item that the experiment declares of an operation was 0 in all its answers, or in none of them \
              (rule R26): messages to no receivers, searches without hits, answers from an empty store. Their \
              times are those of doing nothing. Fill the target before the load, or correct the item's path.",
    check: Check::Trial(|case| {
        let operations = case.trial.operations.iter();
        let operation = operations
            .filter(|one| one.succeeded >= FEWEST && !one.items.is_empty())
            .find(|one| one.items.values().all(|item| item.sum == 0.0))?;
        let carried = operation.items.values().map(carried).max().unwrap_or(0);
        let names: Vec<&str> = operation.items.keys().map(String::as_str).collect();
        let (names, answers) = (names.join(", "), count(operation.succeeded));
        let to = &operation.name;
        let claim = match carried {
            0 => format!("none of {answers} answers to {to} carried {names}"),
            _ => format!("{names} was 0 in all {answers} answers to {to}: no work was done"),
        };
        let advice = "fill the target before the load, or correct the path of the item";
        let noticed = Noticed::new(claim, advice)
            .about(&operation.name)
            .with("succeeded", operation.succeeded)
            .with("carried", carried);
        Some(noticed)
    }),
};

/// The same few requests over and over.
pub const FEW_REQUESTS: FindingKind = FindingKind {
    code: "few-distinct-requests",
    severity: Severity::Info,
    clearest: None,
    title: "the same few requests were sent over and over",
    explain: "An operation takes fewer than a hundred rows in turn, differs in nothing else, and was sent a hundred times \
              as often (rule R26): after its first round a cache holds all the answers. Such times \
              are those of a warm cache, and of as little data as those rows touch. Take as many rows as there are in \
              use, or say that the cache is what is measured.",
    check: Check::Trial(|case| {
        const ROUNDS: u64 = 100;
        let few = case.facts.few_requests.iter();
        let mut sent = few.filter_map(|(name, rows)| {
            let found = case.trial.operations.iter().find(|one| one.name == *name)?;
            Some((found, *rows as u64))
        });
        let (operation, rows) = sent.find(|(one, rows)| one.planned >= ROUNDS * rows)?;
        let distinct = if rows == 1 { "request" } else { "distinct requests" };
        let claim = format!(
            "{} is {rows} {distinct}, sent {} times: a cache holds all the answers",
            operation.name,
            count(operation.planned)
        );
        let noticed = Noticed::new(claim, "take as many different rows as are in use")
            .about(&operation.name)
            .with("distinct", rows)
            .with("planned", operation.planned);
        Some(noticed)
    }),
};

/// Operations succeeded, but not all that they sent arrived.
pub const NOT_ARRIVED: FindingKind = FindingKind {
    code: "not-all-arrived",
    severity: Severity::Warning,
    clearest: None,
    title: "operations succeeded, and what they sent did not all arrive",
    explain: "An observer counts what arrives elsewhere, and what was sent and never came is a larger share than \
              that of the operations that did not succeed, by more than a tenth of a point (rule R24). The success \
              of an operation is then not that of its purpose: ask for the observer's count in its `expect`. An \
              expectation that holds says that the loss is meant, and silences this.",
    check: Check::Trial(|case| {
        let total = &case.trial.total;
        let unsuccessful = 1.0 - total.succeeded as f64 / total.planned.max(1) as f64;
        let meant = |expect: &Expectation| expect.holds;
        let observers =
            case.trial.observers.iter().filter(|one| !one.expect.as_ref().is_some_and(meant));
        let (observer, lost) = observers
            .map(|one| (one, one.lost as f64 / one.received.saturating_add(one.lost).max(1) as f64))
            .find(|(_, lost)| lost - unsuccessful > 0.001)?;
        if total.succeeded < FEWEST || case.facts.interrupted || case.facts.died.is_some() {
            return None;
        }
        let claim = format!(
            "{} of operations succeeded, and {} of what they sent never arrived at {} ({} of {})",
            percent(1.0 - unsuccessful),
            percent(lost),
            observer.name,
            count(observer.lost),
            count(observer.received.saturating_add(observer.lost))
        );
        let advice =
            "judge what arrives: give the observer an `expect`, or look for where it is lost";
        let noticed = Noticed::new(claim, advice)
            .with("observer", observer.name.as_str())
            .with("lost", observer.lost)
            .with("received", observer.received);
        Some(noticed)
    }),
};

/// Response time grows with an item.
pub const GROWS: FindingKind = FindingKind {
    code: "grows-with-item",
    severity: Severity::Info,
    clearest: None,
    title: "response time grows with what an answer carries",
    explain: "The median response time of operations grows with an item that they carry: by half or more over the \
              powers of two that were met, with a slope whose 95 % interval lies above zero. The line is that of \
              a fixed part and a cost for each, or a power of the item, whichever fits better. Times of such an \
              operation mean something only together with how much it carried; see the table of response time \
              against the item.",
    check: Check::Trial(|case| {
        let operations = case.trial.operations.iter();
        let items = operations.flat_map(|one| one.items.iter().map(move |item| (one, item)));
        let mut growing = items.filter_map(|(one, (name, item))| growth(&one.name, name, item));
        growing.next()
    }),
};

/// Number of answers that carried the item.
fn carried(item: &Item) -> u64 {
    item.ranges.iter().map(|range| range.count).sum()
}

fn growth(operation: &str, name: &str, item: &Item) -> Option<Noticed> {
    /// Enough answers for a median.
    const SUPPORTED: u64 = 20;
    const POWERS: usize = 4;
    let ranges = item.ranges.iter().filter(|range| range.count >= SUPPORTED && range.from > 0.0);
    let points: Vec<(f64, f64)> =
        ranges.clone().map(|range| (middle(range), range.p50_ns.max(1) as f64)).collect();
    let (&(_, quickest), &(_, slowest)) = (points.first()?, points.last()?);
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
        operation,
        name,
        duration(quickest as u64),
        significant(ranges.clone().next()?.below),
        duration(slowest as u64),
        significant(ranges.clone().next_back()?.from),
    );
    let advice = "state how much an operation carried wherever its time is stated";
    let noticed = Noticed::new(claim, advice)
        .about(operation)
        .with("item", name)
        .with("form", if by_each { "linear" } else { "power" })
        .with("slope", line.slope)
        .with("low", line.low)
        .with("high", line.high)
        .with("intercept", line.intercept);
    (line.low > 0.0).then_some(noticed)
}

/// R = a + b·x, weighted so that relative errors count equally.
fn linear(points: &[(f64, f64)]) -> Option<FittedLine> {
    let point = |&(x, y): &(f64, f64)| WeightedPoint { x, y, weight: 1.0 / (y * y) };
    trend::line(&points.iter().map(point).collect::<Vec<_>>())
}

/// ln R = a + b·ln x
fn power_law(points: &[(f64, f64)]) -> Option<FittedLine> {
    let point = |&(x, y): &(f64, f64)| WeightedPoint { x: x.ln(), y: y.ln(), weight: 1.0 };
    trend::line(&points.iter().map(point).collect::<Vec<_>>())
}

fn misfit(points: &[(f64, f64)], of: impl Fn(f64) -> f64) -> f64 {
    points.iter().map(|&(x, y)| (of(x) / y).max(1e-9).ln().powi(2)).sum()
}

fn middle(range: &ItemRange) -> f64 {
    (range.from + range.below) / 2.0
}

fn interval(line: &FittedLine, show: impl Fn(f64) -> String) -> String {
    format!("{} (95 %: {} – {})", show(line.slope), show(line.low), show(line.high))
}
