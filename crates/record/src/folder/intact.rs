//! Whether the files of a finished trial fit together: a copy that is cut off or changed must not pass for a whole one.

use super::{RunReader, names};
use crate::event::EventKind;
use crate::{Layout, OperationTotals, RecordError, TrialFacts, Window, WindowSpan};
use stats::{FINE, Histogram};

/// More operations, bytes or nanoseconds than a trial can have; sums over many shares stay far from overflow.
const MOST: u64 = 1 << 48;
/// More windows than a trial can have: a year of seconds.
const MOST_WINDOWS: u64 = 1 << 25;

impl RunReader<'_> {
    /// The facts of a trial whose files fit together, and which has this layout.
    ///
    /// Cost: reads all events and windows
    ///
    /// Errors: a file cannot be read, or contradicts another one
    pub fn intact_facts(&self, trial: u32, layout: &Layout) -> Result<TrialFacts, RecordError> {
        let facts = self.facts(trial)?;
        let flawed = |file: String, problem: String| RecordError::Contradictory { file, problem };
        if let Some(problem) = flaw(&facts, trial, layout) {
            return Err(flawed(names::facts(trial), problem));
        }
        let mut counts: Vec<[u64; 4]> = vec![[0; 4]; layout.len()];
        let mut is_finished = false;
        for event in self.events(trial)? {
            match event?.kind {
                EventKind::WindowClosed(closed) => {
                    if closed.window > MOST_WINDOWS {
                        let problem = format!("there is no window {}", closed.window);
                        return Err(flawed(names::events(trial), problem));
                    }
                    let window = Window::of_counts(&closed);
                    for (sums, part) in
                        counts.iter_mut().zip(window.operations.iter().chain(&window.journeys))
                    {
                        let own = [part.planned, part.succeeded, part.failed_total(), part.missed];
                        sums.iter_mut()
                            .zip(own)
                            .for_each(|(sum, own)| *sum = sum.saturating_add(own));
                    }
                }
                EventKind::TrialFinished { .. } => is_finished = true,
                _ => {}
            }
        }
        if !is_finished {
            return Err(flawed(names::events(trial), "it ends before the trial does".to_owned()));
        }
        for (place, sums) in counts.iter().enumerate() {
            let totals = facts.totals.part(place);
            let own =
                [totals.planned, totals.succeeded, totals.failed, totals.missed + totals.abandoned];
            if *sums != own {
                let problem = format!(
                    "its windows have {} planned of `{}`, and {} has {}",
                    sums[0],
                    totals.name,
                    names::facts(trial),
                    totals.planned
                );
                return Err(flawed(names::events(trial), problem));
            }
        }
        self.same_times(trial, &facts, layout)?;
        Ok(facts)
    }

    /// Errors: the histograms of windows have other values than those of the trial
    fn same_times(
        &self,
        trial: u32,
        facts: &TrialFacts,
        layout: &Layout,
    ) -> Result<(), RecordError> {
        let mut counts = vec![0_u64; layout.len()];
        let flawed =
            |problem: String| RecordError::Contradictory { file: names::windows(trial), problem };
        for quantity in self.windows(trial)? {
            let quantity = quantity?;
            if quantity.length_ns == 0 || quantity.start_ns / quantity.length_ns > MOST_WINDOWS {
                return Err(flawed(format!("a window cannot start at {} ns", quantity.start_ns)));
            }
            let place = (0..layout.len()).find(|&at| layout.name(at) == quantity.operation);
            if let (Some(place), WindowSpan::ResponseTime) = (place, quantity.span) {
                counts[place] = counts[place].saturating_add(quantity.histogram.count());
            }
        }
        for (place, count) in counts.into_iter().enumerate() {
            let totals = facts.totals.part(place);
            let whole = totals.response_time.count();
            if count != whole {
                return Err(flawed(format!(
                    "it has {count} times of `{}`, and the trial {whole}",
                    totals.name
                )));
            }
        }
        Ok(())
    }
}

