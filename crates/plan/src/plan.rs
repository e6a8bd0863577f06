//! The plan: everything that is decided before the first byte is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adaptive::Adaptive;
use crate::comparison::Comparison;
use crate::criterion::Criterion;
use crate::fault::Fault;
use crate::hash;
use crate::journey::{Connections, Journey, Preparation};
use crate::load::{Load, Model};
use crate::operation::Operation;
use crate::process::{Observer, Service, System};
use crate::secret::Secrets;
use crate::target::Target;
use crate::trace::Trace;

/// A whole experiment, checked and resolved. Its hash goes into every report.
///
/// Its serialised form shows `{{env.NAME}}` instead of values from the environment.
#[derive(Debug, Clone)]
pub struct Plan {
    /// One line.
    pub title: String,
    /// The question that the experiment answers.
    pub question: Option<String>,
    /// Seed of schedule and content.
    pub seed: u64,
    /// Whether this is a rehearsal (`--quick`).
    pub rehearsal: bool,
    /// Whether the run ends as soon as a criterion can no longer be met (`--fail-fast`).
    pub fail_fast: bool,
    /// Whether the run continues although every operation fails in the same way (`--keep-going`).
    pub keep_going: bool,
    /// When measure phases are checked for an early end (`--adaptive`).
    pub adaptive: Option<Adaptive>,
    /// Trace ids of the operations, if they carry any.
    pub trace: Option<Trace>,
    /// Combinations of levels; at least one.
    pub arms: Vec<Arm>,
    /// The trials in order of execution.
    pub trials: Vec<TrialPlan>,
    /// Blocks that may lack trials whose generator was late; the other trials are judged.
    pub spare: u32,
    /// Requirements for the result.
    pub criteria: Vec<Criterion>,
    /// Comparisons of levels.
    pub comparisons: Vec<Comparison>,
    /// Values from the environment, which no output may show.
    pub secrets: Secrets,
}

/// One combination of levels, with everything resolved for it.
#[derive(Debug, Clone, Serialize)]
pub struct Arm {
    /// Its name: `all` without factors, otherwise `path=front,connections=10`.
    pub name: String,
    /// Level of each factor: its value, or its name if the file gives one.
    pub factors: BTreeMap<String, Value>,
    /// Values of the levels that have a name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// Addresses that operations refer to by index; at least one.
    pub targets: Vec<Target>,
    /// How much, how, and until when.
    pub load: Load,
    /// The mix; at least one, with a positive sum of weights.
    pub operations: Vec<Operation>,
    /// Those that belong together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<Journey>,
    /// Performed before the load, not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Preparation>,
    /// Performed after the load, not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teardown: Option<Preparation>,
    /// Real servers that the system needs.
    pub services: Vec<Service>,
    /// The system under test, if the run starts it.
    pub system: Option<System>,
    /// Processes that count arrivals elsewhere.
    pub observers: Vec<Observer>,
    /// Faults injected into those processes while the load runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Arm {
    /// Names of its operations and, after those, of its journeys.
    pub fn names(&self) -> Vec<&str> {
        let operations = self.operations.iter().map(|one| one.name.as_str());
        operations.chain(self.journeys.iter().map(|one| one.name.as_str())).collect()
    }

    /// Most connections that journeys have of their own at a time, over all of them and all targets; 0 where they use
    /// those of the load.
    pub fn own_connections(&self) -> u64 {
        let of_one = self
            .journeys
            .iter()
            .map(|journey| journey.own_connections(&self.operations, self.targets.len()));
        let of_one = of_one.max().unwrap_or(0);
        let connections = u64::from(self.load.connections);
        match &self.load.model {
            Model::Open { .. } => connections.min(self.journeys_cap().saturating_mul(of_one)),
            // Each connection or user of the load performs one journey at a time.
            Model::Closed | Model::Users { .. } => connections * of_one,
        }
    }

    /// Most operations that one of its journeys performs at a time; 1 without journeys.
    pub fn abreast(&self) -> u32 {
        let steps = self.journeys.iter().flat_map(|journey| &journey.steps);
        let most = steps.map(|step| step.operations().len()).max();
        most.map_or(1, |most| u32::try_from(most.max(1)).unwrap_or(u32::MAX))
    }

    /// Whether anything uses the connections of the load.
    pub fn uses_pool(&self) -> bool {
        let is_pooled = |journey: &Journey| journey.connections == Connections::Pool;
        self.journeys.iter().any(is_pooled) || self.operations.iter().any(|one| !one.is_step)
    }

