//! One trial: its facts, counted windows, and the figures that follow by arithmetic alone.

use std::collections::BTreeMap;

use record::summary::{
    CountsFor, Distribution, Generator, Item, ItemRange, Journey, Observer, Operation, Rates,
    TrialSummary, Validity,
};
use record::{
    ItemTotals, JourneyTotals, OperationTotals, OperationWindow, RecordError, Window, WindowSpan,
    hlog,
};
use stats::Histogram;
use stats::dispersion::Dispersion;

use super::input::TrialInput;
use crate::burstiness;
use crate::case::{OverTime, Points, SteadyStateTest};
use crate::consistency::WindowSums;
use crate::criteria::Evaluation;
use crate::distribution::{LISTED, Values};
use crate::window_series::WindowSeries;

/// The key of an observer's histogram among its details, until it is read.
const DELIVERY_TIME: &str = "delivery_time";

type Dispersions = [Dispersion; LISTED.len()];

/// The three distributions of an operation whose dispersion comes from windows.
struct OperationSeries {
    response: WindowSeries,
    service: WindowSeries,
    outcome: WindowSeries,
    /// Spans that windows keep.
    spans: Vec<(WindowSpan, WindowSeries)>,
}

/// The summary of a trial without validity, the sums over its windows, and whether it was in a steady state. Adds the
/// trial's counts to the criteria.
pub fn summarise(
    input: &TrialInput<'_>,
    evaluations: &mut [Evaluation],
    over_time: &mut OverTime,
) -> Result<(TrialSummary, WindowSums, SteadyStateTest), RecordError> {
    let facts = input.trial;
    let total = facts.totals.total();
    let operations = &facts.totals.operations;
    let mut followed: Vec<OperationSeries> = operations
        .iter()
        .chain([&total])
        .map(|one| OperationSeries::new(one, input.spans))
        .collect();
    let journeys = facts.totals.journeys.iter();
    let mut journeys: Vec<OperationSeries> =
        journeys.map(|journey| OperationSeries::new(&journey.totals, &[])).collect();
    let about = evaluations.iter_mut().filter(|evaluation| evaluation.is_about(&facts.arm));
    let mut about: Vec<&mut Evaluation> = about.collect();
    about.iter_mut().for_each(|evaluation| evaluation.begin_trial(facts, &total, input.spans));
    let mut points = Points::new(facts, &total);
    (input.windows)(&mut |window| {
        follow(&mut followed, window);
        for (series, part) in journeys.iter_mut().zip(&window.journeys) {
            series.add(window.number, part);
        }
        points.add(window);
        over_time.add(window);
        about.iter_mut().for_each(|evaluation| evaluation.add_window(window));
    })?;
    about.iter_mut().for_each(|evaluation| evaluation.end_trial(facts, &total, input.spans));
    about.retain(|evaluation| evaluation.wants_again());
    if !about.is_empty() {
        (input.windows)(&mut |window| {
            about.iter_mut().for_each(|evaluation| evaluation.add_window_again(window));
        })?;
        about.iter_mut().for_each(|evaluation| evaluation.end_again());
    }
    let sums = WindowSums { response_times: followed.last().map_or(0, |all| all.response.total()) };
    let steady = points.judge(&facts.totals.dispatch_lag, u64::from(facts.index));
    let mut trial = put_together(input, &total, &followed);
    let totals = facts.totals.journeys.iter().zip(&journeys);
    trial.journeys = totals.map(|(totals, series)| journey(input, totals, series)).collect();
    Ok((trial, sums, steady))
}

fn follow(followed: &mut [OperationSeries], window: &Window) {
    let Some((all, each)) = followed.split_last_mut() else { return };
    for (series, part) in each.iter_mut().zip(&window.operations) {
        series.add(window.number, part);
        all.add(window.number, part);
    }
}

impl OperationSeries {
    fn new(totals: &OperationTotals, spans: &[String]) -> Self {
        let kept = spans.iter().zip(&totals.spans).filter_map(|(name, times)| {
            let series = WindowSeries::new(Values::all(times).thresholds());
            Some((WindowSpan::of_span(name)?, series)).filter(|_| times.count() > 0)
        });
        Self {
            spans: kept.collect(),
            response: WindowSeries::new(Values::all(&totals.response_time).thresholds()),
            service: WindowSeries::new(Values::all(&totals.service_time).thresholds()),
            outcome: WindowSeries::new(Values::outcomes(totals).thresholds()),
        }
    }

