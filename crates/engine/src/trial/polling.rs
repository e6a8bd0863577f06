//! Workers that poll instead of sleeping.
//!
//! An idle processor goes to sleep, by itself or by the hypervisor, and may wake up to some milliseconds after the
//! timer or answer that should wake it. Operations are then late by that much, and no load on the machine explains it.
//! A worker that polls keeps its processor awake, but uses all of it.

use plan::load::Load;
use record::summary::Placement;
use tokio::task::yield_now;

use crate::clock::monotonic;
use crate::selfcheck::{Polled, PollingEstimate};

/// Whether workers poll, and, if they should but do not, a note for the record.
///
/// They do not poll if a system shares their processors: polling would take processor time from it.
pub(super) fn wanted(load: &Load, placement: &Placement) -> (bool, Option<String>) {
    let alone = placement.workers_alone();
    let refused = load.busy_poll && !alone;
    let note = "`busy_poll` was ignored: the workers leave no processor to other processes";
    (load.busy_poll && alone, refused.then(|| note.to_owned()))
}

/// Keeps the runtime from sleeping while this future exists: a task that yields is woken after the runtime has looked
/// for ready tasks, and the runtime does not wait while a task has yielded.
pub(super) async fn poll_on(polled: Polled) {
    let (mut turns, mut before) = (PollingEstimate::new(), monotonic());
    loop {
        yield_now().await;
        let now = monotonic();
        polled.add(turns.polling_in(now - before));
        before = now;
    }
}

#[cfg(test)]
mod tests {
    use plan::load::{Model, Reuse, SteadyState, Stop, WarmUp};

    use super::*;

    #[test]
    fn nobody_polls_on_a_processor_that_a_system_runs_on() {
        let load = |busy_poll| Load {
            model: Model::Closed,
            stop: Stop::Operations { count: 1 },
            warm_up: WarmUp::Auto,
            timeout: std::time::Duration::from_secs(1),
            connections: 1,
            streams: 1,
            reuse: Reuse::KeepAlive,
            steady_state: SteadyState::Reported,
            workers: None,
            busy_poll,
        };
        let apart = Placement { workers: vec![1], systems: vec![0] };
        let together = Placement { workers: vec![0, 1], systems: vec![0, 1] };
        assert_eq!(wanted(&load(true), &apart), (true, None));
        assert_eq!(wanted(&load(false), &apart), (false, None));
        assert_eq!(wanted(&load(false), &together), (false, None));
        let (polls, note) = wanted(&load(true), &together);
        assert!(!polls && note.unwrap().contains("leave no processor"));
    }
}
