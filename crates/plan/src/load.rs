//! Load models as variants of one plan: open, closed, users.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arrival_list::{ArrivalList, RowSource};
use crate::intensity::Intensity;
pub use crate::intensity::Stage;
use crate::ramp::Ramp;
use crate::randomness::{RandomStream, draw, unit};
use crate::schedule::nanos;

/// Amount, kind and end of the load.
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
    /// Closed: exactly this many. Open: at most this many for each target, and at most this many of journeys' own. Users:
    /// one each.
    pub connections: u32,
    /// Operations that a connection carries at a time, each on a stream of its own.
    #[serde(skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Keep connections alive, or a new one for each operation.
    pub reuse: Reuse,
    /// Whether a steady state is required for a valid trial.
    pub steady_state: SteadyState,
    /// Generator threads, if the experiment fixes them.
    pub workers: Option<u32>,
    /// Whether they poll for the next event instead of sleeping.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub busy_poll: bool,
}

/// The event that starts an operation.
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
        /// When each of them comes and goes, if the number changes; `spawn_rate` means nothing then.
        #[serde(skip_serializing_if = "Option::is_none")]
        ramp: Option<Ramp>,
    },
}

/// The rule for start times of an open load. Rates are per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "process", rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// The k-th start at k/rate.
    Constant {
        /// Operations per second.
        rate: f64,
    },
    /// Independent exponential gaps.
    Poisson {
        /// Mean operations per second.
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
    /// Starts as listed.
    Replay {
        /// The list.
        #[serde(skip)]
        list: ArrivalList,
        /// The file that it came from.
        file: String,
        /// SHA-256 of the list, so that the plan's hash covers it.
        digest: String,
        /// How the file was scaled; none where it is replayed as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<crate::scale::Scale>,
        /// Length of the stamps that the instants were drawn within; none where they are as they were recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<Duration>,
    },
}

/// Spacing of starts at a given momentary rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// Evenly.
    Constant,
    /// At random, independently.
    Poisson,
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
    /// Chosen by the instrument: the default length, and every trial that is long enough is tested for it.
    Auto,
}

impl WarmUp {
    /// Length of a warm-up that the instrument chooses, and the default.
    pub const USUAL: Duration = Duration::from_secs(5);

    /// How long it lasts.
    pub fn length(self) -> Duration {
        match self {
            Self::Fixed { length } => length,
            Self::Auto => Self::USUAL,
        }
    }
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
    /// A trial without one gets the validity `no_steady_state`.
    Required,
    /// It is only reported.
    Reported,
}

impl ArrivalProcess {
    /// The name of the process: `constant`, `poisson`, `stages`, `burst`, `replay`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Poisson { .. } => "poisson",
            Self::Stages { .. } => "stages",
            Self::Burst { .. } => "burst",
            Self::Replay { .. } => "replay",
        }
    }

    /// Arrivals of a replay for each recorded one, if it was scaled.
    pub fn scale(&self) -> Option<f64> {
        match self {
            Self::Replay { scale, .. } => scale.map(|scale| scale.factor),
            _ => None,
        }
    }

    /// The greatest momentary rate per second; for a replay, the most arrivals in any second.
    pub fn peak_rate(&self) -> f64 {
        match self {
            Self::Constant { rate } | Self::Poisson { rate } | Self::Burst { rate, .. } => *rate,
            Self::Stages { from, stages, .. } => {
                stages.iter().map(|stage| stage.to).fold(*from, f64::max)
            }
            Self::Replay { list, .. } => list.busiest_second() as f64,
        }
    }

    /// Mean arrivals per second until the stop; `None` if nothing is planned.
    pub fn mean_rate(&self, stop: Stop) -> Option<f64> {
        let intensity = match self {
            Self::Constant { rate } | Self::Poisson { rate } => return Some(*rate),
            Self::Stages { from, stages, .. } => Intensity::stages(*from, stages),
            Self::Burst { rate, on, off, .. } => Intensity::burst(*rate, *on, *off),
            Self::Replay { list, .. } => return mean_of_list(list, stop),
        };
        match stop {
            Stop::Duration { after } => {
                let seconds = after.as_secs_f64();
                (seconds > 0.0).then(|| intensity.cumulative(seconds) / seconds)
            }
            Stop::Operations { count } => {
                let seconds = intensity.inverse(count as f64)?;
                (seconds > 0.0).then(|| count as f64 / seconds)
            }
        }
    }

    /// The process at its initial rate for ever, for the warm-up. `None` if its initial rate is 0, and for a replay.
    pub fn initial(&self) -> Option<Self> {
        let (rate, spacing) = match self {
            Self::Constant { rate } => (*rate, Spacing::Constant),
            Self::Poisson { rate } => (*rate, Spacing::Poisson),
            Self::Stages { from, spacing, .. } => (*from, *spacing),
            Self::Burst { rate, spacing, .. } => (*rate, *spacing),
            Self::Replay { .. } => return None,
        };
        (rate > 0.0).then_some(match spacing {
            Spacing::Constant => Self::Constant { rate },
            Spacing::Poisson => Self::Poisson { rate },
        })
    }

    /// The process at twice its rate; a fair draw for each arrival divides it into two processes like this one. `None`
    /// if the process is not Poisson, because then the halves would be of another kind.
    pub fn twice(&self) -> Option<Self> {
        match self {
            Self::Poisson { rate } => Some(Self::Poisson { rate: 2.0 * rate }),
            Self::Stages { from, stages, spacing: spacing @ Spacing::Poisson } => {
                let twice = |stage: &Stage| Stage { to: 2.0 * stage.to, ..*stage };
                let stages = stages.iter().map(twice).collect();
                Some(Self::Stages { from: 2.0 * from, stages, spacing: *spacing })
            }
            Self::Burst { rate, on, off, spacing: spacing @ Spacing::Poisson } => {
                Some(Self::Burst { rate: 2.0 * rate, on: *on, off: *off, spacing: *spacing })
            }
            Self::Constant { .. }
            | Self::Stages { .. }
            | Self::Burst { .. }
            | Self::Replay { .. } => None,
        }
    }

    /// Its own length, if it has one: the sum of the stages, the last offset of a replay.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Self::Stages { stages, .. } => Some(stages.iter().map(|stage| stage.over).sum()),
            Self::Replay { list, .. } => list.last_ns().map(Duration::from_nanos),
            _ => None,
        }
    }
}

