//! Executes a run: one trial after another into the run folder, then judges the contents of the folder.
//!
//! Every finished trial is stored completely, so that a stopped or killed run can be resumed; [`crate::agenda`]
//! decides which trial is next. The summary is made from the folder alone, one trial at a time, even if this
//! invocation measured all trials.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drivers::AnyDriver;
use engine::process::ProcessError;
use engine::trial::{Setup, Start, TrialError, TrialOutput};
use engine::{EndSignal, StopSignal};
use judge::case::gave_up;
use pages::tables;
use pages::wall_clock::measure_start_of;
use plan::diagnostic::Colour;
use plan::experiment::Experiment;
use plan::plan::{Arm, Plan, TrialPlan};
use record::event::{Event, EventKind};
use record::folder::{RunReader, TrialHeader, TrialWriter, write_facts};
use record::summary::{Run, Summary};

use crate::Exit;
use crate::agenda::{self, Agenda, TrialOutcome};
use crate::cli::{GeneratorFlags, RecordFlags};
use crate::crew::{Crew, NotPerformed};
use crate::disk::{Disk, unwritable};
use crate::early_end::EarlyEndRules;
use crate::judging::{JudgedFolder, TrialOutcomes, state};
use crate::live::LiveView;
use crate::problem::Problem;
use crate::redaction;
use crate::sharing::{ShareRun, without_judgement};

/// Raw samples of a worker that may wait for the disk: some 60 MB.
const SAMPLES_WAITING: u64 = 1 << 19;

/// Options of every trial of a run.
#[derive(Debug, Clone, Copy)]
pub struct TrialOptions {
    /// Whether raw samples are kept.
    pub keep_samples: bool,
    /// Whether workers ask the kernel for real-time scheduling.
    pub real_time: bool,
    /// What this machine performs.
    pub share_run: ShareRun,
}

impl TrialOptions {
    /// The options that the flags select.
    pub fn of(record: RecordFlags, generator: GeneratorFlags, share_run: ShareRun) -> Self {
        Self { keep_samples: record.samples, real_time: !generator.no_realtime, share_run }
    }
}

/// A run and everything that it needs.
pub struct Execution<'a> {
    /// The experiment to run.
    pub experiment: &'a Experiment,
    /// Where the record goes; trials in it are kept.
    pub disk: &'a Disk,
    /// What is seen meanwhile.
    pub live: &'a mut LiveView,
    /// The user's signal to stop.
    pub stop: StopSignal,
    /// Who performs the trials.
    pub crew: &'a dyn Crew,
    /// Options of every trial.
    pub options: TrialOptions,
}

/// Outcome of the trials that were just executed: one, or both of a duet.
enum TrialsEnded {
    Trials(Vec<TrialOutcome>),
    /// The run gave up. The second field is the trial that caused it and the reason, if that was known too late to end
    /// the measure phase early.
    GivenUp(Vec<TrialOutcome>, Option<(TrialPlan, record::EarlyEnd)>),
    CouldNotBegin(Problem),
    /// The user stopped the run before anything was sent.
    Stopped,
}

