//! The whole plan as text for people, as `check` prints it.

mod journey;

use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

use crate::load::{ArrivalProcess, Load, Model, Reuse, Spacing, Stage, Stop, Think};
use crate::number;
use crate::operation::{Operation, RowOrder, TargetOf};
use crate::plan::{Arm, Plan};
use crate::printable::printable;
use crate::process::Start;
use crate::ramp::UserStage;
use crate::trace::Trace;
use crate::units::{format_duration, format_rate};

/// More trials than this are not listed individually.
const MOST_TRIALS: usize = 200;
/// Bytes of a text that are shown.
const LONGEST: usize = 2_000;
/// The effect of a duet on the rate.
const DUET: &str = "both arms of a block at the same time: arrivals at twice the rate below, each assigned to \
                    an arm by a fair draw, so that either gets that rate";

impl Plan {
    /// The whole plan as readable text, secrets redacted, with a line break at the end.
    pub fn describe(&self) -> String {
        let mut out = Text(String::new());
        out.field("title", &self.title);
        if let Some(question) = &self.question {
            out.field("question", question);
        }
        if self.rehearsal {
            out.field("rehearsal", "yes: shortened; criteria are shown, none passes");
        }
        out.field("seed", &self.seed.to_string());
        out.field("plan hash", &self.hash());
        let wall = self.wall_time().map_or("not known beforehand".to_owned(), |time| {
            format!("{} without start-up and drain", format_duration(rounded(time)))
        });
        out.field("wall time", &wall);
        for criterion in &self.criteria {
            out.field("criterion", &criterion.text);
        }
        if self.fail_fast {
            out.field("fail-fast", "ends as soon as a criterion can no longer be met");
        }
        if self.keep_going {
            out.field("keep-going", "continues although every operation fails in the same way");
        }
        if self.adaptive.is_some() {
            out.field("adaptive", "each measure phase ends once its intervals are narrow enough");
        }
        if let Some(trace) = &self.trace {
            out.field("trace", &traced(trace, self));
        }
        if self.is_duet() {
            out.field("duet", DUET);
        }
        for comparison in &self.comparisons {
            let metrics = comparison.metrics.join(", ");
            let (factor, baseline) = (&comparison.factor, &comparison.baseline);
            out.field("comparison", &format!("{factor} against {baseline} in {metrics}"));
        }
        for arm in &self.arms {
            out.arm(arm);
        }
        out.trials(self);
        out.0.lines().map(|line| self.secrets.redact(line) + "\n").collect()
    }
}

/// Which operations carry a trace id, and where a trace is shown.
fn traced(trace: &Trace, plan: &Plan) -> String {
    let operations = || plan.arms.iter().flat_map(|arm| &arm.operations);
    let mut names: Vec<&str> = Vec::new();
    for operation in operations().filter(|operation| operation.is_traced) {
        if !names.contains(&operation.name.as_str()) {
            names.push(&operation.name);
        }
    }
    let which = match operations().all(|operation| operation.is_traced) {
        true => "every operation".to_owned(),
        false => names.join(", "),
    };
    let share = number::percent(trace.share);
    let shown = trace.url.iter().map(|url| format!("; shown at {url}"));
    format!("a trace id on {share} of {which}{}", shown.collect::<String>())
}

/// Text that grows by lines.
struct Text(String);

impl Text {
    /// Replaces line breaks in titles and levels.
    fn line(&mut self, line: &str) {
        self.0.push_str(printable(line).trim_end());
        self.0.push('\n');
    }

    fn field(&mut self, name: &str, value: &str) {
        self.line(&format!("{name:<12} {value}"));
    }

