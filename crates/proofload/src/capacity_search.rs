//! Executes a search for capacity: one trial after another at the rates that the search requests. Each trial is a run
//! of its own with fresh processes; all write to the same folder.
//!
//! Plan and summary are written after every trial, so that the results of a killed search can be read. Not here: the
//! choice of the next rate (see `stats::capacity`) and the answer (see `judge::capacity`).

use std::thread;
use std::time::Duration;

use engine::StopSignal;
use fleet::coordinator::Fleet;
use judge::capacity::hysteresis::{self, HysteresisTest};
use judge::capacity::{self, HysteresisTrial, Incomplete, SearchState, SearchTrial};
use judge::findings::all_failed;
use pages::tables;
use plan::experiment::Experiment;
use plan::load::{ArrivalProcess, Load, Model, Spacing, Stage, SteadyState, Stop};
use plan::plan::{Arm, Plan, TrialPlan};
use plan::randomness::{RandomStream, draw};
use plan::schedule::nanos;
use plan::units::format_rate;
use record::folder::{RunReader, names};
use record::summary::{Run, Stairs, StepResult, Summary, TrialSummary, Validity};
use stats::capacity::search::{Search, SearchSettings, SearchStep, StepOutcome};

use crate::contact::reachable;
use crate::crew::{Crew, LocalCrew, RemoteCrew};
use crate::disk::Disk;
use crate::execution::{Execution, TrialOptions};
use crate::live::LiveView;
use crate::problem::Problem;
use crate::publishing::write_json;
use crate::redaction;
use crate::systems::launcher;

/// Connections of the searched open load, if the experiment's own load is not open.
const CONNECTIONS: u32 = 1_000;
/// The factor whose levels a search tries.
const FACTOR: &str = "rate";
/// Pause between trials if the target keeps running: ten times its p99, within these bounds.
const REST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));
/// Attempts to reach a target that is gone after the pause, and the time between them: a process manager may restart
/// it.
const RECONNECTS: usize = 5;
const BETWEEN_RECONNECTS: Duration = Duration::from_secs(1);
/// How often a pause checks for a request to stop.
const STOP_CHECKED_EVERY: Duration = Duration::from_millis(50);

/// A search and everything that it needs.
pub struct CapacitySearch<'a> {
    /// One arm, with criteria; its rate is replaced step by step.
    pub experiment: &'a Experiment,
    /// Where the record goes.
    pub disk: &'a Disk,
    /// What is seen meanwhile.
    pub live: &'a mut LiveView,
    /// The user's signal to stop.
    pub stop: StopSignal,
    /// Options of every trial.
    pub options: TrialOptions,
    /// Agents that perform the trials instead of this machine, and the place of the arm in their plan.
    pub fleet: Option<(&'a Fleet, usize)>,
    /// The searched range and its limits.
    pub settings: SearchSettings,
    /// Length of each step of the hysteresis test after the search; `None` for no test.
    pub stair: Option<Duration>,
    /// Provenance of the run; its plan's hash is filled in.
    pub run: Run,
    /// Whether any operation of any trial has succeeded.
    pub has_worked: bool,
}

/// Progress of a search.
struct SearchProgress {
    plan: Plan,
    search: Search,
    tried: Vec<SearchTrial>,
    hysteresis: Option<HysteresisTrial>,
    /// A hysteresis test was requested and has not finished.
    climbs: bool,
    /// The trial that could not be executed, and why.
    stuck: Option<(u32, Problem)>,
}

impl SearchProgress {
    /// Why the search is incomplete, if it is.
    fn incomplete(&self) -> Option<Incomplete<'_>> {
        match &self.stuck {
            Some((trial, stuck)) => {
                Some(Incomplete::NotExecuted { trial: *trial, why: &stuck.what })
            }
            None => self.climbs.then_some(Incomplete::Stopped),
        }
    }
}

