//! As text: how the kernel scheduled the workers, why not better, and how to improve it.

use record::summary::{Scheduling, SchedulingPolicy, SchedulingReason};

/// The scheduling of the workers, and why it was no better.
pub fn in_words(scheduling: &Scheduling) -> String {
    let had = match scheduling {
        Scheduling { policy: SchedulingPolicy::Fifo, .. } => "SCHED_FIFO, priority 1".to_owned(),
        Scheduling { policy: SchedulingPolicy::Nice, nice, .. } => format!("nice {nice}"),
        Scheduling { policy: SchedulingPolicy::Ordinary, nice: 0, .. } => "ordinary".to_owned(),
        Scheduling { policy: SchedulingPolicy::Ordinary, nice, .. } => {
            format!("ordinary, nice {nice}")
        }
    };
    match scheduling.reason {
        Some(reason) => format!("{had}: {}", why(reason)),
        None => had,
    }
}

fn why(reason: SchedulingReason) -> &'static str {
    match reason {
        SchedulingReason::SwitchedOff => "`--no-realtime` was given",
        SchedulingReason::Polling => {
            "workers that poll would fill their processors under SCHED_FIFO"
        }
        SchedulingReason::ClosedLoad => "a closed load without think time has no schedule to keep",
        SchedulingReason::SharedProcessors => {
            "the target shares the workers' processors, and SCHED_FIFO would make it look slow"
        }
        SchedulingReason::NearLimit => {
            "under SCHED_FIFO a worker came near the limit at which the kernel throttles it"
        }
        SchedulingReason::NoBudget => {
            "SCHED_FIFO is permitted, but the control group leaves it no time or the container denies the call"
        }
        SchedulingReason::NotPermitted => "SCHED_FIFO is not permitted",
    }
}

/// How to get better scheduling, as an imperative; none where the choice was right or follows from the load.
pub fn remedy(scheduling: &Scheduling) -> Option<&'static str> {
    match scheduling.reason? {
        SchedulingReason::NotPermitted => Some(
            "permit real-time priority: `setcap cap_sys_nice=ep` on the proofload binary, `--cap-add SYS_NICE` for \
             a container, or `USER - rtprio 1` in /etc/security/limits.conf",
        ),
        SchedulingReason::NoBudget => Some(
            "give the control group real-time time (`cpu.rt_runtime_us`) and permit sched_setattr(2), or run outside of it",
        ),
        SchedulingReason::SwitchedOff => Some("leave `--no-realtime` out"),
        SchedulingReason::Polling
        | SchedulingReason::ClosedLoad
        | SchedulingReason::SharedProcessors
        | SchedulingReason::NearLimit => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn had(policy: SchedulingPolicy, nice: i32, reason: Option<SchedulingReason>) -> Scheduling {
        Scheduling { policy, nice, reason }
    }

    #[test]
    fn what_was_had_is_said_with_its_reason() {
        let fifo = had(SchedulingPolicy::Fifo, 0, None);
        assert_eq!(in_words(&fifo), "SCHED_FIFO, priority 1");
        assert_eq!(remedy(&fifo), None);
        let off = had(SchedulingPolicy::Ordinary, 0, Some(SchedulingReason::SwitchedOff));
        assert_eq!(in_words(&off), "ordinary: `--no-realtime` was given");
        let slow = had(SchedulingPolicy::Ordinary, 19, Some(SchedulingReason::NotPermitted));
        assert_eq!(in_words(&slow), "ordinary, nice 19: SCHED_FIFO is not permitted");
        let polling = had(SchedulingPolicy::Nice, -20, Some(SchedulingReason::Polling));
        assert!(in_words(&polling).starts_with("nice -20: workers that poll"));
    }

    #[test]
    fn a_missing_permission_comes_with_three_ways_to_get_it() {
        let refused =
            remedy(&had(SchedulingPolicy::Ordinary, 0, Some(SchedulingReason::NotPermitted)))
                .unwrap();
        for way in ["setcap cap_sys_nice=ep", "--cap-add SYS_NICE", "rtprio 1"] {
            assert!(refused.contains(way), "{way}");
        }
        assert_eq!(
            remedy(&had(SchedulingPolicy::Nice, -20, Some(SchedulingReason::NearLimit))),
            None
        );
    }
}
