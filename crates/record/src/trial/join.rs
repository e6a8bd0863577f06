//! Joins the facts of the shares of one trial to those of the whole.
//!
//! Counts, histograms and integrals add up exactly. What does not add up is a bound, and says so.

use std::collections::BTreeMap;

use super::{EarlyEnd, EndReason, GeneratorFacts, PoolFacts, TrialFacts};
use crate::summary::{InFlight, Load, Traces};

impl TrialFacts {
    /// The facts of the first share, to which others are added with [`join`](Self::join).
    #[must_use]
    pub fn begin_join(mut self, name: &str) -> Self {
        self.agent = None;
        self.died = self.died.map(|why| format!("{name}: {why}"));
        self.early_end = named(self.early_end, name);
        self.generator.programs_cpu_ns = None;
        for note in &mut self.generator.notes {
            *note = format!("{name}: {note}");
        }
        if self.interrupted {
            self.generator.notes.push(stopped(name, self.phases.measure_ns));
        }
        self
    }

    /// Adds the facts of another share of the same trial. `name` says whose they are, for notes.
    ///
    /// `in_flight.max` becomes the sum of the shares' maxima, which need not have been at one instant: an upper bound.
    ///
    /// Panics: if the totals have different layouts
    pub fn join(&mut self, other: Self, name: &str) {
        let integral = self.in_flight_integral() + other.in_flight_integral();
        self.phases.measure_ns = self.phases.measure_ns.max(other.phases.measure_ns);
        self.phases.drain_ns = self.phases.drain_ns.max(other.phases.drain_ns);
        self.in_flight = InFlight {
            mean: match self.phases.measure_ns {
                0 => 0.0,
                length => integral / length as f64,
            },
            max: self.in_flight.max + other.in_flight.max,
        };
        self.started_at = std::mem::take(&mut self.started_at).min(other.started_at);
        self.load.join(&other.load);
        self.totals.merge(&other.totals);
        self.area_ns += other.area_ns;
        self.pool = self.pool.joined(&other.pool);
        self.generator.join(other.generator, name);
        self.systems.extend(other.systems);
        self.observers.extend(other.observers);
        add(&mut self.kernel, other.kernel);
        self.samples_dropped += other.samples_dropped;
        if other.interrupted {
            self.generator.notes.push(stopped(name, other.phases.measure_ns));
        }
        self.interrupted |= other.interrupted;
        if self.died.is_none() {
            self.died = other.died.map(|why| format!("{name}: {why}"));
            self.died_as = other.died_as;
            self.died_at_ns = other.died_at_ns;
            self.last_words = other.last_words;
        }
        self.early_end = self.early_end.take().or_else(|| named(other.early_end, name));
        self.faults.extend(other.faults);
        for failure in other.first_failures {
            let same = |one: &crate::summary::FirstFailure| {
                (&one.operation, &one.kind) == (&failure.operation, &failure.kind)
            };
            if !self.first_failures.iter().any(same) {
                self.first_failures.push(failure);
            }
        }
        self.join_traces(other.traces);
        self.confidence = self.confidence.max(other.confidence);
    }

    fn join_traces(&mut self, other: Option<Traces>) {
        let by = self.load.model.judged_by();
        match (&mut self.traces, other) {
            (Some(traces), Some(other)) => traces.join(other, by),
            (None, Some(other)) => self.traces = Some(other),
            (_, None) => {}
        }
    }

    /// Operations times nanoseconds of the measure phase.
    fn in_flight_integral(&self) -> f64 {
        self.in_flight.mean * self.phases.measure_ns as f64
    }
}

impl Load {
    fn join(&mut self, other: &Self) {
        let sum = |mine: &mut Option<f64>, theirs: Option<f64>| {
            *mine = mine.zip(theirs).map(|(mine, theirs)| mine + theirs);
        };
        sum(&mut self.offered_rate, other.offered_rate);
        self.connections += other.connections;
        self.users = self.users.zip(other.users).map(|(mine, theirs)| mine + theirs);
        self.workers += other.workers;
    }
}

impl PoolFacts {
    /// Of both together. Neither shares its connections: they were saturated for as long as the worse of them.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let first = [self.saturated_first_ns, other.saturated_first_ns];
        Self {
            connections_max: self.connections_max + other.connections_max,
            connections_opened: self.connections_opened + other.connections_opened,
            connections_lost: self.connections_lost + other.connections_lost,
            waited: self.waited + other.waited,
            saturated_ns: self.saturated_ns.max(other.saturated_ns),
            saturated_first_ns: first.into_iter().flatten().min(),
            journeys_unconnected: self.journeys_unconnected + other.journeys_unconnected,
        }
    }
}

impl GeneratorFacts {
    /// Adds another generator: its workers come after those that are there; of what belongs to a machine, the worst.
    fn join(&mut self, other: Self, name: &str) {
        self.watched_ns = self.watched_ns.max(other.watched_ns);
        self.worker_cpu_ns.extend(other.worker_cpu_ns);
        self.worker_polled_ns.extend(other.worker_polled_ns);
        self.worker_scheduling.extend(other.worker_scheduling);
        self.worker_run_queue_ns.extend(other.worker_run_queue_ns);
        self.worker_involuntary_switches.extend(other.worker_involuntary_switches);
        self.process_cpu_ns += other.process_cpu_ns;
        self.rss_peak_bytes = self.rss_peak_bytes.max(other.rss_peak_bytes);
        // A sum over machines, of which nothing can be subtracted for one of them.
        self.programs_cpu_ns = None;
        self.steal_ratio = self.steal_ratio.max(other.steal_ratio);
        self.throttled_ns = self.throttled_ns.max(other.throttled_ns);
        self.pressure_ratio = self.pressure_ratio.max(other.pressure_ratio);
        self.timer_grain_ns = self.timer_grain_ns.max(other.timer_grain_ns);
        self.clock_read_ns = self.clock_read_ns.max(other.clock_read_ns);
        self.syn_linear_timeouts = self.syn_linear_timeouts.max(other.syn_linear_timeouts);
        let share = |(used, limit): (u64, u64)| used as f64 / limit.max(1) as f64;
        if share(other.file_descriptors) > share(self.file_descriptors) {
            self.file_descriptors = other.file_descriptors;
        }
        self.notes.extend(other.notes.into_iter().map(|note| format!("{name}: {note}")));
    }
}

fn stopped(name: &str, measured_ns: u64) -> String {
    format!("{name} was stopped after {:.1} s of the measure phase", measured_ns as f64 / 1e9)
}

/// A share that ended early by itself; what ended all of them is said once, by the first.
fn named(early: Option<EarlyEnd>, name: &str) -> Option<EarlyEnd> {
    let is_own = |early: &EarlyEnd| early.reason == EndReason::AllFailed;
    early.map(|early| match is_own(&early) {
        true => EarlyEnd { why: format!("{name}: {}", early.why), ..early },
        false => early,
    })
}

fn add(mine: &mut BTreeMap<String, i64>, theirs: BTreeMap<String, i64>) {
    for (counter, delta) in theirs {
        *mine.entry(counter).or_insert(0) += delta;
    }
}
