//! The state of a run as far as it is known: made from events and windows, shown by any screen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use judge::criteria::fail_fast::FailFast;
use judge::criteria::precision::Precision;
use pages::tables::Table;
use plan::criterion::{Criterion, Metric, Time};
use plan::plan::{Plan, TrialPlan};
use record::event::{Event, EventKind, Lateness, Phase, Progress};
use record::summary::Model;
use record::{FailureKind, Window, WindowSpan};

use crate::audience::News;
use crate::outlook;
use crate::second::{Known, Tally};

/// Seconds that are shown.
pub const SECONDS: u64 = 60;
/// Notes that are kept.
const NOTES: usize = 50;
/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// A trial, before it begins.
#[derive(Debug, Clone)]
pub struct TrialHead {
    /// Name of the run's folder.
    pub run: String,
    /// What the plan says of it.
    pub trial: TrialPlan,
    /// Number of the trial, and of all trials.
    pub number: (u32, u32),
    /// Number of the block, and of all blocks.
    pub block: (u32, u32),
    /// Name of its arm.
    pub arm: String,
    /// Model of the load.
    pub model: Model,
    /// Length of the recorded windows.
    pub window_ns: u64,
    /// Length of the measure phase; `None` where a number of operations ends it.
    pub measure_ns: Option<u64>,
    /// Planned length of the trials after it, if it is known.
    pub later_ns: Option<u64>,
    /// Names of operations, then of journeys, as in windows.
    pub operations: Vec<String>,
    /// Of journeys.
    pub journeys: Vec<String>,
}

/// One operation or journey of the trial, since the measure phase began.
#[derive(Debug, Clone)]
pub struct PartShown {
    /// Its name.
    pub name: String,
    /// Due.
    pub planned: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended badly, by kind.
    pub failures: BTreeMap<FailureKind, u64>,
    /// Never begun, or abandoned.
    pub missed: u64,
    /// Median and 99th percentile.
    pub quantiles: [Known; 2],
}

/// The operations that were due in one second.
#[derive(Debug, Clone)]
pub struct SecondShown {
    /// The second, from the start of the measure phase.
    pub at: u64,
    /// Due.
    pub planned: u64,
    /// Of those, ended well.
    pub succeeded: u64,
    /// Of those, ended badly, by kind.
    pub failures: BTreeMap<FailureKind, u64>,
    /// Of those, never begun or abandoned.
    pub missed: u64,
    /// Of those, waiting for an answer.
    pub unanswered: u64,
    /// For at least so long.
    pub waited_ns: u64,
    /// At each of [`QUANTILES`].
    pub quantiles: [Known; 4],
}

/// A criterion, as far as it is known.
#[derive(Debug, Clone)]
pub struct CriterionShown {
    /// As written.
    pub criterion: String,
    /// Why it can no longer be met, if it cannot.
    pub lost: Option<String>,
    /// What was seen of it, with the interval, and what it needs to be decided.
    pub seen: String,
}

impl PartShown {
    /// Ended badly, never begun, or abandoned.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum::<u64>() + self.missed
    }
}

/// What is shown of each second.
pub const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 1.0];

/// A run while it goes on.
#[derive(Debug)]
pub struct RunView {
    /// Title of the experiment.
    pub title: String,
    /// Where the run is shown in browsers, if it is.
    pub link: Option<String>,
    /// The trial that runs; the first one of a duet.
    pub head: Option<TrialHead>,
    /// Its phase, and when that began.
    pub phase: (Phase, i64),
    /// Whether the user asked to stop.
    pub is_stopping: bool,
    /// The latest instant of the trial that an event has named.
    pub now_ns: i64,
    /// The instant to which open windows are known.
    known_ns: u64,
    /// Its last progress.
    pub progress: Progress,
    /// How late the generator was in this trial.
    pub lateness: Lateness,
    /// Closed windows of the last minute, by second.
    closed: BTreeMap<u64, Tally>,
    /// Windows that are not complete, by number.
    open: BTreeMap<u64, Window>,
    /// Operations of closed windows, then journeys.
    parts: Vec<Tally>,
    /// Seconds that have changed since they were shown.
    changed: BTreeSet<u64>,
    /// The last minute, by second.
    pub seconds: BTreeMap<u64, SecondShown>,
    /// Operations, then journeys.
    pub shown: Vec<PartShown>,
    /// What happened, the latest last.
    pub notes: VecDeque<String>,
    /// How criteria stand in the arm of this trial.
    pub criteria: Vec<CriterionShown>,
    /// Tables of what earlier trials say.
    pub tables: Vec<Table>,
    plan: Arc<Plan>,
    fail_fast: FailFast,
    /// Of the trial that runs.
    precision: Option<Precision>,
    /// Whether windows have closed since criteria were shown.
    closed_more: bool,
}