fn mean_of_list(list: &ArrivalList, stop: Stop) -> Option<f64> {
    let (count, length) = match stop {
        Stop::Duration { after } => (list.count_before(nanos(after)), after.as_secs_f64()),
        Stop::Operations { count } => {
            let count = count.min(list.count());
            (count, list.cursor().at(count.checked_sub(1)?)?.offset_ns as f64 / 1e9)
        }
    };
    (length > 0.0).then(|| count as f64 / length)
}

impl Think {
    /// The pause before the `index`-th operation.
    pub fn pause(&self, seed: u64, index: u64) -> Duration {
        let share = || unit(draw(seed, RandomStream::Think, index));
        match self {
            Self::Fixed { pause } => *pause,
            Self::Uniform { low, high } => *low + (*high - *low).mul_f64(share()),
            Self::Exponential { mean } => mean.mul_f64(-share().ln()),
        }
    }

    /// Its mean.
    pub fn mean(&self) -> Duration {
        match self {
            Self::Fixed { pause } => *pause,
            Self::Uniform { low, high } => (*low + *high) / 2,
            Self::Exponential { mean } => *mean,
        }
    }
}

fn is_one(streams: &u32) -> bool {
    *streams == 1
}

/// This duration; the longest possible one if it does not fit.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

impl Load {
    /// The list that it replays, if it is a replay.
    pub fn list(&self) -> Option<&ArrivalList> {
        match &self.model {
            Model::Open { arrivals: ArrivalProcess::Replay { list, .. } } => Some(list),
            _ => None,
        }
    }

    /// Whether it replays a file that says which request each arrival sends.
    pub fn names_requests(&self) -> bool {
        self.list().is_some_and(|list| list.rows() == RowSource::Column)
    }

    /// Length of ramp-up, warm-up and measure phase, if they are known in advance.
    pub fn wall_time(&self) -> Option<Duration> {
        let before = self.ramp_up().saturating_add(self.warm_up.length());
        Some(before.saturating_add(self.measure_time()?))
    }

    /// Time until all users are there; zero where stages say when they come, which belongs to the load itself.
    pub fn ramp_up(&self) -> Duration {
        match self.model {
            Model::Users { ramp: Some(_), .. } => Duration::ZERO,
            Model::Users { users, spawn_rate, .. } if spawn_rate.is_finite() => {
                seconds(f64::from(users) / spawn_rate)
            }
            _ => Duration::ZERO,
        }
    }

    /// Length of the measure phase, if it is known in advance.
    pub fn measure_time(&self) -> Option<Duration> {
        match (self.stop, &self.model) {
            (Stop::Duration { after }, _) => Some(after),
            (Stop::Operations { count }, Model::Open { arrivals }) => {
                let rate = arrivals.mean_rate(self.stop).filter(|rate| *rate > 0.0)?;
                Some(seconds(count as f64 / rate))
            }
            _ => None,
        }
    }

    /// Length of a recorded window: a tenth of a second if the measure phase is short or its length is unknown.
    pub fn window(&self) -> Duration {
        const SHORT: Duration = Duration::from_secs(30);
        let short = self.measure_time().is_none_or(|length| length < SHORT);
        Duration::from_millis(if short { 100 } else { 1_000 })
    }

    /// Most operations that an open load may have in flight: ⌈1.2 · peak rate · time-out⌉.
    pub fn in_flight_cap(&self) -> Option<u64> {
        match &self.model {
            Model::Open { arrivals } => {
                Some((1.2 * arrivals.peak_rate() * self.timeout.as_secs_f64()).ceil() as u64)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_rates() {
        let second = Duration::from_secs(1);
        let burst = ArrivalProcess::Burst {
            rate: 500.0,
            on: 10 * second,
            off: 50 * second,
            spacing: Spacing::Poisson,
        };
        let mean = burst.mean_rate(Stop::Duration { after: 60 * second }).unwrap();
        assert!((mean - 500.0 / 6.0).abs() < 1e-9, "{mean}");
        assert_eq!(burst.peak_rate(), 500.0);
    }

    #[test]
    fn thinking_keeps_to_its_range_and_mean() {
        let (low, high) = (Duration::from_secs(1), Duration::from_secs(3));
        let think = Think::Uniform { low, high };
        let pauses: Vec<Duration> = (0..10_000).map(|index| think.pause(3, index)).collect();
        assert!(pauses.iter().all(|pause| (low..=high).contains(pause)));
        let mean = pauses.iter().sum::<Duration>().as_secs_f64() / 10_000.0;
        // 4 sigma of the mean of 10,000 uniform draws over 2 s.
        assert!((mean - 2.0).abs() < 4.0 * 2.0 / 12_f64.sqrt() / 100.0, "{mean}");
        assert_eq!(think.mean(), Duration::from_secs(2));
    }
}