    fn add(&mut self, number: u64, part: &OperationWindow) {
        let response = part.histogram(WindowSpan::ResponseTime);
        self.response.add(number, response, 0);
        self.service.add(number, part.histogram(WindowSpan::ServiceTime), 0);
        self.outcome.add(number, response, part.without_time());
        for (span, series) in &mut self.spans {
            series.add(number, part.histogram(*span), 0);
        }
    }

    /// The dispersions of a span: its own where windows keep it, else the greatest of those that it may share a queue
    /// with.
    fn span(&self, name: &str) -> Dispersions {
        let own = self.spans.iter().find(|(span, _)| span.name() == name);
        if let Some((_, series)) = own {
            return dispersions(series);
        }
        let mut greatest = dispersions(&self.service);
        for (_, series) in &self.spans {
            for (mine, theirs) in greatest.iter_mut().zip(dispersions(series)) {
                if theirs.phi > mine.phi {
                    *mine = theirs;
                }
            }
        }
        greatest
    }
}

fn dispersions(series: &WindowSeries) -> Dispersions {
    std::array::from_fn(|place| series.dispersion(place))
}

fn put_together(
    input: &TrialInput<'_>,
    total: &OperationTotals,
    followed: &[OperationSeries],
) -> TrialSummary {
    let facts = input.trial;
    let parts = facts.totals.operations.iter().zip(followed);
    let operations = parts.map(|(totals, series)| operation(input, totals, series)).collect();
    let all = &followed[followed.len() - 1];
    TrialSummary {
        index: facts.index,
        block: facts.block,
        order: facts.order,
        started_at: facts.started_at.clone(),
        validity: Validity::Valid,
        reasons: Vec::new(),
        counts_for: CountsFor::Judgement,
        duet: facts.duet,
        window_ns: facts.window_ns,
        load: facts.load.clone(),
        phases: facts.phases,
        accounting: total.accounting(),
        rates: rates(facts, total),
        in_flight: facts.in_flight,
        operations,
        total: operation(input, total, all),
        journeys: Vec::new(),
        generator: generator(facts, total, &all.response),
        systems: facts.systems.clone(),
        observers: facts.observers.iter().map(observer).collect(),
        kernel: facts.kernel.clone(),
        first_failures: facts.first_failures.clone(),
        agents: Vec::new(),
        traces: facts.traces.clone(),
        replay: burstiness::of(facts),
    }
}

fn journey(input: &TrialInput<'_>, totals: &JourneyTotals, series: &OperationSeries) -> Journey {
    Journey { whole: operation(input, &totals.totals, series), steps: totals.steps.clone() }
}

/// Rates of the measure phase. Operations that ended in the drain do not count as completed, whether they succeeded
/// or failed.
fn rates(facts: &record::TrialFacts, total: &OperationTotals) -> Rates {
    let seconds = facts.phases.measure_ns as f64 / 1e9;
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    Rates {
        offered: per_second(total.planned),
        started: per_second(total.succeeded + total.failed + total.abandoned),
        completed: per_second(total.succeeded_in_time + total.failed_in_time),
        goodput: per_second(total.succeeded_in_time),
    }
}

fn operation(
    input: &TrialInput<'_>,
    totals: &OperationTotals,
    followed: &OperationSeries,
) -> Operation {
    let level = input.trial.confidence;
    let service = dispersions(&followed.service);
    let outcome = Values::outcomes(totals).at_level(level);
    let named = input.spans.iter().zip(&totals.spans).filter(|(_, span)| span.count() > 0);
    let kinds =
        record::FailureKind::ALL.iter().map(|kind| (kind.name(), totals.failures_of(*kind)));
    let failures = kinds.filter(|(_, count)| *count > 0);
    Operation {
        name: totals.name.clone(),
        planned: totals.planned,
        succeeded: totals.succeeded,
        failed: totals.failed,
        abandoned: totals.abandoned,
        failures: failures.map(|(name, count)| (name.to_owned(), count)).collect(),
        statuses: totals.statuses.iter().map(|(code, count)| (code.to_string(), *count)).collect(),
        response_time: Values::all(&totals.response_time)
            .at_level(level)
            .describe(&dispersions(&followed.response)),
        service_time: Values::all(&totals.service_time).at_level(level).describe(&service),
        queue_wait: borrowed(&totals.queue_wait, &service, level),
        outcome_time: outcome.describe(&dispersions(&followed.outcome)),
        spans: named
            .map(|(name, span)| (name.clone(), borrowed(span, &followed.span(name), level)))
            .collect(),
        parts: Vec::new(),
        items: BTreeMap::new(),
        bytes_sent: totals.bytes_sent,
        bytes_received: totals.bytes_received,
    }
}