/// What is wrong with the facts of a trial, if something is.
fn flaw(facts: &TrialFacts, trial: u32, layout: &Layout) -> Option<String> {
    if facts.index != trial {
        return Some(format!("it is of trial {}", facts.index));
    }
    let totals = &facts.totals;
    let names = totals.operations.iter().map(|one| &one.name);
    let names = names.chain(totals.journeys.iter().map(|one| &one.totals.name));
    if !names.eq((0..layout.len()).map(|place| layout.name(place))) {
        return Some("its operations are not those of the plan".to_owned());
    }
    let steps = totals.journeys.iter().zip(&layout.journeys);
    let is_alike = |(own, planned): (&crate::JourneyTotals, &crate::JourneyLayout)| {
        own.steps.iter().map(|step| &step.name).eq(&planned.steps)
    };
    if totals.journeys.len() != layout.journeys.len() || !steps.into_iter().all(is_alike) {
        return Some("its steps are not those of the plan".to_owned());
    }
    let parts = (0..layout.len()).map(|place| (place, totals.part(place)));
    for (place, part) in parts {
        let items = layout.items.get(place).map_or(0, Vec::len);
        if part.spans.len() != layout.spans.len() || part.items.len() != items {
            return Some(format!("`{}` has other spans or items than in the plan", part.name));
        }
        if let Some(problem) = unsound(part) {
            return Some(format!("`{}`: {problem}", part.name));
        }
    }
    let times = [facts.window_ns, facts.timeout_ns, facts.phases.measure_ns, facts.phases.drain_ns];
    let pool = &facts.pool;
    let pooled =
        [pool.connections_max, pool.connections_opened, pool.connections_lost, pool.waited];
    let generator = &facts.generator;
    let used = generator.worker_cpu_ns.iter().chain(&generator.worker_run_queue_ns);
    let used = used.chain([&generator.process_cpu_ns, &generator.watched_ns]).copied();
    let all = times.into_iter().chain(pooled).chain(used).chain([facts.in_flight.max]);
    if facts.window_ns == 0 || all.into_iter().any(|one| one > 1 << 62) {
        return Some("a time or count of it is out of range".to_owned());
    }
    let is_sane = |ratio: f64| ratio.is_finite() && ratio.abs() < 1e15;
    let ratios = [facts.in_flight.mean, generator.steal_ratio, generator.pressure_ratio];
    let is_confidence = (0.5..1.0).contains(&facts.confidence);
    if !ratios.into_iter().all(is_sane)
        || !is_confidence
        || facts.in_flight.max > MOST
        || facts.kernel.values().any(|delta| delta.unsigned_abs() > MOST)
        || facts.area_ns.unsigned_abs() > u128::from(u64::MAX) * u128::from(MOST)
        || [facts.load.connections, facts.load.workers].into_iter().any(|one| one > 1 << 24)
        || pooled.into_iter().any(|one| one > MOST)
        || generator.process_cpu_ns > 1 << 56
        || facts.load.offered_rate.is_some_and(|rate| !(0.0..1e12).contains(&rate))
    {
        return Some("a figure of it is out of range".to_owned());
    }
    histogram_flaw(&totals.dispatch_lag)
}

/// Why the totals of an operation contradict themselves, if they do.
fn unsound(part: &OperationTotals) -> Option<String> {
    let counts = [part.planned, part.missed, part.succeeded, part.failed, part.abandoned];
    let more =
        [part.succeeded_in_time, part.failed_in_time, part.before.planned, part.before.succeeded];
    let statuses = part.statuses.values().chain(&part.failures).copied();
    let steps = counts.into_iter().chain(more).chain(statuses);
    if steps.into_iter().any(|count| count > MOST)
        || part.bytes_sent > 1 << 60
        || part.bytes_received > 1 << 60
        || part.unsuccessful_ns > u128::from(u64::MAX) * u128::from(MOST)
    {
        return Some("a count is out of range".to_owned());
    }
    let [planned, missed, succeeded, failed, abandoned] = counts;
    if planned != missed + succeeded + failed + abandoned {
        return Some(format!("{planned} planned operations are not all accounted for"));
    }
    if part.response_time.count() != succeeded {
        let count = part.response_time.count();
        return Some(format!("{succeeded} succeeded, and {count} response times are known"));
    }
    let times = [&part.response_time, &part.service_time, &part.queue_wait];
    times.into_iter().chain(&part.spans).find_map(histogram_flaw)
}

fn histogram_flaw(times: &Histogram) -> Option<String> {
    if times.grouping_power() != FINE {
        return Some("a histogram has the buckets of another kind".to_owned());
    }
    let most = u128::from(times.count()) * u128::from(times.max());
    let is_sound = times.count() <= MOST && times.sum() <= most.max(u128::from(times.max()));
    (!is_sound).then(|| "a histogram contradicts itself".to_owned())
}
