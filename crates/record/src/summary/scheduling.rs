//! How the kernel scheduled the workers.

use serde::{Deserialize, Serialize};

/// How the kernel scheduled a worker, and why not better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scheduling {
    /// Policy at the end of the trial.
    pub policy: SchedulingPolicy,
    /// Nice value, -20 to 19; 0 under `fifo`, where it means nothing.
    pub nice: i32,
    /// Why not `fifo`; none where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<SchedulingReason>,
}

/// From best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulingPolicy {
    /// `SCHED_FIFO` at priority 1: ahead of every thread that is not real-time.
    Fifo,
    /// `SCHED_OTHER` at a nice value that was asked for.
    Nice,
    /// `SCHED_OTHER` at the nice value that the process was started with.
    Ordinary,
}

/// Why a worker was not scheduled better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulingReason {
    /// `--no-realtime`.
    SwitchedOff,
    /// A worker that polls would fill its processor, and the kernel throttles real-time threads that do.
    Polling,
    /// A closed load without think time is never late, and its waiting tells of a crowded machine.
    ClosedLoad,
    /// A target on the same processors would wait for the worker, and look slow.
    SharedProcessors,
    /// It had `fifo` and came near the limit at which the kernel throttles real-time threads.
    NearLimit,
    /// The control group, or the whole machine, leaves real-time threads no time.
    NoBudget,
    /// Neither CAP_SYS_NICE nor a resource limit permits it.
    NotPermitted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_workers_is_the_greatest() {
        let fifo = Scheduling { policy: SchedulingPolicy::Fifo, nice: 0, reason: None };
        let nice = |nice| Scheduling {
            policy: SchedulingPolicy::Nice,
            nice,
            reason: Some(SchedulingReason::NotPermitted),
        };
        let ordinary = Scheduling { policy: SchedulingPolicy::Ordinary, ..nice(0) };
        assert_eq!([nice(-20), ordinary, nice(-5), fifo].iter().max(), Some(&ordinary));
        assert_eq!([nice(-20), nice(-5), fifo].iter().max(), Some(&nice(-5)));
    }

    #[test]
    fn it_is_written_in_plain_words() {
        let one = Scheduling {
            policy: SchedulingPolicy::Nice,
            nice: -20,
            reason: Some(SchedulingReason::NearLimit),
        };
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(text, r#"{"policy":"nice","nice":-20,"reason":"near-limit"}"#);
        let fifo = serde_json::from_str::<Scheduling>(r#"{"policy":"fifo","nice":0}"#).unwrap();
        assert_eq!((fifo.policy, fifo.reason), (SchedulingPolicy::Fifo, None));
    }
}