    fn arm(&mut self, arm: &Arm) {
        self.line("");
        self.line(&format!("arm {}", arm.name));
        for service in &arm.services {
            self.field("  service", &format!("{}: {}", service.name, service.command.join(" ")));
        }
        if let Some(system) = &arm.system {
            let set: Vec<String> =
                system.set.iter().map(|(key, value)| format!("{key}={}", bare(value))).collect();
            self.field("  system", &format!("{} {}", start(&system.start), set.join(" ")));
        }
        for observer in &arm.observers {
            let expect = observer.expect.as_deref().unwrap_or("no expectation");
            self.field("  observer", &format!("{}: {expect}", observer.name));
        }
        for fault in &arm.faults {
            self.field("  fault", &fault.to_string());
        }
        for target in &arm.targets {
            self.field("  target", &target.url);
        }
        for line in load(arm) {
            self.field("  load", &line);
        }
        let alone = arm.operations.iter().filter(|one| !one.is_step).map(|one| one.weight);
        let total: f64 = alone.chain(arm.journeys.iter().map(|journey| journey.weight)).sum();
        if let Some(setup) = &arm.setup {
            self.field("  setup", &journey::preparation(setup, &arm.operations));
        }
        for one in &arm.journeys {
            let mut lines = journey::lines(one, arm, total).into_iter();
            self.field("  journey", &lines.next().unwrap_or_default());
            lines.for_each(|line| self.line(&format!("    {line}")));
        }
        if let Some(teardown) = &arm.teardown {
            self.field("  teardown", &journey::preparation(teardown, &arm.operations));
        }
        for operation in &arm.operations {
            self.operation(operation, arm, total);
        }
    }

    fn operation(&mut self, operation: &Operation, arm: &Arm, total: f64) {
        let share = 100.0 * operation.weight / total;
        let share = (share * 100.0).round() / 100.0;
        let target = match &operation.target {
            TargetOf::Fixed(at) => arm.targets.get(*at).map_or("", |target| target.url.as_str()),
            TargetOf::ByRow(_) => "the target of each row",
        };
        let share = if operation.is_step { "as a step".to_owned() } else { format!("{share}%") };
        let head = format!("{} {share} to {target}", operation.name);
        self.field("  operation", &head);
        self.line(&format!("    {} {}", operation.protocol, readable(operation.table.to_json())));
        if let Some(expect) = &operation.expect {
            self.line(&format!("    expect {}", readable(expect.to_json())));
        }
        for item in &operation.items {
            let place = match (item.counts_events, item.path.as_str()) {
                (false, path) => path.to_owned(),
                (true, "") => "number of events".to_owned(),
                (true, path) => format!("number of events with {path}"),
            };
            self.line(&format!("    item {} = {place}", item.name));
        }
        let is_named = arm.load.names_requests() && !operation.is_step;
        let order = if is_named { "as the replay names them" } else { ordered(operation.order) };
        if let Some(requests) = &operation.requests {
            self.line(&format!("    {} listed requests, {order}", requests.len()));
        } else if let Some(rows) = operation.rows.as_ref().filter(|_| !operation.is_step) {
            let order = ordered(operation.order);
            self.line(&format!("    {} rows of {}, {order}", rows.len(), rows.file));
        }
    }

    fn trials(&mut self, plan: &Plan) {
        self.line("");
        let trials = plan.trials.len();
        self.line(&match trials {
            1 => "1 trial".to_owned(),
            _ if plan.is_duet() => format!("{trials} trials, two at a time, in this order"),
            _ => format!("{trials} trials, in this order"),
        });
        for trial in plan.trials.iter().take(MOST_TRIALS) {
            let arm = &plan.arms[trial.arm].name;
            let (index, block) = (trial.index, trial.block);
            let aa = if plan.is_aa(block) { "  A/A" } else { "" };
            let duet = if trial.duet { "  duet" } else { "" };
            let seed = trial.seed;
            self.line(&format!("  {index:>4}  block {block:>3}  {arm}  seed {seed}{aa}{duet}"));
        }
        if plan.trials.len() > MOST_TRIALS {
            self.line(&format!("  and {} more", plan.trials.len() - MOST_TRIALS));
        }
    }
}

/// The value with long texts, such as those of files, shortened; the plan contains them completely.
fn readable(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > LONGEST => {
            let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            format!("{}… ({} bytes)", &text[..end], text.len()).into()
        }
        Value::Array(values) => values.into_iter().map(readable).collect(),
        Value::Object(mut table) => {
            // A file has its name beside it, which says enough.
            let is_file = table.contains_key("name");
            if let Some(Value::String(content)) = table.get_mut("content").filter(|_| is_file) {
                *content = format!("… ({} bytes)", content.len());
            }
            table.into_iter().map(|(key, value)| (key, readable(value))).collect()
        }
        other => other,
    }
}

fn ordered(order: RowOrder) -> &'static str {
    match order {
        RowOrder::RoundRobin => "in turn",
        RowOrder::Random => "at random",
        RowOrder::Once => "each once",
    }
}

/// Text without quotes, other values as JSON.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn start(start: &Start) -> String {
    match start {
        Start::Serve(name) => format!("proofload serve {name}"),
        Start::Command(words) => words.join(" "),
    }
}