impl Execution<'_> {
    /// Runs every trial of the plan that the folder lacks, and judges all of its trials.
    ///
    /// Judges an interrupted run on the trials that were executed. The same applies if a trial could not begin, even
    /// in the repetition of its block.
    ///
    /// Errors: no trial could begin, or the record cannot be written
    pub fn run(&mut self, run: Run) -> Result<Summary, Problem> {
        let plan = &self.experiment.plan;
        let before = self.folder().states();
        let mut states = before.clone();
        let mut early_end = EarlyEndRules::new(plan);
        let mut given_up = self.recall(&states, &mut early_end);
        let mut lost = None;
        while self.stop.requests() == 0 && !given_up {
            let agenda = self.agenda(&states);
            let numbers = agenda.next().iter().map(|trial| trial.index);
            let Some(next) = agenda.trials.first() else { break };
            match self.together(&agenda, &mut early_end)? {
                TrialsEnded::Stopped => break,
                TrialsEnded::GivenUp(ended, late) => {
                    states.extend(numbers.zip(ended));
                    lost = late;
                    given_up = true;
                }
                TrialsEnded::Trials(ended) => {
                    states.extend(numbers.zip(ended));
                    if !agenda.repeated.contains(&next.block)
                        && self.agenda(&states).repeated.contains(&next.block)
                    {
                        self.live.say(&format!("block {} is executed again", next.block));
                    }
                    self.compare_so_far(&run, &states, &before)?;
                }
                TrialsEnded::CouldNotBegin(problem)
                    if !states.values().any(|one| one.is_ended()) =>
                {
                    return Err(problem);
                }
                TrialsEnded::CouldNotBegin(problem) => {
                    self.live.say(&format!("{problem}"));
                    states.extend(numbers.map(|number| (number, TrialOutcome::NotExecuted)));
                    if agenda.repeated.contains(&next.block) || plan.trials.len() == 1 {
                        break;
                    }
                }
            }
            // A single trial has no pair, so it is never repeated.
            if plan.trials.len() == 1 {
                break;
            }
        }
        let outcomes =
            TrialOutcomes { states: &states, before: &before, agenda: self.agenda(&states), lost };
        match self.options.share_run.is_shared() {
            true => {
                let plan = without_judgement(plan);
                JudgedFolder { plan: &plan, disk: self.disk }.summary(run, outcomes)
            }
            false => self.folder().summary(run, outcomes),
        }
    }

    /// Shows what the comparisons say after the trials so far.
    fn compare_so_far(
        &mut self,
        run: &Run,
        states: &BTreeMap<u32, TrialOutcome>,
        before: &BTreeMap<u32, TrialOutcome>,
    ) -> Result<(), Problem> {
        if !self.live.shows_tables() || self.experiment.plan.comparisons.is_empty() {
            return Ok(());
        }
        let agenda = self.agenda(states);
        let outcomes = TrialOutcomes { states, before, agenda, lost: None };
        let summary = self.folder().summary(run.clone(), outcomes)?;
        self.live.tables(|| tables::comparison::comparisons(&summary));
        Ok(())
    }

    fn folder(&self) -> JudgedFolder<'_> {
        JudgedFolder { plan: &self.experiment.plan, disk: self.disk }
    }

    /// The trials that remain. The other machines do not know of a trial that failed here, so a share repeats none.
    fn agenda(&self, states: &BTreeMap<u32, TrialOutcome>) -> Agenda {
        match self.options.share_run.is_shared() {
            true => Agenda::once(&self.experiment.plan, states),
            false => Agenda::of(&self.experiment.plan, states),
        }
    }

    /// Adds the trials in the folder to the early-end rules; returns whether the run gave up with one of them.
    fn recall(
        &self,
        states: &BTreeMap<u32, TrialOutcome>,
        early_end: &mut EarlyEndRules<'_>,
    ) -> bool {
        let plan = &self.experiment.plan;
        let reader = RunReader::new(self.disk);
        let agenda = Agenda::of(plan, states);
        let counts = |trial: &TrialPlan| {
            states.get(&trial.index) == Some(&TrialOutcome::Whole)
                && !plan.is_aa(trial.block)
                && !agenda.is_superseded(plan, trial)
        };
        let mut given_up = false;
        for trial in agenda::all(plan).filter(counts) {
            let facts = reader.facts(trial.index).ok();
            given_up |= facts.is_some_and(|facts| gave_up(facts.early_end.as_ref()));
            early_end.recall(&trial, &|names, show| {
                // If a trial cannot be read, judging the run reports it.
                let _ = reader.visit_windows(trial.index, names, show);
            });
        }
        given_up
    }

    /// Executes the next trial of the agenda, or both trials of a duet.
    fn together(
        &mut self,
        agenda: &Agenda,
        early_end: &mut EarlyEndRules<'_>,
    ) -> Result<TrialsEnded, Problem> {
        let root = self.disk.root();
        let keep = |error: io::Error| unwritable(root, &error);
        let planned = agenda.next();
        let setups = setups(&self.experiment.plan, planned, &self.stop, self.options)?;
        let Some(first) = setups.first() else { return Ok(TrialsEnded::Stopped) };
        let mut watch = early_end.watch(planned, first.window_ns(), &first.end);
        let writers = setups.iter().map(|setup| TrialWriter::new(self.disk, header(setup)));
        let mut writers: Vec<TrialWriter<'_>> = writers.collect::<io::Result<_>>().map_err(keep)?;
        self.live.trial(&self.experiment.plan, agenda);
        let (live, stop) = (&mut *self.live, &self.stop);
        let secrets = &self.experiment.plan.secrets;
        let mut written = Ok(());
        let executed = self.crew.perform(&setups, &mut |place, output| {
            watch.see(place, &output);
            if written.is_ok() {
                let output = redaction::of_output(output, secrets);
                written = store(&mut writers[place], live, place, output);
                if written.is_err() {
                    // The record cannot be written, so measuring on is useless.
                    stop.request();
                    stop.request();
                }
            }
        });
        self.live.clear();
        written.map_err(keep)?;
        match executed {
            Ok(executed) => {
                let lost = watch.lost().map(|(place, early)| (planned[place].clone(), early));
                self.keep(writers, executed, early_end.confidence(), lost).map_err(keep)
            }
            Err(NotPerformed::Trial(TrialError::Process(ProcessError::Interrupted { .. }))) => {
                Ok(TrialsEnded::Stopped)
            }
            Err(NotPerformed::Fleet(_)) if self.stop.requests() > 0 => Ok(TrialsEnded::Stopped),
            Err(error) => {
                let problem = self.not_executed(&error, &planned[0]);
                let problem = redaction::of_problem(problem, secrets);
                for writer in &mut writers {
                    let kind = EventKind::NotExecuted { reason: problem.what.clone() };
                    writer.event(&Event { at_ns: 0, kind }).map_err(keep)?;
                }
                Ok(TrialsEnded::CouldNotBegin(problem))
            }
        }
    }

    /// Stores trials that were executed at the same time. `lost` is the trial that makes the run give up, and why, if
    /// it does.
    fn keep(
        &mut self,
        writers: Vec<TrialWriter<'_>>,
        executed: Vec<record::TrialFacts>,
        confidence: Option<f64>,
        lost: Option<(TrialPlan, record::EarlyEnd)>,
    ) -> io::Result<TrialsEnded> {
        let secrets = &self.experiment.plan.secrets;
        let fell = executed.iter().any(|facts| facts.died.is_some());
        let late = executed.iter().all(|facts| facts.early_end.is_none());
        let mut states = Vec::new();
        for (place, (writer, mut facts)) in writers.into_iter().zip(executed).enumerate() {
            facts.confidence = confidence.unwrap_or(facts.confidence);
            let facts = redaction::of_facts(facts, secrets);
            if let Some(traces) = &facts.traces {
                self.live.slowest(place, &traces.slowest);
            }
            writer.finish(&facts.totals)?;
            write_facts(self.disk, &facts)?;
            states.push(state(&facts));
        }
        Ok(match lost.filter(|_| !fell) {
            Some((trial, mut early)) => {
                redaction::of_early_end(&mut early, secrets);
                TrialsEnded::GivenUp(states, late.then_some((trial, early)))
            }
            None => TrialsEnded::Trials(states),
        })
    }

    fn not_executed(&self, error: &NotPerformed, planned: &TrialPlan) -> Problem {
        let problem = match error {
            NotPerformed::Fleet(error) => Problem::fleet(error),
            NotPerformed::Trial(error) => self.trial_problem(error),
        };
        match problem.rendered {
            true => problem,
            false => problem.during(format!("starting trial {}", planned.index)),
        }
    }

    fn trial_problem(&self, error: &TrialError) -> Problem {
        match error {
            TrialError::Compile(problems) => {
                let text = self.experiment.sources.render(problems, Colour::Off);
                Problem::experiment(text)
            }
            TrialError::Process(process @ ProcessError::Interrupted { .. }) => {
                Problem { exit: Exit::Undecided, ..Problem::environment(process.to_string()) }
            }
            TrialError::Process(process) => {
                let problem = Problem::environment(process.to_string());
                match process.hint() {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            TrialError::Setup(failed) => {
                let what = self.experiment.plan.secrets.redact(&failed.to_string());
                Problem::environment(what)
                    .hint("`proofload check --try` shows its requests and answers")
            }
            TrialError::Target(target) => Problem::target(target),
            TrialError::TooLate { .. } => Problem::environment(error.to_string())
                .hint("perform all shares again with a later `--start-at`; between two trials, `[setup]` and `[teardown]` have a minute"),
            TrialError::Generator(_) | TrialError::CalledOff => {
                Problem::environment(error.to_string())
            }
        }
    }
}

/// The engine's setups for trials that begin at the same time.
fn setups<'t>(
    plan: &'t Plan,
    planned: &'t [TrialPlan],
    stop: &StopSignal,
    options: TrialOptions,
) -> Result<Vec<Setup<'t, AnyDriver>>, Problem> {
    let end = EndSignal::new();
    let setup = |trial: &'t TrialPlan| {
        let arm = &plan.arms[trial.arm];
        Ok(Setup {
            driver: Arc::new(driver(arm)?),
            arm,
            trial,
            wall_clock: instant_text(),
            calendar: instant_text,
            trace_share: plan.trace.as_ref().map(|trace| trace.share),
            keep_samples: options.keep_samples.then_some(SAMPLES_WAITING),
            real_time: options.real_time,
            share: options.share_run.share,
            start: options.share_run.starts(plan, trial).map_or(Start::Ready, Start::At),
            stop: stop.clone(),
            end: end.clone(),
        })
    };
    planned.iter().map(setup).collect()
}

