//! `proofload agent`: performs a share of the run of a coordinator on another machine.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use engine::clock::monotonic;
use engine::process::Launcher;
use engine::selfcheck::{self, Identity};
use engine::trial::{Setup, Start, TrialOutput};
use fleet::agent::{AgentLink, Order, Received};
use fleet::protocol::{AgentInfo, Assignment, Dispatch, Output, Report, StepLoad, Task, mark};
use pages::wall_clock::measure_start_of;
use plan::load::Stop;
use plan::plan::{Arm, Plan};
use plan::plan_difference;
use plan::plan_share::PlanShare;
use plan::units::parse_duration;
use record::TrialFacts;
use record::summary::Placement;
use serde_json::to_vec;
use tempfile::TempDir;

use crate::Exit;
use crate::capacity_search::with_load;
use crate::cli::AgentArgs;
use crate::live::LiveView;
use crate::loading::{LoadedExperiment, load_for_agent};
use crate::problem::Problem;
use crate::sharing::agent_facts;
use crate::shipping::unpack;
use crate::{contact, execution, interrupt, redaction, remote, scratch};

/// How long an agent waits between two orders of its coordinator, at most.
const BETWEEN: Duration = Duration::from_hours(24);
/// The reason to leave when nothing went wrong.
const IS_OVER: &str = "the run is over";
/// How long its last reports may take.
const LAST_WITHIN: Duration = Duration::from_mins(2);

/// Waits for a coordinator, and performs a share of its run.
pub fn agent(args: &AgentArgs) -> Result<Exit, Problem> {
    let wait = parse_duration(&args.wait).ok_or_else(|| {
        Problem::usage(format!("`--wait` must be a time such as 10m (got {})", args.wait))
    })?;
    let fleet = remote::name(&args.fleet)?;
    if args
        .name
        .as_deref()
        .is_some_and(|name| name.is_empty() || name.chars().any(char::is_control))
    {
        return Err(Problem::usage("`--name` must be a name without control characters"));
    }
    let mut live = LiveView::new(args.quiet);
    let stop = interrupt::listen()?;
    loop {
        let ended = one_run(args, (&fleet, wait), &stop, &mut live);
        if !args.stay || stop.requests() > 0 {
            return ended;
        }
        if let Err(problem) = ended {
            // Without a connection, the next attempt fails alike.
            if problem.what.starts_with("cannot connect") {
                return Err(problem);
            }
            live.say(&problem.to_string());
        }
    }
}

fn one_run(
    args: &AgentArgs,
    (fleet, wait): (&str, Duration),
    stop: &engine::StopSignal,
    live: &mut LiveView,
) -> Result<Exit, Problem> {
    let info = identify(args.name.as_deref());
    let link = AgentLink::open(&args.via, fleet, info);
    let link = link.map_err(|error| Problem::fleet(&error))?;
    live.say(&format!("waiting for a run at {}", nats_address::shown(&args.via)));
    let (task, received) = match await_order(&link, wait, stop) {
        Some(Order::Take(task, received)) => (task, received),
        // Another agent has refused the plan meanwhile.
        Some(Order::Leave(why)) if why == IS_OVER => return Ok(Exit::Passed),
        Some(Order::Leave(why)) => return Err(Problem::environment(why)),
        _ if stop.requests() > 0 => return Ok(Exit::Undecided),
        _ => {
            let what = format!("no coordinator came within {}", args.wait);
            return Err(Problem::environment(what)
                .hint("start `proofload run … --agents N --via …`, or wait longer with `--wait`"));
        }
    };
    // Files of an experiment may hold secrets.
    let scratch = scratch::folder("proofload-agent-")?;
    let agent = match take(&task, &received, &scratch) {
        Ok(loaded) => Agent { link, task, attempt: 0, loaded, live, user: stop.clone() },
        Err(problem) => {
            let report = Report::Refused(problem.what.clone());
            link.report(Dispatch { share: task.share, attempt: 0, trial: 0, report });
            link.flush(LAST_WITHIN);
            return Err(problem.during("loading the plan of the coordinator"));
        }
    };
    agent.work(stop)
}

