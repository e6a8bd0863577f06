//! The conduct of a run: trial after trial into the run folder, then the judgement of what lies there.
//!
//! Whatever ended is in the folder as a whole, so that a run that was stopped, or killed, can be gone
//! on with; which trial is next is decided by [`crate::agenda`]. The summary is made from the folder
//! alone, one trial at a time, whether all of it was measured just now or not.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drivers::AnyDriver;
use engine::conduct::{ConductError, Output, Setup, layout, run_trial};
use engine::process::{Launcher, ProcessError};
use engine::{EndSignal, StopSignal};
use plan::diagnostic::Colour;
use plan::experiment::Experiment;
use plan::plan::{Arm, TrialPlan};
use record::Window;
use record::event::{Event, EventKind};
use record::folder::{RunReader, TrialHeader, TrialWriter, write_facts};
use record::summary::{Run, Summary};
use report::criteria::gave_up;
use report::pages::wall_clock::measure_start_of;
use report::summarize::{Input, Summariser};

use crate::agenda::{self, Agenda, State};
use crate::disk::{Disk, unwritable};
use crate::early_end::EarlyEnd;
use crate::exit::Exit;
use crate::live::Live;
use crate::message::Problem;
use crate::redaction;

/// Raw samples of a worker that may wait for the disk: some 60 MB.
const SAMPLES_WAITING: u64 = 1 << 19;

/// Everything that a run needs beside its experiment.
pub struct Conduct<'a> {
    /// What is run.
    pub experiment: &'a Experiment,
    /// Where its record goes; trials that it holds already are kept.
    pub disk: &'a Disk,
    /// What is seen meanwhile.
    pub live: &'a mut Live,
    /// The user's wish to stop.
    pub stop: StopSignal,
    /// How processes are started.
    pub launcher: Launcher,
    /// Whether raw samples are kept.
    pub keep_samples: bool,
}

/// What became of a trial just now.
enum Ended {
    As(State),
    /// The run gave up meanwhile. Why, if that became known too late to cut the measure phase short.
    GivenUp(State, Option<String>),
    CouldNotBegin(Problem),
    /// The user stopped it before anything was sent.
    Stopped,
}