/// A distribution that is not kept by window borrows the dispersion of one that is and shares its queue: too wide an
/// interval is better than one that assumes independence.
fn borrowed(times: &Histogram, dispersions: &Dispersions, level: f64) -> Distribution {
    Values::all(times).at_level(level).describe(dispersions)
}

/// Names the items of an operation, in the order of its plan.
pub fn name_items(operation: &mut Operation, totals: &OperationTotals, names: &[String]) {
    let named = names.iter().zip(&totals.items);
    operation.items = named
        .map(|(name, item)| {
            let per_operation_mean =
                if item.count > 0 { item.sum / item.count as f64 } else { 0.0 };
            (name.clone(), Item { sum: item.sum, per_operation_mean, ranges: ranges(item) })
        })
        .collect();
}

/// Entry k holds numbers in [2^(k−1), 2^k). A percentile beyond the range of its histogram reads as the greatest
/// value.
fn ranges(item: &ItemTotals) -> Vec<ItemRange> {
    let range = |(&power, times): (&u32, &Histogram)| ItemRange {
        from: if power == 0 { 0.0 } else { 2_f64.powi(power as i32 - 1) },
        below: 2_f64.powi(power as i32),
        count: times.count(),
        p50_ns: times.quantile(0.5).unwrap_or(times.max()),
        p95_ns: times.quantile(0.95).unwrap_or(times.max()),
    };
    item.response_time.iter().map(range).collect()
}

/// An observer, with its delivery times read from the histogram that it sent. They are not kept by window, so a
/// quantile of them is at most indicative.
fn observer(facts: &Observer) -> Observer {
    let mut observer = facts.clone();
    let sent = observer.detail.get(DELIVERY_TIME).and_then(|value| value.as_str());
    if let Some(Ok(times)) = sent.map(hlog::decode) {
        let unknown = [Dispersion::independent(0); LISTED.len()];
        observer.delivery_time = Some(Values::all(&times).describe(&unknown));
        observer.detail.remove(DELIVERY_TIME);
    }
    observer
}

fn generator(
    facts: &record::TrialFacts,
    total: &OperationTotals,
    response: &WindowSeries,
) -> Generator {
    let seen = &facts.generator;
    let watched = seen.watched_ns.max(1) as f64;
    // The kernel charges a thread at ticks. In a very short phase that may give more than all of the time, so it is
    // capped.
    let busiest = |values: &[u64]| {
        let most = values.iter().copied().max().unwrap_or(0);
        (most as f64 / watched).min(1.0)
    };
    let p99 = total.response_time.quantile(0.99);
    Generator {
        cpu_ns: seen.worker_cpu_ns.iter().sum(),
        cpu_ratio: busiest(&seen.worker_cpu_ns),
        polled_ratio: Some(busiest(&seen.worker_polled_ns)).filter(|&ratio| ratio > 0.0),
        scheduling: seen.worker_scheduling.iter().max().copied(),
        dispatch_lag: borrowed(
            &facts.totals.dispatch_lag,
            &dispersions(response),
            facts.confidence,
        ),
        tail_share: p99.map_or_else(Default::default, |p99| facts.totals.tail.share_from(p99)),
        floor: None,
        others_cores: seen.programs_cpu_ns.map(|programs| {
            let processes = facts.systems.iter().flat_map(|system| &system.processes);
            let own = seen.process_cpu_ns + processes.map(|one| one.cpu_ns).sum::<u64>();
            programs.saturating_sub(own) as f64 / watched
        }),
        steal_ratio: seen.steal_ratio,
        throttled_ns: seen.throttled_ns,
        run_queue_ratio: busiest(&seen.worker_run_queue_ns),
        notes: seen.notes.clone(),
    }
}