/// Rounded to the millisecond for people.
fn rounded(time: Duration) -> Duration {
    Duration::from_millis((time.as_secs_f64() * 1e3).round() as u64)
}

fn load(arm: &Arm) -> Vec<String> {
    let load = &arm.load;
    let mut first = model(arm);
    match load.stop {
        Stop::Duration { after } => {
            write!(first, ", measured for {}", format_duration(after)).expect("text grows");
        }
        Stop::Operations { count } => {
            write!(first, ", {count} operations").expect("text grows");
        }
    }
    let warm_up = format_duration(load.warm_up.length());
    let reuse = match load.reuse {
        Reuse::KeepAlive => "kept alive",
        Reuse::NewPerOperation => "a new one for each operation",
    };
    let timeout = format_duration(load.timeout);
    let polls = if load.busy_poll { ", workers poll" } else { "" };
    let connections = connections(arm);
    vec![first, format!("warm-up {warm_up}, time-out {timeout}, {connections}, {reuse}{polls}")]
}

/// Connections of the load, and those that journeys have of their own.
fn connections(arm: &Arm) -> String {
    let own = arm.own_connections();
    let own = (own > 0).then(|| format!("at most {own} connections of journeys' own"));
    let pooled = (own.is_none() || arm.uses_pool()).then(|| pooled(&arm.load));
    pooled.into_iter().chain(own).collect::<Vec<_>>().join(", ")
}

fn pooled(load: &Load) -> String {
    match load.streams {
        1 => format!("{} connections", load.connections),
        streams => format!("{} connections of {streams} streams", load.connections),
    }
}

fn model(arm: &Arm) -> String {
    let load = &arm.load;
    match &load.model {
        Model::Open { arrivals } => format!("open, {}", process(arrivals)),
        Model::Closed if !arm.uses_pool() => {
            format!("closed loop of {} journeys at a time", load.connections)
        }
        Model::Closed => format!("closed loop over {}", pooled(load)),
        Model::Users { think, ramp: Some(ramp), .. } => {
            let stages: Vec<String> = ramp.stages.iter().map(user_stage).collect();
            format!("users {}, thinking {}", stages.join(" "), thinking(think))
        }
        Model::Users { users, spawn_rate, think, ramp: None } => {
            let spawn =
                if spawn_rate.is_finite() { format_rate(*spawn_rate) } else { "at once".into() };
            format!("{users} users, spawned {spawn}, thinking {}", thinking(think))
        }
    }
}

fn thinking(think: &Think) -> String {
    match think {
        Think::Fixed { pause } => format_duration(*pause),
        Think::Uniform { low, high } => {
            format!("{}..{}", format_duration(*low), format_duration(*high))
        }
        Think::Exponential { mean } => format!("exponential {}", format_duration(*mean)),
    }
}

fn process(arrivals: &ArrivalProcess) -> String {
    match arrivals {
        ArrivalProcess::Constant { rate } => format!("constant {}", format_rate(*rate)),
        ArrivalProcess::Poisson { rate } => format!("Poisson {}", format_rate(*rate)),
        ArrivalProcess::Stages { from, stages, spacing } => {
            let steps: Vec<String> = stages.iter().map(stage).collect();
            format!("{} from {} {}", spaced(*spacing), format_rate(*from), steps.join(" "))
        }
        ArrivalProcess::Burst { rate, on, off, spacing } => format!(
            "{} bursts of {} for {}, then {} of silence",
            spaced(*spacing),
            format_rate(*rate),
            format_duration(*on),
            format_duration(*off)
        ),
        ArrivalProcess::Replay { list, file, resolution, scale, .. } => {
            let within = resolution.map(|one| format!(", drawn within {}", format_duration(one)));
            let arrivals = list.count();
            let within = within.unwrap_or_default();
            let scaled = scale.map(|scale| format!(", {}", scale.describe())).unwrap_or_default();
            format!("replay of {arrivals} arrivals of {file}{within}{scaled}")
        }
    }
}

fn spaced(spacing: Spacing) -> &'static str {
    match spacing {
        Spacing::Constant => "constant",
        Spacing::Poisson => "Poisson",
    }
}

fn stage(stage: &Stage) -> String {
    format!("to {} over {}", format_rate(stage.to), format_duration(stage.over))
}

fn user_stage(stage: &UserStage) -> String {
    format!("to {} over {}", stage.users, format_duration(stage.over))
}
