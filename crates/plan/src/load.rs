//! Load models as variants of one plan: open, closed, users.

use std::time::Duration;

use serde::Serialize;

/// How much load, of which kind, and until when.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Open, closed or users.
    pub model: Model,
    /// What ends the measure phase.
    pub stop: Stop,
    /// Run but not judged, before the measure phase.
    pub warm_up: WarmUp,
    /// From the start of an operation to its failure as `timeout`; also bounds connecting.
    pub timeout: Duration,
    /// Closed: exactly so many. Open: at most so many, for each target. Users: one each.
    pub connections: u32,
    /// Keep connections alive, or a new one for each operation.
    pub reuse: Reuse,
    /// Whether a steady state is required for a valid trial.
    pub steady_state: SteadyState,
    /// Generator threads, if the experiment fixes them.
    pub workers: Option<u32>,
}

/// What starts an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "lowercase")]
pub enum Model {
    /// The schedule, independent of answers.
    Open {
        /// The rule for start times.
        arrivals: ArrivalProcess,
    },
    /// The previous answer on the same connection.
    Closed,
    /// The previous answer of the same user and a think time.
    Users {
        /// How many.
        users: u32,
        /// Users a second until all are there.
        spawn_rate: f64,
        /// Pause between an answer and the next operation.
        think: Think,
    },
}

/// The rule for start times of an open load. Rates are per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "process", rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// The k-th start at k/rate.
    Constant {
        /// Operations a second.
        rate: f64,
    },
    /// Independent exponential gaps.
    Poisson {
        /// Mean operations a second.
        rate: f64,
    },
    /// Ramps and plateaus, one after the other.
    Stages {
        /// Rate at the beginning.
        from: f64,
        /// In order.
        stages: Vec<Stage>,
        /// Spacing at the momentary rate.
        spacing: Spacing,
    },
    /// On for a while, off for a while.
    Burst {
        /// Rate while on.
        rate: f64,
        /// Length of a burst.
        on: Duration,
        /// Pause between bursts.
        off: Duration,
        /// Spacing while on.
        spacing: Spacing,
    },
    /// Starts as listed, in nanoseconds from the start of the measure phase, ascending.
    Replay {
        /// The list.
        #[serde(skip)]
        offsets_ns: std::sync::Arc<[u64]>,
        /// Where it came from.
        file: String,
        /// SHA-256 of the list, so that the plan's hash covers it.
        digest: String,
    },
}

/// Spacing of starts at a given momentary rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// Evenly.
    Constant,
    /// At random, independently.
    Poisson,
}

/// A linear ramp to `to`; a plateau where `to` is the rate before it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stage {
    /// Rate at its end.
    pub to: f64,
    /// Its length.
    pub over: Duration,
}

/// Pause between an answer and the user's next operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "think", rename_all = "lowercase")]
pub enum Think {
    /// Always the same.
    Fixed {
        /// The pause.
        pause: Duration,
    },
    /// Uniform between the two.
    Uniform {
        /// Least.
        low: Duration,
        /// Greatest.
        high: Duration,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Duration,
    },
}

/// What ends the measure phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "stop", rename_all = "lowercase")]
pub enum Stop {
    /// Its length.
    Duration {
        /// From its start.
        after: Duration,
    },
    /// A number of operations.
    Operations {
        /// How many.
        count: u64,
    },
}

/// Length of the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "warm_up", rename_all = "lowercase")]
pub enum WarmUp {
    /// Fixed.
    Fixed {
        /// Its length; zero for none.
        length: Duration,
    },
    /// Found by the analysis.
    Auto,
}

/// What happens to a connection after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reuse {
    /// The next operation uses it.
    KeepAlive,
    /// It is closed; each operation opens its own.
    NewPerOperation,
}

/// Whether a steady state is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SteadyState {
    /// A trial without one is `no_steady_state`.
    Required,
    /// It is only reported.
    Reported,
}

impl Load {
    /// Length of ramp-up, warm-up and measure phase, if they are known beforehand.
    pub fn wall_time(&self) -> Option<Duration> {
        None
    }
}