/// `place` is the trial's place among the trials executed at the same time.
fn store(
    writer: &mut TrialWriter<'_>,
    live: &mut LiveView,
    place: usize,
    output: TrialOutput,
) -> io::Result<()> {
    match output {
        TrialOutput::Event(event) => {
            if let Some(start_ns) = measure_start_of(&event) {
                writer.date(u64::try_from(start_ns / 1_000_000).unwrap_or(0))?;
            }
            let written = writer.event(&event);
            match place {
                0 => live.event(&event),
                _ => live.beside(&event),
            }
            written
        }
        TrialOutput::Window(window) => {
            let written = writer.window(&window);
            match place {
                0 => live.window(window),
                _ => live.window_beside(window),
            }
            written
        }
        TrialOutput::Open { windows, until_ns } => {
            if place == 0 {
                live.open(windows, until_ns);
            }
            Ok(())
        }
        TrialOutput::Samples(samples) => writer.samples(&samples),
        TrialOutput::AllFailed(_) => Ok(()),
    }
}

/// The header of a trial's files.
fn header(setup: &Setup<'_, AnyDriver>) -> TrialHeader {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    TrialHeader {
        trial: setup.trial.index,
        start_ms: millis(since + Duration::from_nanos(setup.lead_ns())),
        window_ns: setup.window_ns(),
        layout: setup.layout(),
        samples: setup.keep_samples.is_some(),
    }
}

/// The driver of the arm's protocols.
pub fn driver(arm: &Arm) -> Result<AnyDriver, Problem> {
    let names = arm.operations.iter().map(|one| (one.protocol.as_str(), &one.table));
    AnyDriver::of(names).map_err(|name| Problem::usage(format!("no protocol is called \"{name}\"")))
}

/// The wall clock, RFC 3339, UTC.
pub fn now_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same to the microsecond.
pub fn instant_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