/// The next order, or none if it does not come or the user stops the agent.
fn await_order(link: &AgentLink, within: Duration, stop: &engine::StopSignal) -> Option<Order> {
    const LOOK: Duration = Duration::from_millis(200);
    let end = monotonic() + u64::try_from(within.as_nanos()).unwrap_or(u64::MAX / 2);
    while monotonic() < end && stop.requests() == 0 {
        if let Some(order) = link.next(LOOK) {
            return Some(order);
        }
    }
    None
}

/// Loads the plan as the coordinator did.
///
/// Errors: its files cannot be written here, or the plan is another one here
fn take(task: &Task, received: &Received, scratch: &TempDir) -> Result<LoadedExperiment, Problem> {
    unpack(scratch.path(), &received.files).map_err(Problem::environment)?;
    std::env::set_current_dir(scratch.path()).map_err(|error| {
        Problem::environment(format!("cannot go to {}: {error}", scratch.path().display()))
    })?;
    let loaded = load_for_agent(&task.request, &task.systems)?;
    let plan = &loaded.experiment.plan;
    match plan.hash() == task.plan_hash {
        true => Ok(loaded),
        false => Err(Problem::usage(another_plan(plan, &received.plan))),
    }
}

/// In what the plan that was loaded here is not that of the coordinator.
fn another_plan(plan: &Plan, given: &[u8]) -> String {
    // Either side hides its own secrets; what is a secret here may be none there.
    let given = serde_json::from_slice(given).unwrap_or_default();
    let differs = plan_difference::after_colon(&plan.to_json(), &plan.secrets.redact_json(given));
    format!(
        "the plan that was loaded here is not that of the coordinator, as values from the environment differ or paths \
         lead elsewhere{differs}"
    )
}

