//! Tables of one trial, in reading order.

use record::summary::{Distribution, Expectation, Generator, Operation, TrialSummary, Validity};

use super::{Table, agents, journeys, replay, streams, times};
use judge::scheduling;
use plan::number;

/// Every table of a trial that has content: journeys, mix, accounting, rates, burstiness, times, failures, spans, items and response time
/// against them, observers, generator, systems, kernel.
pub fn all(trial: &TrialSummary) -> Vec<Table> {
    let tables = [
        Some(mix(trial)),
        Some(rates(trial)),
        replay::burstiness(trial),
        times::response(trial),
        times::service(trial),
        times::outcome(trial),
        failures(trial),
        first_failures(trial),
        statuses(trial),
        streams::in_full(trial),
        spans(trial),
        items(trial),
        against_items(trial),
        observers(trial),
        Some(generator(trial)),
        agents::table(trial),
        systems(trial),
        kernel(trial),
    ];
    journeys::all(trial).into_iter().chain(tables.into_iter().flatten()).collect()
}

/// A validity in words.
pub fn validity(validity: Validity) -> &'static str {
    match validity {
        Validity::Valid => "valid",
        Validity::Noted => "valid, noted",
        Validity::Invalid => "invalid",
        Validity::NoSteadyState => "no steady state",
        Validity::Overload => "overload",
    }
}

/// The load in one line.
pub fn load(trial: &TrialSummary) -> String {
    let load = &trial.load;
    let offered = match (arrivals(trial), load.offered_rate) {
        (Some(arrivals), Some(rate)) => format!("open load, {arrivals}, {}", number::rate(rate)),
        (Some(arrivals), None) => format!("open load, {arrivals}"),
        (None, _) if load.users.is_some() => times::actors(trial),
        (None, _) => format!("closed load, {}", times::actors(trial)),
    };
    let phases = &trial.phases;
    let workers = workers(trial);
    format!(
        "{offered}; {workers}; warm-up {}, measured {}, drained {}",
        number::duration(phases.warm_up_ns.saturating_add(phases.ramp_up_ns)),
        number::duration(phases.measure_ns),
        number::duration(phases.drain_ns)
    )
}

/// How the operations of an open load began.
fn arrivals(trial: &TrialSummary) -> Option<String> {
    let name = trial.load.arrivals.as_ref()?;
    let scaled = trial.load.scale.map(|scale| {
        let how = if scale < 1.0 { "thinned" } else { "superposed" };
        format!(" {how} to {} % of its log", number::significant(scale * 100.0))
    });
    Some(format!("{name}{}", scaled.unwrap_or_default()))
}

fn workers(trial: &TrialSummary) -> String {
    let count = trial.load.workers;
    let word = if count == 1 { "worker" } else { "workers" };
    match trial.agents.len() {
        0 => format!("{count} {word}"),
        machines => format!("{count} {word} on {machines} machines"),
    }
}

/// The load, and whether the generator was on time, in a line of a terminal.
pub fn load_in_short(trial: &TrialSummary) -> String {
    let (load, lag) = (&trial.load, &trial.generator.dispatch_lag);
    let model = match arrivals(trial) {
        Some(arrivals) => format!("open load, {arrivals}"),
        None if load.users.is_some() => times::actors(trial),
        None => "closed load".to_owned(),
    };
    let workers = workers(trial);
    let known = (lag.count > 0).then(|| format!("; dispatch lag p99 {}", at(lag, 0.99)));
    format!(
        "{model}, {workers}, measured {}; {}{}",
        number::duration(trial.phases.measure_ns),
        validity(trial.validity),
        known.unwrap_or_default()
    )
}

fn mix(trial: &TrialSummary) -> Table {
    let columns = [
        "operation",
        "#planned",
        "#started",
        "#missed",
        "#succeeded",
        "#failed",
        "#abandoned",
        "#received",
    ];
    let mut table = Table::new("accounting", "Mix and accounting", &columns).note(mix_note(trial));
    let single = trial.operations.len() == 1;
    for one in trial.operations.iter().filter(|_| !single).chain([&trial.total]) {
        let started = one.succeeded + one.failed + one.abandoned;
        table.row([
            if single { trial.operations[0].name.clone() } else { one.name.clone() },
            number::count(one.planned),
            number::count(started),
            number::count(one.planned.saturating_sub(started)),
            number::count(one.succeeded),
            number::count(one.failed),
            number::count(one.abandoned),
            number::bytes(one.bytes_received),
        ]);
    }
    table
}

