//! Operations of a trial one by one: the slowest that carry a trace id, and those that failed.

use plan::{number, trace};
use record::Status;
use record::summary::{ListedOperation, Model, Run, Summary, TrialSummary};

use super::Table;

/// No part of a response time below this share of it is shown.
const LEAST_SHARE: f64 = 0.005;

/// Both lists of a traced trial.
pub fn tables(trial: &TrialSummary, run: &Run) -> Vec<Table> {
    let Some(traces) = &trial.traces else { return Vec::new() };
    let by = match trial.load.model {
        Model::Open => "response time",
        Model::Closed | Model::Users => "service time",
    };
    let note = format!(
        "Of those with a trace id, by {by}. Instants count from the start of the measure phase."
    );
    let slowest =
        table("slowest", "Slowest operations".to_owned(), &traces.slowest, run).note(note);
    let shown = traces.failures.len() as u64;
    let more = traces.failures_total.saturating_sub(shown);
    let note = match (more, traces.failures_unlisted) {
        (0, _) => None,
        (more, 0) => {
            Some(format!("{} more: `proofload report --format traces`.", number::count(more)))
        }
        (more, unlisted) => Some(format!(
            "{} more: `proofload report --format traces`, which lists all but {}.",
            number::count(more),
            number::count(unlisted)
        )),
    };
    let mut failed = table("failed", "Failed operations".to_owned(), &traces.failures, run);
    failed.note = note;
    [slowest, failed].into_iter().filter_map(Table::unless_empty).collect()
}

/// Whether any trial lists operations.
pub fn are_listed(summary: &Summary) -> bool {
    let mut trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    trials.any(|trial| {
        trial.traces.as_ref().is_some_and(|one| !one.slowest.is_empty() || one.failures_total > 0)
    })
}

fn table(id: &'static str, title: String, listed: &[ListedOperation], run: &Run) -> Table {
    let columns = ["#at", "operation", "#response", "parts", "outcome", "trace id"];
    let mut table = Table::new(id, title, &columns);
    for one in listed {
        let trace_id = one.trace_id.map(|id| id.to_string());
        let template = run.trace_url.as_deref();
        let link = template.zip(trace_id.as_deref()).and_then(|(url, id)| trace::link(url, id));
        table.row([
            format!("{:.3} s", one.at_ns as f64 / 1e9),
            one.step.clone().unwrap_or_else(|| one.operation.clone()),
            number::duration(one.response_time_ns),
            parts(one),
            outcome(one),
            trace_id.unwrap_or_else(|| "–".to_owned()),
        ]);
        table.links.push(link);
    }
    table
}

/// What the response time consists of, and spans that were stamped in it.
fn parts(one: &ListedOperation) -> String {
    let least = LEAST_SHARE * one.response_time_ns as f64;
    let named = [
        ("dispatch lag", one.dispatch_lag_ns),
        ("queue wait", one.queue_wait_ns),
        ("prepare", one.prepare_ns),
        ("service", one.service_time_ns),
    ];
    let spans = one.spans.iter().map(|(name, time)| (name.replace('_', " "), *time));
    let part = |(name, time): (String, u64)| {
        (time > 0 && time as f64 >= least).then(|| format!("{name} {}", number::duration(time)))
    };
    let sums = named.map(|(name, time)| (name.to_owned(), time)).into_iter().filter_map(part);
    let spans: Vec<String> = spans.filter_map(part).collect();
    let sums = sums.collect::<Vec<_>>().join(", ");
    if spans.is_empty() { sums } else { format!("{sums}; {}", spans.join(", ")) }
}