fn identify(name: Option<&str>) -> AgentInfo {
    let Identity { host, boot_id, .. } = selfcheck::identity();
    AgentInfo {
        id: mark(),
        name: name.map_or(host, str::to_owned),
        boot_id,
        machine: selfcheck::machine(Placement::default()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// An agent that has its plan.
struct Agent<'a> {
    link: AgentLink,
    task: Box<Task>,
    /// Of the coordinator, to perform trials.
    attempt: u32,
    loaded: LoadedExperiment,
    live: &'a mut LiveView,
    /// The signal to stop of whoever started this agent.
    user: engine::StopSignal,
}

impl Agent<'_> {
    fn work(mut self, stop: &engine::StopSignal) -> Result<Exit, Problem> {
        let Task { share, of, .. } = *self.task;
        self.live.say(&format!("performing share {share}/{of}"));
        self.report(0, Report::Loaded);
        loop {
            match await_order(&self.link, BETWEEN, stop) {
                Some(Order::Prepare(attempt, trials)) => {
                    self.attempt = attempt;
                    self.perform(&trials);
                }
                Some(Order::Leave(why)) => {
                    self.live.say(&why);
                    let is_over = why == IS_OVER;
                    return Ok(if is_over { Exit::Passed } else { Exit::Undecided });
                }
                Some(Order::Take(..) | Order::Begin(_) | Order::CallOff) => {}
                None => return Ok(Exit::Undecided),
            }
        }
    }

    fn report(&self, trial: u32, report: Report) {
        let (share, attempt) = (self.task.share, self.attempt);
        self.link.report(Dispatch { share, attempt, trial, report });
    }

    /// Performs this agent's share of trials, or reports why they could not begin.
    fn perform(&mut self, assignments: &[Assignment]) {
        let first = assignments.first().map_or(0, |assignment| assignment.trial.index);
        if let Err(problem) = self.try_to_perform(assignments, first) {
            let problem = redaction::of_problem(problem, &self.loaded.experiment.plan.secrets);
            self.live.say(&problem.to_string());
            self.report(first, Report::CouldNotBegin(problem.what));
        }
    }

    /// Performs this agent's share of trials that begin at the same time.
    ///
    /// Errors: they could not begin
    fn try_to_perform(&mut self, assignments: &[Assignment], first: u32) -> Result<(), Problem> {
        let plan = &self.loaded.experiment.plan;
        let arms = assignments.iter().map(|assignment| assigned_arm(plan, assignment));
        let arms = arms.collect::<Result<Vec<Arm>, Problem>>()?;
        let share = PlanShare { number: self.task.share, of: self.task.of };
        contact::foresee(&arms, assignments.len() > 1, share, self.live)?;
        let (stop, end) = self.link.signals().renew();
        let _relay = Relay::start(self.user.clone(), stop.clone());
        let begin = || self.begin(first);
        let mut setups = Vec::new();
        for (Assignment { trial, .. }, arm) in assignments.iter().zip(&arms) {
            setups.push(Setup {
                driver: std::sync::Arc::new(execution::driver(arm)?),
                arm,
                trial,
                wall_clock: execution::instant_text(),
                calendar: execution::instant_text,
                trace_share: plan.trace.as_ref().map(|trace| trace.share),
                keep_samples: None,
                real_time: !self.task.no_realtime,
                share,
                start: Start::Appointed(&begin),
                stop: stop.clone(),
                end: end.clone(),
            });
        }
        let launcher = Launcher::new(Default::default(), std::env::temp_dir(), Vec::new());
        let mut measured_from = vec![0; setups.len()];
        let executed = drivers::run_together(&setups, &launcher, &mut |place, output| {
            if let TrialOutput::Event(event) = &output
                && let Some(at) = measure_start_of(event)
            {
                measured_from[place] = u64::try_from(at).unwrap_or(0);
            }
            let output = redaction::of_output(output, &plan.secrets);
            for output in Output::of(output) {
                self.report(assignments[place].trial.index, Report::Output(output));
            }
        });
        let executed = executed.map_err(|error| Problem::environment(error.to_string()))?;
        for (facts, from) in executed.into_iter().zip(measured_from) {
            let facts = TrialFacts { agent: Some(agent_facts(share, from)), ..facts };
            let facts = redaction::of_facts(facts, &plan.secrets);
            let number = facts.index;
            let facts = to_vec(&facts).map_err(|error| Problem::environment(error.to_string()))?;
            self.link.report_end((self.task.share, self.attempt, number), facts);
            self.live.say(&format!("performed its share of trial {number}"));
        }
        Ok(())
    }

    /// Reports that everything is ready, and waits for the instant at which all begin.
    fn begin(&self, trial: u32) -> Option<u64> {
        self.report(trial, Report::Ready);
        match await_order(&self.link, BETWEEN, &self.user)? {
            Order::Begin(at) => Some(at),
            _ => None,
        }
    }
}

/// The arm of a trial, without processes: those run where the coordinator is.
fn assigned_arm(plan: &Plan, assignment: &Assignment) -> Result<Arm, Problem> {
    let Assignment { trial, step, addresses } = assignment;
    let arm = plan.arms.get(trial.arm);
    let arm = arm.ok_or_else(|| Problem::usage(format!("the plan has no arm {}", trial.arm)))?;
    let mut arm = match step.clone() {
        None => arm.clone(),
        Some(StepLoad { name, arrivals, length }) => {
            with_load(arm, name, arrivals, Stop::Duration { after: length })
        }
    };
    let targets = arm.targets.iter().map(|target| addresses.fill_target(target));
    let targets = targets.collect::<Result<_, _>>();
    arm.targets = targets.map_err(|error| Problem::environment(error.to_string()))?;
    arm.services.clear();
    arm.system = None;
    arm.observers.clear();
    arm.faults.clear();
    Ok(arm)
}

/// Passes on a signal to stop while it lives: the coordinator's and the user's end the same trial.
struct Relay {
    done: std::sync::mpsc::Sender<()>,
}

impl Relay {
    fn start(from: engine::StopSignal, to: engine::StopSignal) -> Self {
        const LOOK: Duration = Duration::from_millis(100);
        let (done, over) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            let mut passed = 0;
            while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(LOOK) {
                for _ in passed..from.requests() {
                    to.request();
                }
                passed = passed.max(from.requests());
            }
        });
        Self { done }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.done.send(());
    }
}