impl Conduct<'_> {
    /// Runs every trial of the plan that the folder lacks and judges what it then holds.
    ///
    /// An interrupted run is judged on the trials that were executed, and so is one in which a trial
    /// could not begin, even when its block was tried once more.
    ///
    /// Errors: no trial could begin, or the record cannot be written
    pub fn run(&mut self, run: Run) -> Result<Summary, Problem> {
        let plan = &self.experiment.plan;
        let before = self.states();
        let mut states = before.clone();
        let mut early_end = EarlyEnd::new(plan);
        let mut given_up = self.recall(&states, &mut early_end);
        let mut lost = None;
        while self.stop.requests() == 0 && !given_up {
            let agenda = Agenda::of(plan, &states);
            let Some(next) = agenda.trials.first() else { break };
            match self.trial(next, &agenda, &mut early_end)? {
                Ended::Stopped => break,
                Ended::GivenUp(state, late) => {
                    states.insert(next.index, state);
                    lost = late.map(|why| (next.clone(), why));
                    given_up = true;
                }
                Ended::As(state) => {
                    states.insert(next.index, state);
                    if !agenda.repeated.contains(&next.block)
                        && Agenda::of(plan, &states).repeated.contains(&next.block)
                    {
                        self.live.say(&format!("block {} is executed again", next.block));
                    }
                }
                Ended::CouldNotBegin(problem) if !states.values().any(|one| one.is_ended()) => {
                    return Err(problem);
                }
                Ended::CouldNotBegin(problem) => {
                    self.live.say(&format!("{problem}"));
                    states.insert(next.index, State::NotExecuted);
                    if agenda.repeated.contains(&next.block) || plan.trials.len() == 1 {
                        break;
                    }
                }
            }
            // A lone trial has nothing to be paired with, so however it ended it is not repeated.
            if plan.trials.len() == 1 {
                break;
            }
        }
        self.summary(run, &states, (&before, lost))
    }

    /// What became of the trials of the plan that the folder holds. It may hold others, of a search.
    fn states(&self) -> BTreeMap<u32, State> {
        let reader = RunReader::new(self.disk);
        let planned: BTreeSet<u32> =
            agenda::all(&self.experiment.plan).map(|trial| trial.index).collect();
        let begun = reader.trials().into_iter().filter(|trial| planned.contains(trial));
        let begun = begun.map(|trial| {
            let state = match reader.facts(trial) {
                Ok(facts) => state(&facts),
                Err(_) if refusal(&reader, trial).is_some() => State::NotExecuted,
                Err(_) => State::Unfinished,
            };
            (trial, state)
        });
        begun.collect()
    }

    /// Shows what may end the run early the trials that the folder holds; whether it had given up with one of them.
    fn recall(&self, states: &BTreeMap<u32, State>, early_end: &mut EarlyEnd<'_>) -> bool {
        let plan = &self.experiment.plan;
        let reader = RunReader::new(self.disk);
        let agenda = Agenda::of(plan, states);
        let counts = |trial: &TrialPlan| {
            states.get(&trial.index) == Some(&State::Whole)
                && !plan.is_aa(trial.block)
                && !agenda.is_superseded(plan, trial)
        };
        let mut given_up = false;
        for trial in agenda::all(plan).filter(counts) {
            let facts = reader.facts(trial.index).ok();
            given_up |= facts.is_some_and(|facts| gave_up(facts.early_end.as_ref()));
            early_end.recall(&trial, &|names, show| {
                // Trials that cannot be read are noticed when the run is judged.
                let _ = reader.visit_windows(trial.index, names, show);
            });
        }
        given_up
    }

    /// Judges what the folder holds, by number of the trial: what became of each, what had before this invocation, and
    /// with which whole trial the run gave up, and why.
    fn summary(
        &self,
        mut run: Run,
        states: &BTreeMap<u32, State>,
        (before, lost): (&BTreeMap<u32, State>, Option<(TrialPlan, String)>),
    ) -> Result<Summary, Problem> {
        let plan = &self.experiment.plan;
        let reader = RunReader::new(self.disk);
        let agenda = Agenda::of(plan, states);
        let mut summariser = Summariser::new(plan);
        for trial in agenda::all(plan).filter(|trial| states.contains_key(&trial.index)) {
            let superseded = agenda.is_superseded(plan, &trial);
            let fell = match reader.facts(trial.index) {
                Ok(facts) => {
                    run.machine.placement = facts.generator.placement.clone();
                    let died = facts.died.clone();
                    self.add(&mut summariser, facts, &trial, superseded)?;
                    died
                }
                Err(_) => refusal(&reader, trial.index),
            };
            match fell {
                Some(why) if superseded => summariser.repeated(&trial, &why),
                Some(why) if states[&trial.index] == State::NotExecuted => {
                    summariser.not_executed(&trial, &why);
                }
                _ => {}
            }
        }
        let standing = agenda.standing(plan, states);
        let kept = agenda.standing(plan, before).len();
        if kept > 0 && kept < standing.len() {
            summariser.resumed(kept);
        }
        if let Some((trial, why)) = lost.filter(|_| !agenda.trials.is_empty()) {
            summariser.gave_up(&trial, &why);
        }
        Ok(summariser.finish(run))
    }

    fn add(
        &self,
        summariser: &mut Summariser<'_>,
        mut facts: record::Trial,
        trial: &TrialPlan,
        superseded: bool,
    ) -> Result<(), Problem> {
        let arm = &self.experiment.plan.arms[trial.arm];
        // Stored redacted; by its own name it is found again.
        facts.arm.clone_from(&arm.name);
        let names = layout(arm, &driver(arm)?);
        let reader = RunReader::new(self.disk);
        let windows = |show: &mut dyn FnMut(&Window)| {
            reader.visit_windows(trial.index, &names.operations, show)
        };
        let input = Input { trial: &facts, spans: &names.spans, windows: &windows };
        let added =
            if superseded { summariser.add_superseded(input) } else { summariser.add(input) };
        added.map_err(|error| {
            Problem::environment(format!("cannot read the windows back: {error}"))
                .during(format!("judging trial {}", trial.index))
        })
    }

    fn trial(
        &mut self,
        planned: &TrialPlan,
        agenda: &Agenda,
        early_end: &mut EarlyEnd<'_>,
    ) -> Result<Ended, Problem> {
        let arm = &self.experiment.plan.arms[planned.arm];
        let root = self.disk.root();
        let keep = |error: io::Error| unwritable(root, &error);
        let setup = Setup {
            driver: Arc::new(driver(arm)?),
            arm,
            trial: planned,
            wall_clock: instant_text(),
            calendar: instant_text,
            keep_samples: self.keep_samples.then_some(SAMPLES_WAITING),
            stop: self.stop.clone(),
            end: EndSignal::new(),
        };
        let mut watch = early_end.watch(planned, setup.window_ns(), &setup.end);
        let mut writer = TrialWriter::new(self.disk, header(&setup)).map_err(keep)?;
        self.live.trial(&self.experiment.plan, agenda);
        let (live, stop) = (&mut *self.live, &self.stop);
        let secrets = &self.experiment.plan.secrets;
        let mut written = Ok(());
        let executed = run_trial(&setup, &self.launcher, &mut |output| {
            watch.see(&output);
            if written.is_ok() {
                written = store(&mut writer, live, redaction::of_output(output, secrets));
                if written.is_err() {
                    // There is nowhere to put what would still be measured.
                    stop.request();
                    stop.request();
                }
            }
        });
        self.live.clear();
        written.map_err(keep)?;
        let executed = match executed {
            Ok(mut executed) => {
                executed.confidence = early_end.confidence().unwrap_or(executed.confidence);
                redaction::of_facts(executed, secrets)
            }
            Err(ConductError::Process(ProcessError::Interrupted { .. })) => {
                return Ok(Ended::Stopped);
            }
            Err(error) => {
                let problem = redaction::of_problem(self.not_executed(&error, planned), secrets);
                let kind = EventKind::NotExecuted { reason: problem.what.clone() };
                writer.event(&Event { at_ns: 0, kind }).map_err(keep)?;
                return Ok(Ended::CouldNotBegin(problem));
            }
        };
        writer.finish(&executed.totals).map_err(keep)?;
        write_facts(self.disk, &executed).map_err(keep)?;
        let state = state(&executed);
        let wish = setup.end.reason().filter(|wish| gave_up(Some(wish)));
        Ok(match wish.filter(|_| executed.died.is_none()) {
            Some(wish) => {
                let late = executed.early_end.is_none().then(|| secrets.redact(&wish.why));
                Ended::GivenUp(state, late)
            }
            None => Ended::As(state),
        })
    }

    fn not_executed(&self, error: &ConductError, planned: &TrialPlan) -> Problem {
        let problem = match error {
            ConductError::Compile(problems) => {
                let text = self.experiment.sources.render(problems, Colour::Off);
                return Problem::experiment(text);
            }
            ConductError::Process(process @ ProcessError::Interrupted { .. }) => {
                Problem { exit: Exit::Undecided, ..Problem::environment(process.to_string()) }
            }
            ConductError::Process(process) => {
                let problem = Problem::environment(process.to_string());
                match process.hint() {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            ConductError::Target(target) => Problem::target(target),
            ConductError::Generator(_) => Problem::environment(error.to_string()),
        };
        problem.during(format!("starting trial {}", planned.index))
    }
}

fn state(facts: &record::Trial) -> State {
    match facts {
        facts if facts.interrupted => State::Unfinished,
        facts if facts.died.is_some() => State::Spoiled,
        _ => State::Whole,
    }
}

/// Why a trial could not begin, if it could not.
fn refusal(reader: &RunReader<'_>, trial: u32) -> Option<String> {
    let mut events = reader.events(trial).ok()?.filter_map(Result::ok);
    events.find_map(|event| match event.kind {
        EventKind::NotExecuted { reason } => Some(reason),
        _ => None,
    })
}

fn store(writer: &mut TrialWriter<'_>, live: &mut Live, output: Output) -> io::Result<()> {
    match output {
        Output::Event(event) => {
            live.event(&event);
            if let Some(start_ns) = measure_start_of(&event) {
                writer.date(u64::try_from(start_ns / 1_000_000).unwrap_or(0))?;
            }
            writer.event(&event)
        }
        Output::Window(window) => writer.window(&window),
        Output::Samples(samples) => writer.samples(&samples),
    }
}

/// What the files of a trial begin with.
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

/// The driver of the arm's protocol.
pub fn driver(arm: &Arm) -> Result<AnyDriver, Problem> {
    let mut names: Vec<&str> = arm.operations.iter().map(|one| one.protocol.as_str()).collect();
    names.dedup();
    match names[..] {
        [name] => AnyDriver::named(name)
            .ok_or_else(|| Problem::usage(format!("no protocol is called \"{name}\""))),
        _ => Err(Problem::usage("one arm speaks one protocol, and this one names several")),
    }
}

/// The wall clock, RFC 3339, UTC.
pub fn now_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same to the microsecond.
fn instant_text() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What starts a bundled system: this program.
///
/// Errors: the program's own path cannot be found
pub fn launcher() -> Result<Launcher, Problem> {
    let own = std::env::current_exe().map_err(|error| {
        Problem::environment(format!("cannot find the program's own file: {error}"))
    })?;
    let serve = vec![own.display().to_string(), "serve".to_owned()];
    Ok(Launcher::new(serve, std::env::temp_dir(), Vec::new()))
}