impl CapacitySearch<'_> {
    /// Searches until the search ends, the user stops it, or a trial cannot be executed; then the folder contains the
    /// answer. Returns why that trial could not be executed.
    ///
    /// Errors: the record cannot be written or read back
    pub fn run(&mut self) -> Result<Option<Problem>, Problem> {
        let mut done = SearchProgress {
            plan: Plan { arms: Vec::new(), trials: Vec::new(), ..self.experiment.plan.clone() },
            search: Search::new(self.settings),
            tried: Vec::new(),
            hysteresis: None,
            climbs: false,
            stuck: None,
        };
        self.write(&done)?;
        self.search(&mut done)?;
        // The search reports its end only after a request for another step.
        let low = self.write(&done)?.capacity.and_then(|capacity| capacity.low);
        if let (Some(low), Some(length), Some(_)) = (low, self.stair, done.search.ending()) {
            self.descend(&mut done, low, length)?;
            self.write(&done)?;
        }
        Ok(done.stuck.map(|(_, problem)| problem))
    }

    fn search(&mut self, done: &mut SearchProgress) -> Result<(), Problem> {
        while let Some(step) = done.search.next_step() {
            if !self.rest(done) {
                return Ok(());
            }
            let Some(tried) = self.try_step(done, step) else { return Ok(()) };
            let outcome = outcome(tried.result);
            done.tried.push(tried);
            if let Some(outcome) = outcome {
                done.search.report(step, outcome);
            }
            let summary = self.write(done)?;
            self.report_step(&summary);
            if outcome.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// `None` if the trial could not be executed.
    fn try_step(&mut self, done: &mut SearchProgress, step: SearchStep) -> Option<SearchTrial> {
        let length = Duration::from_millis((step.seconds * 1e3).round() as u64);
        self.live.say(&format!(
            "step {}: {} for {} s",
            done.plan.trials.len() + 1,
            format_rate(step.rate),
            length.as_secs_f64()
        ));
        let arm = arm_at(&self.experiment.plan.arms[0], step.rate, length);
        let summary = self.carry_out(done, arm, true)?;
        if let Some(finding) = all_failed::of(&summary) {
            let trial = done.plan.trials.len() as u32;
            let problem = Problem::environment(finding.claim.clone()).hint(finding.advice.clone());
            done.stuck = Some((trial, problem.during(format!("executing trial {trial}"))));
            return None;
        }
        Some(SearchTrial { step, result: capacity::result(&summary), summary })
    }

    /// Executes the arm as the next trial; `None` if that failed.
    fn carry_out(&mut self, done: &mut SearchProgress, arm: Arm, judged: bool) -> Option<Summary> {
        let carried_out = self.trial(&mut done.plan, arm, judged);
        let trial = done.plan.trials.len() as u32;
        carried_out.map_err(|problem| done.stuck = Some((trial, problem))).ok()
    }

    /// Executes the arm as the next trial of the plan. The returned summary covers this trial alone.
    fn trial(&mut self, plan: &mut Plan, arm: Arm, judged: bool) -> Result<Summary, Problem> {
        let known = plan.arms.iter().position(|other| other.name == arm.name);
        let place = known.unwrap_or(plan.arms.len());
        let index = plan.trials.len() as u32 + 1;
        let seed = draw(plan.seed, RandomStream::Trial, u64::from(index));
        let trial = TrialPlan { index, block: 1, order: index, arm: place, seed, duet: false };
        let mut experiment = self.experiment.clone();
        experiment.plan.trials = vec![TrialPlan { arm: 0, ..trial.clone() }];
        experiment.plan.arms = vec![arm.clone()];
        // If a target that worked before fails under load, that is an answer.
        experiment.plan.keep_going |= self.has_worked;
        if !judged {
            experiment.plan.criteria.clear();
        }
        match known {
            // If several trials have the same rate, the plan shows the longest.
            Some(_) if plan.arms[place].load.measure_time() >= arm.load.measure_time() => {}
            Some(_) => plan.arms[place] = arm,
            None => plan.arms.push(arm),
        }
        plan.trials.push(trial);
        write_json(self.disk, names::PLAN, &plan.to_json())?;
        let launcher = launcher(&experiment.plan.arms)?;
        let crew: Box<dyn Crew> = match self.fleet {
            Some((fleet, place)) => {
                let (disk, plan, searched) = (self.disk, &experiment.plan, Some(place));
                Box::new(RemoteCrew { fleet, launcher, disk, plan, searched })
            }
            None => Box::new(LocalCrew { launcher, share_run: self.options.share_run }),
        };
        let mut execution = Execution {
            experiment: &experiment,
            disk: self.disk,
            live: self.live,
            stop: self.stop.clone(),
            crew: &*crew,
            options: self.options,
        };
        let summary = execution.run(self.run.clone())?;
        self.has_worked |= worked(&summary);
        self.run.machine.placement = summary.run.machine.placement.clone();
        Ok(summary)
    }

    /// The hysteresis test: steps the rate up above the low end and down again, in one trial.
    fn descend(
        &mut self,
        done: &mut SearchProgress,
        low: f64,
        length: Duration,
    ) -> Result<(), Problem> {
        done.climbs = true;
        self.write(done)?;
        if !self.rest(done) {
            return Ok(());
        }
        self.live.say(&format!("up in steps to above {} and down again", format_rate(low)));
        let arm = hysteresis_arm(&self.experiment.plan.arms[0], low, length);
        let Some(summary) = self.carry_out(done, arm, false) else { return Ok(()) };
        done.climbs = capacity::result(&summary) == StepResult::Stopped;
        let trial = summary.arms.iter().flat_map(|arm| &arm.trials).next();
        let whole = trial.filter(|one| !done.climbs && one.validity != Validity::Invalid);
        let stairs = whole.map(|trial| self.judge(trial, low, length)).transpose()?;
        done.hysteresis = Some(HysteresisTrial { stairs, summary });
        Ok(())
    }

    /// Judges the windows of the trial; each step took `length`.
    fn judge(&self, trial: &TrialSummary, low: f64, length: Duration) -> Result<Stairs, Problem> {
        let step_ns = nanos(length);
        let mut test = HysteresisTest::new(low, step_ns, trial.window_ns);
        RunReader::new(self.disk)
            .visit_windows(trial.index, &trial.names(), &mut |window| test.add(window))
            .map_err(|error| {
                Problem::environment(format!("cannot read the windows back: {error}"))
                    .during(format!("judging trial {}", trial.index))
            })?;
        Ok(test.judge(trial.index))
    }

    /// Writes plan and summary of the progress so far.
    fn write(&self, done: &SearchProgress) -> Result<Summary, Problem> {
        let texts: Vec<String> =
            done.plan.criteria.iter().map(|criterion| criterion.text.clone()).collect();
        let state = SearchState {
            trials: &done.tried,
            search: &done.search,
            precision: self.settings.precision,
            criteria: &texts,
            hysteresis: done.hysteresis.as_ref(),
            incomplete: done.incomplete(),
        };
        let run = Run { plan_hash: done.plan.hash(), ..self.run.clone() };
        let summary = capacity::summary(run, &state);
        let value = serde_json::to_value(&summary)
            .map_err(|error| Problem::environment(format!("cannot write the summary: {error}")))?;
        write_json(self.disk, names::PLAN, &done.plan.to_json())?;
        write_json(self.disk, names::SUMMARY, &redaction::of_summary(value, &done.plan.secrets))?;
        Ok(summary)
    }

    fn report_step(&mut self, summary: &Summary) {
        let Some(answer) = &summary.capacity else { return };
        self.live.tables(|| tables::capacity::all(summary));
        if let Some(step) = answer.steps.last() {
            self.live.say(&format!("  {}", tables::capacity::step_line(step, answer)));
            let trials = summary.arms.iter().flat_map(|arm| &arm.trials);
            let mut spoiled = trials.filter(|_| step.result == StepResult::Invalid);
            let trial = spoiled.find(|trial| trial.index == step.trial);
            if let Some(why) = trial.and_then(|trial| trial.reasons.first()) {
                self.live.say(&format!("    {why}"));
            }
        }
    }

    /// Lets a target that keeps running finish the last trial's work, and checks that it still accepts connections.
    /// Returns whether another trial is possible.
    fn rest(&self, done: &mut SearchProgress) -> bool {
        let arm = &self.experiment.plan.arms[0];
        let last = done.tried.last().and_then(|one| one.summary.arms.first()?.trials.first());
        if let Some(trial) = last.filter(|_| arm.system.is_none()) {
            self.wait(tenfold(trial).clamp(REST.0, REST.1));
            // Agents look for it themselves.
            let reachable =
                |arm| if self.fleet.is_some() { Ok(()) } else { reachable(arm).map(drop) };
            let mut found = reachable(arm);
            for _ in 0..RECONNECTS {
                if found.is_ok() || !self.wait(BETWEEN_RECONNECTS) {
                    break;
                }
                found = reachable(arm);
            }
            let next = done.plan.trials.len() as u32 + 1;
            let place = format!("looking for the target before trial {next}");
            let missing = found.err().filter(|_| self.stop.requests() == 0);
            done.stuck = missing.map(|problem| (next, problem.during(place)));
        }
        self.stop.requests() == 0 && done.stuck.is_none()
    }

    /// Waits for this time or until a request to stop; returns whether there was none.
    fn wait(&self, mut left: Duration) -> bool {
        while !left.is_zero() && self.stop.requests() == 0 {
            thread::sleep(STOP_CHECKED_EVERY.min(left));
            left = left.saturating_sub(STOP_CHECKED_EVERY);
        }
        self.stop.requests() == 0
    }
}

/// Ten times the p99 of the outcome time; unlimited if there is none.
fn tenfold(trial: &TrialSummary) -> Duration {
    let p99 = trial.total.outcome_time.quantiles.iter().find(|entry| entry.q == 0.99);
    let p99 = p99.and_then(|entry| entry.observed_ns);
    p99.map_or(Duration::MAX, |p99| Duration::from_nanos(p99.saturating_mul(10)))
}

/// Whether an operation succeeded.
fn worked(summary: &Summary) -> bool {
    let mut trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    trials.any(|trial| trial.accounting.succeeded > 0)
}

fn outcome(result: StepResult) -> Option<StepOutcome> {
    match result {
        StepResult::Pass => Some(StepOutcome::Passed),
        StepResult::Fail => Some(StepOutcome::Failed),
        StepResult::Undecided => Some(StepOutcome::Undecided),
        StepResult::Invalid => Some(StepOutcome::Invalid),
        StepResult::Stopped => None,
    }
}

/// The arm at this rate.
pub fn arm_at(base: &Arm, rate: f64, length: Duration) -> Arm {
    let arrivals = match spacing(&base.load) {
        Spacing::Constant => ArrivalProcess::Constant { rate },
        Spacing::Poisson => ArrivalProcess::Poisson { rate },
    };
    let stop = Stop::Duration { after: length };
    let mut arm = with_load(base, capacity::arm_name(rate), arrivals, stop);
    arm.factors.insert(FACTOR.to_owned(), format_rate(rate).into());
    arm
}

/// The arm of the hysteresis test.
fn hysteresis_arm(base: &Arm, low: f64, length: Duration) -> Arm {
    let rates = hysteresis::rates(low);
    let plateau =
        |rate: f64| [Stage { to: rate, over: Duration::ZERO }, Stage { to: rate, over: length }];
    let arrivals = ArrivalProcess::Stages {
        from: rates[0],
        stages: rates.iter().flat_map(|rate| plateau(*rate)).collect(),
        spacing: spacing(&base.load),
    };
    let stop = Stop::Duration { after: length * rates.len() as u32 };
    let mut arm = with_load(base, "rate=stairs".to_owned(), arrivals, stop);
    arm.factors.insert(FACTOR.to_owned(), "stairs".into());
    // A fault would hit only one of the two directions.
    arm.faults.clear();
    arm
}

/// The arm under this open load. A steady state is not required, because a rate above the capacity has none.
pub fn with_load(base: &Arm, name: String, arrivals: ArrivalProcess, stop: Stop) -> Arm {
    let is_open = matches!(base.load.model, Model::Open { .. });
    let mut arm = base.clone();
    arm.name = name;
    arm.load.model = Model::Open { arrivals };
    arm.load.stop = stop;
    arm.load.steady_state = SteadyState::Reported;
    if !is_open {
        arm.load.connections = CONNECTIONS;
    }
    arm
}

fn spacing(load: &Load) -> Spacing {
    match &load.model {
        Model::Open { arrivals: ArrivalProcess::Constant { .. } } => Spacing::Constant,
        Model::Open {
            arrivals: ArrivalProcess::Stages { spacing, .. } | ArrivalProcess::Burst { spacing, .. },
        } => *spacing,
        _ => Spacing::Poisson,
    }
}
