//! The conduct of a run: trial after trial into the run folder, then the judgement.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use drivers::AnyDriver;
use engine::conduct::{ConductError, Output, Setup, run_trial};
use engine::process::{Launcher, ProcessError};
use engine::{EndSignal, StopSignal};
use plan::diagnostic::Colour;
use plan::experiment::Experiment;
use plan::plan::{Arm, TrialPlan};
use record::folder::{RunReader, TrialHeader, TrialWriter};
use record::summary::{Run, Summary};
use record::{Layout, Window};
use report::criteria::gave_up;
use report::summarize::{Input, Summariser};

use crate::disk::{Disk, unwritable};
use crate::early_end::EarlyEnd;
use crate::exit::Exit;
use crate::live::Live;
use crate::message::Problem;
use crate::redaction;

/// Everything that a run needs beside its experiment.
pub struct Conduct<'a> {
    /// What is run.
    pub experiment: &'a Experiment,
    /// Where its record goes.
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

impl Conduct<'_> {
    /// Runs every trial of the plan and judges what came out.
    ///
    /// An interrupted run is judged on the trials that were executed.
    ///
    /// Errors: a trial could not begin, or the record cannot be written
    pub fn run(&mut self, run: Run) -> Result<Summary, Problem> {
        let plan = &self.experiment.plan;
        let mut run = run;
        let mut summariser = Summariser::new(plan);
        let mut early_end = EarlyEnd::new(plan);
        for trial in &plan.trials {
            if self.stop.requests() > 0 {
                break;
            }
            let Some((executed, layout)) = self.trial(trial, &mut early_end)? else { break };
            run.machine.placement = executed.generator.placement.clone();
            self.add(&mut summariser, &executed, &layout)?;
            if gave_up(executed.early_end.as_ref()) {
                break;
            }
        }
        Ok(summariser.finish(run))
    }

    fn add(
        &self,
        summariser: &mut Summariser<'_>,
        executed: &record::Trial,
        layout: &Layout,
    ) -> Result<(), Problem> {
        let reader = RunReader::new(self.disk);
        let windows = |show: &mut dyn FnMut(&Window)| {
            reader.visit_windows(executed.index, &layout.operations, show)
        };
        let input = Input { trial: executed, spans: &layout.spans, windows: &windows };
        summariser.add(input).map_err(|error| {
            Problem::environment(format!("cannot read the windows back: {error}"))
                .during(format!("judging trial {}", executed.index))
        })
    }

    /// One trial; `None` if the user stopped it before anything was sent.
    fn trial(
        &mut self,
        planned: &TrialPlan,
        early_end: &mut EarlyEnd<'_>,
    ) -> Result<Option<(record::Trial, Layout)>, Problem> {
        let arm = &self.experiment.plan.arms[planned.arm];
        let root = self.disk.root();
        let keep = |error: io::Error| unwritable(root, &error);
        let setup = Setup {
            driver: Arc::new(driver(arm)?),
            arm,
            trial: planned,
            wall_clock: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
            keep_samples: self.keep_samples,
            stop: self.stop.clone(),
            end: EndSignal::new(),
        };
        let mut watch = early_end.watch(planned, setup.window_ns(), &setup.end);
        let mut writer = TrialWriter::new(self.disk, header(&setup)).map_err(keep)?;
        let trials = self.experiment.plan.trials.len();
        let name = self.experiment.plan.secrets.redact(&arm.name);
        self.live.trial(planned.index, trials, name, &arm.load);
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
        let mut executed = match executed {
            Err(ConductError::Process(ProcessError::Interrupted { .. })) => return Ok(None),
            other => other.map_err(|error| self.not_executed(&error, planned))?,
        };
        executed.confidence = early_end.confidence().unwrap_or(executed.confidence);
        writer.finish(&executed.totals).map_err(keep)?;
        Ok(Some((executed, setup.layout())))
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
            ConductError::Target(target) => {
                let problem = Problem::environment(target.to_string());
                match target.hint() {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            ConductError::Generator(_) => Problem::environment(error.to_string()),
        };
        problem.during(format!("starting trial {}", planned.index))
    }
}

fn store(writer: &mut TrialWriter<'_>, live: &mut Live, output: Output) -> io::Result<()> {
    match output {
        Output::Event(event) => {
            live.event(&event);
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
        samples: setup.keep_samples,
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