fn mix_note(trial: &TrialSummary) -> String {
    let sums = "planned = started + missed, started = succeeded + failed + abandoned";
    match trial.journeys.is_empty() {
        true => sums.to_owned(),
        false => format!("Operations, also those of journeys: {sums}"),
    }
}

fn rates(trial: &TrialSummary) -> Table {
    let columns = [
        "#offered",
        "#started",
        "#completed",
        "#goodput",
        "#received",
        "#mean in flight",
        "#most in flight",
    ];
    let title = if trial.journeys.is_empty() { "Rates" } else { "Rates of operations" };
    let mut table = Table::new("rates", title, &columns);
    let rates = &trial.rates;
    let ended = (trial.total.succeeded + trial.total.failed).max(1);
    let received = trial.total.bytes_received as f64 / ended as f64 * rates.completed;
    table.row([
        if trial.load.arrivals.is_some() { number::rate(rates.offered) } else { "–".to_owned() },
        number::rate(rates.started),
        number::rate(rates.completed),
        number::rate(rates.goodput),
        format!("{}/s", number::bytes(received as u64)),
        number::significant(trial.in_flight.mean),
        number::count(trial.in_flight.max),
    ]);
    table
}

fn failures(trial: &TrialSummary) -> Option<Table> {
    let columns = ["operation", "kind", "#count", "#of its operations", "meaning"];
    let mut table = Table::new("failures", "Failures by kind", &columns);
    for operation in &trial.operations {
        let share = |count: u64| number::percent(count as f64 / operation.planned.max(1) as f64);
        for (kind, &count) in operation.failures.iter().filter(|(_, count)| **count > 0) {
            let known = record::FailureKind::ALL.iter().find(|one| one.name() == kind);
            table.row([
                operation.name.clone(),
                kind.clone(),
                number::count(count),
                share(count),
                known.map_or(String::new(), |one| one.meaning().to_owned()),
            ]);
        }
        if operation.abandoned > 0 {
            table.row([
                operation.name.clone(),
                "abandoned".to_owned(),
                number::count(operation.abandoned),
                share(operation.abandoned),
                "Unfinished at the drain deadline.".to_owned(),
            ]);
        }
    }
    table.unless_empty()
}

fn first_failures(trial: &TrialSummary) -> Option<Table> {
    let columns = ["operation", "kind", "seen"];
    let mut table = Table::new("first-failures", "The first failure of each kind", &columns);
    for first in &trial.first_failures {
        table.row([first.operation.clone(), first.kind.clone(), first.seen.clone()]);
    }
    table.unless_empty()
}

fn statuses(trial: &TrialSummary) -> Option<Table> {
    let mut table = Table::new("statuses", "Answers by status", &["operation", "status", "#count"]);
    for operation in &trial.operations {
        for (status, &count) in &operation.statuses {
            table.row([operation.name.clone(), status.clone(), number::count(count)]);
        }
    }
    table.unless_empty()
}

/// Spans in their usual order; others follow, by name.
const SPAN_ORDER: [&str; 27] = [
    "connect",
    "greeting",
    "ehlo",
    "starttls",
    "tls",
    "ehlo_tls",
    "auth",
    "reset",
    "mail",
    "rcpt",
    "data",
    "content",
    "accepted",
    "quit",
    "first_byte",
    "first_event",
    "gap",
    "mean_gap",
    "longest_gap",
    "last_event",
    "welcome",
    "written",
    "waited",
    "read",
    "there",
    "producer",
    "back",
];