fn outcome(one: &ListedOperation) -> String {
    match one.status {
        Status::None => one.outcome.clone(),
        status => format!("{} {status}", one.outcome),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use record::summary::Traces;
    use record::{FailureKind, TraceId};

    use super::*;
    use crate::{html, markdown, terminal};
    use judge::example;

    const MS: u64 = 1_000_000;

    fn listed(index: u64, outcome: &str, trace: u128) -> ListedOperation {
        ListedOperation {
            operation: "home".to_owned(),
            index,
            at_ns: (index * 10 * MS).cast_signed(),
            outcome: outcome.to_owned(),
            status: 200.into(),
            dispatch_lag_ns: 1_000,
            queue_wait_ns: 5 * MS,
            prepare_ns: MS,
            service_time_ns: 14 * MS - 1_000,
            response_time_ns: 20 * MS,
            spans: BTreeMap::from([("first_byte".to_owned(), 13 * MS)]),
            trace_id: trace.try_into().ok().map(TraceId),
            ..ListedOperation::default()
        }
    }

    fn traced(url: &str) -> Summary {
        let mut summary = example::summary();
        summary.run.trace_url = Some(url.to_owned());
        let kind = FailureKind::Status.name();
        summary.arms[0].trials[0].traces = Some(Traces {
            slowest: vec![listed(3, "succeeded", 0xabc)],
            failures: vec![listed(5, kind, 0xdef), listed(6, "closed", 0)],
            failures_total: 12_000,
            failures_unlisted: 1_998,
        });
        summary
    }

    fn page(summary: Summary) -> String {
        let record = judge::run_record::RunRecord { summary, ..example::record() };
        html::render(&record).expect("it renders")
    }

    #[test]
    fn each_form_lists_them_and_says_how_many_more_there_are() {
        let summary = traced("https://t.example/{trace_id}?a=1&b=\"<|");
        let id = format!("{:032x}", 0xabc);
        let href = format!("https:&#x2f;&#x2f;t.example&#x2f;{id}?a=1&amp;b=%22%3C|");
        let (html, markdown) = (page(summary.clone()), markdown::render(&summary));
        assert!(
            html.contains(&format!("<a href=\"{href}\" rel=\"noreferrer\">{id}</a>")),
            "{html}"
        );
        let link = format!("[{id}](<https://t.example/{id}?a=1&b=%22%3C%7C>)");
        assert!(markdown.contains(&link), "{markdown}");
        let full = terminal::full(&summary, terminal::Colour::Off);
        for text in [&html, &markdown, &full] {
            for expected in [
                "Slowest operations",
                "Failed operations",
                "20.0 ms",
                "11,998 more",
                "all but 1,998",
            ] {
                assert!(text.contains(expected), "{expected} in {text}");
            }
        }
        assert!(full.contains(&id), "{full}");
    }

    #[test]
    fn an_address_that_is_none_of_the_web_is_no_link() {
        for url in
            ["javascript:alert('{trace_id}')", "https://t.example/", "data:text/html,{trace_id}"]
        {
            let summary = traced(url);
            assert!(!page(summary.clone()).contains("<a href=\"j"), "{url}");
            assert!(
                tables(&summary.arms[0].trials[0], &summary.run)
                    .iter()
                    .all(|table| { table.links.iter().all(Option::is_none) })
            );
            assert!(!markdown::render(&summary).contains("](<"), "{url}");
        }
    }

    #[test]
    fn the_answer_has_one_line_about_them_and_keeps_its_limit() {
        let answer = |summary: &Summary| terminal::render(summary, terminal::Colour::Off);
        let (plain, traced) =
            (answer(&example::summary()), answer(&traced("https://t.example/{trace_id}")));
        let about = |text: &str| text.lines().filter(|line| line.contains("trace")).count();
        assert_eq!((about(&plain), about(&traced)), (0, 1), "{traced}");
        assert!(traced.lines().count() <= terminal::LINES - 2, "{traced}");
        assert!(traced.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn parts_name_what_matters() {
        let one = listed(1, "succeeded", 1);
        let expected = "queue wait 5.00 ms, prepare 1.00 ms, service 14.0 ms; first byte 13.0 ms";
        assert_eq!(parts(&one), expected);
    }
}