impl RunView {
    /// Before the first trial.
    pub fn new(plan: &Arc<Plan>) -> Self {
        Self {
            title: plan.secrets.redact(&plan.title),
            link: None,
            plan: Arc::clone(plan),
            fail_fast: FailFast::new(plan),
            precision: None,
            closed_more: false,
            head: None,
            phase: (Phase::Launch, 0),
            is_stopping: false,
            now_ns: 0,
            known_ns: 0,
            progress: Progress::default(),
            lateness: Lateness::default(),
            closed: BTreeMap::new(),
            open: BTreeMap::new(),
            parts: Vec::new(),
            changed: BTreeSet::new(),
            seconds: BTreeMap::new(),
            shown: Vec::new(),
            notes: VecDeque::new(),
            criteria: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Takes note of what happened.
    pub fn take(&mut self, news: &News) {
        match news {
            News::Begin(head, plan) => self.begin(TrialHead::clone(head), plan),
            News::Event(event) => self.event(event),
            News::Window(window) => self.window(window),
            News::Open(windows, until_ns) => self.open(windows, *until_ns),
            News::Note(text) => self.note(text),
            News::Tables(tables) => self.tables.clone_from(tables),
            News::Beside(..) | News::Slowest(_) => {}
        }
    }

    /// A trial begins. Its plan is another one in the next step of a search.
    fn begin(&mut self, head: TrialHead, plan: &Arc<Plan>) {
        if !Arc::ptr_eq(plan, &self.plan) {
            self.plan = Arc::clone(plan);
            self.title = plan.secrets.redact(&plan.title);
            self.fail_fast = FailFast::new(plan);
        }
        self.parts = vec![Tally::default(); head.operations.len() + head.journeys.len()];
        self.shown.clear();
        self.seconds.clear();
        self.changed.clear();
        self.fail_fast.begin(std::slice::from_ref(&head.trial), head.window_ns);
        self.precision = plan.arms.get(head.trial.arm).map(|arm| Precision::new(plan, arm));
        self.closed_more = true;
        self.phase = (Phase::Launch, 0);
        self.now_ns = 0;
        self.known_ns = 0;
        self.progress = Progress::default();
        self.lateness = Lateness::default();
        self.closed.clear();
        self.open.clear();
        self.head = Some(head);
    }

    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::PhaseEntered { phase } => self.phase = (*phase, event.at_ns),
            EventKind::Interrupted => self.is_stopping = true,
            EventKind::Progress(progress) => {
                self.now_ns = event.at_ns;
                self.lateness.add(progress.lateness);
                self.progress = progress.clone();
            }
            _ => {}
        }
    }

    fn window(&mut self, window: &Window) {
        let Some(head) = &self.head else { return };
        let (span, second, arm) = (self.span(), self.second(window.number), head.trial.arm);
        self.open.remove(&window.number);
        self.closed.entry(second).or_default().add(window, span);
        self.changed.insert(second);
        while self.closed.len() > SECONDS as usize {
            self.closed.pop_first();
        }
        let own = window.operations.iter().chain(&window.journeys);
        for (part, own) in self.parts.iter_mut().zip(own) {
            part.add_operation(own, span);
        }
        let _ = self.fail_fast.add(arm, window);
        self.precision.iter_mut().for_each(|precision| precision.add(window));
        self.closed_more = true;
    }

    fn open(&mut self, windows: &[Window], until_ns: i64) {
        self.known_ns = u64::try_from(until_ns).unwrap_or(0);
        self.open.extend(windows.iter().map(|window| (window.number, window.clone())));
        while self.open.len() > 10 * SECONDS as usize {
            self.open.pop_first();
        }
    }

    fn note(&mut self, text: &str) {
        self.notes.extend(text.lines().map(str::to_owned));
        while self.notes.len() > NOTES {
            self.notes.pop_front();
        }
    }

    /// Brings what is shown up to date. Returns the seconds that have changed.
    pub fn refresh(&mut self) -> Vec<u64> {
        self.shown = self.parts_shown();
        if std::mem::take(&mut self.closed_more) {
            self.criteria = self.criteria_shown();
        }
        self.refresh_seconds()
    }