fn spans(trial: &TrialSummary) -> Option<Table> {
    let columns = ["operation", "span", "stamped by", "#count", "#least", "#mean", "#greatest"];
    let told = trial.operations.iter().any(|operation| !operation.parts.is_empty());
    let mut note = "Facts about this sample. Means add up, quantiles do not.".to_owned();
    if told {
        note.push_str(
            " The target itself reports the times of its parts (`Server-Timing`). A part is listed after the part that contains it.",
        );
    }
    let mut table = Table::new("spans", "Spans", &columns).note(note);
    for operation in &trial.operations {
        let own = |name: &str| !operation.parts.iter().any(|part| part.name == name);
        let place =
            |name: &str| SPAN_ORDER.iter().position(|one| *one == name).unwrap_or(SPAN_ORDER.len());
        let mut spans: Vec<_> = operation.spans.iter().filter(|(name, _)| own(name)).collect();
        spans.sort_by_key(|(name, _)| place(name));
        let spans =
            spans.into_iter().map(|(name, span)| (name.replace('_', " "), "instrument", span));
        let told = operation.parts.iter().filter_map(|part| {
            Some((part.name.clone(), "target", operation.spans.get(&part.name)?))
        });
        let wait = ("queue wait".to_owned(), "instrument", &operation.queue_wait);
        for (name, by, span) in spans.chain([wait]).chain(told) {
            if span.count > 0 && span.max_ns > 0 {
                table.row([
                    operation.name.clone(),
                    name,
                    by.to_owned(),
                    number::count(span.count),
                    number::duration(span.min_ns),
                    number::duration(span.mean_ns),
                    number::duration(span.max_ns),
                ]);
            }
        }
    }
    if !told {
        table.columns.remove(2);
        table.rows.iter_mut().for_each(|row| drop(row.remove(2)));
    }
    table.unless_empty()
}

fn items(trial: &TrialSummary) -> Option<Table> {
    let mut table = Table::new(
        "items",
        "Numbers read from answers",
        &["operation", "item", "#sum", "#mean", "#per second"],
    )
    .note("Of operations that succeeded; per second of the measure phase.");
    let seconds = trial.phases.measure_ns as f64 / 1e9;
    for operation in &trial.operations {
        for (name, item) in &operation.items {
            // No answer had one.
            let is_known = !item.ranges.is_empty();
            let per_second = (seconds > 0.0).then(|| item.sum / seconds);
            let figures = [Some(item.sum), Some(item.per_operation_mean), per_second];
            let cell = |figure: Option<f64>| {
                figure.filter(|_| is_known).map_or_else(|| "–".to_owned(), number::significant)
            };
            let names = [operation.name.clone(), name.clone()];
            table.rows.push(names.into_iter().chain(figures.map(cell)).collect());
        }
    }
    table.unless_empty()
}

fn against_items(trial: &TrialSummary) -> Option<Table> {
    let columns = ["operation", "item", "#from", "#below", "#operations", "#p50", "#p95"];
    let mut table =
        Table::new("against-items", "Response time against what answers carried", &columns).note(
            "Facts about this sample, of operations that succeeded, by power of two of the number.",
        );
    for operation in &trial.operations {
        for (name, item) in &operation.items {
            for range in &item.ranges {
                table.row([
                    operation.name.clone(),
                    name.clone(),
                    number::significant(range.from),
                    number::significant(range.below),
                    number::count(range.count),
                    number::duration(range.p50_ns),
                    number::duration(range.p95_ns),
                ]);
            }
        }
    }
    table.unless_empty()
}

fn observers(trial: &TrialSummary) -> Option<Table> {
    let columns = [
        "observer",
        "#received",
        "#duplicates",
        "#unexpected",
        "#lost",
        "in figures",
        "expected",
        "holds",
    ];
    let mut table = Table::new("observers", "What observers counted", &columns);
    for one in &trial.observers {
        let (text, holds) = match &one.expect {
            Some(expect) if expect.unjudged.is_some() => (expect.text.clone(), "not judged"),
            Some(expect) => (expect.text.clone(), if expect.holds { "yes" } else { "no" }),
            None => ("–".to_owned(), "–"),
        };
        let counted = |count: u64| match &one.unanswered {
            Some(_) => "–".to_owned(),
            None => number::count(count),
        };
        table.row([
            one.name.clone(),
            match &one.counts {
                Some(what) if one.unanswered.is_none() => {
                    format!("{} {what}", counted(one.received))
                }
                _ => counted(one.received),
            },
            counted(one.duplicates),
            counted(one.unexpected),
            counted(one.lost),
            one.expect.as_ref().and_then(in_figures).unwrap_or_else(|| "–".to_owned()),
            text,
            holds.to_owned(),
        ]);
    }
    table.unless_empty()
}

/// The first comparison of an expectation with the values of its sides, as `12 >= 9`.
fn in_figures(expect: &Expectation) -> Option<String> {
    let [left, right] = expect.sides?.map(number::significant);
    let first = expect.text.split(" and ").next()?;
    let sign = ["==", "<=", ">="].into_iter().find(|sign| first.contains(sign))?;
    Some(format!("{left} {sign} {right}"))
}