    /// Most journeys that may be in progress at a time: those that begin, at 1.2 times the peak rate, while one of them
    /// thinks twice as long as on average and every one of its steps, or of its session's requests, takes all of its
    /// time-out.
    pub fn journeys_cap(&self) -> u64 {
        const LEAST: f64 = 1_000.0;
        const MOST: f64 = 1e6;
        let Model::Open { arrivals } = &self.load.model else { return MOST as u64 };
        let longest = self.journeys.iter().map(|journey| {
            let steps = self.load.timeout.as_secs_f64() * journey.turns();
            2.0 * journey.thinking().as_secs_f64() + steps
        });
        let longest = longest.fold(0.0, f64::max);
        (1.2 * arrivals.peak_rate() * longest).clamp(LEAST, MOST) as u64
    }
}

/// One execution of one arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialPlan {
    /// Number in the run, from 1.
    pub index: u32,
    /// Block it belongs to, from 1.
    pub block: u32,
    /// Place within the block, from 1.
    pub order: u32,
    /// Index of the arm.
    pub arm: usize,
    /// Seed of this trial, derived from the plan's (the same for all arms of a block).
    pub seed: u64,
    /// Whether it is executed at the same time as the other trial of its block. A fair draw then assigns the arrivals
    /// to the two trials.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duet: bool,
}

impl TrialPlan {
    /// Whether it adds to the run time: the second trial of a duet runs during the first.
    pub fn takes_time(&self) -> bool {
        !self.duet || self.order == 1
    }
}

impl Plan {
    /// A plan of one arm and one trial, which takes the plan's own seed.
    pub fn single(title: &str, arm: Arm, seed: u64) -> Self {
        Self {
            title: title.to_owned(),
            question: None,
            seed,
            rehearsal: false,
            fail_fast: false,
            keep_going: false,
            adaptive: None,
            trace: None,
            arms: vec![arm],
            trials: vec![TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed, duet: false }],
            spare: 0,
            criteria: Vec::new(),
            comparisons: Vec::new(),
            secrets: Secrets::default(),
        }
    }

    /// Whether the block contains several trials of one arm and no others: their differences are noise, which is their
    /// only purpose.
    pub fn is_aa(&self, block: u32) -> bool {
        let mut arms = self.trials.iter().filter(|trial| trial.block == block).map(|one| one.arm);
        let first = arms.next();
        let mut others = arms.peekable();
        others.peek().is_some() && others.all(|arm| Some(arm) == first)
    }

    /// Whether the two trials of each block are executed at the same time.
    pub fn is_duet(&self) -> bool {
        self.trials.iter().any(|trial| trial.duet)
    }

    /// Wall time of all trials without start-up and drain, if every trial has a known duration.
    pub fn wall_time(&self) -> Option<Duration> {
        let in_turn = self.trials.iter().filter(|trial| trial.takes_time());
        let mut times = in_turn.map(|trial| self.arms[trial.arm].load.wall_time());
        times.try_fold(Duration::ZERO, |sum, time| Some(sum.saturating_add(time?)))
    }

    /// The plan as JSON, secrets redacted: the content of `plan.json`.
    pub fn to_json(&self) -> Value {
        let mut plain = json!({
            "title": self.title,
            "question": self.question,
            "seed": self.seed,
            "rehearsal": self.rehearsal,
            "arms": self.arms,
            "trials": self.trials,
            "criteria": self.criteria,
            "comparisons": self.comparisons,
        });
        // Left out if unset, so that older plans keep their JSON and hash.
        if self.fail_fast {
            plain["fail_fast"] = self.fail_fast.into();
        }
        if self.keep_going {
            plain["keep_going"] = self.keep_going.into();
        }
        if let Some(adaptive) = &self.adaptive {
            plain["adaptive"] = json!(adaptive);
        }
        if let Some(trace) = &self.trace {
            plain["trace"] = json!(trace);
        }
        if self.is_duet() {
            plain["duet"] = true.into();
        }
        if self.spare > 0 {
            plain["spare"] = self.spare.into();
        }
        self.secrets.redact_json(plain)
    }

    /// SHA-256 of everything that decides the result: of the redacted plan without the number of workers and the
    /// address of traces; 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut json = self.to_json();
        let arms = json.get_mut("arms").and_then(Value::as_array_mut);
        for arm in arms.into_iter().flatten() {
            if let Some(load) = arm.get_mut("load").and_then(Value::as_object_mut) {
                load.remove("workers");
            }
        }
        if let Some(trace) = json.get_mut("trace").and_then(Value::as_object_mut) {
            trace.remove("url");
        }
        hash::hex(&[hash::canonical(&json).as_bytes()])
    }
}

impl Serialize for Plan {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}