    /// The same for seconds alone, of which a minute is kept.
    pub fn refresh_seconds(&mut self) -> Vec<u64> {
        let mut open: BTreeMap<u64, Tally> = BTreeMap::new();
        for window in self.open.values() {
            let second = self.second(window.number);
            open.entry(second).or_default().add(window, self.span());
        }
        let mut changed = std::mem::take(&mut self.changed);
        changed.extend(open.keys());
        // The drain has windows, too, in which nothing was due: these would look like a drop of the rate.
        let measured = self.head.as_ref().and_then(|head| head.measure_ns);
        changed.retain(|at| measured.is_none_or(|measured| at * SECOND_NS < measured));
        for &at in &changed {
            let mut tally = open.remove(&at).unwrap_or_default();
            self.closed.get(&at).into_iter().for_each(|closed| tally.merge(closed));
            self.seconds.insert(at, self.second_shown(at, tally));
        }
        while self.seconds.len() > SECONDS as usize {
            self.seconds.pop_first();
        }
        changed.into_iter().collect()
    }

    fn second_shown(&self, at: u64, tally: Tally) -> SecondShown {
        let waited_ns = self.known_ns.saturating_sub((at + 1) * SECOND_NS);
        SecondShown {
            at,
            planned: tally.planned,
            succeeded: tally.succeeded,
            missed: tally.missed,
            unanswered: tally.unanswered(),
            waited_ns,
            quantiles: QUANTILES.map(|q| tally.quantile(q, waited_ns)),
            failures: tally.failures,
        }
    }

    fn criteria_shown(&self) -> Vec<CriterionShown> {
        let Some(head) = &self.head else { return Vec::new() };
        let standings = self.fail_fast.standings(head.trial.arm).into_iter();
        let shown = standings.map(|one| {
            let mut own = self.plan.criteria.iter();
            let own = own.find(|criterion| criterion.text == one.criterion);
            let known = own.zip(self.precision.as_ref()).and_then(|(criterion, precision)| {
                outlook::of(criterion, &precision.of(criterion)?)
            });
            let seen = known.unwrap_or(one.seen);
            CriterionShown { criterion: one.criterion, lost: one.lost, seen }
        });
        shown.collect()
    }

    /// Bounds of criteria on the time that is shown, in nanoseconds, with the criterion.
    pub fn limits(&self) -> impl Iterator<Item = (&str, f64)> {
        let span = self.span();
        let shown = move |criterion: &&Criterion| {
            let is_time = matches!(criterion.metric, Metric::Quantile(_) | Metric::Max);
            is_time
                && match criterion.time {
                    Time::Response => span == WindowSpan::ResponseTime,
                    Time::Service => span == WindowSpan::ServiceTime,
                    Time::QueueWait | Time::Span(_) => false,
                }
        };
        let own = self.plan.criteria.iter().filter(shown);
        own.map(|criterion| (criterion.text.as_str(), criterion.bound))
    }

    fn parts_shown(&self) -> Vec<PartShown> {
        let Some(head) = &self.head else { return Vec::new() };
        let mut parts = self.parts.clone();
        for window in self.open.values() {
            let own = window.operations.iter().chain(&window.journeys);
            for (part, own) in parts.iter_mut().zip(own) {
                part.add_operation(own, self.span());
            }
        }
        // Those that wait were due in the oldest open window at the earliest, and in the newest at the latest.
        let newest = self.open.keys().next_back().map_or(0, |number| self.second(*number) + 1);
        let waited_ns = self.known_ns.saturating_sub(newest * SECOND_NS);
        let names = head.operations.iter().chain(&head.journeys);
        let shown = |(name, tally): (&String, Tally)| PartShown {
            name: name.clone(),
            planned: tally.planned,
            succeeded: tally.succeeded,
            missed: tally.missed,
            quantiles: [0.5, 0.99].map(|q| tally.quantile(q, waited_ns)),
            failures: tally.failures,
        };
        names.zip(parts).map(shown).collect()
    }

    /// Whether a criterion can no longer be met.
    pub fn is_lost(&self) -> bool {
        self.criteria.iter().any(|one| one.lost.is_some())
    }

    /// The time that is shown: a closed load waits for its answers, so response time says nothing there.
    pub fn span(&self) -> WindowSpan {
        self.head.as_ref().map_or(WindowSpan::ResponseTime, |head| head.model.judged_by())
    }

    fn second(&self, window: u64) -> u64 {
        let length = self.head.as_ref().map_or(SECOND_NS, |head| head.window_ns);
        window.saturating_mul(length) / SECOND_NS
    }
}