fn generator(trial: &TrialSummary) -> Table {
    let generator = &trial.generator;
    let mut table = Table::new("generator", "Generator", &["", "this trial"]).note(
        "Lateness is the generator's fault and decides validity; resources only name its cause.",
    );
    let mut line = |name: &str, text: String| table.row([name.to_owned(), text]);
    line("validity", validity(trial.validity).to_owned());
    for reason in &trial.reasons {
        line("because", reason.clone());
    }
    if generator.dispatch_lag.count > 0 {
        line("dispatch lag", lag(&generator.dispatch_lag));
    }
    line("parts of the slowest hundredth", tail(generator));
    line("cpu", cpu(generator, &trial.total));
    if let Some(had) = &generator.scheduling {
        line("scheduling of workers", scheduling::in_words(had));
    }
    if let Some(ratio) = generator.polled_ratio {
        line("polled with nothing to do", number::percent(ratio));
    }
    line("waited for a processor", number::percent(generator.run_queue_ratio));
    if let Some(cores) = generator.others_cores {
        line("other programs used", format!("{} processors", number::significant(cores)));
    }
    line("taken by the hypervisor", number::percent(generator.steal_ratio));
    line("throttled", number::duration(generator.throttled_ns));
    if let Some(floor) = &generator.floor {
        line("floor of the instrument", lag(floor));
    }
    for note in &generator.notes {
        line("note", note.clone());
    }
    table
}

fn lag(distribution: &Distribution) -> String {
    let max = number::duration(distribution.max_ns);
    format!("p50 {}, p99 {}, max {max}", at(distribution, 0.5), at(distribution, 0.99))
}

/// An observed quantile.
fn at(distribution: &Distribution, q: f64) -> String {
    let entry = distribution.quantiles.iter().find(|entry| entry.q == q);
    number::duration_or(entry.and_then(|entry| entry.observed_ns), "–")
}

fn tail(generator: &Generator) -> String {
    let share = &generator.tail_share;
    let parts = [
        ("dispatch lag", share.dispatch_lag),
        ("queue wait", share.queue_wait),
        ("prepare", share.prepare),
        ("service time", share.service_time),
    ];
    let texts = parts.map(|(name, ratio)| format!("{name} {}", number::percent(ratio)));
    texts.join(", ")
}

fn cpu(generator: &Generator, total: &Operation) -> String {
    let finished = (total.succeeded + total.failed).max(1);
    format!(
        "{} in all, {} an operation, busiest worker {}",
        number::duration(generator.cpu_ns),
        number::duration(generator.cpu_ns / finished),
        number::percent(generator.cpu_ratio)
    )
}

fn systems(trial: &TrialSummary) -> Option<Table> {
    let columns =
        ["system", "version", "process", "#cpu", "#cpu an operation", "#waited", "#peak memory"];
    let mut table = Table::new("systems", "Systems", &columns);
    let finished = (trial.total.succeeded + trial.total.failed).max(1);
    for system in &trial.systems {
        for process in &system.processes {
            table.row([
                system.name.clone(),
                system.version.clone().unwrap_or_else(|| "–".to_owned()),
                process.name.clone(),
                number::duration(process.cpu_ns),
                number::duration(process.cpu_ns / finished),
                number::duration(process.run_queue_ns),
                number::bytes(process.rss_peak_bytes),
            ]);
        }
    }
    table.unless_empty()
}

fn kernel(trial: &TrialSummary) -> Option<Table> {
    let mut table = Table::new("kernel", "Kernel counters that moved", &["counter", "#by"])
        .note("Of the whole network namespace, so other programs may be in them.");
    for (name, &delta) in trial.kernel.iter().filter(|(_, delta)| **delta != 0) {
        table.row([name.clone(), delta.to_string()]);
    }
    table.unless_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_stands_in_figures_by_its_first_comparison() {
        for (text, figures) in [
            ("received >= sent", "12.0 >= 9.00"),
            ("received >= sent and damaged == 0", "12.0 >= 9.00"),
        ] {
            let sides = Some([12.0, 9.0]);
            let expect = Expectation { text: text.into(), holds: true, sides, unjudged: None };
            assert_eq!(in_figures(&expect).unwrap(), figures, "{text}");
        }
    }
}
